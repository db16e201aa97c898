#!/usr/bin/env python3
"""Prints the server.json of a release, for the MCP registry: registry.py ARCHIVES HOMEPAGE DOWNLOADS > server.json

ARCHIVES is the folder with the release's bundles, DOWNLOADS the address below which people get them.
"""

import hashlib
import json
import pathlib
import sys
import urllib.parse

from about import TARGETS, VERSION, mcp_name
from mcpb import SETTINGS

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# The registry allows 100 characters.
SHORT = "Read-only tools over a person's own data, through a grant that they approved and nothing more"


def main():
    archives, homepage, downloads = sys.argv[1:]
    stdio = {"type": "stdio"}
    variables = [
        {"name": f"PDPP_BUNDLE_{name.upper()}", "description": setting["description"],
         "format": "filepath" if setting["type"] == "directory" else "string", "isRequired": False, "isSecret": False}
        for name, setting in SETTINGS.items()
    ]
    arguments = [{"type": "positional", "value": word} for word in ("mcp", "bundle")]
    packages = [{
        "registryType": "npm", "identifier": "pdpp", "version": VERSION, "runtimeHint": "npx", "transport": stdio,
        "packageArguments": arguments, "environmentVariables": variables,
    }]
    for target in TARGETS:
        path = pathlib.Path(archives) / f"pdpp-{VERSION}-{target}.mcpb"
        if path.exists():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            packages.append({
                "registryType": "mcpb", "identifier": f"{downloads}/{path.name}", "version": VERSION, "fileSha256": digest, "transport": stdio,
            })
    is_github = urllib.parse.urlsplit(homepage).hostname == "github.com"
    server = {
        "$schema": SCHEMA, "name": mcp_name(homepage), "title": "pdpp", "description": SHORT, "version": VERSION, "websiteUrl": homepage,
        **({"repository": {"url": homepage, "source": "github"}} if is_github else {}),
        "packages": packages,
    }
    print(json.dumps(server, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
