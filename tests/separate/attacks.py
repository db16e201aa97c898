"""What a shell under the person's uid tries against the separate set-up. Each attack reports whether it worked.

    attacks.py NAME < WHERE

Run it as that user; WHERE is JSON, and names the target. Exits with 3 if the attack worked, with 0 if the target held. The same attacks run
against what belongs to the person, where most of them must work: otherwise they prove nothing.
"""

import concurrent.futures
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import resource
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import types
import urllib.parse

FORM = "application/x-www-form-urlencoded"
PATIENCE = 30
# How many passphrases per second an attacker may try, all ways together, and the allowance for those in flight.
RATE, GRACE = 1.3, 8


def saw(what):
    print(f"  {what}", file=sys.stderr)
    return True


def tried(work, *arguments, **more):
    """The result, or nothing if the system refuses."""
    try:
        return work(*arguments, **more)
    except (OSError, ValueError):
        return None


def ran(*words, stdin=subprocess.DEVNULL, **more):
    return subprocess.run(list(map(str, words)), stdin=stdin, capture_output=True, timeout=120, **more)


# --- The wire -------------------------------------------------------------------------------------------------------------


class Wire:
    """A conversation with the service at the owner's socket."""

    def __init__(self, path, patience=PATIENCE):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience)
        self.socket.connect(str(path))
        self.seen = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, what, file=None, kind=b"j"):
        body = what if isinstance(what, bytes) else json.dumps(what).encode()
        frame = kind + struct.pack(">I", len(body)) + body
        if file is None:
            self.socket.sendall(frame)
        else:
            sent = socket.send_fds(self.socket, [frame], [file])
            self.socket.sendall(frame[sent:])

    def send_secret(self, text):
        self.send(text.encode(), kind=b"s")

    def _read(self, length):
        got = b""
        while len(got) < length:
            part = self.socket.recv(length - len(got))
            if not part:
                raise EOFError
            got += part
        return got

    def receive(self):
        """Its next message, as a name and the contents; nothing at the end."""
        try:
            head = self._read(5)
            body = self._read(struct.unpack(">I", head[1:])[0])
        except (EOFError, OSError):
            return None
        self.seen += body
        told = json.loads(body)
        return (told, None) if isinstance(told, str) else next(iter(told.items()))

    def rest(self, most=200):
        """All of its remaining messages."""
        told = []
        while len(told) < most and (said := self.receive()):
            told.append(said)
        return told


def hand_over(wire, path, wanted=None, name="", shown=None, go=True, file=None):
    """An import of one file, with all messages sent at once; the caller reads the answers."""
    given = dict.fromkeys(("format", "account", "timezone", "own_zone", "date_order", "since_ms"))
    given |= {"copies_attachments": False, **(wanted or {})}
    wire.send({"import": {"wanted": given, "is_dry": False, "names_bad": False}})
    shown = shown if shown is not None else str(path)
    wire.send({"source": {"typed": shown, "shown": shown, "is_folder": bool(name)}})
    opened = file if file is not None else os.open(path, os.O_RDONLY)
    with contextlib.suppress(OSError):
        wire.send({"file": {"name": name}}, opened)
        wire.send("whole")
        if go:
            wire.send({"go": {"is_agreed": True}})
    if file is None:
        os.close(opened)


# --- HTTP ------------------------------------------------------------------------------------------------------------------


def ask(url, body=None, kind="application/json", within=PATIENCE, method=None, **headers):
    """Status, headers and text of one exchange; redirects are not followed."""
    at = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=within)
    target = (at.path or "/") + (f"?{at.query}" if at.query else "")
    if body is None:
        connection.request(method or "GET", target, headers=headers)
    else:
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body) if kind == "application/json" else urllib.parse.urlencode(body)
        body = body.encode() if isinstance(body, str) else body
        connection.request(method or "POST", target, body, {"content-type": kind, **headers})
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, answer, text


def hidden(html, name):
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    return found and found[1].replace("&amp;", "&")


def ticked(html):
    """The boxes of a page, all ticked."""
    boxes = re.findall(r"<input type=\"checkbox\"[^>]*>", html)
    pairs = [(re.search(r' name="([^"]+)"', box), re.search(r' value="([^"]+)"', box)) for box in boxes]
    return [(name[1], value[1]) for name, value in pairs if name and value]


class Visit:
    """A browser at the owner's page."""

    def __init__(self, link):
        self.base = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(link))
        status, head, text = ask(link)
        self.cookie = (head.getheader("set-cookie") or "x=y").split(";")[0]
        led = re.search(r"url=(/owner/[^\"' ]+)", text)
        self.path = led[1].rstrip("/") if led else "/owner/none"
        self.opened = status == 200 and bool(led)

    def get(self, rest=""):
        return ask(self.base + self.path + rest, cookie=self.cookie)

    def post(self, rest, form):
        html = self.get()[2]
        form = [("csrf", hidden(html, "csrf") or "x"), *form]
        return ask(self.base + self.path + rest, form, FORM, cookie=self.cookie, origin=self.base)

    def let_in(self, passphrase):
        return self.post("/passphrase", [("passphrase", passphrase)])


