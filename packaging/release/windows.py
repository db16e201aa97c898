#!/usr/bin/env python3
"""Writes what Windows' package managers need of a release: windows.py ARCHIVES HOMEPAGE DOWNLOADS

Writes into ARCHIVES, which has the release's archives: `pdpp.json` for a Scoop bucket, and winget's three manifests, under the
names that its repository requires.
"""

import hashlib
import json
import pathlib
import sys

from about import CARGO, DESCRIPTION, LICENCE, VERSION

TARGET = "x86_64-pc-windows-msvc"
IDENTIFIER = "pdpp.pdpp"
LOCALE = "en-US"
MANIFEST_VERSION = "1.10.0"
PUBLISHER = "The authors of pdpp"


def winget(kind, members):
    """One manifest. JSON's strings are valid in YAML."""
    head = {"PackageIdentifier": IDENTIFIER, "PackageVersion": VERSION}
    lines = [f"# yaml-language-server: $schema=https://aka.ms/winget-manifest.{kind}.{MANIFEST_VERSION}.schema.json", ""]
    lines += [f"{name}: {json.dumps(value)}" for name, value in {**head, **members}.items()]
    lines += [f"ManifestType: {kind}", f"ManifestVersion: {MANIFEST_VERSION}", ""]
    return "\n".join(lines)


def main():
    archives, homepage, downloads = sys.argv[1:]
    archives = pathlib.Path(archives)
    name = f"pdpp-{VERSION}-{TARGET}"
    digest = hashlib.sha256((archives / f"{name}.zip").read_bytes()).hexdigest()
    licence = f"{homepage}/blob/v{VERSION}/LICENSE"
    scoop = {
        "version": VERSION, "description": DESCRIPTION, "homepage": homepage, "license": {"identifier": LICENCE, "url": licence},
        "architecture": {"64bit": {"url": f"{downloads}/{name}.zip", "hash": digest, "extract_dir": name}},
        "bin": "pdpp.exe",
        "checkver": {"github": homepage},
        "autoupdate": {"architecture": {"64bit": {
            "url": f"{homepage}/releases/download/v$version/pdpp-$version-{TARGET}.zip", "extract_dir": f"pdpp-$version-{TARGET}",
            "hash": {"url": "$baseurl/SHA256SUMS"},
        }}},
    }
    (archives / "pdpp.json").write_text(json.dumps(scoop, indent=4) + "\n")
    manifests = {
        "": ("version", {"DefaultLocale": LOCALE}),
        ".installer": ("installer", {
            "InstallerType": "zip", "NestedInstallerType": "portable",
            "NestedInstallerFiles": [{"RelativeFilePath": f"{name}\\pdpp.exe", "PortableCommandAlias": "pdpp"}],
            "Installers": [{"Architecture": "x64", "InstallerUrl": f"{downloads}/{name}.zip", "InstallerSha256": digest.upper()}],
        }),
        f".locale.{LOCALE}": ("defaultLocale", {
            "PackageLocale": LOCALE, "Publisher": PUBLISHER, "PackageName": "pdpp", "PackageUrl": homepage, "License": LICENCE,
            "LicenseUrl": licence, "ShortDescription": DESCRIPTION, "Moniker": "pdpp", "Tags": CARGO["keywords"],
        }),
    }
    for part, (kind, members) in manifests.items():
        (archives / f"{IDENTIFIER}{part}.yaml").write_text(winget(kind, members))


if __name__ == "__main__":
    main()
