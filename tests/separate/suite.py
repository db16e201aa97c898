#!/usr/bin/env python3
"""The separate set-up with real users, attacked by a shell under the person's uid.

    suite.py PDPP

Needs root, on a machine without a separate set-up: it creates two users, installs for both into the real places, runs the services as
their units define, and removes all of it again, whatever happens. A container has no systemd: systemd-analyze checks what the unit denies
the service in addition to its user, but nothing proves it.

Every attack prints `held` or `WORKED`, and also runs against what belongs to the person, where it must work: `control`. The last line
counts them, and the exit code is 1 if one worked or one control did not.
"""

import contextlib
import json
import os
import pathlib
import plistlib
import pty
import pwd
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import attacks  # noqa: E402
from attacks import FORM, Visit, Wire, ask, hidden, ran, ticked  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
STORES, SOCKETS, PROGRAMS, UNITS = map(pathlib.Path, ("/var/lib/pdpp", "/run/pdpp", "/usr/local/lib/pdpp", "/etc/systemd/system"))
PROGRAM = PROGRAMS / "pdpp"
ANA, BEN = "pdpptest-ana", "pdpptest-ben"
PASSPHRASES = {ANA: "heron under the seventh bridge", BEN: "otter beside the second weir"}
# One of the person's passphrases, of which only the beginning is typed.
BEGUN = "half-a-passphrase-4711"
PATIENCE = 60
MAILS = {"Work": 60, "Home": 40}
# Part of each mail of an account.
WORD = {"Work": "Kingfisher", "Home": "Sandpiper", "Ben": "Dotterel"}


class Fault(Exception):
    """Something does not work as it should."""


def check(holds, what, said=""):
    if not holds:
        raise Fault(f"does not hold: {what}. {said}")
    print(f"ok      {what}", flush=True)


def good(*words, **more):
    done = ran(*words, **more)
    if done.returncode:
        raise Fault(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.decode()[-800:]}{done.stdout.decode()[-400:]}")
    return done.stdout.decode()


def waited(look, patience=PATIENCE):
    end = time.monotonic() + patience
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def as_user(user):
    """Makes a program run as `user`, like a login: with that user's ids, and none of root's. Programs that give more rights,
    such as su, still do."""
    known = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--clear-groups", "--inh-caps=-all", "--"]


def mailbox(path, account, count, large=0):
    """An export: `count` mails, each with the account's word, some with `large` bytes more."""
    with open(path, "w") as file:
        for number in range(count):
            file.write(f"From ana@example.org Mon Nov {1 + number % 28:02} 10:00:00 2026\nFrom: {account} <{account.lower()}{number % 5}@example.org>\n"
                       f"To: ana@example.org\nSubject: {WORD.get(account, account)} {number}\nDate: Mon, {1 + number % 28:02} Nov 2026 10:{number % 60:02}:00 +0000\n"
                       f"Message-ID: <{account}-{number}@example.org>\n\nThe {WORD.get(account, account)} was seen {number} times.\n{'heather ' * (large // 8)}\n\n")
    os.chmod(path, 0o644)


class Terminal:
    """A command at a separate terminal."""

    def __init__(self, *words, **more):
        self.master, inner = pty.openpty()
        self.child = subprocess.Popen(list(map(str, words)), stdin=inner, stdout=inner, stderr=inner, start_new_session=True, **more)
        os.close(inner)
        self.said = ""
        self.answered = 0

    def hear(self, wait=0.1):
        while select.select([self.master], [], [], wait)[0]:
            try:
                part = os.read(self.master, 65536)
            except OSError:
                return False
            if not part:
                return False
            self.said += part.decode(errors="replace")
        return True

    def answer(self, question, text, patience=PATIENCE):
        end = time.monotonic() + patience
        while question not in self.said[self.answered:]:
            if not self.hear() or time.monotonic() > end:
                raise Fault(f"not asked {question!r}: {self.said[-1500:]}")
        self.answered = self.said.index(question, self.answered) + len(question)
        time.sleep(0.2)
        os.write(self.master, text.encode())

    def ended(self, patience=PATIENCE):
        end = time.monotonic() + patience
        while self.child.poll() is None and time.monotonic() < end:
            self.hear()
        self.hear()
        if self.child.poll() is None:
            self.child.kill()
            raise Fault(f"does not end: {self.said[-1500:]}")
        return self.child.returncode

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)


@contextlib.contextmanager
def terminal(*words, **more):
    opened = Terminal(*words, **more)
    try:
        yield opened
    finally:
        opened.close()


