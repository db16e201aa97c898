#!/usr/bin/env python3
"""Draws docs/demo.svg from what `pdpp demo` prints, or checks that it is still what it prints.

    python3 .ci/picture.py target/release/pdpp            compares
    python3 .ci/picture.py target/release/pdpp --write    draws

A comparison passes over what differs from run to run: ports, times, dates, ids, estimated tokens.
"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile

PICTURE = pathlib.Path(__file__).parent.parent / "docs" / "demo.svg"
COLUMNS = 100
CHARACTER, LINE, MARGIN, TITLE = 7.8, 18, 16, 34
# Questions that are left out, so that the picture stays on one screen.
LEFT_OUT = ("latest entries of the calendar", "A build log of 200 KB")

VARYING = [
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "DATE"),
    (r"pdpp-demo-\w+", "pdpp-demo-ID"),
    (r"req_[0-9a-f]+", "req_ID"),
    (r"about \d+ tokens", "about N tokens"),
    (r"costs about \d+ once", "costs about N once"),
    (r"\d+\.\d m?s\b", "TIME"),
]


def run(binary):
    with tempfile.TemporaryDirectory() as home:
        # No bus, so that the grant goes into a file wherever this runs.
        environment = {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": str(COLUMNS),
                       "DBUS_SESSION_BUS_ADDRESS": f"unix:path={home}/no-bus"}
        command = [str(pathlib.Path(binary).resolve()), "demo"]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def chosen(said):
    """The lines to draw: all but the questions in LEFT_OUT, each of which goes until its blank line."""
    lines, skipping = [], False
    for line in said.rstrip("\n").split("\n"):
        if line.lstrip().startswith("“"):
            skipping = any(part in line for part in LEFT_OUT)
            if skipping and lines[-2:] != ["   …", ""]:
                lines += ["   …", ""]
        elif not line.startswith("   ") and line:
            skipping = False
        if not skipping:
            lines.append(line)
    return lines


def style(line):
    text = line.strip()
    if text.startswith("“"):
        return "question"
    if text.startswith("→"):
        return "call"
    if text.startswith(("──", "…", "id=", "read one:", "count:", "recall:")):
        return "dim"
    if re.match(r"\d\. ", text) or text.startswith("$ "):
        return "step"
    return ""


def draw(lines):
    lines = ["$ pdpp demo", "", *lines]
    width = round(2 * MARGIN + max(len(line) for line in lines) * CHARACTER)
    height = TITLE + len(lines) * LINE + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="A run of pdpp demo">',
        "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d4d9e0;"
        "white-space:pre}.step{fill:#fff;font-weight:bold}.question{fill:#e6c384}.call{fill:#7fb4ca}.dim{fill:#8a919c}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#16181d"/>',
        *(f'<circle cx="{18 + 18 * at}" cy="17" r="5" fill="#3a3f4a"/>' for at in range(3)),
    ]
    for at, line in enumerate(lines):
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        text, kind = line.strip(), style(line)
        attribute = f' class="{kind}"' if kind else ""
        # A length, so that columns stand below each other in any font.
        out.append(
            f'<text x="{MARGIN + indent * CHARACTER:.1f}" y="{TITLE + at * LINE + 13}" textLength="{len(text) * CHARACTER:.1f}"'
            f' lengthAdjust="spacingAndGlyphs"{attribute}>{html.escape(text, quote=False)}</text>'
        )
    return "\n".join([*out, "</svg>", ""])


def steady(picture):
    """What has to be the same in every run: the texts, without what varies; lengths depend on that."""
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
        print("docs/demo.svg is not what `pdpp demo` prints: python3 .ci/picture.py target/release/pdpp --write")
        for old, new in zip(was, now):
            if old != new:
                print(f"  drawn:   {old}\n  printed: {new}")
                break
        return 1
    print(f"docs/demo.svg shows what the binary prints ({len(now)} lines)")
    return 0


sys.exit(main())