def link_of(at):
    with Wire(at.socket) as wire:
        wire.send("open")
        told = wire.receive()
    return told[1]["url"] if told and told[0] == "link" else None


def shows(text, words):
    text = text if isinstance(text, str) else text.decode(errors="replace")
    return next((word for word in words if word in text), None)


# --- Files -----------------------------------------------------------------------------------------------------------------


def ways_in(at):
    store = pathlib.Path(at.store)
    link = pathlib.Path(at.work) / f"link-{secrets.token_hex(4)}"
    tried(link.symlink_to, store)
    folders = [store, link, store.parent / ".." / store.parent.name / store.name]
    folders += [pathlib.Path(f"/proc/{at.pid}/{way}") / str(store).lstrip("/") for way in ("root", "cwd/..")]
    folders.append(pathlib.Path(f"/proc/{at.pid}/cwd"))
    return folders


def read_the_store(at):
    """Every name that leads into it, and what an accessible place in it allows."""
    names = ("own.db", "own.db-wal", "own.db-shm", "grants.db", "grants.db-wal", "reads.jsonl", "served-by.json", "inbox")
    for folder in ways_in(at):
        if tried(os.listdir, folder):
            return saw(f"{folder} can be listed")
        for name in names:
            if tried(os.stat, folder / name):
                return saw(f"{folder / name} can be looked at")
            if tried((folder / name).read_bytes):
                return saw(f"{folder / name} can be read")
    place = tried(os.open, at.store, os.O_PATH)
    if place is not None:
        for way in (f"/proc/self/fd/{place}", f"/proc/self/fd/{place}/own.db"):
            if tried(os.listdir, way) or tried(pathlib.Path(way).read_bytes):
                return saw(f"{way} leads into it")
        if tried(os.open, "own.db", os.O_RDONLY, dir_fd=place):
            return saw("own.db can be opened from an open place")
        if tried(os.fchdir, place) is None and os.getcwd() == at.store:
            return saw("the store can be entered")
    return False


def read_the_store_by_programs(at):
    """Other programs, and namespaces in which the person is root."""
    file = f"{at.store}/own.db"
    for words in (["cat", file], ["cp", file, f"{at.work}/copy"], ["tar", "cf", "-", at.store], ["unshare", "-Ur", "cat", file],
                  ["unshare", "-Urm", "cat", file], ["unshare", "-Ur", "chown", "-R", "0", at.store],
                  ["setpriv", "--reuid", str(at.service_uid), "--clear-groups", "cat", file],
                  ["su", "-s", "/bin/sh", at.system_user, "-c", f"cat {file}"], ["sudo", "-n", "-u", at.system_user, "cat", file],
                  ["newgrp", at.system_user], ["chmod", "o+rx", at.store], ["setfacl", "-m", f"u:{os.getuid()}:rx", at.store]):
        if shutil.which(words[0]) is None:
            continue
        done = ran(*words)
        if b"SQLite format 3" in done.stdout or done.returncode == 0 and words[0] in ("chmod", "setfacl", "newgrp", "cp", "tar"):
            return saw(f"{' '.join(words)} went")
    return False


def read_devices(at):
    """The disks below it, and the computer's memory."""
    devices = [*pathlib.Path("/dev").glob("[svx]d[a-z]*"), *pathlib.Path("/dev").glob("nvme*"), *pathlib.Path("/dev").glob("dm-*")]
    for path in [*devices, *map(pathlib.Path, ("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore"))]:
        with contextlib.suppress(OSError), path.open("rb") as file:
            if file.read(512):
                return saw(f"{path} can be read")
    return False


def change_the_store(at):
    store = pathlib.Path(at.store)
    for work in (lambda: (store / "x").write_text("x"), lambda: (store / "x").symlink_to("/etc"), lambda: store.rename(store.with_name("y")),
                 lambda: (store.parent / "99999").mkdir(), lambda: os.link(store / "own.db", f"{at.work}/hard"),
                 lambda: os.unlink(store / "own.db"), lambda: os.truncate(store / "own.db", 0), lambda: os.utime(store), lambda: os.chmod(store, 0o777),
                 lambda: os.chown(store, os.getuid(), -1), lambda: os.setxattr(store, "user.x", b"y")):
        try:
            work()
        except OSError:
            continue
        return saw("the store, or the folder above it, was changed")
    return False


