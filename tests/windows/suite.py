#!/usr/bin/env python3
"""Builds pdpp and its tests for Windows, and runs them under Wine.

    python3 tests/windows/suite.py TARGET            everything, with all results below TARGET
    python3 tests/windows/suite.py TARGET --only X Y   the tests whose names contain X or Y, and nothing else

Debian's Rust builds, because it has the source of its library, and so supports any target. Wine copies Windows as far as it can; `UNPROVEN`
lists what it cannot show, and `left_out.tsv` the tests that are left out, each with its reason. A test that is in neither and does
not run makes this fail.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "platforms"))

import toolchain  # noqa: E402
from toolchain import Cargo, ran  # noqa: E402

TRIPLE = "x86_64-pc-windows-gnu"
# Of the integration tests about what exists on Windows, in per cent.
MOST_LEFT_OUT = 14
LINUX_ALONE = "which is for Linux alone"
UNPROVEN = [
    "the rights of another user: there is one user here, and Wine implements access lists with modes",
    "a private file in a folder that admits others: Wine gives it the rights of the folder, even if it is protected from that",
    "paths of more than 260 characters, shares (UNC), and what OneDrive or an antivirus does to files",
    "Ctrl-Break, and the end of a console or of a session: Wine ends the program at once",
    "what becomes of a connection that the other end resets: under Wine its reader waits until its time is over",
    "a real Credential Manager: Wine stores the entries in its registry",
    "a real browser and real hosts, PowerShell, and Windows' own console",
]

failures = []


def check(holds, what, shown=""):
    print(f"  {'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        failures.append(what)
        if shown:
            print("    " + str(shown)[-3000:].replace("\n", "\n    "), flush=True)


class Wine:
    """A separate Windows, below `target`."""

    def __init__(self, target):
        self.helpers = target / "helpers"
        self.prefix = target / "wine"
        kept = ("PATH", "HOME", "LANG", "PROPTEST_CASES", "USER", "LOGNAME")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ}
        self.environment |= {
            "WINEPREFIX": str(self.prefix),
            "WINEDEBUG": "-all",
            # These are installed without a question.
            "WINEDLLOVERRIDES": "mscoree=;mshtml=",
            "INSTA_UPDATE": "no",
            "INSTA_FORCE_PASS": "0",
            "PDPP_TEST_HELPERS": self.windows(self.helpers),
            "RUST_BACKTRACE": "0",
        }

    @staticmethod
    def windows(path):
        """The name of a file of this computer as Windows programs see it."""
        return "Z:" + str(path).replace("/", "\\")

    def run(self, *words, timeout=120, **more):
        words = ["wine", *map(str, words)]
        return subprocess.run(words, env=self.environment, text=True, encoding="utf-8", errors="replace",
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, cwd=ROOT, **more)

    def make(self):
        # A running wineserver still has the umask that it was started with.
        self.end()
        self.helpers.mkdir(parents=True, exist_ok=True)
        compiler = "x86_64-w64-mingw32-gcc"
        for name in ("console", "browser", "locked_key"):
            subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-o", self.helpers / f"{name}.exe", HERE / f"{name}.c", "-ladvapi32"], check=True)
        prng = self.helpers / "bcryptprimitives.dll"
        subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-shared", "-o", prng, HERE / "processprng.c", "-ladvapi32"], check=True)
        if not (self.prefix / "system.reg").exists():
            subprocess.run(["wine", "wineboot", "-i"], env=self.environment, check=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
            self.wait()
        # Runs until the end. Debian's `wine` has the server end with the last program, and the rights of a key go with it.
        quiet = {"env": self.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.first = subprocess.Popen(["wine", "cmd"], stdin=subprocess.PIPE, **quiet)
        # What Wine starts along with the first programs keeps their output open, so it must not be a pipe of ours.
        subprocess.run(["wine", "cmd", "/c", "exit"], stdin=subprocess.DEVNULL, timeout=120, **quiet)
        system = self.prefix / "drive_c/windows/system32"
        if not (system / "bcryptprimitives.dll").exists():
            (system / "bcryptprimitives.dll").write_bytes(prng.read_bytes())
        for home in (self.prefix / "drive_c/users").iterdir():
            for folder in (home, home / "Temp", home / "AppData", home / "AppData/Local", home / "AppData/Roaming"):
                if folder.is_dir():
                    folder.chmod(0o700)
        # There is no screen, and this would open web addresses.
        browser = self.windows(self.helpers / "browser.exe")
        for key, name, value in ((r"HKCU\Software\Wine\Drivers", ["/v", "Graphics"], "null"),
                                 (r"HKCR\http\shell\open\command", ["/ve"], f'"{browser}" "%1"')):
            self.run("reg", "add", key, *name, "/d", value, "/f").check_returncode()

    def credentials(self, are_there):
        """Whether a Credential Manager exists from now on."""
        self.run(self.windows(self.helpers / "locked_key.exe"), "unlock" if are_there else "lock").check_returncode()

    def wait(self):
        subprocess.run(["wineserver", "-w"], env=self.environment, timeout=120)

    def end(self):
        subprocess.run(["wineserver", "-k"], env=self.environment, timeout=60)


def build(target):
    """Builds the program and both test binaries: their paths."""
    unit, integration, program = Cargo(target, TRIPLE).tests()
    return program, unit, integration


TEST = re.compile(r"^\s*#\[(?:tokio::)?test\b[^\n]*\]\n((?:\s*(?:#\[[^\n]*\]|//[^\n]*)\n)*)\s*(?:pub )?(?:async )?fn (\w+)", re.M)


def in_source(folder, other):
    """Every test below `folder`, as (its file's module, its name, whether it runs only on request); without those in `other`."""
    found = []
    for path in sorted((ROOT / folder).rglob("*.rs")):
        parts = list(path.relative_to(ROOT / folder).with_suffix("").parts)
        if parts[0] == other or parts in (["main"],):
            continue
        parts = [part for part in parts if part not in ("mod", "lib")]
        text = path.read_text(encoding="utf-8")
        for match in TEST.finditer(text):
            before = text[:match.start()].rsplit("\n\n", 1)[-1].rsplit("}\n", 1)[-1]
            is_asked_for = "#[ignore" in match.group(1) or "#[ignore" in before
            found.append(("::".join(parts), match.group(2), is_asked_for))
    return found


def is_of(name, test):
    """Whether the test that a binary calls `name` is `test` of the source."""
    module, function, _ = test
    if not module:
        return name.split("::")[-1] == function
    # A file of tests next to the file that they test may be a module within it.
    of_file = (module, module.removesuffix("_tests"))
    return name.endswith(f"::{function}") and any(f"{name}::".startswith(f"{one}::") for one in of_file)


def left_out():
    """The contents of `left_out.tsv`: (unit or integration, a test or a module followed by `::`) and why."""
    lines = (HERE / "left_out.tsv").read_text(encoding="utf-8").splitlines()
    return {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in lines if line and not line.startswith("#")}


RESULT = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)")


