"""What every package states about pdpp. Only Cargo.toml has the version."""

import json
import pathlib
import subprocess
import typing
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
METADATA = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
CARGO = json.loads(subprocess.run(METADATA, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"][0]
VERSION = CARGO["version"]
DESCRIPTION = CARGO["description"]
LICENCE = CARGO["license"]



class Target(typing.NamedTuple):
    """What other systems call a Rust target."""

    # npm's os, cpu and libc.
    system: str
    cpu: str
    libc: str | None = None
    # Debian's architecture.
    debian: str | None = None

    @property
    def npm(self):
        """The name of its package on npm."""
        return f"pdpp-{self.system}-{self.cpu}" + ("-musl" if self.libc == "musl" else "")


TARGETS = {
    "x86_64-unknown-linux-gnu": Target("linux", "x64", "glibc", "amd64"),
    "aarch64-unknown-linux-gnu": Target("linux", "arm64", "glibc", "arm64"),
    # Static: for Alpine, for an empty container, for the bundle on Linux.
    "x86_64-unknown-linux-musl": Target("linux", "x64", "musl"),
    "aarch64-unknown-linux-musl": Target("linux", "arm64", "musl"),
    "x86_64-apple-darwin": Target("darwin", "x64"),
    "aarch64-apple-darwin": Target("darwin", "arm64"),
    "x86_64-pc-windows-msvc": Target("win32", "x64"),
}
COMPLETIONS = {"pdpp.bash": "bash", "_pdpp": "zsh", "pdpp.fish": "fish", "pdpp.elv": "elvish", "_pdpp.ps1": "powershell"}


def program(target):
    """The binary's file name."""
    return "pdpp.exe" if "windows" in target else "pdpp"


def downloads(homepage):
    """The address below which people get the files of this release."""
    return f"{homepage}/releases/download/v{VERSION}"


def mcp_name(homepage):
    """The server's name in the MCP registry, which checks that the publisher owns the first part."""
    parsed = urllib.parse.urlsplit(homepage)
    if parsed.hostname == "github.com":
        return f"io.github.{parsed.path.split('/')[1]}/pdpp"
    return ".".join(reversed(parsed.hostname.split("."))) + "/pdpp"


def epoch():
    """The time of the commit in seconds, so that packing twice gives the same bytes."""
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return int(shown.stdout)
