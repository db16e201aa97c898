#!/usr/bin/env python3
"""Prints the Homebrew formula of a release: homebrew.py ARCHIVES HOMEPAGE DOWNLOADS > pdpp.rb

ARCHIVES is the folder with the release's archives, DOWNLOADS the address below which people get them.
"""

import hashlib
import pathlib
import sys

from about import DESCRIPTION, LICENCE, TARGETS, VERSION

FORMULA = """\
class Pdpp < Formula
  desc "{description}"
  homepage "{homepage}"
  version "{version}"
  license "{licence}"

{systems}
  def install
    bin.install "pdpp"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/pdpp.bash" => "pdpp"
    zsh_completion.install "completions/_pdpp"
    fish_completion.install "completions/pdpp.fish"
    doc.install "README.md", "CHANGELOG.md", "LICENSE", "THIRD-PARTY-NOTICES.txt", "docs", "packaging"
  end

  test do
    assert_equal "pdpp #{{version}}\\n", shell_output("#{{bin}}/pdpp --version")
    assert_match "query_records", shell_output("#{{bin}}/pdpp mcp inspect --json")
  end
end
"""
SYSTEMS = {"darwin": "macos", "linux": "linux"}
CPUS = {"x64": "intel", "arm64": "arm"}


def main():
    archives, homepage, downloads = sys.argv[1:]
    systems = ""
    for system, word in SYSTEMS.items():
        systems += f"  on_{word} do\n"
        for target, of in TARGETS.items():
            # Homebrew on Linux provides glibc.
            if of.system == system and of.libc != "musl":
                name = f"pdpp-{VERSION}-{target}.tar.gz"
                digest = hashlib.sha256((pathlib.Path(archives) / name).read_bytes()).hexdigest()
                systems += f'    on_{CPUS[of.cpu]} do\n      url "{downloads}/{name}"\n      sha256 "{digest}"\n    end\n'
        systems += "  end\n"
    print(FORMULA.format(description=DESCRIPTION, homepage=homepage, version=VERSION, licence=LICENCE, systems=systems), end="")


if __name__ == "__main__":
    main()