def run_tests(wine, binary, options, patience=600, log=os.devnull):
    """Runs a test binary: the result of each test, and all of its output, which also goes to the file `log` as it comes. A binary that
    prints nothing for `patience` seconds is ended."""
    words = ["wine", Wine.windows(binary), *options]
    environment = wine.environment | {"RUST_TEST_THREADS": "6"}
    running = subprocess.Popen(words, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, encoding="utf-8", errors="replace", start_new_session=True)
    last = [time.monotonic()]

    def watch():
        while running.poll() is None:
            if time.monotonic() - last[0] > patience:
                os.killpg(running.pid, signal.SIGKILL)
                wine.end()
                return
            time.sleep(1)

    threading.Thread(target=watch, daemon=True).start()
    said, results = [], {}
    with open(log, "w", encoding="utf-8", buffering=1) as kept:
        for line in running.stdout:
            last[0] = time.monotonic()
            said.append(line)
            kept.write(line)
            match = RESULT.match(line)
            if match:
                results[match.group(1)] = match.group(2)
            # A process that a test left, or that Wine started, may keep the output open.
            if line.startswith("test result:"):
                break
    code = running.wait()
    return code, results, "".join(said)


def tests(wine, kind, binary, source, reasons, only):
    """Runs the tests of one binary except the left-out ones, and reports all results."""
    listed = run_tests(wine, binary, ["--list", "--format", "terse"], 120)[2]
    names = [line.rsplit(": ", 1)[0] for line in listed.splitlines() if line.endswith(": test")]
    mine = {name: why for (where, name), why in reasons.items() if where == kind}

    def reason(name):
        return mine.get(name) or next((mine[key] for key in mine if key.endswith("::") and name.startswith(key)), None)

    skipped = [name for name in names if reason(name)]
    absent = [test for test in source if not test[2] and not any(is_of(name, test) for name in names)]
    absent = [f"{module}::{function}" if module else function for module, function, _ in absent]
    options = [word for name in skipped for word in ("--skip", name)] + ["--exact"] if not only else only
    print(f"{kind} tests: {len(names)} are built for Windows", flush=True)
    began = time.monotonic()
    code, results, said = run_tests(wine, binary, options, log=wine.prefix.parent / f"{kind}.log")
    passed = [name for name, result in results.items() if result == "ok"]
    next_to_others = [name for name, result in results.items() if result == "FAILED"]
    failed = toolchain.alone(next_to_others, lambda name: run_tests(wine, binary, ["--exact", name])[::2]) if not only else next_to_others
    passed += [name for name in next_to_others if name not in failed]
    ignored = {name for name, result in results.items() if result == "ignored"}
    silent = [name for name in names if name not in results and name not in skipped]
    if only:
        print(said)
        return
    if next_to_others:
        print(said[said.find("\nfailures:"):][-20000:], flush=True)
    check((code == 0 or next_to_others) and not failed, f"{kind}: no test fails", said if not failed else "\n".join(failed))
    check(not silent, f"{kind}: each test came to an end", "\n".join(silent))
    unnamed = [name for name in absent if not reason(name)]
    check(not unnamed, f"{kind}: each test that is not built for Windows is in left_out.tsv", "\n".join(unnamed))
    is_out = set(skipped) | set(absent)
    needless = [key for key in mine if not any(name == key or (key.endswith("::") and name.startswith(key)) for name in is_out)]
    check(not needless, f"{kind}: each line of left_out.tsv leaves something out", "\n".join(needless))
    whole = len([test for test in source if not test[2]])
    share = 100 * len(is_out) / whole
    # What is about modes of files, a Secret Service or a browser of Linux has a counterpart in this folder; the separate set-up does not
    # exist on Windows.
    elsewhere = [name for name in is_out if LINUX_ALONE in (reason(name) or "")]
    alone = [name for name in is_out if "tests/windows has" not in (reason(name) or "") and name not in elsewhere]
    if kind == "integration":
        share_alone = 100 * len(alone) / (whole - len(elsewhere))
        check(share_alone <= MOST_LEFT_OUT, f"{kind}: at most {MOST_LEFT_OUT} % are left out and have no counterpart here ({share_alone:.1f} %)")
    counts = {}
    for name in is_out:
        counts[reason(name)] = counts.get(reason(name), 0) + 1
    print(f"{kind} tests under Wine: {len(passed)} passed, {len(failed)} failed, {len(is_out)} of {whole} left out ({share:.1f} %), "
          f"{len(ignored)} run only on request; {time.monotonic() - began:.0f} s, load {os.getloadavg()[1]:.1f}", flush=True)
    for why, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  left out, {count}: {why}")
    return {"passed": len(passed), "failed": len(failed), "left_out": sorted([f"{kind} tests", why or "", count] for why, count in counts.items())}


