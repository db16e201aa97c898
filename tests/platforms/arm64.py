#!/usr/bin/env python3
"""arm64 Linux on an x86-64 one: built with Debian's Rust and cross compiler, run under qemu's user emulation. Needs root."""

import os
import pathlib

import person
import toolchain
from toolchain import ran

TARGET = "aarch64-unknown-linux-gnu"
FOLDER = toolchain.ROOT / "target/arm64"
SYSROOT = pathlib.Path("/usr/aarch64-linux-gnu")
# Where Debian's qemu looks for the libraries of the programs that it runs.
PREFIX = pathlib.Path("/etc/qemu-binfmt/aarch64")
BINFMT = pathlib.Path("/proc/sys/fs/binfmt_misc")

# Tests that do not run, by the beginnings of their names, and why.
UNIT = []
SLOW = "takes an emulated processor too long"
INTEGRATION = [
    ("docs::", "about the clone and its documents, not about the program"),
    ("requirements::", "about the clone and its documents, not about the program"),
    ("own::memory::", "reads the memory of a process, which belongs to qemu here"),
    ("cache::dumps::", "examines what is left of a process, which belongs to qemu here"),
    ("cache::panics::", "examines what is left of a process, which belongs to qemu here"),
    ("bundle::", SLOW),
    ("cache::killed::", SLOW),
    ("connect::demo::", f"{SLOW}; the demo is run once, as a new user"),
    ("hostile_providers::", SLOW),
    ("import::archives::", SLOW),
    ("import::interrupted::", SLOW),
    ("journeys::", SLOW),
    ("life::", SLOW),
    ("own::", SLOW),
    ("replay::", SLOW),
    ("sandbox::isolation::", SLOW),
    ("served_together::", SLOW),
    ("setup::", SLOW),
]
UNPROVEN = [
    "how an arm64 machine orders memory, and what that costs: here qemu translates each instruction for another processor",
    "the keyring: no arm64 desktop session was available; its code is the same as on x86-64",
]


def emulate():
    """Makes the kernel start arm64 programs under qemu, as the package's own registration does on systems with systemd."""
    if not (BINFMT / "register").exists():
        toolchain.told("mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT)
    if not (BINFMT / "qemu-aarch64").exists():
        line = pathlib.Path("/usr/lib/binfmt.d/qemu-aarch64.conf").read_bytes().strip()
        (BINFMT / "register").write_bytes(line)
    if not PREFIX.exists():
        PREFIX.parent.mkdir(exist_ok=True)
        PREFIX.symlink_to(SYSROOT)


def main():
    emulate()
    cargo = toolchain.Cargo(FOLDER, TARGET, linker="aarch64-linux-gnu-gcc", cc="aarch64-linux-gnu-gcc", ar="aarch64-linux-gnu-ar")
    # Emulated tests are slow enough already.
    cargo.environment["CARGO_PROFILE_DEV_OPT_LEVEL"] = "1"
    unit, integration, binary = cargo.tests()
    assert "aarch64" in toolchain.told("file", binary), binary
    environment = os.environ | {"PROPTEST_CASES": "8", "RUST_TEST_THREADS": "4", "INSTA_UPDATE": "no"}
    counted, left_out = {}, []
    for what, program, rows in (("unit tests", unit, UNIT), ("integration tests", integration, INTEGRATION)):
        counted[what], rows = toolchain.run_tests(program, rows, environment)
        left_out += rows
    person.own_network()
    place = person.Place(binary)
    did = [deed(place) for deed in (person.demo, person.sandbox, person.own_data)]
    ran.write("arm64", {
        "platform": "Linux on arm64", "target": [TARGET], "how": "built on Linux on x86-64, run under qemu",
        "toolchain": {"rustc": toolchain.rustc(), "gcc": toolchain.version("aarch64-linux-gnu-gcc", "-dumpfullversion"),
                      "qemu": toolchain.version("qemu-aarch64-static", "--version")},
        "ran": counted, "did": did, "checked": [], "left_out": left_out, "unproven": UNPROVEN,
    })


if __name__ == "__main__":
    main()