def replace_what_runs(at):
    """The program, the unit, a drop-in, and links that root would follow."""
    for path in map(pathlib.Path, (at.program, at.unit)):
        for work in (lambda: path.open("r+b"), lambda: path.unlink(), lambda: path.rename(path.with_name("y")), lambda: path.write_bytes(b"x"),
                     lambda: path.with_name("libx.so").write_bytes(b"x"), lambda: pathlib.Path(f"{path}.d").mkdir(),
                     lambda: path.parent.rename(path.parent.with_name("y")), lambda: path.parent.chmod(0o777), lambda: os.link(path, f"{at.work}/hard-link")):
            try:
                work()
            except OSError:
                continue
            if (path.parent / "libx.so").exists() or not str(path).startswith("/etc"):
                kept = pathlib.Path(at.work) / "hard-link"
                # A second name for a program that anyone may read gives nobody a right to it.
                if kept.exists() and tried(kept.open, "r+b") is None:
                    kept.unlink()
                    continue
            return saw(f"{path} can be replaced")
    for folder in ("/etc/ld.so.preload", "/etc/ld.so.conf.d/x.conf", "/lib/x", "/usr/lib/x", "/etc/systemd/system.conf.d/x.conf"):
        with contextlib.suppress(OSError), open(folder, "x"):
            return saw(f"{folder} can be made")
    return False


# --- The process -----------------------------------------------------------------------------------------------------------

libc = ctypes.CDLL(None, use_errno=True)


def look_into_the_process(at):
    """/proc of the service: its memory, environment, files, and directories."""
    folder = pathlib.Path(f"/proc/{at.pid}")
    threads = [thread.name for thread in tried(lambda: list((folder / "task").iterdir())) or []]
    for base in [folder, *(folder / "task" / thread for thread in threads)]:
        for name in ("environ", "mem", "maps", "smaps", "pagemap", "numa_maps", "auxv", "io", "stack", "syscall", "personality"):
            with contextlib.suppress(OSError), (base / name).open("rb") as file:
                if name == "mem" or file.read(16):
                    return saw(f"{base / name} can be read")
        for name in ("fd", "fdinfo", "map_files"):
            if tried(os.listdir, base / name):
                return saw(f"{base / name} can be listed")
        for name in ("root", "cwd", "exe", "ns/mnt"):
            if tried(os.readlink, base / name):
                return saw(f"{base / name} can be followed")
        for number in range(64):
            if tried(os.open, f"{base}/fd/{number}", os.O_RDONLY) is not None:
                return saw(f"{base}/fd/{number} can be opened")
    for name in ("oom_score_adj", "coredump_filter", "clear_refs", "comm", "timerslack_ns"):
        with contextlib.suppress(OSError), (folder / name).open("r+b", buffering=0) as file:
            file.write(b"0")
            return saw(f"{folder / name} can be written")
    return False


def trace_the_process(at):
    """ptrace, reading its memory, taking its open files, a debugger."""
    pid = int(at.pid)
    for request in (16, 0x4206):
        if libc.ptrace(request, pid, None, None) == 0:
            libc.ptrace(17, pid, None, None)
            return saw("it can be traced")
    local = ctypes.create_string_buffer(16)

    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    there = tried(lambda: pathlib.Path(f"/proc/{pid}/maps").read_text().split("-")[0])
    remote = Part(int(there or "400000", 16), 16)
    if libc.process_vm_readv(pid, ctypes.byref(Part(ctypes.addressof(local), 16)), 1, ctypes.byref(remote), 1, 0) > 0:
        return saw("its memory can be read")
    handle = libc.syscall(434, pid, 0)
    if handle >= 0 and any(libc.syscall(438, handle, number, 0) >= 0 for number in range(32)):
        return saw("an open file of it can be taken")
    if shutil.which("gdb"):
        done = ran("gdb", "-p", pid, "-batch", "-nx", "-ex", "info registers")
        if b"rip" in done.stdout or b"pc  " in done.stdout:
            return saw("a debugger reads its registers")
    return False


