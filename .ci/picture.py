#!/usr/bin/env python3
"""Draws docs/demo.svg from what `pdpp demo` writes to a terminal, or checks that the picture still matches.

    python3 .ci/picture.py target/release/pdpp            compares
    python3 .ci/picture.py target/release/pdpp --write    draws

The comparison ignores what differs from run to run: times, dates, ids, estimated tokens.
"""

import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

PICTURE = pathlib.Path(__file__).parent.parent / "docs" / "demo.svg"
COLUMNS = 80
CHARACTER, LINE, MARGIN, TITLE = 7.8, 18, 16, 34
# Questions that the picture leaves out, to stay small.
LEFT_OUT = ("What may I read?", "Which emails are the newest?", "Who wrote most often?")
# The picture's name for each colour of the terminal.
KINDS = {"1": "step", "33": "question", "36": "call", "31": "refusal", "2": "dim"}

VARYING = [
    (r"\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?", "DATE"),
    (r"pdpp-demo-\w+", "pdpp-demo-ID"),
    (r"grt_[0-9a-f]+", "grt_ID"),
    (r"\d+\.\d+ kB", "SIZE"),
    (r"about \d+ tokens", "about N tokens"),
    (r"costs about \d+ once", "costs about N once"),
    (r"\d+\.\d m?s\b", "TIME"),
]


def run(binary):
    """The lines of the output, each with the kind that its colour stands for."""
    command = [str(pathlib.Path(binary).resolve()), "demo"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=theirs)
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 65536):
                said += chunk
        except OSError:
            pass  # The last program at the terminal has ended.
        os.close(ours)
        if child.wait() != 0:
            sys.exit("pdpp demo failed")
    lines = []
    for line in said.decode().replace("\r\n", "\n").rstrip("\n").split("\n"):
        coloured = re.fullmatch(r"\x1b\[(\d+)m(.*)\x1b\[0m", line)
        lines.append((KINDS[coloured[1]], coloured[2]) if coloured else ("", line))
    return lines


def chosen(said):
    """The lines to draw: all except the questions in LEFT_OUT, each of which ends at its blank line."""
    lines, skipping = [], False
    for kind, line in said:
        if kind == "question":
            skipping = any(part in line for part in LEFT_OUT)
            if skipping and lines[-2:] != [("dim", "   …"), ("", "")]:
                lines += [("dim", "   …"), ("", "")]
        elif not line.startswith("   ") and line:
            skipping = False
        if not skipping:
            lines.append((kind, line))
    return lines


def draw(lines):
    lines = [("step", "$ pdpp demo"), ("", ""), *lines]
    width = round(2 * MARGIN + COLUMNS * CHARACTER)
    height = TITLE + len(lines) * LINE + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="A run of pdpp demo">',
        "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d4d9e0;"
        "white-space:pre}.step{fill:#fff;font-weight:bold}.question{fill:#e6c384}.call{fill:#7fb4ca}.refusal{fill:#f0908c}.dim{fill:#8a919c}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#16181d"/>',
        *(f'<circle cx="{18 + 18 * at}" cy="17" r="5" fill="#3a3f4a"/>' for at in range(3)),
    ]
    for at, (kind, line) in enumerate(lines):
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        text = line.strip()
        attribute = f' class="{kind}"' if kind else ""
        # A fixed length aligns columns in any font.
        out.append(
            f'<text x="{MARGIN + indent * CHARACTER:.1f}" y="{TITLE + at * LINE + 13}" textLength="{len(text) * CHARACTER:.1f}"'
            f' lengthAdjust="spacingAndGlyphs"{attribute}>{html.escape(text, quote=False)}</text>'
        )
    return "\n".join([*out, "</svg>", ""])


def steady(picture):
    """What must be the same in every run: the texts, without what varies. The lengths depend on that."""
    texts = [html.unescape(text) for text in re.findall(r">([^<]*)</text>", picture)]
    for pattern, word in VARYING:
        texts = [re.sub(pattern, word, text) for text in texts]
    return texts


def main():
    binary, write = sys.argv[1], sys.argv[2:] == ["--write"]
    picture = draw(chosen(run(binary)))
    if write:
        PICTURE.write_text(picture)
        print(f"drew {PICTURE.name}, {len(picture)} bytes")
        return 0
    was, now = steady(PICTURE.read_text()), steady(picture)
    if was != now:
        print("docs/demo.svg does not match what `pdpp demo` prints: python3 .ci/picture.py target/release/pdpp --write")
        for old, new in zip(was, now):
            if old != new:
                print(f"  drawn:   {old}\n  printed: {new}")
                break
        return 1
    print(f"docs/demo.svg matches what the binary prints ({len(now)} lines)")
    return 0


sys.exit(main())