class Person:
    """A user with their own set-up, as root sees them."""

    def __init__(self, name, pdpp):
        self.name, self.pdpp, self.passphrase = name, pdpp, PASSPHRASES[name]
        good("useradd", "--create-home", "--shell", "/bin/sh", name)
        known = pwd.getpwnam(name)
        self.uid, self.home = known.pw_uid, pathlib.Path(known.pw_dir)
        self.store, self.socket = STORES / str(self.uid), SOCKETS / str(self.uid) / "owner.sock"
        self.system_user = f"pdpp-{name}"
        self.unit = UNITS / f"pdpp-provider-{name}.service"
        self.service = None

    @property
    def environment(self):
        return {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}

    def run(self, *words, **more):
        return ran(*as_user(self.name), self.pdpp, *words, env=self.environment, cwd=self.home, **more)

    def at_terminal(self, *words, answers=(), code=0):
        with terminal(*as_user(self.name), self.pdpp, *words, env=self.environment, cwd=self.home) as at:
            for question, text in answers:
                at.answer(question, text)
            ended = at.ended()
            if ended != code:
                raise Fault(f"pdpp {' '.join(map(str, words))} ended with {ended}: {at.said[-1500:]}")
            return at.said

    def typed(self, *words, code=0):
        return self.at_terminal(*words, answers=[("assphrase", self.passphrase + "\n")], code=code)

    def folder(self, name):
        made = self.home / name
        made.mkdir(mode=0o700)
        os.chown(made, self.uid, self.uid)
        return made

    # --- The service, as its unit has it ---

    def command(self):
        line = next(line for line in self.unit.read_text().splitlines() if line.startswith("ExecStart="))
        return line.removeprefix("ExecStart=").split()

    def start(self):
        """The unit's own command, run as the unit's own user, with its folders, umask and core dump limit."""
        user = pwd.getpwnam(self.system_user)
        SOCKETS.mkdir(mode=0o755, exist_ok=True)
        self.socket.parent.mkdir(mode=0o755, exist_ok=True)
        os.chmod(self.socket.parent, 0o755)
        os.chown(self.socket.parent, user.pw_uid, user.pw_gid)
        self.log = tempfile.NamedTemporaryFile(prefix="pdpp-service-", delete=True)
        words = ["prlimit", "--core=0", "--", "setpriv", f"--reuid={self.system_user}", f"--regid={self.system_user}", "--clear-groups",
                 "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--", *self.command()]
        self.service = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd="/", umask=0o077, start_new_session=True,
                                        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
        if not waited(lambda: self.service.poll() is not None or self.hello(), 30) or self.service.poll() is not None:
            raise Fault(f"{self.name}'s service does not start: {pathlib.Path(self.log.name).read_text()[-1500:]}")
        self.url = self.hello()["url"]
        self.port = int(self.url.rsplit(":", 1)[1])

    def hello(self):
        with contextlib.suppress(OSError), Wire(self.socket, 5) as wire:
            wire.send("hello")
            told = wire.receive()
            return told[1] if told and told[0] == "hello" else None

    def stop(self, number=signal.SIGTERM):
        self.service.send_signal(number)
        code = self.service.wait(PATIENCE)
        self.log.close()
        return code

    # --- The owner ---

    def ask(self, request):
        with Wire(self.socket) as wire:
            wire.send(request)
            told = wire.receive()
            while told and told[0] == "passphrase":
                wire.send_secret(self.passphrase)
                told = wire.receive()
            return told

    def counts(self):
        """Records by account and stream."""
        told = self.ask("status")
        if not told or told[0] != "status":
            raise Fault(f"the owner's status: {told}")
        return {account["name"]: {stream["name"]: stream["records"] for stream in account["streams"] if stream["records"]} for account in told[1]["state"]["accounts"]}

    def accounts(self):
        return {account["name"]: account["id"] for account in self.ask("status")[1]["state"]["accounts"]}

    def visit(self):
        """The owner's page, opened with a link and the passphrase. The link is kept, to search for it later."""
        with Wire(self.socket) as wire:
            wire.send("open")
            link = wire.receive()[1]["url"]
        visit = Visit(link)
        visit.link = link
        status, head, text = visit.let_in(self.passphrase)
        if status != 303:
            raise Fault(f"the owner's page does not open: {status} {text[-800:]}")
        return visit

    def approve(self, attempt, account):
        """An app's request is narrowed to one account and approved, on the owner's page."""
        visit = self.visit()
        page = visit.get()[2]
        paths = re.findall(r'action="([^"]*/requests/[^"]+)"', page)
        if not paths:
            raise Fault(f"the owner's page shows no request: {page[-1500:]}")
        rest = paths[-1].split(visit.path, 1)[1]
        status, head, text = visit.post(rest, [])
        at = head.getheader("location")
        cookie = (head.getheader("set-cookie") or "").split(";")[0]
        if status != 303 or not at:
            raise Fault(f"the request does not open: {status} {text[-800:]}")
        html = ask(at, cookie=cookie)[2]
        csrf, connection = hidden(html, "csrf"), self.accounts()[account]
        # Only the boxes of that account: they follow its own box.
        own = html.split(f'name="connection" value="{connection}"')[1].split('name="connection"')[0]
        form = [("csrf", csrf), ("connection", connection), *ticked(own), ("expires", "1d")]
        status, head, text = ask(f"{at}/review", form, FORM, cookie=cookie, origin=self.url)
        if status != 303:
            raise Fault(f"the owner cannot go on: {status} {text[-1500:]}")
        summary = ask(head.getheader("location"), cookie=cookie)[2]
        form = [("csrf", csrf), ("digest", hidden(summary, "digest")), ("passphrase", self.passphrase)]
        status, _, text = ask(f"{at}/approve", form, FORM, cookie=cookie, origin=self.url)
        if status != 303:
            raise Fault(f"the owner cannot approve: {status} {text[-800:]}")
        return visit.link

    def request(self, name):
        status, _, text = ask(f"{self.url}/agent-connect", {"client_name": name, "resource": self.url})
        if status != 201:
            raise Fault(f"a request is answered with {status}: {text}")
        return json.loads(text)

    def token(self, attempt):
        status, _, text = ask(attempt["poll_url"], {"polling_code": attempt["polling_code"]})
        if status != 200:
            raise Fault(f"no token: {status} {text}")
        return json.loads(text)


# --- What is installed ---------------------------------------------------------------------------------------------------


def is_there():
    """Whether a separate set-up is on this computer."""
    return [str(path) for path in (STORES, SOCKETS, PROGRAMS) if path.exists()] + [str(path) for path in UNITS.glob("pdpp-provider-*.service")]


def users():
    return {entry.pw_name for entry in pwd.getpwall()}


