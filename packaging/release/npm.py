#!/usr/bin/env python3
"""Makes the npm packages: npm.py OUT HOMEPAGE TARGET=BINARY ...

Each target has its own package with the binary (pdpp-linux-x64, pdpp-linux-x64-musl and so on); `pdpp` depends on all of these and starts
the one that npm installed. The installation downloads and runs nothing else.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from about import CARGO, DESCRIPTION, LICENCE, ROOT, TARGETS, VERSION, mcp_name, program
from archive import notices
from documents import documents


def pack(folder, out, homepage, manifest):
    # npm checks provenance against this repository.
    common = {"version": VERSION, "description": DESCRIPTION, "license": LICENCE, "homepage": homepage,
              "repository": {"type": "git", "url": f"git+{homepage}.git"}}
    (folder / "package.json").write_text(json.dumps({**manifest, **common}, indent=2) + "\n")
    packed = subprocess.run(
        ["npm", "pack", "--json", "--pack-destination", str(out)], cwd=folder, check=True, stdout=subprocess.PIPE
    )
    said = json.loads(packed.stdout)
    print(out / (said[0] if isinstance(said, list) else next(iter(said.values())))["filename"])


def main():
    out, homepage = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    out.mkdir(parents=True, exist_ok=True)
    platforms = {}
    for given in sys.argv[3:]:
        target, binary = given.split("=", 1)
        of = TARGETS[target]
        platforms[of.npm] = VERSION
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            shutil.copy(binary, folder / program(target))
            (folder / program(target)).chmod(0o755)
            shutil.copy(ROOT / "LICENSE", folder)
            notices(target, folder / "THIRD-PARTY-NOTICES.txt")
            (folder / "README.md").write_text(f"pdpp's binary for {target}. Install `pdpp`, which starts it.\n")
            manifest = {
                "name": of.npm, "os": [of.system], "cpu": [of.cpu], "preferUnplugged": True,
                "files": [program(target), "THIRD-PARTY-NOTICES.txt"],
                **({"libc": [of.libc]} if of.libc else {}),
            }
            pack(folder, out, homepage, manifest)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        shutil.copy(pathlib.Path(__file__).parent / "pdpp.cjs", folder)
        shutil.copy(ROOT / "LICENSE", folder)
        documents(folder)
        pack(folder, out, homepage, {
            "name": "pdpp", "keywords": CARGO["keywords"], "bin": {"pdpp": "pdpp.cjs"}, "files": ["pdpp.cjs", "CHANGELOG.md", "docs", "packaging"],
            "engines": {"node": ">=18"}, "optionalDependencies": platforms,
            # From this the MCP registry knows that its server.json may name this package.
            "mcpName": mcp_name(homepage),
        })


if __name__ == "__main__":
    main()
