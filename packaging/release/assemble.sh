#!/usr/bin/env bash
# Makes everything that is made from the archives of all targets: assemble.sh DIST HOMEPAGE TOOLS
# In DIST: npm packages, bundles, container images of the static binaries, the Homebrew formula, winget's and Scoop's manifests, the MCP
# registry's server.json, a bill of materials per target, and the checksums of everything. TOOLS is where tools.sh put what it needs.
set -euo pipefail
dist=$1 homepage=$2 tools=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(cd "$here" && python3 -c 'from about import VERSION; print(VERSION)')
downloads=$(cd "$here" && python3 -c 'import sys; from about import downloads; print(downloads(sys.argv[1]))' "$homepage")
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT

binaries=()
for archive in "$dist/pdpp-$version"-*.tar.gz "$dist/pdpp-$version"-*.zip; do
  [ -e "$archive" ] || continue
  name=$(basename "$archive") && name=${name%.tar.gz} && name=${name%.zip}
  target=${name#"pdpp-$version-"}
  case $archive in
    *.zip) python3 -m zipfile -e "$archive" "$unpacked" && program=$unpacked/$name/pdpp.exe ;;
    *) tar -xzf "$archive" -C "$unpacked" && program=$unpacked/$name/pdpp ;;
  esac
  binaries+=("$target=$program")
  bash "$here/sbom.sh" "$target" "$dist/$name.cdx.json"
  # Claude Desktop on Linux gets the static binary.
  case $target in *-linux-gnu) ;; *) python3 "$here/mcpb.py" "$program" "$target" "$homepage" "$tools" "$dist" ;; esac
  case $target in *-linux-musl) bash "$here/image.sh" "$program" "$target" "$dist" ;; esac
done
python3 "$here/npm.py" "$dist" "$homepage" "${binaries[@]}"
python3 "$here/homebrew.py" "$dist" "$homepage" "$downloads" >"$dist/pdpp.rb"
python3 "$here/windows.py" "$dist" "$homepage" "$downloads"
python3 "$here/registry.py" "$dist" "$homepage" "$downloads" >"$dist/server.json"
(cd "$dist" && rm -f SHA256SUMS && sha256sum -- * >"$unpacked/sums" && mv "$unpacked/sums" SHA256SUMS)
