#!/usr/bin/env python3
"""What was run where: the results that the steps of .ci/run leave, and the page that is generated from them.

    ran.py plain STEP...       writes the result of a plain run, of these steps, to target/ran/linux.json
    ran.py page [--write]      checks that docs/platforms.md matches docs/platforms/*.json, or writes it
    ran.py compare PLATFORM    compares target/ran/PLATFORM.json, from a run just now, with the committed result
    ran.py keep PLATFORM       makes it the committed result, and writes the page

A result contains no times, dates or paths of a machine: it changes only if something else ran. The counts and the
versions of two results may differ (one more test, a newer compiler); what ran, was left out or is unproven may not.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FRESH = ROOT / "target/ran"
KEPT = ROOT / "docs/platforms"
PAGE = ROOT / "docs/platforms.md"
PLATFORMS = ["linux", "arm64", "musl", "windows", "macos"]
TITLES = {
    "linux": "Linux on x86-64", "arm64": "Linux on arm64", "musl": "Linux with a static binary (musl)", "windows": "Windows", "macos": "macOS",
}
STEPS = {"linux": "`.ci/run`", **{name: f"`.ci/run {name}`" for name in PLATFORMS[1:]}}
FORM = {
    "platform": str, "target": list, "how": str, "toolchain": dict, "ran": dict, "did": list, "checked": list,
    "left_out": list, "unproven": list,
}
CLAIMS = ["platform", "target", "how", "did", "checked", "unproven"]

HEAD = """\
# What was run where

For auditors, and for anyone who wonders whether `pdpp` was run on their system. `.ci/ran.py` generates this page from the results of
`.ci/run`. "Ran" means that a test passed on the platform; "checked" means that something was compiled, linted or read, but never
started. On the platforms that are emulated, a test that failed while others ran, and passed when it was run again alone, counts
as passed. The counts and the versions are those of the last run whose result was committed. A platform's own step fails if what it
ran, what it left out or what it cannot prove differs from this page; `.ci/run` without a step only prints the difference.

"""


def tests(text):
    """The tests that libtest reports, by how they ended: {"passed": [...], "failed": [...], "ignored": {name: why}}."""
    found = {"passed": [], "failed": [], "ignored": {}}
    for name, how in re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored[^\n]*)", text, re.M):
        if how == "ok":
            found["passed"].append(name)
        elif how == "FAILED":
            found["failed"].append(name)
        else:
            found["ignored"][name] = how.removeprefix("ignored").removeprefix(", ")
    said = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", text, re.M)
    sums = [sum(int(counts[column]) for counts in said) for column in range(3)]
    seen = [len(found[key]) for key in ("passed", "failed", "ignored")]
    if not said or sums != seen:
        raise ValueError(f"libtest's summaries count {sums} passed, failed and ignored, but its lines {seen}")
    return found


def wrong(result):
    """The first fault in the form of a result, or None."""
    if set(result) != set(FORM):
        return f"these members are missing or unknown: {sorted(set(result) ^ set(FORM))}"
    for key, kind in FORM.items():
        if not isinstance(result[key], kind):
            return f"{key} is not a {kind.__name__}"
    for what, counts in result["ran"].items():
        if len(counts) != 3 or counts[0] != counts[1] or min(counts) < 0:
            return f"not everything that ran of {what} passed: {counts}"
    for row in result["left_out"]:
        if len(row) != 3 or not all(isinstance(text, str) and text for text in row[:2]) or not isinstance(row[2], int):
            return f"a row of left_out must be [what, why, how many tests], not {row}"
    left_out = sum(counts[2] for counts in result["ran"].values())
    if left_out != sum(row[2] for row in result["left_out"]):
        return f"{left_out} tests were left out, but the rows name {sum(row[2] for row in result['left_out'])}"
    text = json.dumps(result, ensure_ascii=False)
    if found := re.search(r"/(?:root|home|tmp|work|build)/|\d{4}-\d\d-\d\d", text):
        return f"{found.group()!r} belongs to one machine or one day"
    return None


def write(platform, result):
    """Writes a result of `platform` for this run."""
    if why := wrong(result):
        raise ValueError(f"{platform}: {why}")
    FRESH.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    # Puts a row or a count on one line.
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda list_: "[" + re.sub(r",\n\s+", ", ", list_[1]) + "]" if len(list_[1]) < 240 else list_[0], text)
    (FRESH / f"{platform}.json").write_text(text + "\n")


def read(folder, platform):
    path = folder / f"{platform}.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    if why := wrong(result):
        raise ValueError(f"{path.relative_to(ROOT)}: {why}")
    return result


def section(platform, result):
    """A platform's part of the page."""
    out = [f"## {result['platform']}", ""]
    out += [f"{result['how'][0].upper()}{result['how'][1:]}. Step: {STEPS[platform]}. Target: {', '.join(f'`{name}`' for name in result['target'])}; "
            + ", ".join(f"{name} {version}" for name, version in result["toolchain"].items()) + ".", ""]
    if result["ran"]:
        out += ["| Tests | Passed | Left out |", "| --- | --- | --- |"]
        out += [f"| {what} | {counts[1]:,} | {counts[2]:,} |" for what, counts in result["ran"].items()] + [""]
    else:
        out += ["**No test ran.**", ""]
    for title, key in (("Also ran", "did"), ("Only checked", "checked"), ("Unproven", "unproven")):
        if result[key]:
            out += [f"{title}:", "", *(f"- {line}" for line in result[key]), ""]
    if result["left_out"]:
        out += ["| Left out | Tests | Why |", "| --- | --- | --- |"]
        out += [f"| {what if ' ' in what else f'`{what}`'} | {count or ''} | {why} |" for what, why, count in result["left_out"]] + [""]
    return "\n".join(out)


