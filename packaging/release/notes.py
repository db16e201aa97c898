#!/usr/bin/env python3
"""Prints the text of a release from CHANGELOG.md: notes.py vVERSION

Fails unless the tag is Cargo.toml's version and the changelog has a section with its date.
"""

import re
import sys

from about import ROOT, VERSION


def section(changelog, version):
    """The text below `## [version] - date`, up to the next version."""
    found = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)", changelog, re.M | re.S)
    return found and found[1].strip()


def main():
    tag = sys.argv[1]
    if tag != f"v{VERSION}":
        sys.exit(f"the tag is {tag}, the version in Cargo.toml is {VERSION}")
    notes = section((ROOT / "CHANGELOG.md").read_text(), VERSION)
    if not notes:
        sys.exit(f"CHANGELOG.md has no section `## [{VERSION}] - YYYY-MM-DD`")
    print(notes)


if __name__ == "__main__":
    main()