def signal_the_process(at):
    for number in (0, signal.SIGSTOP, signal.SIGUSR1, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.kill(int(at.pid), number)
            if number == signal.SIGSTOP:
                os.kill(int(at.pid), signal.SIGCONT)
            return saw(f"signal {number} reaches it")
        with contextlib.suppress(OSError):
            os.killpg(int(at.pid), number)
            return saw(f"signal {number} reaches its group")
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        if tried(resource.prlimit, int(at.pid), limit) is not None:
            return saw("its limits can be read and set")
    return False


def dump_a_reader(at):
    """The person's own pdpp, while it waits for the rest of a passphrase: a core dump would contain the beginning."""
    os.chdir(at.work)
    for number in (signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        tried(os.kill, int(at.pid), number)
        time.sleep(0.5)
    dumps = [path for path in pathlib.Path(at.work).rglob("core*") if path.is_file()]
    for path in dumps:
        if at.secret.encode() in path.read_bytes():
            return saw(f"{path} has what was typed")
    return saw(f"there is a core dump, {dumps[0]}") if dumps and at.any_dump else False


def search_what_can_be_read(at):
    """Every file, and every process's arguments and environment, that this user can read."""
    wanted = [word.encode() for word in at.secrets]
    own = {os.getpid(), os.getppid()}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        if int(folder.name) in own:
            continue
        for name in ("cmdline", "environ"):
            text = tried((folder / name).read_bytes) or b""
            if any(word in text for word in wanted):
                return saw(f"{folder / name} has a secret: {text[:60]!r}")
    looked = 0
    for root in ("/etc", "/home", "/opt", "/root", "/run", "/srv", "/tmp", "/usr/local", "/var", "/dev/shm", "/mnt"):
        for path, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not os.path.ismount(os.path.join(path, name))]
            for name in names:
                path_of = pathlib.Path(path) / name
                with contextlib.suppress(OSError):
                    found = path_of.lstat()
                    if not path_of.is_file() or path_of.is_symlink() or found.st_size > 64 << 20 or found.st_mtime < at.since:
                        continue
                    text = path_of.read_bytes()
                    looked += 1
                    if any(word in text for word in wanted):
                        return saw(f"{path_of} has a secret")
    return saw("no file could be looked at") if looked < at.least else False


# --- The socket ------------------------------------------------------------------------------------------------------------


def ask_without_the_passphrase(at):
    """Each request that needs the passphrase, sent without it: what the service reveals before it, and whether it acts anyway."""
    with tempfile.TemporaryFile(dir=at.work) as file:
        for request in ("status", "grants", "sources", {"forget": {"account": at.account}}, {"forget": {"account": "No such"}},
                        {"backup": {"is_encrypted": False}}, {"backup": {"is_encrypted": True}}, "passphrase"):
            with Wire(at.socket, 10) as wire:
                wire.send(request, file.fileno() if isinstance(request, dict) and "backup" in request else None)
                told = wire.receive()
                for guess in ("", "x" * 1024):
                    if told and told[0] == "passphrase" and told[1]["which"] == "present":
                        wire.send_secret(guess)
                        told = wire.receive()
                if told and told[0] not in ("passphrase", "failed") or told and told[0] == "passphrase" and told[1]["which"] != "present":
                    return saw(f"{request} is answered with {told[0]}")
                if word := shows(wire.seen, at.words):
                    return saw(f"{request} is answered with {word}")
        # Words that appear nowhere else.
        for request in ({"restore": {"file": "x"}}, {"status": None}, [], {"revoke": {"grant": "' OR 1=1 --"}}, "shutdown", {"grants": {}}):
            with Wire(at.socket, 10) as wire:
                wire.send(request)
                told = wire.rest()
                if any(name not in ("failed", "passphrase") for name, _ in told) or shows(wire.seen, at.words):
                    return saw(f"{request} is answered with {told}")
        if file.seek(0, os.SEEK_END):
            return saw("a backup was written")
    return False


def import_into_a_known_account(at):
    """A mail for a granted account, with everything sent before any question; and one for an existing account."""
    for account in at.accounts:
        with Wire(at.socket, 20) as wire:
            hand_over(wire, at.mailbox, {"account": account})
            told = [wire.receive()]
            while told[-1] and told[-1][0] not in ("passphrase", "failed", "imported"):
                if told[-1][0] == "plan":
                    return saw(f"the plan for {account} is told: {told[-1][1]}")
                told.append(wire.receive())
            if told[-1] and told[-1][0] == "imported":
                return saw(f"something was imported into {account}")
            if word := shows(wire.seen, at.words):
                return saw(f"the answer says {word}")
            if not told[-1] or told[-1][0] != "passphrase":
                sys.exit(f"an import into {account} is answered with {told}")
    return False


def too_many(tries, began, where):
    took = time.monotonic() - began
    print(f"  {len(tries)} passphrases in {took:.0f} s at {where}", file=sys.stderr)
    if len(tries) < 3:
        sys.exit("hardly one was tried, so this proves nothing")
    return len(tries) > RATE * took + GRACE


def guess_at_the_socket(at):
    """As many passphrases as the socket accepts, in many conversations at once."""
    began, tries = time.monotonic(), []
    end = began + at.seconds

    def guess(_):
        while time.monotonic() < end:
            with contextlib.suppress(OSError, ValueError), Wire(at.socket, at.seconds) as wire:
                wire.send("status")
                told = wire.receive()
                while told and told[0] == "passphrase" and time.monotonic() < end:
                    wire.send_secret(secrets.token_hex(4))
                    told = wire.receive()
                    tries.append(1)

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(guess, range(12)))
    return too_many(tries, began, "the socket")


