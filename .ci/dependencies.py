#!/usr/bin/env python3
"""Checks what pdpp is built from, offline, with `cargo metadata` and Cargo.lock only.

- every crate comes from the crates registry, with a checksum in Cargo.lock;
- the licences allowed here satisfy every licence expression;
- no crate is banned, and none appears in two versions on Linux, except the known ones.

Not checked here, as the output states: security advisories and yanked versions (both need a
database from the network), and what build scripts do.
"""

import json
import re
import subprocess
import sys
import tomllib

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}
# Licences that are allowed for the named crates only.
EXCEPTIONS = {
    # File-level copyleft; used unchanged, as a dependency of `directories`.
    "option-ext": {"MPL-2.0"},
}
BANNED = {
    "openssl": "TLS is rustls",
    "openssl-sys": "TLS is rustls",
    "native-tls": "TLS is rustls",
    "aws-lc-rs": "the crypto provider is ring: 2 MB smaller, no cmake",
    "aws-lc-sys": "the crypto provider is ring: 2 MB smaller, no cmake",
}
# Crates in two versions, and who holds the older one back.
DUPLICATES = {
    "getrandom": "ring 0.17 needs 0.2",
    "synstructure": "for the same reason as syn",
    "syn": "procedural macros are moving from 2 to 3; the binary contains neither",
}


def metadata(*arguments):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def satisfied(expression, allowed):
    """Whether an SPDX expression (with the old `/` for OR) holds, given the allowed licences."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def peek():
        return tokens[position] if position < len(tokens) else None

    def take():
        nonlocal position
        position += 1
        return tokens[position - 1]

    def any_of():
        holds = all_of()
        while peek() == "OR":
            take()
            holds = all_of() or holds
        return holds

    def all_of():
        holds = one()
        while peek() == "AND":
            take()
            holds = one() and holds
        return holds

    def one():
        token = take()
        if token == "(":
            holds = any_of()
            take()
            return holds
        if peek() == "WITH":
            token = f"{token} {take()} {take()}"
        return token in allowed

    return any_of() and position == len(tokens)


def problems(everything, on_linux, lock):
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    for package in everything["packages"]:
        name, version = package["name"], package["version"]
        if package["id"] in everything["workspace_members"]:
            continue
        if not (package["source"] or "").startswith("registry+"):
            yield f"{name} {version} does not come from the registry: {package['source']}"
        if not checksums.get((name, version)):
            yield f"{name} {version} has no checksum in Cargo.lock"
        licence = package["license"] or ""
        if not licence or not satisfied(licence, ALLOWED | EXCEPTIONS.get(name, set())):
            yield f"{name} {version} has the licence {licence or '(none named)'!r}"
        if name in BANNED:
            yield f"{name} {version} is banned: {BANNED[name]}"
    versions = {}
    for package in on_linux["packages"]:
        versions.setdefault(package["name"], set()).add(package["version"])
    doubled = {name: sorted(found) for name, found in versions.items() if len(found) > 1}
    for name, found in doubled.items():
        if name not in DUPLICATES:
            yield f"{name} appears in the versions {' and '.join(found)}"
    for name in DUPLICATES.keys() - doubled.keys():
        yield f"{name} is listed as a duplicate, but is not one any more: remove it from this file"


def main():
    assert satisfied("(MIT OR GPL-3.0) AND Zlib", ALLOWED) and not satisfied("MIT AND GPL-3.0", ALLOWED)
    everything = metadata()
    target = "x86_64-unknown-linux-gnu"
    on_linux = metadata("--filter-platform", target)
    with open("Cargo.lock", "rb") as file:
        lock = tomllib.load(file)
    found = list(problems(everything, on_linux, lock))
    for problem in found:
        print(f"problem: {problem}")
    # Packages that the Linux build resolves to, tests included.
    print(f"checked {len(everything['packages']) - 1} crates ({len(on_linux['packages']) - 1} for {target}): "
          "source, checksum, licence, bans, duplicates")
    print("not checked: security advisories, yanked versions, what build scripts do")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