def page():
    sections = []
    for platform in PLATFORMS:
        result = read(KEPT, platform)
        if result is None:
            sections.append(f"## {TITLES[platform]}\n\n**No result of {STEPS[platform]} is committed, so this page claims nothing.**\n")
        else:
            sections.append(section(platform, result))
    return HEAD + "\n".join(sections)


# What the steps of the plain run do, without `test` and `keyring`, whose tests are counted.
PLAIN = {
    "release": "README's first command, `pdpp demo`, by the optimised binary",
    "shells": "completion at a terminal in bash, zsh, fish and elvish",
    "real_hosts": "real MCP hosts: [hosts.md](hosts.md) lists them",
    "browser": "an owner's decisions in Debian's Chromium",
    "second_user": "attacks by another user of the computer",
    "separate": "the separate set-up with real users: installed, attacked, uninstalled",
    "conformance": "MCP's conformance suite against `pdpp mcp host`",
    "claude_code_at_endpoint": "Claude Code at the sandbox's `/mcp`",
    "release_packages": "the packages of a release: made, installed, used, removed",
}


def plain(steps):
    """The result of a plain run, from the output of `test` and `keyring`."""
    logs = [(FRESH / f"{step}.log").read_text() for step in ("test", "keyring")]
    unit, integration = [tests(part) for part in re.split(r"^running \d+ tests?$", logs[0], flags=re.M)[1:]]
    keyring = tests(logs[1])
    by_step = {"keyring": set(keyring["passed"])}
    counted, rows = {}, []
    for what, found in (("unit tests", unit), ("integration tests", integration)):
        ignored = {name: why for name, why in found["ignored"].items() if name not in by_step["keyring"]}
        counted[what] = [len(found["passed"]), len(found["passed"]), len(ignored)]
        rows += [[name, why or "marked `#[ignore]`", 1] for name, why in sorted(ignored.items())]
    counted["tests of a real keyring"] = [len(keyring["passed"]), len(keyring["passed"]), 0]
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    system = re.search(r'^PRETTY_NAME="(.*)"$', pathlib.Path("/etc/os-release").read_text(), re.M)
    write("linux", {
        "platform": "Linux on x86-64", "target": ["x86_64-unknown-linux-gnu"], "how": "built and run there",
        "toolchain": {"rustc": rustc, "on": system[1] if system else "an unnamed system"}, "ran": counted, "did": [PLAIN[step] for step in steps if step in PLAIN], "checked": [],
        "left_out": rows, "unproven": ["the limits that the unit of the separate set-up puts on the service: no systemd runs here, only its tools read the unit"],
    })


def check_page(rewrite):
    wanted = page()
    if rewrite:
        PAGE.write_text(wanted)
        return None
    if not PAGE.exists() or PAGE.read_text() != wanted:
        return "docs/platforms.md does not match docs/platforms/*.json: python3 .ci/ran.py page --write"
    stray = sorted(path.name for path in KEPT.iterdir() if path.stem not in PLATFORMS or path.suffix != ".json")
    return f"docs/platforms has {stray}, which belong to no platform" if stray else None


def compare(platform):
    fresh, kept = read(FRESH, platform), read(KEPT, platform)
    if fresh is None:
        return f"target/ran/{platform}.json does not exist: the step has not run to its end"
    if kept is None:
        print(f"docs/platforms/{platform}.json does not exist yet: python3 .ci/ran.py keep {platform}")
        return None
    changed = [key for key in CLAIMS if fresh[key] != kept[key]]
    if [row[:2] for row in fresh["left_out"]] != [row[:2] for row in kept["left_out"]]:
        changed.append("left_out")
    if list(fresh["ran"]) != list(kept["ran"]):
        changed.append("ran")
    if changed:
        told = "\n".join(f"  {key}: {json.dumps(fresh[key], ensure_ascii=False)}\n    committed: {json.dumps(kept[key], ensure_ascii=False)}" for key in changed)
        return f"what {platform} did differs from docs/platforms/{platform}.json:\n{told}\nIf that is intended: python3 .ci/ran.py keep {platform}"
    for what, counts in fresh["ran"].items():
        print(f"{platform}: {what}: {counts[0]} ran, {counts[1]} passed, {counts[2]} left out")
    for what, why, count in fresh["left_out"]:
        print(f"{platform}: left out: {what} ({count}): {why}")
    if fresh != kept:
        print(f"its counts or versions are newer than those of docs/platforms: python3 .ci/ran.py keep {platform}")
    return None


def main(arguments):
    match arguments:
        case ["page"]:
            problem = check_page(False)
        case ["page", "--write"]:
            problem = check_page(True)
        case ["plain", *steps] if steps:
            problem = plain(steps)
        case ["compare", platform] if platform in PLATFORMS:
            problem = compare(platform)
        case ["keep", platform] if platform in PLATFORMS:
            if read(FRESH, platform) is None:
                problem = f"target/ran/{platform}.json does not exist: bash .ci/run {platform}"
            else:
                KEPT.mkdir(exist_ok=True)
                (KEPT / f"{platform}.json").write_bytes((FRESH / f"{platform}.json").read_bytes())
                problem = check_page(True)
        case _:
            problem = __doc__
    if problem:
        print(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ValueError as error:
        print(error)
        sys.exit(1)
