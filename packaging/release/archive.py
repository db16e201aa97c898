#!/usr/bin/env python3
"""The archive of a release for one target: archive.py BINARY TARGET OUT

OUT/pdpp-VERSION-TARGET.tar.gz (.zip for Windows) holds the binary, the licences, the documents, the manual pages and the
completions.
"""

import gzip
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from about import COMPLETIONS, ROOT, VERSION, epoch, program
from documents import documents

HERE = pathlib.Path(__file__).parent


def notices(target, path):
    with open(path, "wb") as file:
        subprocess.run([sys.executable, HERE / "notices.py", target], check=True, stdout=file)


def main():
    binary, target, out = sys.argv[1:]
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        name = f"pdpp-{VERSION}-{target}"
        folder = pathlib.Path(temporary) / name
        folder.mkdir()
        shutil.copy(binary, folder / program(target))
        (folder / program(target)).chmod(0o755)
        shutil.copy(ROOT / "LICENSE", folder)
        documents(folder)
        (folder / "completions").mkdir()
        for file in COMPLETIONS:
            shutil.copy(ROOT / "completions" / file, folder / "completions")
        shutil.copytree(ROOT / "man", folder / "man")
        notices(target, folder / "THIRD-PARTY-NOTICES.txt")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if "windows" in target:
            path = out / f"{name}.zip"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in files:
                    archive.write(file, file.relative_to(folder.parent))
        else:
            path = out / f"{name}.tar.gz"
            when = epoch()

            def owned_by_nobody(entry):
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                entry.mtime = when
                entry.mode = 0o755 if entry.name.endswith("/pdpp") else 0o644
                return entry

            with (
                gzip.GzipFile(path, "wb", mtime=when) as compressed,
                tarfile.open(fileobj=compressed, mode="w") as archive,
            ):
                for file in files:
                    archive.add(file, file.relative_to(folder.parent), filter=owned_by_nobody)
    print(path)


if __name__ == "__main__":
    main()
