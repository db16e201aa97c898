"""The documents of a package: README, changelog, docs/ and the examples for operators, copied from the source."""

import posixpath
import re
import shutil

from about import ROOT

EXAMPLES = ("container", "docker", "image", "kubernetes", "launchd", "nginx", "systemd", "windows")
# Code comes first: nothing in it is a link, although the words of a link may contain code.
CODE_OR_LINK = re.compile(
    r"(?P<code>^```.*?^```|(?P<tick>`+)(?:(?!\n\n).)+?(?<!`)(?P=tick)(?!`))"
    r"|!?\[(?P<words>(?:[^\[\]]|\[[^\]]*\])+)\]\((?P<target>[^)\s]+)\)",
    re.M | re.S,
)
# Follows README's title.
ELSEWHERE = "\nFiles that are named here and are not in this package are in the source.\n"


def linked(text, place, is_there, moved=()):
    """`text` of the document at `place`, with each link to a missing file turned into plain text.

    `moved` maps names in the source to names in the package; links to such files follow the new name.
    """

    def changed(match):
        words, target = match["words"], match["target"]
        if match["code"]:
            return match[0]
        file, _, anchor = target.partition("#")
        if "://" in target or not file:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), file))
        if path in moved:
            return f"[{words}]({posixpath.relpath(moved[path], posixpath.dirname(place) or '.')})"
        if is_there(path):
            return match[0]
        return words if path in words else f"{words} (`{path}`)"

    return CODE_OR_LINK.sub(changed, text)


def targets(text):
    """Where the links of `text` lead."""
    return [match["target"] for match in CODE_OR_LINK.finditer(text) if not match["code"]]


def documents(folder, moved=()):
    """Copies them into `folder`, where the licence, under its own name or that of `moved`, is or will be."""
    # The table of contents is for the book only.
    shown = (path for kind in ("md", "svg", "png") for path in (ROOT / "docs").glob(f"*.{kind}") if path.name != "SUMMARY.md")
    names = ["README.md", "CHANGELOG.md", *(f"docs/{path.name}" for path in shown)]
    for name in names:
        if name not in moved:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name in EXAMPLES:
        shutil.copytree(ROOT / "packaging" / name, folder / "packaging" / name)
    for path in [*folder.glob("*.md"), *folder.glob("docs/*.md")]:
        place = str(path.relative_to(folder))
        text = linked(path.read_text(), place, lambda name: (folder / name).exists(), moved)
        if place == "README.md":
            text = text.replace("\n", "\n" + ELSEWHERE, 1)
        path.write_text(text)
