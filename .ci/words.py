#!/usr/bin/env python3
"""Checks prose for the phrases of .ci/words.tsv: those that came back although plain English says them otherwise.

    words.py         checks README, docs/, the comments and messages of src/, and the comments of everything else
    words.py test    tests this script

What is code is not prose: fenced blocks and `spans` of a document, names, and string literals of tests. A phrase that has to stay is
in .ci/words_allowed.tsv: its file, its words (`*` for all of the file), and the reason. An entry that matches nothing any more is a fault, too.
"""

import bisect
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / ".ci/words.tsv"
ALLOWED = ROOT / ".ci/words_allowed.tsv"
# Stands for what is not prose: no phrase of the list matches across it.
CODE = "\0"
RUST = re.compile(
    r"""(?P<comment>//(?:/|!)?[^\n]*(?:\n[ \t]*//(?:/|!)?[^\n]*)*)"""
    r"""|b?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)"""
    r"""|[bc]?"(?P<string>(?:\\.|[^"\\])*)\""""
    r"""|b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^\\'])'|\w+""",
    re.S,
)
HASH = re.compile(r"""(?P<comment>(?:^|(?<=\s))\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)|(?P<quotes>\"{3})(?P<doc>.*?)(?P=quotes)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S | re.M)
MARKER = re.compile(r"(?:^|\n)[ \t]*(?://[/!]?|#)")
SPAN = re.compile(r"(?P<ticks>`+)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`)", re.S)
FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```|^    [^\n]*", re.S | re.M)
LINK = re.compile(r"(?<=\])\([^)\s]+\)")
# `{name}` and `{name:?}` in a format string.
PLACEHOLDER = re.compile(r"\{\w+(?::[^{}]*)?\}")


def blank(text, pattern, filling):
    """`text` of the same length, with `filling` for each character of what `pattern` finds; line breaks stay."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", filling, match[0]), text)


def spans_blanked(text):
    return blank(text, SPAN, CODE)


def markdown(text):
    text = blank(blank(spans_blanked(blank(text, FENCE, CODE)), LINK, CODE), re.compile(r"^#+ .*$", re.M), CODE)
    # A paragraph, a row and an item of a list are each apart from the next.
    return [(0, re.sub(r"\n(?=\n|[ \t]*(?:[-*|#]|\d+\.) )|\|", CODE, text))]


def rust(text, with_strings):
    parts = []
    # The strings of a test often imitate other people's text.
    tests = text.find("#[cfg(test)]") if with_strings else 0
    for match in RUST.finditer(text):
        if match["comment"] is not None:
            parts.append((match.start(), spans_blanked(blank(match[0], MARKER, " "))))
        elif match["string"] is not None or match["raw"] is not None:
            if not 0 <= tests <= match.start():
                name = "string" if match["string"] is not None else "raw"
                part = re.sub(r"\\\n[ \t]*|\\.", lambda escape: " " * len(escape[0]), match[name], flags=re.S)
                part = blank(part, PLACEHOLDER, CODE)
                parts.append((match.start(name), spans_blanked(part)))
    return parts


def hashed(text):
    """Python, shell, TOML and the like: comments, and the docstrings of Python."""
    parts = []
    for match in HASH.finditer(text):
        if match["comment"] is not None:
            parts.append((match.start(), spans_blanked(blank(match[0], MARKER, " "))))
        elif match["doc"] is not None:
            parts.append((match.start("doc"), spans_blanked(match["doc"])))
    return parts


def prose(path, text):
    """The prose of a file, as pairs of where a part of it begins and its text, or None for a file that has none to check."""
    name = pathlib.PurePosixPath(path)
    if path.startswith(("tests/fixtures/", "docs/platforms/", "fuzz/corpus/")):
        return None
    if name.suffix == ".md":
        return markdown(text)
    if name.suffix == ".rs":
        return rust(text, path.startswith("src/"))
    if path == "src/mcp/tools/tools.json" or path == "docs/requirements.tsv":
        return [(0, spans_blanked(text))]
    if name.suffix in (".py", ".sh", ".toml", ".service") or path == ".ci/run":
        return hashed(text)
    return None


def rules(text):
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            pattern, instead = line.split("\t")
            found.append((re.compile(pattern.replace(" ", r"\s+"), re.I | re.M), instead))
    return found


def faults(path, text, known):
    """What the rules find: pairs of a line's number and a phrase, with what to write instead."""
    parts = prose(path, text) or []
    # All parts as one text, for which the rules are tried once. No phrase goes from one part to the next.
    checked, starts = CODE.join(part for _, part in parts), [0]
    for _, part in parts:
        starts.append(starts[-1] + len(part) + 1)
    for pattern, instead in known:
        for match in pattern.finditer(checked):
            at = bisect.bisect_right(starts, match.start()) - 1
            offset = parts[at][0] + match.start() - starts[at]
            yield text.count("\n", 0, offset) + 1, " ".join(match[0].split()), instead


def check():
    known = rules(LIST.read_text())
    allowed = [line.split("\t") for line in ALLOWED.read_text().splitlines() if line and not line.startswith("#")]
    used, found, files = set(), [], 0
    for path in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
        file = ROOT / path
        if not path or not file.is_file() or file.suffix in (".png", ".icns", ".ico"):
            continue
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        files += prose(path, text) is not None
        for line, phrase, instead in faults(path, text, known):
            reasons = [number for number, (where, words, _) in enumerate(allowed) if path == where and words.lower() in ("*", phrase.lower())]
            used.update(reasons)
            if not reasons:
                found.append(f"{path}:{line}: {phrase!r}: write {instead}")
    found += [f".ci/words_allowed.tsv: {allowed[at][0]} does not have {allowed[at][1]!r}" for at in range(len(allowed)) if at not in used]
    return found, f"{files} files, {len(known)} phrases, {len(allowed)} exceptions"


def test():
    known = rules("\\banew\\b\tagain\nin its stead\tinstead\n(?<!here)(?<!\\s)\\s+is no (?!longer)\tis not a\n")
    cases = [
        ("README.md", "Begin anew.\n`anew`\n```sh\nanew\n```\n", [1]),
        ("README.md", "Put it in its\nstead.\n\n- in its\n\nstead\n", [1]),
        ("README.md", "It is no file. There is no file. It is no longer one.\n", [1]),
        ("src/a.rs", "// In its\n// stead.\nlet anew = 'a'; // anew\n", [1, 3]),
        ("src/a.rs", 'let x: &\'a str = "begin \\\n    anew"; let y = r#"a "anew" b"#;', [2, 2]),
        ("src/a.rs", 'fn a() {}\n#[cfg(test)]\nmod tests { const A: &str = "anew"; // anew\n}', [3]),
        ("src/a.rs", 'let x = "in its"; let y = "stead";\n', []),
        ("src/a.rs", 'let x = format!("{anew}{anew:?} {{anew}}");\n', []),
        ("tests/a.rs", 'let x = "anew";\n/// Anew.\n', [2]),
        ("a.py", '"""Begin\nanew."""\nx = "anew"  # anew\n', [2, 3]),
        ("a.bin", "anew", []),
    ]
    found = []
    for path, text, lines in cases:
        seen = sorted(line for line, _, _ in faults(path, text, known))
        if seen != lines:
            found.append(f"{path}: {text!r}: found in lines {seen}, not {lines}")
    return found, "the script finds what it should"


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            problems, summary = check()
        case ["test"]:
            problems, summary = test()
        case _:
            problems, summary = [__doc__], ""
    print("\n".join(problems) or summary)
    sys.exit(1 if problems else 0)
