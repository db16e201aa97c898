"""Debian's Rust, whose package of the library's source builds for any target; each target has its own folder below target/."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci"))

import ran  # noqa: E402

# The library is built with the crate, by the compiler that it came with.
BUILD_STD = "-Zbuild-std=std,panic_unwind"


def told(*command, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} ends with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def version(*command):
    """The first version number in a program's output."""
    found = re.search(r"\d+(?:\.\d+)+", told(*command))
    return found.group() if found else "unknown"


def upstream(version):
    """A Debian version without Debian's own parts."""
    return re.sub(r"^\d+:|[-+].*$", "", version.strip())


def rustc():
    return version("/usr/bin/rustc", "--version")


class Cargo:
    """Cargo of Debian's Rust for one target."""

    def __init__(self, folder, target, linker=None, cc=None, ar=None, rustflags=()):
        self.target = target
        name = target.replace("-", "_")
        self.environment = os.environ | {
            "RUSTC_BOOTSTRAP": "1", "RUSTC": "/usr/bin/rustc", "RUSTDOC": "/usr/bin/rustdoc",
            "PATH": f"/usr/bin:{os.environ['PATH']}", "CARGO_TARGET_DIR": str(folder),
            "CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0",
        }
        self.environment.pop("CARGO", None)
        self.environment.pop("RUSTUP_TOOLCHAIN", None)
        if linker:
            self.environment[f"CARGO_TARGET_{name.upper()}_LINKER"] = str(linker)
        if cc:
            self.environment[f"CC_{name}"] = str(cc)
        if ar:
            self.environment[f"AR_{name}"] = str(ar)
        if rustflags:
            self.environment[f"CARGO_TARGET_{name.upper()}_RUSTFLAGS"] = " ".join(rustflags)

    def run(self, command, *arguments, **options):
        """Runs a Cargo command for the target; returns the programs that it built, by the names of their targets."""
        words = ["/usr/bin/cargo", command, "--locked", BUILD_STD, "--target", self.target, "--message-format=json-render-diagnostics", *arguments]
        print(f"$ cargo {shlex.join(words[1:])}", flush=True)
        made = {}
        with subprocess.Popen(words, env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, **options) as cargo:
            for line in cargo.stdout:
                message = json.loads(line) if line.startswith("{") else {}
                if message.get("executable"):
                    made[(message["target"]["kind"][0], message["profile"]["test"])] = message["executable"]
        if cargo.returncode != 0:
            sys.exit(f"cargo {command} for {self.target} ends with {cargo.returncode}")
        return made

    def tests(self):
        """The unit tests, the integration tests, and the program that they start."""
        made = self.run("test", "--no-run", "--lib", "--test", "pdpp")
        return made[("lib", True)], made[("test", True)], made[("bin", False)]

    def release(self):
        """The program as it is shipped."""
        return self.run("build", "--release", "--bin", "pdpp")[("bin", False)]


def listed(program, environment):
    """The names of the tests of a program."""
    return re.findall(r"^(\S+): test$", told(program, "--list", env=environment, cwd=ROOT), re.M)


def logged(words, environment, log):
    """Runs a program whose output also goes to the file `log` as it comes: its exit code and the output."""
    said = []
    with subprocess.Popen(list(map(str, words)), env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as running, open(log, "w") as kept:
        for line in running.stdout:
            said.append(line)
            kept.write(line)
            kept.flush()
    return running.returncode, "".join(said)


# More failures than this are not the machine's.
MOST_ALONE = 12


def alone(failed, run):
    """Runs tests that failed next to others again, each alone, because an emulated processor can be too slow for a test's own bounds on
    time; `run` gives the exit code and the output of one. Returns those that failed again."""
    if len(failed) > MOST_ALONE:
        return failed
    again = []
    for name in failed:
        code, said = run(name)
        is_good = code == 0 and "test result: ok. 1 passed; 0 failed;" in said
        print(f"{name} failed next to the others, and {'passes' if is_good else 'fails'} alone", flush=True)
        if not is_good:
            print(said[-3000:], flush=True)
            again.append(name)
    return again


def run_tests(program, left_out, environment, passed_apart=()):
    """Runs all tests of a program, except those whose names begin with a left-out prefix. Returns [run, passed, left out], and the rows of
    the latter, [prefix, why, how many]. Tests that are ignored here and passed in a separate run do not count as left out."""
    names = listed(program, environment)
    rows, skipped = [], set()
    for prefix, why in left_out:
        hit = {name for name in names if name.startswith(prefix)} - skipped
        if not hit:
            sys.exit(f"no test of {pathlib.Path(program).name} is called {prefix}…: take it off the list of those left out")
        skipped |= hit
        rows.append([prefix, why, len(hit)])
    options = [word for name in sorted(skipped) for word in ("--skip", name)]
    began = time.monotonic()
    code, said = logged([program, *options, "--exact"] if skipped else [program], environment, pathlib.Path(program).with_suffix(".log"))
    found = ran.tests(said)
    tail = said[said.find("\nfailures:"):] if found["failed"] else said[-400:]
    print(tail.strip(), flush=True)
    print(f"{time.monotonic() - began:.0f} s, load {os.getloadavg()[1]:.1f}", flush=True)
    failed = found["failed"]
    if code != 0 and not failed:
        sys.exit(f"{pathlib.Path(program).name} ends with {code}")
    if failed:
        failed = alone(failed, lambda name: logged([program, "--exact", name], environment, os.devnull))
    if failed:
        sys.exit(f"{len(failed)} tests failed: {' '.join(failed)}")
    passed = found["passed"] + found["failed"]
    not_run = {name: why for name, why in found["ignored"].items() if name not in passed_apart}
    for why in sorted(set(not_run.values())):
        ignored = sorted(name for name, said in not_run.items() if said == why)
        rows.append([ignored[0] if len(ignored) == 1 else f"{os.path.commonprefix(ignored)}…", why or "marked `#[ignore]`", len(ignored)])
    seen = len(passed) + len(found["ignored"]) + len(skipped)
    if seen != len(names):
        sys.exit(f"of {len(names)} tests {seen} are accounted for")
    return [len(passed), len(passed), len(not_run) + len(skipped)], rows
