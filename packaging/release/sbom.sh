#!/usr/bin/env bash
# Writes the bill of materials (CycloneDX 1.5, JSON) of the binary for a target: sbom.sh TARGET FILE
# Crates that only build or test are not in it. Installs cargo-cyclonedx, pinned, below target/.
set -euo pipefail
target=$1 file=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=$PWD/target/tools
version=0.5.9
[ "$("$tools/bin/cargo-cyclonedx" cyclonedx --version 2>/dev/null)" = "cargo-cyclonedx-cyclonedx $version" ] ||
  cargo install --quiet --debug --locked --root "$tools" "cargo-cyclonedx@$version"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
trap 'rm -f pdpp.cdx.json' EXIT
"$tools/bin/cargo-cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --target "$target" --no-build-deps \
  --override-filename pdpp.cdx
# The folder where it was built does not belong in it.
sed "s#file://$PWD#file://.#g" pdpp.cdx.json >"$file"