class Person:
    """The user of that Windows, whose profile has no files of this program yet. Wine itself names the profile."""

    def __init__(self, wine, pdpp):
        self.wine, self.pdpp = wine, Wine.windows(pdpp)
        [self.home] = [home for home in (wine.prefix / "drive_c/users").iterdir() if home.name != "Public"]
        for left in ("AppData/Local/pdpp", "AppData/Roaming/Claude", ".cursor"):
            subprocess.run(["rm", "-rf", self.home / left], check=True)

    def __call__(self, *words, **more):
        return self.wine.run(self.pdpp, *words, **more)

    def start(self, *words):
        words = ["wine", self.pdpp, *words]
        return subprocess.Popen(words, env=self.wine.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, encoding="utf-8", cwd=ROOT, start_new_session=True)


def ask(person, *requests):
    """`mcp serve` as a host starts it: its answers."""
    server = person.start("mcp", "serve")
    answers = []
    for at, (method, params) in enumerate(requests):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            if line.startswith("{"):
                answers.append(json.loads(line))
                break
    began = time.monotonic()
    server.stdin.close()
    code = server.wait(timeout=30)
    return answers, code, time.monotonic() - began


HELLO = ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}})


def as_a_person(wine, pdpp):
    """The demo, a sandbox, a grant of it, two hosts, and a read: the steps of README."""
    print("as a new user", flush=True)
    person = Person(wine, pdpp)
    version = person("--version")
    check(version.returncode == 0 and version.stdout.startswith("pdpp "), "it says its version", version)
    demo = person("demo", timeout=300)
    check(demo.returncode == 0, "the demo plays to its end", demo.stdout + demo.stderr)
    none = person("mcp", "serve")
    check(none.returncode == 78, "a server with nothing to serve ends with 78", none)
    sandbox = person.start("sandbox", "--listen", "127.0.0.1:0", "--json", "--auto-approve")
    try:
        ready = json.loads(next(line for line in sandbox.stdout if line.startswith("{")))
        connected = person("connect", ready["url"], "--no-browser", timeout=180)
        check(connected.returncode == 0 and "Connected to" in connected.stdout, "connect gets a grant of the sandbox",
              connected.stdout + connected.stderr)
        check("\n  pdpp mcp setup" in connected.stdout, "it says what to type next", connected.stdout)
        data = person.home / "AppData/Local/pdpp/data"
        check((data / "index.json").exists(), "the grant is kept below %LOCALAPPDATA%")
        check(not (data / "secrets").exists(), "its token is in the Credential Manager and in no file")
        status = person("status", "--check", timeout=180)
        check(status.returncode == 0 and "works" in status.stdout, "status --check asks the sandbox", status.stdout + status.stderr)
        for host, file in (("claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"), ("cursor", ".cursor/mcp.json")):
            done = person("mcp", "setup", host, timeout=180)
            check(done.returncode == 0 and "lists 6 tools" in done.stdout, f"setup of {host} proves its entry", done.stdout + done.stderr)
            check((person.home / file).exists(), f"{host} has its entry in {file}")
        answers, code, took = ask(person, HELLO, ("tools/call", {"name": "schema", "arguments": {}}),
                                  ("tools/call", {"name": "search", "arguments": {"q": "invoice"}}))
        check(len(answers) == 3 and not any(answer.get("error") or answer["result"].get("isError") for answer in answers),
              "a host reads through the grant", answers)
        check(code == 0 and took < 5, f"the server ends with its input ({took:.2f} s)", (code, took))
        doctor = person("doctor", timeout=180)
        check("the keyring stores and returns them" in doctor.stdout, "doctor tries the Credential Manager", doctor.stdout + doctor.stderr)
        ended = person("disconnect", "--all", "--yes", timeout=180)
        check(ended.returncode == 0, "disconnect ends the grant", ended.stdout + ended.stderr)
    finally:
        os.killpg(sandbox.pid, signal.SIGKILL)
        sandbox.wait()


