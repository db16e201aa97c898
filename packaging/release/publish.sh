#!/usr/bin/env bash
# Publishes the files in DIST as the release TAG: publish.sh DIST TAG
# First a GitHub release with every file, then the npm packages, the platforms before the package that depends on them. Needs gh and npm
# with the rights to publish; npm gets its own from the workflow that runs this.
set -euo pipefail
dist=$1 tag=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
python3 "$here/notes.py" "$tag" >"$notes"
gh release create "$tag" --verify-tag --notes-file "$notes" "$dist"/*
npm install --global npm@11.19.1
for package in "$dist"/pdpp-[a-z]*.tgz "$dist"/pdpp-[0-9]*.tgz; do
  npm publish --provenance --access public "$package"
done