def refusals(pdpp, ana):
    """Refused installations, and that they leave nothing."""
    def refused(code, wanted, *words, user=None, **variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/root", **variables}
        done = ran(*(as_user(user) if user else []), pdpp, "provider", *words, env=environment, cwd="/")
        if code not in (done.stderr + done.stdout).decode() or done.returncode != wanted:
            raise Fault(f"{words}: {done.returncode} {done.stderr.decode()}")

    refused("install_needs_root", 77, "install", user=ANA)
    refused("install_needs_root", 77, "uninstall", user=ANA)
    refused("install_no_person", 2, "install")
    refused("install_for_root", 77, "install", "--for", "root")
    refused("install_unknown_user", 2, "install", "--for", "pdpptest-nobody")
    refused("install_unknown_user", 2, "uninstall", "--for", "pdpptest-nobody")
    refused("install_unconfirmed", 77, "install", "--for", ANA)
    refused("passphrase_terminal", 77, "install", "--for", ANA, "--yes", "--no-start")
    refused("install_listen", 2, "install", "--for", ANA, "--listen", "0.0.0.0:7378")
    shown = good(pdpp, "provider", "install", "--dry-run", "--for", ANA)
    check("ExecStart=/usr/local/lib/pdpp/pdpp provider serve" in shown, "--dry-run shows the unit")
    check(not is_there() and f"pdpp-{ANA}" not in users(), "what was refused, or only shown, created nothing")
    # A late step fails because a folder has the name of the unit.
    in_the_way = UNITS / f"pdpp-provider-{ANA}.service"
    in_the_way.mkdir()
    try:
        with terminal(pdpp, "provider", "install", "--for", ANA, "--yes", "--no-start", env=root_environment()) as at:
            for question in ("New passphrase", "Repeat it"):
                at.answer(question, ana.passphrase + "\n")
            code = at.ended()
        said = " ".join(at.said.split())
        check(code == 1 and "Everything is as it was before" in said and "install_step_failed" in said, "a step that fails reports that nothing has changed")
    finally:
        in_the_way.rmdir()
    check(not is_there() and f"pdpp-{ANA}" not in users(), "and it is")


def root_environment(**more):
    return {"PATH": "/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb", **more}


def install(pdpp, person, first=False):
    more = {"SUDO_USER": person.name} if first else {}
    words = [] if first else ["--for", person.name]
    with terminal(pdpp, "provider", "install", *words, "--no-start", env=root_environment(**more)) as at:
        at.answer("Create this?", "y")
        at.answer("New passphrase", "short\n")
        at.answer("New passphrase", person.passphrase + "\n")
        at.answer("Repeat it", person.passphrase + "\n")
        code = at.ended()
    check(code == 0 and "setpriv" in at.said, f"installed for {person.name}; without systemd it shows the command to type")
    check(person.passphrase not in at.said, "the passphrase is not shown")


def owned(path, uid, mode):
    found = path.lstat()
    return found.st_uid == uid and stat.S_IMODE(found.st_mode) == mode


def what_was_made(pdpp, person):
    service = pwd.getpwnam(person.system_user)
    check(service.pw_shell.endswith("nologin") and service.pw_dir == "/nonexistent" and not pathlib.Path("/nonexistent").exists(), "a system user without shell and home")
    shadow = next(line for line in pathlib.Path("/etc/shadow").read_text().splitlines() if line.startswith(f"{person.system_user}:"))
    check(shadow.split(":")[1] in ("!", "*", "!*", "!!"), "and nobody can log in as that user")
    check(owned(STORES, 0, 0o755) and owned(person.store, service.pw_uid, 0o700), "only its own user can reach the store")
    check(all(found.lstat().st_uid == service.pw_uid and not stat.S_IMODE(found.lstat().st_mode) & 0o077 for found in person.store.iterdir()), "and everything in it")
    check(owned(PROGRAM, 0, 0o755) and owned(PROGRAMS, 0, 0o755) and PROGRAM.read_bytes() == pathlib.Path(pdpp).read_bytes(), "the program is root's copy")
    check(owned(person.unit, 0, 0o644), "the unit is root's")
    check([path.name for path in PROGRAMS.iterdir()] == ["pdpp"], "its folder has nothing else")


def unit_is_sound(person):
    """What systemd's own tools report about the unit."""
    copy = pathlib.Path(tempfile.mkdtemp(prefix="pdpp-unit-")) / person.unit.name
    try:
        shutil.copy(person.unit, copy)
        said = ran("systemd-analyze", "--man=no", "verify", copy)
        complaints = [line for line in (said.stderr + said.stdout).decode().splitlines() if person.unit.name in line]
        check(said.returncode == 0 and not complaints, "systemd-analyze verify finds no fault", complaints)
        said = ran("systemd-analyze", "security", "--offline=true", "--no-pager", copy)
        level = re.search(r"exposure level for \S+: ([\d.]+)", said.stdout.decode())
        check(level is not None and float(level[1]) <= 2.0, f"systemd-analyze security gives it {level and level[1]} (0 is best, 2.0 is the limit)")
    finally:
        shutil.rmtree(copy.parent)


def timers_are_sound(pdpp):
    """The timers of docs/refresh.md, checked by systemd's own tool and as property list and XML."""
    page = (ROOT / "docs/refresh.md").read_text()
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```", page, re.M | re.S) for kind in ("ini", "xml")}
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pdpp-timer-"))
    try:
        for name, text in zip(("pdpp-import.service", "pdpp-import.timer"), blocks["ini"], strict=True):
            (folder / name).write_text(text.replace("/usr/local/bin/pdpp", str(pdpp)))
        said = ran("systemd-analyze", "--user", "--man=no", "verify", *sorted(folder.iterdir()), env={**os.environ, "XDG_RUNTIME_DIR": str(folder)})
        complaints = [line for line in (said.stderr + said.stdout).decode().splitlines() if "pdpp-import" in line]
        check(said.returncode == 0 and not complaints, "systemd-analyze verify finds no fault in the timer of docs/refresh.md", complaints)
        when = ran("systemd-analyze", "calendar", "hourly")
        check(when.returncode == 0, "its calendar expression is valid")
    finally:
        shutil.rmtree(folder)
    plist, task = blocks["xml"]
    check(plistlib.loads(plist.encode())["ProgramArguments"][1:] == ["import", "--yes"], "its property list can be read")
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    check(xml.etree.ElementTree.fromstring(task).findtext(f"{space}Actions/{space}Exec/{space}Arguments") == "import --yes", "its task can be read")


def definitions_elsewhere():
    """The definitions for other systems, as far as they can be checked here."""
    found = plistlib.loads((ROOT / "packaging/launchd/pdpp-provider.plist").read_bytes())
    check(found["ProgramArguments"][0] == str(PROGRAM) and found["Umask"] == 0o077 and found["HardResourceLimits"]["Core"] == 0, "the launchd definition is a property list (it was never run)")
    task = xml.etree.ElementTree.parse(ROOT / "packaging/windows/pdpp-provider.xml").getroot()
    check(task.find(".//{*}Arguments").text.startswith("provider serve --data-dir "), "the Windows task is XML (it was never run)")
    script = (ROOT / "packaging/windows/pdpp-provider.ps1").read_text()
    check(all(word in script for word in ("PDPP_USER", "PDPP_STORE")) and script.count("{") == script.count("}"), "its script fills in what the task leaves open (nothing parsed it)")
    container = (ROOT / "packaging/container/Containerfile").read_text()
    words = [line.split()[0] for line in container.splitlines() if line[:1].isupper()]
    check(words == ["FROM", "COPY", "RUN", "USER", "ENV", "WORKDIR", "VOLUME", "STOPSIGNAL", "ENTRYPOINT", "CMD"], "the Containerfile has these steps (it was never built)")
    check("USER 64999:64999" in container, "and runs as a separate user")


# --- Attacks -----------------------------------------------------------------------------------------------------------------


class Attacks:
    """Counts the attacks that failed."""

    def __init__(self, folder):
        self.script = folder / "attacks.py"
        shutil.copy(pathlib.Path(attacks.__file__), self.script)
        self.script.chmod(0o644)
        self.held, self.worked, self.controls = [], [], 0

    def run(self, name, user, at):
        """Whether the attack worked, and its description of the result."""
        given = {key: str(value) if isinstance(value, pathlib.Path) else value for key, value in at.items()}
        done = ran(*as_user(user), sys.executable, self.script, name, stdin=None, input=json.dumps(given).encode(), env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}, cwd="/tmp")
        if done.returncode not in (0, 3):
            raise Fault(f"{name} could not be tried: {done.stderr.decode()[-1500:]}")
        return done.returncode == 3, done.stderr.decode()

    def attack(self, name, user, at, then=lambda: None, told=None):
        worked, said = self.run(name, user, at)
        seen = then()
        worked = worked or seen is not None
        (self.worked if worked else self.held).append(name)
        print(f"{'WORKED' if worked else 'held  '}  {told or name.replace('_', ' ')}", flush=True)
        if said.strip():
            print(said.rstrip())
        if seen is not None:
            print(f"  {seen}")

    def control(self, name, user, at):
        """The same against the person's own things: it must work."""
        worked, said = self.run(name, user, at)
        if not worked:
            raise Fault(f"{name} does not work against the person's own things either, so it proves nothing: {said}")
        self.controls += 1
        print(f"control {name.replace('_', ' ')} works on one's own", flush=True)


def run_attacks(ana, ben, work, secrets_of):
    against = Attacks(work)
    shell = ana.folder("shell")
    roots = pathlib.Path("/root/pdpptest-secret.mbox")
    service_uid = pwd.getpwnam(ana.system_user).pw_uid
    counts = ana.counts()
    accounts = ana.accounts()

    def unharmed():
        if ana.service.poll() is not None:
            return f"the service ended with {ana.service.returncode}"
        if ana.counts() != counts:
            return f"the store has changed: {ana.counts()}"
        left = [path for path in (ana.store / "inbox").glob("*")] if (ana.store / "inbox").exists() else []
        return f"something is left in the inbox: {left}" if left else None

    at = {"store": ana.store, "pid": ana.service.pid, "socket": ana.socket, "url": ana.url, "port": ana.port, "work": shell, "home": ana.home, "pdpp": ana.pdpp,
          "program": PROGRAM, "unit": ana.unit, "system_user": ana.system_user, "service_uid": service_uid, "mailbox": work / "one.mbox", "account": "Work",
          "accounts": ["Work", "Home"], "words": [WORD["Work"], WORD["Home"], accounts["Home"]], "ungranted": [WORD["Home"]], "ungranted_connection": accounts["Home"],
          "token": ana.granted["access_token"], "grant": ana.granted["grant_id"], "foreign_token": ben.granted["access_token"], "roots_file": roots, "secret": BEGUN,
          "seconds": 12, "any_dump": False}

    # The person's own store and processes, where the same attacks must work.
    own = ana.home / "simple"
    good(*as_user(ANA), ana.pdpp, "import", work / "one.mbox", "--account", "Work", "--yes", "--data-dir", own, env=ana.environment, cwd=ana.home)
    sleeper = subprocess.Popen([*as_user(ANA), "sleep", "600"], cwd=shell, env=ana.environment)
    mine = {**at, "store": own, "pid": sleeper.pid, "service_uid": ana.uid}

    # Files.
    for name in ("read_the_store", "read_the_store_by_programs"):
        against.control(name, ANA, {**mine, "work": ana.folder(name)})
        against.attack(name, ANA, at)
    against.attack("read_devices", ANA, at)
    against.attack("change_the_store", ANA, at, unharmed)
    against.attack("replace_what_runs", ANA, at, unharmed)

    # The process.
    against.control("look_into_the_process", ANA, mine)
    against.attack("look_into_the_process", ANA, at)
    against.control("trace_the_process", ANA, mine)
    against.attack("trace_the_process", ANA, at)
    against.attack("signal_the_process", ANA, at, unharmed)
    against.control("signal_the_process", ANA, mine)
    limits = pathlib.Path(f"/proc/{ana.service.pid}/limits").read_text()
    check(re.search(r"Max core file size\s+0\s+0\s", limits) is not None, "the service leaves no core dump")
    status = pathlib.Path(f"/proc/{ana.service.pid}/status").read_text()
    check("NoNewPrivs:\t1" in status and re.search(r"CapBnd:\t0+\n", status) is not None and f"Uid:\t{service_uid}\t{service_uid}\t{service_uid}\t{service_uid}\n" in status, "it runs as its user, without capabilities")

    # The person's own pdpp, while a passphrase is typed.
    words = ["prlimit", "--core=unlimited", "--", *as_user(ANA), ana.pdpp, "provider", "status"]
    with terminal(*words, env=ana.environment, cwd=shell) as reader:
        reader.answer("assphrase", BEGUN)
        waiting = waited(lambda: child_called(reader.child.pid, "pdpp"), 5)
        time.sleep(0.5)
        reading = {**at, "pid": waiting}
        against.attack("look_into_the_process", ANA, reading, told="look into the person's own pdpp while a passphrase is typed")
        against.attack("trace_the_process", ANA, reading, told="trace the person's own pdpp while a passphrase is typed")
        against.attack("dump_a_reader", ANA, reading, told="have the person's own pdpp dump its memory while a passphrase is typed")
    dumper = subprocess.Popen(["prlimit", "--core=unlimited", "--", *as_user(ANA), "sleep", "600"], cwd=shell, env=ana.environment)
    time.sleep(0.5)
    if pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("core"):
        against.control("dump_a_reader", ANA, {**at, "pid": dumper.pid, "any_dump": True})
    dumper.kill()
    dumper.wait()
    for dump in shell.glob("core*"):
        dump.unlink()

    # The socket.
    against.attack("ask_without_the_passphrase", ANA, at, unharmed)
    against.attack("import_into_a_known_account", ANA, at, unharmed)
    against.attack("guess_at_the_socket", ANA, at)
    against.attack("speak_to_another_persons_service", BEN, at)
    against.attack("speak_to_another_persons_service", "nobody", at, told="speak to the service as nobody")
    against.attack("speak_to_another_persons_service", ANA, {**at, "socket": ben.socket, "url": ben.url, "words": [WORD["Ben"]]}, told="speak to another person's service as ana")
    against.attack("put_up_a_false_socket", ANA, at, unharmed)
    against.attack("hand_over_hostile_files", ANA, at, unharmed)
    roots.write_text((work / "one.mbox").read_text())
    roots.chmod(0o600)
    try:
        against.attack("import_by_links", ANA, at, unharmed)
    finally:
        roots.unlink()
    against.attack("keep_the_owner_out", ANA, at, unharmed)

    # The page and the port.
    against.attack("decide_without_a_link", ANA, at)
    against.attack("decide_with_a_link", ANA, at, unharmed)
    against.attack("guess_at_pages", ANA, at)
    against.attack("read_without_a_token", ANA, at)
    against.attack("read_beyond_the_grant", ANA, at)
    against.attack("widen_the_grant", ANA, at, unharmed)
    against.attack("listen_in_its_place", ANA, at)
    against.attack("read_without_a_token", ANA, {**at, "url": ben.url, "token": at["token"], "words": [WORD["Ben"]], "foreign_token": at["token"]}, told="read at another person's service with ana's token")

    # The service's commands.
    against.control("use_the_services_commands", ANA, {**mine, "words": [WORD["Work"]], "ungranted": [WORD["Work"]], "work": ana.folder("commands")})
    against.attack("use_the_services_commands", ANA, at, unharmed)
    against.attack("run_the_service_with_ones_own_library", ANA, at)
    against.attack("read_the_store", ANA, {**at, "store": ben.store, "pid": ben.service.pid, "work": ana.folder("bens")}, told="read another person's store")
    sleeper.kill()
    sleeper.wait()

    # A socket in one of the person's places: root allows it, as a broken system would.
    ana.stop()
    for mode, owner, told in ((0o755, ana.uid, "believe a socket in a folder of the person's"), (0o777, 0, "believe a socket in a folder that everybody can write to")):
        shutil.rmtree(ana.socket.parent, ignore_errors=True)
        ana.socket.parent.mkdir()
        os.chown(ana.socket.parent, owner, -1)
        os.chmod(ana.socket.parent, mode)
        against.attack("believe_a_false_socket", ANA, at, told=told)
    shutil.rmtree(ana.socket.parent)
    ana.start()

    # Last: typed passphrases and links, in everything that the person can read.
    typed = [spelling for passphrase in PASSPHRASES.values() for spelling in spellings(passphrase)]
    wanted = {"secrets": [*typed, *secrets_of()], "since": BEGAN - 5, "least": 20}
    against.attack("search_what_can_be_read", ANA, wanted)
    marker = ana.home / "marker"
    marker.write_text(wanted["secrets"][0])
    marker.chmod(0o644)
    against.control("search_what_can_be_read", ANA, wanted)
    marker.unlink()
    return against


BEGAN = time.time()


def child_called(pid, name):
    """The process `pid`, or one that it started, once it runs a program called `name`."""
    pids = [pid]
    for one in pids:
        with contextlib.suppress(OSError):
            pids += map(int, pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split())
            if pathlib.Path(f"/proc/{one}/exe").resolve().name.startswith(name):
                return one
    return None


def spellings(secret):
    """As typed, and as encoded in forms and addresses."""
    return sorted({secret, secret.replace(" ", "+"), secret.replace(" ", "%20")})


def secrets_in_memory(ana, wanted):
    """Searches the memory of the service for typed text and for links, as root can."""
    found, pid = {}, ana.service.pid
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            at, rights = line.split()[:2]
            start, end = (int(part, 16) for part in at.split("-"))
            if "r" not in rights or "[v" in line:
                continue
            with contextlib.suppress(OSError):
                memory.seek(start)
                text = memory.read(end - start) or b""
                for name, secret in wanted.items():
                    count = sum(text.count(spelling.encode()) for spelling in spellings(secret))
                    if count:
                        found[name] = found.get(name, 0) + count
    if not found.pop("its folder", 0):
        raise Fault("not even the name of its folder was found in the service's memory, so that proves nothing")
    return found


# --- What is lost ------------------------------------------------------------------------------------------------------------


def import_as(person, path, account, typed=False):
    words = ("import", path, "--account", account, "--yes")
    if typed:
        return person.typed(*words)
    done = person.run(*words)
    if done.returncode:
        raise Fault(f"import of {account} ended with {done.returncode}: {done.stderr.decode()[-1500:]}")
    return done.stdout.decode()


def kills(ana, work):
    """The service is killed during imports, again and again; then each import is completed, and nothing is lost or duplicated."""
    mails, midway = 4000, 0
    mailbox(work / "large.mbox", "Large", mails, large=3000)
    before = ana.counts()
    for number in range(8):
        account = f"Large {number}"
        child = subprocess.Popen([*as_user(ANA), ana.pdpp, "import", str(work / "large.mbox"), "--account", account, "--yes"], env=ana.environment, cwd=ana.home,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        size = lambda: sum(path.stat().st_size for path in ana.store.glob("own.db*"))  # noqa: E731
        start = size()
        waited(lambda: child.poll() is not None or size() > start + (number % 4 + 1) * 1_200_000, 30)
        ana.stop(signal.SIGKILL)
        child.wait(PATIENCE)
        ana.start()
        known = ana.counts()
        came = known.get(account, {}).get("messages", 0)
        midway += 0 < came < mails
        left = list((ana.store / "inbox").glob("*")) if (ana.store / "inbox").exists() else []
        check(not left and {name: known[name] for name in before} == before, f"killed after {came} of {mails} mails: nothing that was passed over is left, and the earlier records are there")
        import_as(ana, work / "large.mbox", account, typed=account in known)
        check(ana.counts()[account].get("messages") == mails, "then each of them is there once")
        if midway == 2:
            return
    raise Fault("no two kills came in the middle of an import")


def full_disk(ben, work):
    """A store on a small disk that fills up: an import is refused, and nothing is lost."""
    ben.stop()
    kept = pathlib.Path(tempfile.mkdtemp(prefix="pdpp-kept-"))
    shutil.copytree(ben.store, kept / "store", symlinks=True)
    user = pwd.getpwnam(ben.system_user)
    good("mount", "-t", "tmpfs", "-o", f"size=1200m,mode=700,uid={user.pw_uid},gid={user.pw_gid}", "pdpptest", ben.store)
    try:
        for path in (kept / "store").iterdir():
            if path.is_file():
                shutil.copy(path, ben.store / path.name)
                os.chown(ben.store / path.name, user.pw_uid, user.pw_gid)
                os.chmod(ben.store / path.name, 0o600)
        ben.start()
        before = ben.counts()
        filler = ben.store / "filler"
        filler.write_bytes(b"x" * (200 << 20))
        done = ben.run("import", work / "one.mbox", "--account", "More", "--yes")
        said = (done.stderr + done.stdout).decode()
        check(done.returncode != 0 and "disk" in said, "an import with less than 1 GiB free is refused", said[-600:])
        check(ben.counts() == before and not list((ben.store / "inbox").glob("*")), "and nothing is lost or left")
        filler.unlink()
        import_as(ben, work / "one.mbox", "More")
        check(ben.counts()["More"]["messages"] == 1, "with room it goes")
        ben.stop()
    finally:
        if ben.service.poll() is None:
            ben.stop()
        good("umount", ben.store)
        shutil.rmtree(kept)
    ben.start()


def stopped_and_started(ana):
    """Like a reboot: the unit is stopped, the folder of the socket is gone, and both are created again."""
    bearer = {"authorization": f"Bearer {ana.granted['access_token']}"}
    read = lambda: ask(f"{ana.url}/v1/streams/messages/records?limit=100", **bearer)  # noqa: E731
    before, url = (ana.counts(), read()[2]), ana.url
    check(read()[0] == 200, "the grant reads")
    check(ana.stop() == 0, "the service ends on its own when it is stopped")
    done = ana.run("provider", "status")
    check(done.returncode != 0 and ana.run("import", ana.home / "x").returncode != 0, "without it the person's commands fail, and create no other store")
    shutil.rmtree(ana.socket.parent, ignore_errors=True)
    ana.start()
    same = re.sub(r'"request_id":"[^"]*"', "", read()[2]) == re.sub(r'"request_id":"[^"]*"', "", before[1])
    check(ana.url == url and ana.counts() == before[0] and same, "after the next start records, grant, token and address are unchanged")


def again(pdpp, ana, work):
    """Installed again: program and unit are new, store, passphrase and port stay; and root runs no program of the person's."""
    counts, unit = ana.counts(), ana.unit.read_text()
    ana.stop()
    trojans = ana.folder("trojans")
    for name in ("useradd", "userdel", "getent", "id", "systemctl", "journalctl", "sudo", "setpriv", "env", "sh"):
        (trojans / name).write_text(f"#!/bin/sh\n/usr/bin/touch {work}/TROJAN\nexec /usr/bin/{name} \"$@\"\n")
        (trojans / name).chmod(0o755)
    ana.unit.write_text(unit + "# changed\n")
    done = ran(pdpp, "provider", "install", "--for", ANA, "--yes", "--no-start", "--json", env=root_environment(PATH=f"{trojans}:/usr/bin:/bin", IFS="x", LD_LIBRARY_PATH=str(trojans)))
    check(done.returncode == 0, "installed again without a question", done.stderr.decode()[-600:])
    check(not (work / "TROJAN").exists(), "root ran no program of the person's")
    check(ana.unit.read_text() == unit, "the unit is written again, with the same port")
    check(sorted(path.name for path in PROGRAMS.iterdir()) == ["pdpp"], "the earlier program is gone")
    ana.start()
    check(ana.counts() == counts, "store and passphrase are unchanged")
    said = good(pdpp, "provider", "install", "--for", ANA, "--dry-run", env=root_environment())
    check("(unchanged)" in said, "a plan states it")


def set_ups(ana):
    """`doctor` and `status` name the set-up."""
    doctor = json.loads(ana.run("doctor", "--json").stdout)
    found = next(one for one in doctor["checks"] if one["name"] == "set-up")
    check(found["message"].startswith("separate; ") and "its service is running" in found["message"], "doctor names the set-up")
    status = json.loads(ana.run("status", "--json").stdout)
    check(status["set_up"] == "separate", "and so does status")


def as_an_agent_does(ana, links):
    """The person connects their agent with `pdpp connect`, like to any provider, and its tools read what was granted."""
    words = [*as_user(ANA), ana.pdpp, "connect", ana.url, "--no-browser", "--store", "file"]
    connecting = subprocess.Popen(words, env=ana.environment, cwd=ana.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for _ in range(10):
            time.sleep(2)
            with contextlib.suppress(Fault):
                links.append(ana.approve(None, "Work"))
                break
        said = connecting.communicate(timeout=PATIENCE)[0].decode()
    finally:
        if connecting.poll() is None:
            connecting.kill()
    check(connecting.returncode == 0, "pdpp connect gets a grant from the service", said[-800:])
    for account, is_found in (("Work", True), ("Home", False)):
        said = ana.run("mcp", "call", "search", json.dumps({"q": WORD[account]}), "--view", "text").stdout.decode()
        check((f"<mark>{WORD[account]}</mark>" in said) == is_found, f"its tools find {account}: {'yes' if is_found else 'no'}", said[-600:])


def restore(pdpp, ben, work):
    """Root restores a backup: into an empty store only, as the store's own user; the passphrase stays."""
    backup = ben.home / "ben.pdpp"
    ben.typed("provider", "backup", backup)
    check(backup.stat().st_uid == ben.uid and backup.stat().st_size > 1000, "a backup is written into the person's own file")
    counts = ben.counts()
    data = ("provider", "restore", backup, "--data-dir", ben.store)
    done = ben.run(*data)
    check(done.returncode == 77 and b"install_needs_root" in done.stderr, "the person cannot restore")
    done = ran(pdpp, *data, env=root_environment())
    check(b"own_in_use" in done.stderr + done.stdout, "nor root while the service runs", done.stderr.decode()[-600:])
    ben.stop()
    done = ran(pdpp, *data, env=root_environment())
    said = done.stderr.decode() + done.stdout.decode()
    check(done.returncode != 0 and "restore_not_empty" in said, "nor root over an existing store")
    check(str(backup) in said and ".restoring-" not in said, "the advice names the person's file", said[-600:])
    ben.start()
    for account in ben.accounts():
        told = None
        with Wire(ben.socket) as wire:
            wire.send({"forget": {"account": account}})
            while (told := wire.receive()) and told[0] in ("passphrase", "account"):
                if told[0] == "passphrase":
                    wire.send_secret(ben.passphrase)
                else:
                    wire.send({"go": {"is_agreed": True}})
        if not told or told[0] != "forgotten":
            raise Fault(f"{account} is not forgotten: {told}")
    check(ben.counts() == {}, "everything is forgotten")
    ben.stop()
    with terminal(pdpp, *data, env=root_environment()) as at:
        code = at.ended()
    check(code == 0, "root restores into the empty store", at.said[-600:])
    check([path.name for path in STORES.iterdir() if path.name.startswith(".")] == [], "no copy of the backup is left")
    ben.start()
    check(ben.counts() == counts, "the same records are there again")
    status = ask(f"{ben.url}/v1/schema", authorization=f"Bearer {ben.granted['access_token']}")[0]
    check(status in (401, 403), "and no earlier token is valid")


def taken_away(pdpp, ana, ben):
    """Uninstalled, once with the data kept."""
    done = ran(pdpp, "provider", "uninstall", "--for", BEN, "--yes", "--json", env=root_environment())
    kept = STORES / f"kept-{ben.uid}"
    check(done.returncode == 0 and json.loads(done.stdout)["kept"] == str(kept), "ben's is removed, the data kept", done.stderr.decode()[-600:])
    check(ben.service.wait(PATIENCE) is not None and kept.exists() and not ben.store.exists() and not ben.unit.exists() and not ben.socket.parent.exists(), "its service has ended, unit and socket are gone")
    check(PROGRAM.exists() and ana.hello() is not None, "ana's is untouched")
    check(pwd.getpwnam(ben.system_user).pw_uid == kept.stat().st_uid, "the system user stays with the data")
    check(attacks.tried(os.listdir, kept) is not None and ran(*as_user(BEN), "ls", kept).returncode != 0, "which ben cannot read")
    done = ran(pdpp, "provider", "install", "--for", BEN, "--yes", "--no-start", env=root_environment())
    check(done.returncode == 0 and ben.store.exists() and not kept.exists(), "after another installation it is used again", done.stderr.decode()[-600:])
    ben.start()
    check(ben.counts() != {}, "with everything in it")
    for person in (ben, ana):
        good(pdpp, "provider", "uninstall", "--for", person.name, "--delete-data", "--yes", env=root_environment())
        person.service.wait(PATIENCE)
    check(not is_there(), "uninstalled, nothing is left", is_there())
    check(not any(name.startswith("pdpp-pdpptest") for name in users()), "no system user either")
    done = ran(pdpp, "provider", "uninstall", "--for", ANA, "--yes", env=root_environment())
    check(done.returncode == 0 and b"There is no separate set-up" in done.stdout, "a second time removes nothing, and is not a failure")


def sweep():
    """Removes everything that this suite may have created, by its names."""
    for entry in pwd.getpwall():
        if not entry.pw_name.startswith(("pdpptest-", "pdpp-pdpptest-")):
            continue
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, StopIteration):
                ids = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("Uid:"))
                if str(entry.pw_uid) in ids.split():
                    os.kill(int(folder.name), signal.SIGKILL)
        if entry.pw_name.startswith("pdpptest-"):
            for store in (STORES / str(entry.pw_uid), STORES / f"kept-{entry.pw_uid}"):
                ran("umount", "-q", store)
                shutil.rmtree(store, ignore_errors=True)
            shutil.rmtree(SOCKETS / str(entry.pw_uid), ignore_errors=True)
    for unit in UNITS.glob("pdpp-provider-pdpptest-*"):
        unit.unlink()
    if not list(UNITS.glob("pdpp-provider-*.service")):
        shutil.rmtree(PROGRAMS, ignore_errors=True)
    for folder in (STORES, SOCKETS):
        with contextlib.suppress(OSError):
            folder.rmdir()
    time.sleep(0.2)
    for entry in pwd.getpwall():
        if entry.pw_name.startswith(("pdpptest-", "pdpp-pdpptest-")):
            ran("userdel", *(["--remove"] if entry.pw_name.startswith("pdpptest-") else []), entry.pw_name)
    pathlib.Path("/root/pdpptest-secret.mbox").unlink(missing_ok=True)


def run(pdpp, work):
    ana, ben = Person(ANA, pdpp), Person(BEN, pdpp)
    mailbox(work / "work.mbox", "Work", MAILS["Work"])
    mailbox(work / "home.mbox", "Home", MAILS["Home"])
    mailbox(work / "ben.mbox", "Ben", 30)
    mailbox(work / "one.mbox", "One", 1)
    definitions_elsewhere()
    timers_are_sound(pdpp)
    UNITS.mkdir(parents=True, exist_ok=True)
    refusals(pdpp, ana)
    install(pdpp, ana, first=True)
    what_was_made(pdpp, ana)
    unit_is_sound(ana)
    install(pdpp, ben)
    ports = {re.search(r"--listen (\S+)", person.unit.read_text())[1] for person in (ana, ben)}
    check(len(ports) == 2, f"each has a separate port: {', '.join(sorted(ports))}")
    ana.start()
    ben.start()
    for account in MAILS:
        import_as(ana, work / f"{account.lower()}.mbox", account)
    import_as(ben, work / "ben.mbox", "Ben")
    check({name: streams["messages"] for name, streams in ana.counts().items()} == MAILS, "two mailboxes are imported through the socket")
    check({name: streams["messages"] for name, streams in ben.counts().items()} == {"Ben": 30}, "two people have two stores")
    links = []
    for person, account in ((ana, "Work"), (ben, "Ben")):
        attempt = person.request("Agent")
        links.append(person.approve(attempt, account))
        person.granted = person.token(attempt)
        status, _, text = ask(f"{person.url}/v1/search?q={WORD[account]}", authorization=f"Bearer {person.granted['access_token']}")
        check(status == 200 and WORD[account] in text, f"{person.name} granted one account on the page, and it can be read")
    as_an_agent_does(ana, links)
    set_ups(ana)
    import_as(ana, work / "work.mbox", "Work", typed=True)
    check(True, "an import into a granted account needs the passphrase")
    wanted = {"its folder": str(ana.store), "ana's passphrase": ana.passphrase, "the link of a page": links[0].rsplit("/", 1)[1], "a wrong passphrase": BEGUN}
    memory = secrets_in_memory(ana, wanted)
    check(not memory, "neither passphrase nor link is in the memory of the service after the decision", memory)
    stopped_and_started(ana)
    against = run_attacks(ana, ben, work, lambda: [link.rsplit("/", 1)[1] for link in links])
    again(pdpp, ana, work)
    kills(ana, work)
    full_disk(ben, work)
    restore(pdpp, ben, work)
    taken_away(pdpp, ana, ben)
    return against


def main(pdpp):
    if os.geteuid() != 0:
        sys.exit("separate: needs root, to create users and act as them")
    if found := is_there():
        sys.exit(f"separate: this computer already has a separate set-up ({', '.join(found)}), which is left alone")
    missing = [name for name in ("useradd", "userdel", "getent", "setpriv", "prlimit", "systemd-analyze", "gdb", "cc", "mount") if shutil.which(name) is None]
    if missing:
        sys.exit(f"separate: {', '.join(missing)} must be installed")
    sweep()
    had_units = UNITS.exists()
    try:
        with tempfile.TemporaryDirectory(prefix="pdpp-separate-", ignore_cleanup_errors=True) as made:
            work = pathlib.Path(made)
            work.chmod(0o755)
            # Where everyone may run it, wherever the clone is; it belongs to root, so that nobody else changes it.
            binary = work / "pdpp"
            shutil.copy(pdpp, binary)
            binary.chmod(0o755)
            against = run(binary, work)
    except Fault as fault:
        sys.exit(f"separate: {fault}")
    finally:
        sweep()
        if not had_units:
            with contextlib.suppress(OSError):
                UNITS.rmdir()
    print(f"separate: {len(against.held)} attacks held, {len(against.worked)} worked, {against.controls} of them work against the person's own things; the unit's hardening is unproven here")
    return 1 if against.worked else 0


if __name__ == "__main__":
    threading.excepthook = lambda _: None
    sys.exit(main(sys.argv[1]))
