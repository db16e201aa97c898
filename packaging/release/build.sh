#!/usr/bin/env bash
# One target's archive, and its .deb where Debian has a name for it: build.sh TARGET OUT
# Builds the optimised binary with the toolchain of RUST (1.95.0, say), and starts it: so on the target's own machine, or on Linux one
# that runs what is static.
set -euo pipefail
target=$1 out=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rustup toolchain install "$RUST" --profile minimal --target "$target"
rustup default "$RUST"
case $target in
  *-musl) command -v musl-gcc >/dev/null || sudo apt-get install -y -qq musl-tools >/dev/null; export "CC_${target//-/_}=musl-gcc" ;;
esac
cargo build --locked --release --target "$target"
program=target/$target/release/pdpp
[ -e "$program" ] || program=$program.exe
"$program" --version
"$program" demo
python3 packaging/release/archive.py "$program" "$target" "$out"
case $target in
  *-linux-gnu) python3 packaging/release/deb.py "$program" "$target" "$out" ;;
esac