def guess_at_pages(at):
    """As many passphrases as the owner's page accepts, each in a new session: a link costs nothing."""
    began, tries = time.monotonic(), []
    end = began + at.seconds

    def guess(_):
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                visit = Visit(link_of(at))
                status, _, text = visit.let_in(secrets.token_hex(4))
                if "not the passphrase" in text:
                    tries.append(status)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(guess, range(6)))
    return too_many(tries, began, "pages")


def speak_to_another_persons_service(at):
    """Run by a user whose socket it is not."""
    for request in ("hello", "open", "status", {"revoke": {"grant": "grt_x"}}):
        with contextlib.suppress(OSError), Wire(at.socket, 5) as wire:
            wire.send(request)
            if told := wire.receive():
                if told[0] != "failed" or shows(wire.seen, [*at.words, at.url]):
                    return saw(f"{request} is answered with {told}")
    return False


def put_up_a_false_socket(at):
    """Where the person's own commands look for the service."""
    path = pathlib.Path(at.socket)
    for work in (lambda: path.unlink(), lambda: path.rename(path.with_name("y")), lambda: path.parent.rename(path.parent.with_name("y")),
                 lambda: socket.socket(socket.AF_UNIX).bind(str(path.with_name("other.sock"))), lambda: (path.parent.parent / "99999").mkdir(),
                 lambda: path.parent.chmod(0o777), lambda: path.chmod(0o600), lambda: path.parent.parent.rename("/run/y")):
        try:
            work()
        except OSError:
            continue
        return saw("the socket, or a folder above it, can be changed")
    return False


def believe_a_false_socket(at):
    """Root has let the person's program listen there. Checks whether the person's commands send anything to it."""
    heard = []
    path = pathlib.Path(at.socket)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(8)
        listener.settimeout(20)

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    taken = listener.accept()[0]
                    taken.settimeout(3)
                    heard.append(taken.recv(4096))
                    taken.close()

        threading.Thread(target=listen, daemon=True).start()
        for words in (["provider", "status"], ["provider", "open"], ["import", at.mailbox, "--yes"]):
            done = ran(at.pdpp, *words, env={"HOME": at.home, "PATH": "/usr/bin:/bin"})
            if done.returncode == 0:
                return saw(f"pdpp {' '.join(words)} ends with 0")
    path.unlink()
    return saw(f"the false service heard {heard}") if any(heard) else False


HOSTILE_NAMES = ("../../own.db", "../own.db", "/etc/passwd", "a/../../../x", "..", ".", "own.db", "a\0b", "x" * 3000, "a/" * 1500 + "b", "%2e%2e/own.db", "\\x2e\\x2e/x", " ", "\u202e")


def hand_over_hostile_files(at):
    """Descriptors and names in unexpected forms. Root checks the effect: whether the service lives, and what is in the store."""
    folder = pathlib.Path(at.work)
    plain = folder / "one.mbox"
    shutil.copy(at.mailbox, plain)
    with Wire(at.socket) as wire:
        hand_over(wire, plain, {"account": "As it is meant"}, go=False)
        told = wire.receive()
        if not told or told[0] != "plan":
            sys.exit(f"a plain file is answered with {told}")
    reading, writing = os.pipe()
    pair = socket.socketpair()
    opened = {"a folder": os.open(folder, os.O_RDONLY), "a place of shadow": os.open("/etc/shadow", os.O_PATH), "a pipe": reading,
              "the store's folder": os.open(at.store, os.O_PATH), "a socket": pair[0].fileno(), "zeros": os.open("/dev/zero", os.O_RDONLY), "full": os.open("/dev/full", os.O_RDWR),
              "itself": os.open("/proc/self/mem", os.O_RDONLY), "only to be written": os.open(folder / "w", os.O_WRONLY | os.O_CREAT),
              "memory": os.memfd_create("x"), "a file of the kernel's": os.open("/proc/self/environ", os.O_RDONLY)}
    for what, file in opened.items():
        for request in ("import", "backup"):
            with contextlib.suppress(OSError, ValueError), Wire(at.socket, 15) as wire:
                if request == "import":
                    hand_over(wire, plain, {"account": f"Hostile {what}"}, file=file)
                else:
                    wire.send({"backup": {"is_encrypted": False}}, file)
                for name, _ in wire.rest(20) if request == "import" else [wire.receive() or ("", None)]:
                    if name in ("imported", "backed_up") and what not in ("memory", "a file of the kernel's"):
                        return saw(f"{what} was taken for a file")
    for name in HOSTILE_NAMES:
        with contextlib.suppress(OSError, ValueError), Wire(at.socket, 15) as wire:
            hand_over(wire, plain, {"account": "Hostile name"}, name=name, shown="\x1b[2J/" + name, go=False)
            wire.receive()
    # A file that shrinks while it is read, and one that claims to be very long.
    for length in (0, 8 << 40):
        with contextlib.suppress(OSError, ValueError), open(plain, "r+b") as file, Wire(at.socket, 30) as wire:
            began = time.monotonic()
            file.truncate(length or 64 << 20)
            hand_over(wire, plain, {"account": "Hostile length"}, go=False)
            if not length:
                file.truncate(0)
            wire.receive()
            if time.monotonic() - began > 25:
                return saw("a file that says that it is very long is read for long")
    # More than one file in a message, and invalid frames.
    for frame in (b"j\xff\xff\xff\xff", b"s\x00\x00\xff\xff" + b"x" * 2000, b"\x00" * 4096, b"j\x00\x00\x00\x02{}", os.urandom(4096)):
        with contextlib.suppress(OSError), Wire(at.socket, 5) as wire:
            socket.send_fds(wire.socket, [frame], [reading, writing, pair[0].fileno(), 0, 1, 2])
            wire.receive()
    return False


