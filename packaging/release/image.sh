#!/usr/bin/env bash
# Makes the container image of a static binary, as an archive for `podman load` and `docker load`: image.sh BINARY TARGET OUT
# OUT/pdpp-VERSION-linux-ARCH.oci.tar contains only the binary, its licences and the certificates of this computer. Needs buildah, but
# neither a daemon nor a machine of the other architecture, because nothing runs in the image.
set -euo pipefail
binary=$1 target=$2 out=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(cd "$here" && python3 -c 'from about import VERSION; print(VERSION)')
epoch=$(cd "$here" && python3 -c 'from about import epoch; print(epoch())')
case $target in
  x86_64-*-linux-musl) architecture=amd64 ;;
  aarch64-*-linux-musl) architecture=arm64 ;;
  *) echo "$target is not a target whose binary is static" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/context"
cp "$binary" "$work/context/pdpp"
cp "$here/../../LICENSE" "$work/context/"
cp /etc/ssl/certs/ca-certificates.crt "$work/context/"
python3 "$here/notices.py" "$target" >"$work/context/THIRD-PARTY-NOTICES.txt"
buildah_() { buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs "$@"; }
image=pdpp:$version
buildah_ build --quiet --isolation chroot --platform "linux/$architecture" --timestamp "$epoch" --format oci --tag "$image" \
  --file "$here/../image/Containerfile" "$work/context" >/dev/null
mkdir -p "$out"
archive=$out/pdpp-$version-linux-$architecture.oci.tar
rm -f "$archive"
buildah_ push --quiet "$image" "oci-archive:$archive:$image" >/dev/null
echo "$archive"