def main():
    target = Path(sys.argv[1]).resolve()
    only = sys.argv[3:] if len(sys.argv) > 3 and sys.argv[2] == "--only" else None
    began = time.monotonic()
    pdpp, unit, integration = build(target)
    print(f"built in {time.monotonic() - began:.0f} s: {os.path.getsize(pdpp) >> 20} MiB, with debug assertions", flush=True)
    # A profile of Windows, and everything in it, belongs to its user alone. Wine implements this with modes.
    os.umask(0o077)
    wine = Wine(target)
    wine.make()
    try:
        reasons = left_out()
        wine.credentials(are_there=False)
        counts = [
            tests(wine, "unit", unit, in_source("src", None), reasons, only),
            tests(wine, "integration", integration, in_source("tests", "windows"), reasons, only),
        ]
        if only:
            return 0
        wine.credentials(are_there=True)
        code, results, said = run_tests(wine, integration, ["--ignored", "credential_manager", "longer_than_an_entry"])
        check(code == 0 and sorted(results.values()) == ["ok", "ok"], "the Credential Manager: two tests", said)
        as_a_person(wine, pdpp)
    finally:
        wine.end()
    for line in UNPROVEN:
        print(f"unproven: {line}")
    passed, failed = (sum(count[key] for count in counts) for key in ("passed", "failed"))
    left = [row for count in counts for row in count["left_out"]]
    print(f"tests under Wine: {passed + 2} passed, {failed} failed, {sum(row[2] for row in left)} left out; {len(failures)} checks failed")
    if failures:
        return 1
    kinds = ["unit tests", "integration tests"]
    result = {kind: [count["passed"], count["passed"], sum(row[2] for row in count["left_out"])] for kind, count in zip(kinds, counts)}
    ran.write("windows", {
        "platform": "Windows", "target": [TRIPLE], "how": "built on Linux, run under Wine",
        "toolchain": {"rustc": toolchain.rustc(), "gcc": toolchain.version("x86_64-w64-mingw32-gcc", "-dumpfullversion"),
                      "wine": toolchain.version("wine", "--version")},
        "ran": result | {"tests of the Credential Manager": [2, 2, 0]},
        "did": ["a new user's first steps: the demo, a grant of a sandbox, its token in the Credential Manager, two hosts set up, a read, doctor, disconnect"],
        "checked": [], "left_out": left, "unproven": UNPROVEN,
    })
    return 0


if __name__ == "__main__":
    sys.exit(main())
