#!/usr/bin/env python3
"""Makes the Debian package: deb.py BINARY TARGET OUT, on a Debian with dpkg-dev, of the binary's architecture or another.

MAINTAINER in the environment, `Name <address>`, names the package's maintainer.
"""

import email.utils
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from about import DESCRIPTION, ROOT, TARGETS, VERSION, epoch
from archive import notices
from documents import documents

MAINTAINER = os.environ.get("MAINTAINER", "pdpp maintainers <maintainers@pdpp.invalid>")
# The package's own revision, after the program's version.
REVISION = f"{VERSION.replace('-', '~')}-1"
SHELLS = {
    "pdpp.bash": "usr/share/bash-completion/completions/pdpp",
    "_pdpp": "usr/share/zsh/vendor-completions/_pdpp",
    "pdpp.fish": "usr/share/fish/vendor_completions.d/pdpp.fish",
    "pdpp.elv": "usr/share/elvish/lib/pdpp.elv",
}


def compressed(path, content):
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def depends(binary, target, folder):
    """The packages that the binary needs, by the versions of its symbols; determined on the machine that built it."""
    here = subprocess.run(["dpkg", "--print-architecture"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    if here != TARGETS[target].debian:
        return depends_elsewhere(binary)
    (folder / "debian").mkdir()
    (folder / "debian/control").write_text("Source: pdpp\n\nPackage: pdpp\nArchitecture: any\n")
    command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", str(pathlib.Path(binary).resolve())]
    shown = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    return shown.strip().removeprefix("shlibs:Depends=")


def depends_elsewhere(binary):
    """The same from the binary's own tables: dpkg-shlibdeps needs the libraries of its architecture installed."""
    shown = subprocess.run(["readelf", "--dynamic", "--version-info", "--wide", binary], check=True, stdout=subprocess.PIPE, text=True)
    libraries = set(re.findall(r"\(NEEDED\).*\[(.+)\]", shown.stdout))
    of_libc = {name for name in libraries if re.match(r"(libc|libm|libpthread|libdl|librt|ld-linux-.*)\.so\.", name)}
    if unknown := libraries - of_libc - {"libgcc_s.so.1"}:
        sys.exit(f"no known Debian package has {', '.join(sorted(unknown))}")
    versions = [tuple(map(int, one.split("."))) for one in re.findall(r"Name: GLIBC_([\d.]+)", shown.stdout)]
    needed = []
    if of_libc:
        needed.append(f"libc6 (>= {'.'.join(map(str, max(versions)))})")
    if "libgcc_s.so.1" in libraries:
        # Older than the first release of any architecture that has it by this name.
        needed.append("libgcc-s1 (>= 4.2)")
    return ", ".join(needed)


def main():
    binary, target, out = sys.argv[1:]
    architecture = TARGETS[target].debian
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        needed = depends(binary, target, pathlib.Path(temporary))
        root = pathlib.Path(temporary) / "root"
        docs = root / "usr/share/doc/pdpp"
        for folder in (root / "usr/bin", root / "usr/share/man/man1", docs, root / "DEBIAN"):
            folder.mkdir(parents=True)
        shutil.copy(binary, root / "usr/bin/pdpp")
        for page in sorted((ROOT / "man").iterdir()):
            compressed(root / f"usr/share/man/man1/{page.name}.gz", page.read_bytes())
        for source, place in SHELLS.items():
            (root / place).parent.mkdir(parents=True)
            shutil.copy(ROOT / "completions" / source, root / place)
        compressed(docs / "changelog.gz", (ROOT / "CHANGELOG.md").read_bytes())
        when = email.utils.formatdate(epoch())
        entry = f"pdpp ({REVISION}) stable; urgency=medium\n\n  * Release {VERSION}; see changelog.gz.\n\n -- {MAINTAINER}  {when}\n"
        compressed(docs / "changelog.Debian.gz", entry.encode())
        (docs / "copyright").write_text(
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
            "Upstream-Name: pdpp\n"
            "Comment: The crates that are in the binary are under their own licences: see\n"
            " third-party-notices.gz.\n\n"
            "Files: *\nCopyright: 2026 The authors of pdpp\nLicense: Apache-2.0\n"
            " On Debian systems the full text of the Apache License, version 2.0, is in\n"
            " /usr/share/common-licenses/Apache-2.0.\n"
        )
        notices(target, pathlib.Path(temporary) / "notices")
        compressed(docs / "third-party-notices.gz", (pathlib.Path(temporary) / "notices").read_bytes())
        documents(docs, {"CHANGELOG.md": "changelog.gz", "LICENSE": "copyright"})
        # Where Debian's users look for them.
        (docs / "examples").symlink_to("packaging")
        for path in root.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        size = sum(path.stat().st_size for path in files)
        (root / "DEBIAN/control").write_text(
            f"Package: pdpp\nVersion: {REVISION}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n"
            f"Installed-Size: {-(-size // 1024)}\nDepends: {needed}\nRecommends: ca-certificates\n"
            "Suggests: gnome-keyring\nSection: utils\nPriority: optional\n"
            f"Description: {re.sub('^Let', 'let', DESCRIPTION)}\n"
            " pdpp is a client of the Personal Data Portability Protocol: it gets a scoped\n"
            " token from a provider, and offers what that token allows as read-only tools\n"
            " to programs that speak the Model Context Protocol.\n"
        )
        sums = subprocess.run(
            ["md5sum", *(str(path.relative_to(root)) for path in files)], cwd=root, check=True, stdout=subprocess.PIPE
        )
        (root / "DEBIAN/md5sums").write_bytes(sums.stdout)
        path = out / f"pdpp_{REVISION}_{architecture}.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(path)],
            check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
        )
    print(path)


if __name__ == "__main__":
    main()
