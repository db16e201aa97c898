"""What every package says of pdpp. The version stands in Cargo.toml and nowhere else."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
METADATA = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
CARGO = json.loads(subprocess.run(METADATA, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"][0]
VERSION = CARGO["version"]
DESCRIPTION = CARGO["description"]
LICENCE = CARGO["license"]

# Rust's target: npm's os and cpu, Debian's architecture.
TARGETS = {
    "x86_64-unknown-linux-gnu": ("linux", "x64", "amd64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64", "arm64"),
    "x86_64-apple-darwin": ("darwin", "x64", None),
    "aarch64-apple-darwin": ("darwin", "arm64", None),
    "x86_64-pc-windows-msvc": ("win32", "x64", None),
}
COMPLETIONS = {"pdpp.bash": "bash", "_pdpp": "zsh", "pdpp.fish": "fish", "pdpp.elv": "elvish", "_pdpp.ps1": "powershell"}


def program(target):
    """The binary's file name."""
    return "pdpp.exe" if "windows" in target else "pdpp"


def epoch():
    """Seconds: when what is packed was committed, so that packing it twice gives the same bytes."""
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return int(shown.stdout)
