#!/usr/bin/env python3
"""Writes link/start.ld anew: the functions that a start of `pdpp mcp serve` runs, for the linker to put together.

    python3 benches/order.py --forget      # an empty list: valgrind knows no function outside `.text`
    cargo rustc --locked --release --bin pdpp -- -C strip=none
    python3 benches/order.py

Worth it when `compare.py` finds the peak memory grown. A name that no longer exists is passed over by the linker,
a new one stands elsewhere: either way the program is the same. Needs valgrind and llvm-nm or nm.
"""

import bisect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from compare import Process, Sandbox

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "link/start.ld"
HEAD = """/* The functions that a start of `pdpp mcp serve` runs, written by benches/order.py; see docs/performance.md. */
SECTIONS {
  .text.start : {
"""
TAIL = """  }
}
INSERT BEFORE .text;
"""


def addresses(profile, program):
    """Every address in `program` that was run, by callgrind's `profile`."""
    names, here, at, found = {}, None, 0, set()
    for line in profile.read_text().splitlines():
        if named := re.match(r"(c?)ob=\((\d+)\)(?: (.*))?", line):
            called, number, name = named.groups()
            if name:
                names[number] = name
            if not called:
                here = names[number]
        elif cost := re.match(r"(0x[0-9a-f]+|\+\d+|-\d+|\*) ", line):
            word = cost[1]
            at = at if word == "*" else int(word, 16) if word.startswith("0x") else at + int(word)
            if here == program:
                found.add(at)
    return sorted(found)


def functions(program):
    """Start, end and name of each function, in order."""
    tool = shutil.which("llvm-nm") or "nm"
    said = subprocess.run([tool, "--defined-only", "-S", "-n", program], check=True, capture_output=True, text=True)
    listed = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)$", said.stdout, re.MULTILINE)
    return [(int(start, 16), int(start, 16) + int(size, 16), name) for start, size, name in listed if int(size, 16)]


def pattern(name):
    """`name` without what another build changes: hashes, and the numbers of copies."""
    name = re.sub(r"\.llvm\.\d+$|\.\d+$", "", name)
    name = re.sub(r"17h[0-9a-f]{16}E", "17h*E", name)
    return re.sub(r"Cs[0-9A-Za-z]{6,}_", "Cs*_", name)


def write(patterns):
    SCRIPT.write_text(HEAD + "".join(f"    *(.text.{name})\n" for name in patterns) + TAIL)
    print(f"{len(patterns)} functions in {SCRIPT.name}")


def main():
    if "--forget" in sys.argv:
        return write([])
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/pdpp").resolve())
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        with Sandbox(program, directory) as sandbox:
            sandbox.connect("A grant")
            serve = sandbox.serve()
        profile = directory / "profile"
        command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={profile}", *serve]
        process = Process(command, {"HOME": str(directory), "PATH": os.environ["PATH"]})
        process.initialize()
        process.tools()
        process.end()
        ran = addresses(profile, program)
    known = functions(program)
    starts = [start for start, _, _ in known]
    patterns = {}
    for address in ran:
        start, end, name = known[bisect.bisect(starts, address) - 1]
        if start <= address < end:
            patterns[pattern(name)] = None
    if len(patterns) < 1_000:
        sys.exit(f"order: only {len(patterns)} functions were found; is the binary stripped, or was it built with a list?")
    write(patterns)


main()
