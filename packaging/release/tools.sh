#!/usr/bin/env bash
# Installs the tools that the scripts of a release need, pinned, into DIR: tools.sh DIR
# These are the npm packages of tests/release_packages. The scripts also need buildah from Debian or Ubuntu, for the images, and Rust in the
# version RUST, if that is set.
set -euo pipefail
dir=$1
[ -z "${RUST:-}" ] || { rustup toolchain install "$RUST" --profile minimal && rustup default "$RUST"; }
pins=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tests/release_packages" && pwd)
if ! cmp -s "$pins/package-lock.json" "$dir/installed-lock.json"; then
  rm -rf "$dir" && mkdir -p "$dir"
  cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$dir/"
  (cd "$dir" && npm ci --ignore-scripts --loglevel=error)
  cp "$pins/package-lock.json" "$dir/installed-lock.json"
fi
command -v buildah >/dev/null || {
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends buildah ca-certificates >/dev/null
}
