#!/usr/bin/env bash
# Makes one target's archive, and its .deb if Debian has a name for the target: build.sh TARGET OUT
# Builds the optimised binary with the toolchain of RUST (such as 1.95.0), and starts it. So it must run on the target's own system; on
# Linux, a static binary runs everywhere.
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