def import_by_links(at):
    """Links and second names for files that only root, or the service, can read."""
    folder = pathlib.Path(at.work) / "links"
    folder.mkdir()
    targets = ["/etc/shadow", f"{at.store}/own.db", f"{at.store}/grants.db", at.roots_file, f"/proc/{at.pid}/mem", f"/proc/{at.pid}/fd/5"]
    for number, target in enumerate(targets):
        (folder / f"{number}.mbox").symlink_to(target)
        tried(os.link, target, folder / f"hard-{number}.mbox")
    os.mkfifo(folder / "pipe.mbox")
    (folder / "store").symlink_to(at.store)
    for path in [folder, *sorted(folder.iterdir()), *targets]:
        if str(path).endswith("pipe.mbox"):
            continue
        done = ran(at.pdpp, "import", path, "--yes", "--json", "--account", "By a link", env={"HOME": at.home, "PATH": "/usr/bin:/bin"})
        said = json.loads(done.stdout or b"{}")
        if any(source.get("read") for source in said.get("sources", [])):
            return saw(f"{path} was imported: {said}")
        if b"root:" in done.stdout + done.stderr:
            return saw(f"{path} is told")
    return False


def keep_the_owner_out(at):
    """Connections that send nothing, at the socket and at the port; then the owner makes a request."""
    held = []
    try:
        for _ in range(300):
            for family, address in ((socket.AF_UNIX, at.socket), (socket.AF_INET, ("127.0.0.1", at.port))):
                with contextlib.suppress(OSError):
                    one = socket.socket(family)
                    one.settimeout(1)
                    one.connect(address)
                    if family == socket.AF_INET:
                        one.sendall(b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-le")
                    held.append(one)
        for _ in range(3):
            with Wire(at.socket, 10) as wire:
                wire.send("hello")
                if not wire.receive():
                    return saw("the socket does not answer")
            if ask(f"{at.url}/.well-known/oauth-protected-resource", within=10)[0] != 200:
                return saw("the port does not answer")
    except OSError as error:
        return saw(f"the owner gets no answer: {error}")
    finally:
        for one in held:
            one.close()
    return False


# --- The page and the port ---------------------------------------------------------------------------------------------------


def ask_for_everything(at):
    status, _, text = ask(f"{at.url}/agent-connect", {"client_name": "Shell", "resource": at.url})
    return json.loads(text) if status == 201 else {}


def is_granted(attempt):
    status, _, text = ask(attempt["poll_url"], {"polling_code": attempt["polling_code"]})
    return status == 200 and "access_token" in text


def decide_without_a_link(at):
    """The attacker's own request, and what its page and the owner's show and accept without the owner's link."""
    attempt = ask_for_everything(at)
    _, head, html = ask(attempt["approval_url"])
    cookie = (head.getheader("set-cookie") or "pdpp_owner=x").split(";")[0]
    request = urllib.parse.parse_qs(urllib.parse.urlsplit(attempt["approval_url"]).query).get("request_uri", ["x"])[0]
    form = [("request_uri", request), ("csrf", hidden(html, "csrf") or "x"), ("digest", "x"), ("passphrase", "x"), *ticked(html)]
    pages = ["/consent", "/consent/approve", "/consent/x/approve", f"/consent/owner/{secrets.token_hex(32)}", f"/consent/{request}/approve",
             "/owner", "/owner/", f"/owner/open/{secrets.token_hex(32)}", "/owner/x", "/owner/x/grants", "/owner/x/import", "/owner/../owner/x", "/owner/%2e%2e/x"]
    for path in pages:
        for body in (None, form):
            status, head, text = ask(at.url + path, body, FORM, cookie=cookie, origin=at.url)
            if word := shows(text, at.words):
                return saw(f"{path} shows {word}")
            if "/consent/" in (head.getheader("location") or "") or "/owner/" in (head.getheader("location") or ""):
                return saw(f"{path} leads on to {head.getheader('location')}")
    return is_granted(attempt) and saw("it is granted")


def decide_with_a_link(at):
    """The owner's page, opened with a link that the socket gives to any process of this uid, without the passphrase."""
    attempt = ask_for_everything(at)
    visit = Visit(link_of(at))
    if not visit.opened:
        sys.exit("the link opens nothing")
    pages = ["", "/", "/import", "/grants", "/grants/x", "/reads", f"/search?q={at.words[0]}", f"/search?text={at.words[0]}", "/forget/x", "/requests/x"]
    for rest in pages:
        if word := shows(visit.get(rest)[2], at.words):
            return saw(f"{rest} shows {word}")
    upload = b"--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.mbox\"\r\n\r\n" + pathlib.Path(at.mailbox).read_bytes() + b"\r\n--x--\r\n"
    ask(visit.base + visit.path + "/import", upload, "multipart/form-data; boundary=x", cookie=visit.cookie, origin=visit.base)
    for rest in ("/passphrase", "/import/go", "/import/plan", "/forget/x", "/grants/x/end", f"/requests/{attempt.get('user_code', 'x')}", "/requests/x"):
        for passphrase in ("", "wrong one"):
            status, head, text = visit.post(rest, [("passphrase", passphrase), ("account", at.account)])
            if "/consent/" in (head.getheader("location") or "") or (word := shows(text, at.words)):
                return saw(f"{rest} gives {head.getheader('location') or word}")
    if Visit(visit.base + "/owner/open/" + visit.path.rsplit("/", 1)[1]).opened:
        return saw("the name of a visit opens another")
    return is_granted(attempt) and saw("it is granted")


def read_without_a_token(at):
    """The port, without a token and with others."""
    other = at.token[:-1] + ("A" if at.token[-1] != "A" else "B")
    tokens = ({}, {"authorization": "Bearer "}, {"authorization": f"Bearer {other}"}, {"authorization": f"Basic {at.token}"}, {"authorization": "Bearer x" * 400},
              {"cookie": f"token={at.token}"}, {"authorization": f"Bearer {at.foreign_token}"}, {"x-forwarded-for": "127.0.0.1"})
    paths = ("/v1/schema", "/v1/streams/messages/records", f"/v1/search?q={at.words[0]}", "/v1/streams", f"/v1/streams/messages/records?access_token={at.token}", "/v1/blobs/x")
    for headers in tokens:
        for path in paths:
            status, _, text = ask(at.url + path, **headers)
            if status == 200 or shows(text, at.words):
                return saw(f"{path} is answered with {headers}")
        status, _, text = ask(f"{at.url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}, accept="application/json, text/event-stream", **headers)
        if status == 200:
            return saw(f"/mcp is answered with {headers}")
    return False


def read_beyond_the_grant(at):
    """The token of the person's agent, and data that its grant does not cover."""
    bearer = {"authorization": f"Bearer {at.token}"}
    status, _, text = ask(f"{at.url}/v1/schema", **bearer)
    if status != 200:
        sys.exit(f"the token reads nothing: {status} {text[:300]}")
    queries = [f"/v1/search?q={word}" for word in at.ungranted] + ["/v1/streams/messages/records?limit=100", "/v1/streams/message_bodies/records?limit=100",
               "/v1/streams/messages/records?connection_id=" + urllib.parse.quote(at.ungranted_connection), "/v1/streams/messages/records?changes_since=0", "/v1/schema?view=full",
               "/v1/streams/security_messages/records", "/v1/streams/messages/records?filter[connection_id]=x", "/v1/streams/messages/records?expand=attachments"]
    answered = 0
    for query in queries:
        status, _, text = ask(at.url + query, **bearer)
        answered += status == 200
        text = text.replace(query.split("q=")[-1], "") if "search" in query else text
        if word := shows(text, [*at.ungranted, at.ungranted_connection]):
            return saw(f"{query} shows {word}")
    if answered < 4:
        sys.exit(f"only {answered} of {len(queries)} reads were answered")
    for path in ("/oauth/introspect", "/oauth/token", "/oauth/revoke", "/v1/grants", "/v1/owner", "/oauth/register"):
        status, _, text = ask(at.url + path, [("token", at.token), ("grant_type", "refresh_token"), ("refresh_token", at.token), ("scope", "all")], FORM, **bearer)
        if "access_token" in text or shows(text, at.words):
            return saw(f"{path} gives {text[:200]}")
    return False


def widen_the_grant(at):
    """Requests for more of it, in every possible way; nobody approves."""
    details = [{"type": "https://pdpp.dev/data-access", "source": {"id": "https://registry.pdpp.dev/connectors/gmail"}, "streams": [{"name": "*"}]}]
    attempts = [ask_for_everything(at)]
    for body in ({"client_name": "Shell", "resource": at.url, "auto_approve": True}, {"client_name": "Shell", "resource": at.url, "authorization_details": details},
                 {"client_name": "Shell", "resource": at.url, "grant_id": at.grant, "token": at.token}):
        status, _, text = ask(f"{at.url}/agent-connect", body, authorization=f"Bearer {at.token}")
        if status == 201:
            attempts.append(json.loads(text))
    for attempt in attempts:
        for code in (attempt["polling_code"], attempt.get("user_code", "x"), "x"):
            status, _, text = ask(attempt["poll_url"], {"polling_code": code})
            if "access_token" in text:
                return saw("a request nobody approved is granted")
    index = next(pathlib.Path(at.home).rglob("index.json"), None)
    if index is None:
        return False
    before = index.read_text()
    try:
        index.write_text(before.replace('"messages"', '"messages","message_bodies","security_messages"'))
        for word in at.ungranted:
            done = ran(at.pdpp, "mcp", "call", "search", json.dumps({"q": word}), env={"HOME": at.home, "PATH": "/usr/bin:/bin"})
            if re.search(rf"{word}(?![\"\\]*,\s*\"(?:sort|limit))", done.stdout.decode().replace(json.dumps({"q": word}), "")) and b"<mark>" in done.stdout:
                return saw(f"an edited index finds {word}")
    finally:
        index.write_text(before)
    return False


def listen_in_its_place(at):
    """Its port, while it runs."""
    for address in ("127.0.0.1", "0.0.0.0", "::1", "::", "127.0.0.2"):
        for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)):
            with contextlib.suppress(OSError), socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as one:
                for option in options:
                    one.setsockopt(socket.SOL_SOCKET, option, 1)
                one.bind((address, at.port))
                one.listen(8)
                one.settimeout(0.2)
                for _ in range(20):
                    threading.Thread(target=lambda: tried(ask, f"{at.url}/.well-known/oauth-protected-resource", within=2), daemon=True).start()
                    with contextlib.suppress(OSError):
                        one.accept()
                        return saw(f"connections to {at.port} come to {address}")
    return False


