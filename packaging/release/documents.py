"""The documents of a package: README, changelog, docs/ and the examples for operators, as they stand in the source."""

import posixpath
import re
import shutil

from about import ROOT

EXAMPLES = ("container", "docker", "image", "kubernetes", "launchd", "nginx", "systemd", "windows")
# Code comes first: nothing in it is a link, though the words of a link may have code in them.
CODE_OR_LINK = re.compile(
    r"(?P<code>^```.*?^```|(?P<tick>`+)(?:(?!\n\n).)+?(?<!`)(?P=tick)(?!`))"
    r"|!?\[(?P<words>(?:[^\[\]]|\[[^\]]*\])+)\]\((?P<target>[^)\s]+)\)",
    re.M | re.S,
)
# Behind README's title.
ELSEWHERE = "\nFiles that are named here and are not in this package are in the source.\n"


def linked(text, place, is_there, moved=()):
    """`text` of the document at `place`, with each link to what is not there made words.

    Links to what has another name in the package (`moved`, from the source's to the package's) lead there.
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
