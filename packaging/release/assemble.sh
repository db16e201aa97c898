#!/usr/bin/env bash
# What is made of the archives of all targets: assemble.sh DIST HOMEPAGE
# npm packages, the Homebrew formula, a bill of materials a target, and the checksums of all of it, in DIST.
set -euo pipefail
dist=$1 homepage=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(cd "$here" && python3 -c 'from about import VERSION; print(VERSION)')
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT

binaries=()
for archive in "$dist/pdpp-$version"-*.tar.gz "$dist/pdpp-$version"-*.zip; do
  [ -e "$archive" ] || continue
  name=$(basename "$archive") && name=${name%.tar.gz} && name=${name%.zip}
  target=${name#"pdpp-$version-"}
  case $archive in
    *.zip) python3 -m zipfile -e "$archive" "$unpacked" && binaries+=("$target=$unpacked/$name/pdpp.exe") ;;
    *) tar -xzf "$archive" -C "$unpacked" && binaries+=("$target=$unpacked/$name/pdpp") ;;
  esac
  bash "$here/sbom.sh" "$target" "$dist/$name.cdx.json"
done
python3 "$here/npm.py" "$dist" "$homepage" "${binaries[@]}"
python3 "$here/homebrew.py" "$dist" "$homepage" "$homepage/releases/download/v$version" >"$dist/pdpp.rb"
(cd "$dist" && rm -f SHA256SUMS && sha256sum -- * >"$unpacked/sums" && mv "$unpacked/sums" SHA256SUMS)