# --- The service's own commands ------------------------------------------------------------------------------------------------


def use_the_services_commands(at):
    """Each of the owner's commands, with the store named; with the person's own program and with the service's."""
    backup, restored = f"{at.work}/stolen", f"{at.work}/planted"
    environment = {"HOME": at.home, "PATH": "/usr/bin:/bin", "PDPP_DATA_DIR": at.store}
    pathlib.Path(restored).write_bytes(b"no backup")
    for program in (at.pdpp, at.program):
        for words in (["provider"], ["provider", "status", "--json"], ["provider", "grants"], ["provider", "backup", backup], ["provider", "forget", at.account, "--yes"],
                      ["provider", "revoke", at.grant, "--yes"], ["provider", "passphrase"], ["provider", "prepare"], ["provider", "restore", restored],
                      ["provider", "serve", "--listen", "127.0.0.1:0"], ["import", at.mailbox, "--yes"], ["connect", "local", "--no-browser"], ["mcp", "call", "schema"]):
            for more in ([], ["--data-dir", at.store]):
                if words[0] == "mcp" and more:
                    continue
                try:
                    done = ran(program, *words, *more, env=environment, cwd=at.work)
                except subprocess.TimeoutExpired:
                    return saw(f"{' '.join(words)} goes on")
                # A grant of the person's own store is a different matter.
                if done.returncode == 0 and words[0] != "mcp" or shows(done.stdout + done.stderr, at.ungranted):
                    return saw(f"pdpp {' '.join([*words, *more])} ends with {done.returncode}: {done.stdout[:200]}")
    return pathlib.Path(backup).exists() and saw("there is a backup")


