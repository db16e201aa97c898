#!/usr/bin/env python3
"""Makes the MCP bundle for one target, for Claude Desktop and others: mcpb.py BINARY TARGET HOMEPAGE TOOLS OUT

OUT/pdpp-VERSION-TARGET.mcpb is packed and validated by the format's own tool, which tools.sh put into TOOLS. Each target has its own
bundle, because the format distinguishes systems but not processors.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from about import CARGO, DESCRIPTION, LICENCE, ROOT, TARGETS, VERSION, program
from archive import notices
from documents import documents

HERE = pathlib.Path(__file__).parent
# What a person reads about the tools before the installation; the suite compares the names with those that the server
# lists.
TOOLS = {
    "schema": "What was granted: streams and their fields",
    "query_records": "Records of a stream, by filters",
    "aggregate": "Counts, sums, averages of a stream",
    "search": "Records that a text is found in",
    "fetch": "One record",
    "read_record_field": "A long field of a record, piece by piece",
}
# `pdpp mcp bundle` reads the settings from these.
SETTINGS = {
    "connect": {
        "type": "string", "title": "Provider",
        "description": "The address of a provider that has your data, such as https://provider.example. A page in your browser asks what may be read. Leave it empty to use an export of your own.",
        "required": False,
    },
    "import": {
        "type": "directory", "title": "Folder with an export of yours",
        "description": "A folder with what you downloaded of your own data (mail, chats, a bank's files …). It is read, kept on this computer, and nothing of it is readable before you tick it on a page in your browser.",
        "required": False,
    },
}


def manifest(target, homepage):
    file = f"server/{program(target)}"
    return {
        "manifest_version": "0.3",
        "name": "pdpp",
        "display_name": "pdpp: your own data",
        "version": VERSION,
        "description": DESCRIPTION,
        "long_description": "Six tools that only read, over what you approved and nothing more. Name a provider, or the folder of an export, in the settings; then approve on the page that opens in your browser. `docs/hosts.md` in this bundle has the rest.",
        "author": {"name": "The authors of pdpp", "url": homepage},
        "repository": {"type": "git", "url": f"{homepage}.git"},
        "homepage": homepage,
        "documentation": f"{homepage}/blob/v{VERSION}/docs/hosts.md#the-bundle-for-a-double-click",
        "support": f"{homepage}/issues",
        "icon": "icon.png",
        "license": LICENCE,
        "keywords": CARGO["keywords"],
        "server": {
            "type": "binary",
            "entry_point": file,
            "mcp_config": {
                "command": f"${{__dirname}}/{file}",
                "args": ["mcp", "bundle"],
                # Not as arguments, which every user of the computer can read: someone may paste an address with a
                # password in it.
                "env": {f"PDPP_BUNDLE_{name.upper()}": f"${{user_config.{name}}}" for name in SETTINGS},
            },
        },
        "tools": [{"name": name, "description": text} for name, text in TOOLS.items()],
        "user_config": SETTINGS,
        "compatibility": {"platforms": [TARGETS[target].system]},
    }


def main():
    binary, target, homepage, tools, out = sys.argv[1:]
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"pdpp-{VERSION}-{target}.mcpb"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "pdpp"
        (folder / "server").mkdir(parents=True)
        shutil.copy(binary, folder / "server" / program(target))
        (folder / "server" / program(target)).chmod(0o755)
        shutil.copy(HERE / "icon.png", folder)
        shutil.copy(ROOT / "LICENSE", folder)
        documents(folder)
        notices(target, folder / "THIRD-PARTY-NOTICES.txt")
        (folder / "manifest.json").write_text(json.dumps(manifest(target, homepage), indent=2, ensure_ascii=False) + "\n")
        tool = pathlib.Path(tools).resolve() / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
        done = subprocess.run(["node", tool, "pack", folder, path.resolve()], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"mcpb pack exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    print(path)


if __name__ == "__main__":
    main()
