"""The documents of a package: README, changelog, docs/ and the examples for operators, as they stand in the source."""

import posixpath
import re
import shutil

from about import ROOT

EXAMPLES = ("container", "docker", "kubernetes", "launchd", "nginx", "systemd", "windows")
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
# Behind README's title.
ELSEWHERE = "\nFiles that are named here and are not in this package are in the source.\n"


def linked(text, place, is_there, moved=()):
    """`text` of the document at `place`, with each link to what is not there made words.

    Links to what has another name in the package (`moved`, from the source's to the package's) lead there.
    """

    def changed(match):
        words, target = match.groups()
        file, _, anchor = target.partition("#")
        if "://" in target or not file:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), file))
        if path in moved:
            return f"[{words}]({posixpath.relpath(moved[path], posixpath.dirname(place) or '.')})"
        if is_there(path):
            return match[0]
        return words if path in words else f"{words} (`{path}`)"

    # Odd pieces are code, in which nothing is a link; a link's words may have code in them, so that only blocks count.
    pieces = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)
    return "".join(piece if odd else LINK.sub(changed, piece) for piece, odd in zip(pieces, [0, 1] * len(pieces)))


def documents(folder, moved=()):
    """Puts them into `folder`, where the licence, or what `moved` makes of it, is already or will be."""
    shown = (path for kind in ("md", "svg", "png") for path in (ROOT / "docs").glob(f"*.{kind}"))
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