def run_the_service_with_ones_own_library(at):
    """Variables that make a program load or start something: it does, with the rights of the person who set them."""
    library = pathlib.Path(at.work) / "x.so"
    source = pathlib.Path(at.work) / "x.c"
    source.write_text('#include <stdio.h>\n__attribute__((constructor)) void f(void) { FILE *f = fopen("%s/own.db", "r"); if (f) puts("STOLEN"); else puts("LOADED"); }' % at.store)
    if ran("cc", "-shared", "-fPIC", "-o", library, source).returncode:
        sys.exit("no library could be made")
    said = b""
    for variables in ({"LD_PRELOAD": str(library)}, {"LD_AUDIT": str(library)}, {"LD_LIBRARY_PATH": at.work}, {"GCONV_PATH": at.work}):
        said += ran(at.program, "--version", env={"PATH": f"{at.work}:/usr/bin:/bin", **variables}).stdout
    if b"LOADED" not in said and b"STOLEN" not in said:
        sys.exit("the library was never loaded, so this proves nothing")
    return b"STOLEN" in said and saw("a library in the service's program reads the store")


if __name__ == "__main__":
    where = json.load(sys.stdin, object_hook=lambda found: types.SimpleNamespace(**found))
    sys.exit(3 if globals()[sys.argv[1]](where) else 0)
