#!/usr/bin/env python3
"""The documents as a book: what mdBook needs besides docs/, and the check of what it builds.

    book.py pages           every page of docs/ is in docs/SUMMARY.md, once
    book.py check FOLDER    every link inside the built book leads to a file and an anchor that exist
    book.py test            tests this script
    book.py supports html   and without arguments: the preprocessor that book.toml names

The pages stay in docs/, and README, CONTRIBUTING and CHANGELOG in the root, where a repository's page shows them with working
links. The book has no folders, so the preprocessor gives each page its own name there and rewrites the links between them. A link to
a file that is not in the book, such as a source file, becomes plain text that names the file.
"""

import html.parser
import json
import pathlib
import posixpath
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUMMARY = "docs/SUMMARY.md"
START = "README.md"
# Code comes first: nothing in it is a link, although the words of a link may contain code.
CODE_OR_LINK = re.compile(
    r"(?P<code>^```.*?^```|(?P<tick>`+)(?:(?!\n\n).)+?(?<!`)(?P=tick)(?!`))"
    r"|(?P<picture>!?)\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)",
    re.M | re.S,
)


def listed(summary):
    """The pages that a summary lists, as paths from the root."""
    found = (match["target"] for match in CODE_OR_LINK.finditer(summary) if not match["code"])
    return [posixpath.normpath(posixpath.join("docs", target)) for target in found]


def names(pages):
    """The name of each page in the book: the first one is the start, and every folder goes."""
    return {page: "index.md" if page == START else posixpath.basename(page) for page in pages}


def placed(text, page, in_book, is_file):
    """The text of `page`, with the links that its place in the book needs."""

    def changed(match):
        words, target, picture = match["words"], match["target"], match["picture"]
        if match["code"] or "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        file, mark, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), file))
        if path in in_book:
            return f"{picture}[{words}]({in_book[path]}{mark}{anchor})"
        # mdBook copies every other file of docs/.
        if path.startswith("docs/") and is_file(path):
            return f"{picture}[{words}]({path.removeprefix('docs/')}{mark}{anchor})"
        return words if path in words else f"{words} (`{path}`)"

    return CODE_OR_LINK.sub(changed, text)


def chapters(value):
    """Every chapter of a book, as mdBook hands it over."""
    if isinstance(value, dict):
        if isinstance(value.get("Chapter"), dict):
            yield value["Chapter"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from chapters(part)


def preprocess():
    _, book = json.load(sys.stdin)
    in_book = names(listed((ROOT / SUMMARY).read_text()))
    for chapter in chapters(book):
        if chapter.get("source_path"):
            page = posixpath.normpath(posixpath.join("docs", chapter["source_path"]))
            chapter["path"] = in_book[page]
            chapter["content"] = placed(chapter["content"], page, in_book, lambda path: (ROOT / path).is_file())
    json.dump(book, sys.stdout)


def pages():
    found = listed((ROOT / SUMMARY).read_text())
    present = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - {SUMMARY}
    faults = [f"{SUMMARY} does not list {page}" for page in sorted(present - {*found})]
    faults += [f"{SUMMARY} lists {page}, which does not exist" for page in found if not (ROOT / page).is_file()]
    faults += [f"{SUMMARY} lists {page} twice" for page in sorted({page for page in found if found.count(page) > 1})]
    if len({*names(found).values()}) != len({*found}):
        faults.append("two pages would have the same name in the book")
    return faults, f"{len(found)} pages"


class Page(html.parser.HTMLParser):
    """The anchors of a page, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or name == "name" and tag == "a":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead(built):
    """The links of the pages in `built`, by file, that lead nowhere, and how many links there are."""
    found = {name: Page(text) for name, text in built["pages"].items()}
    faults, count = [], 0
    for name, page in found.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            path = urllib.parse.unquote(parts.path)
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            anchor = urllib.parse.unquote(parts.fragment)
            if file not in built["files"]:
                faults.append(f"{name} links to {link}: no such file")
            elif anchor and file in found and anchor not in found[file].anchors:
                faults.append(f"{name} links to {link}: no such anchor")
    return faults, count


def check(folder):
    folder = pathlib.Path(folder)
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    built = {"files": {*files, "."}, "pages": {name: path.read_text() for name, path in files.items() if name.endswith(".html")}}
    faults, count = dead(built)
    wanted = {name.removesuffix(".md") + ".html" for name in names(listed((ROOT / SUMMARY).read_text())).values()}
    faults += [f"{name} was not built" for name in sorted(wanted - {*files})]
    if not any(re.match(r"searchindex\b.*\.js", name) for name in files):
        faults.append("the book has no index for its search")
    return faults, f"{len(built['pages'])} pages, {count} links between them"


def test():
    in_book = names(["README.md", "docs/usage.md", "docs/hosts.md", "CONTRIBUTING.md"])
    cases = [
        ("README.md", "[a](docs/usage.md#x)", "[a](usage.md#x)"),
        ("README.md", "![p](docs/p.svg) [l](LICENSE)", "![p](p.svg) l (`LICENSE`)"),
        ("docs/usage.md", "[r](../README.md#y) [h](hosts.md) [s](#z)", "[r](index.md#y) [h](hosts.md) [s](#z)"),
        ("docs/usage.md", "[`src/lib.rs`](../src/lib.rs) `[c](../d.md)`", "`src/lib.rs` `[c](../d.md)`"),
        ("docs/usage.md", "```sh\n[c](../d.md)\n```\n[w](https://w.example/a.md)", "```sh\n[c](../d.md)\n```\n[w](https://w.example/a.md)"),
        ("CONTRIBUTING.md", "[two\nlines](docs/hosts.md)", "[two\nlines](hosts.md)"),
    ]
    faults = [f"{page}: {text!r} became {made!r}" for page, text, wanted in cases
              if (made := placed(text, page, in_book, lambda path: path == "docs/p.svg")) != wanted]
    built = {
        "files": {"a.html", "b.html", "p.png", "."},
        "pages": {
            "a.html": '<h1 id="t">T</h1><a href="b.html#u">b</a><a href="#t">t</a><img src="p.png"><a href="https://x.example/">x</a>',
            "b.html": '<a href="a.html#v">dead</a><a href="c.html">dead</a>',
        },
    }
    wanted = [
        "a.html links to b.html#u: no such anchor", "b.html links to a.html#v: no such anchor", "b.html links to c.html: no such file",
    ]
    found, count = dead(built)
    if found != wanted or count != 5:
        faults.append(f"the check of links found {found} among {count}")
    return faults, "the script finds what it should"


def main(arguments):
    match arguments:
        case []:
            preprocess()
            return 0
        case ["supports", renderer]:
            return 0 if renderer == "html" else 1
        case ["pages"]:
            faults, what = pages()
        case ["check", folder]:
            faults, what = check(folder)
        case ["test"]:
            faults, what = test()
        case _:
            print(__doc__)
            return 2
    print("\n".join(faults) or what)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
