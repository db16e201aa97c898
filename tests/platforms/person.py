"""A new user's first steps with the program, on another system: each step asserts, and returns its description."""

import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

PATIENCE = 240
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "person", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number, tool, **arguments):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def own_network():
    """From here on this process, and its children, have a separate loopback and no other network; its mounts are private."""
    clone_newns, clone_newnet = 0x20000, 0x40000000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newns | clone_newnet) != 0:
        raise OSError(ctypes.get_errno(), "no separate network: this needs root")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with socket.socket() as any_socket:
        # SIOCSIFFLAGS: IFF_UP.
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH22x", b"lo", 1))


class Place:
    """Where the program runs: this computer, or a folder that becomes its root."""

    def __init__(self, binary, root=None, proc=True):
        self.root = root and pathlib.Path(root)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pdpp-place-"))
        if self.root:
            shutil.copy2(binary, self.root / "pdpp")
            (self.root / "tmp").mkdir(exist_ok=True)
            self.home = "/home-of-ana"
            (self.root / "home-of-ana").mkdir(exist_ok=True)
            self.words = ["chroot", str(self.root), "/pdpp"]
            if proc:
                (self.root / "proc").mkdir(exist_ok=True)
                subprocess.run(["mount", "--bind", "/proc", self.root / "proc"], check=True)
        else:
            self.home = str(self.folder)
            self.words = [str(binary)]
        self.environment = {
            "HOME": self.home, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "100",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus", "BROWSER": "/bin/true",
        }

    def path(self, inside):
        """A path of the place, as this process sees it."""
        return self.root / inside.lstrip("/") if self.root else pathlib.Path(inside)

    def run(self, *arguments, input=None):
        done = subprocess.run([*self.words, *arguments], env=self.environment, cwd="/", input=input, capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    def good(self, *arguments, input=None):
        code, out, err = self.run(*arguments, input=input)
        assert code == 0, f"{arguments} ends with {code}:\n{out}\n{err}"
        return out

    def refused(self, codes, *arguments):
        """A command that must fail with one of these codes."""
        exit_code, out, err = self.run(*arguments, "--json")
        said = json.loads(out)
        assert exit_code != 0 and said["error"]["code"] in codes.split(), f"{arguments}, not {codes}: {exit_code} {out} {err}"

    def serve(self, *messages):
        """The answers of `mcp serve` to these messages, by id; then its input ends, and so does it."""
        said = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, INITIALIZED, *messages))
        answers = [json.loads(line) for line in self.good("mcp", "serve", input=said).splitlines()]
        return {answer["id"]: answer["result"] for answer in answers}

    @contextlib.contextmanager
    def sandbox(self, *more):
        process = subprocess.Popen(
            [*self.words, "sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json", *more], env=self.environment, cwd="/",
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=60)
        assert code == 0, f"the sandbox ends with {code}"

    def at_a_terminal(self, *arguments, answers):
        """Runs a command at a terminal, and types each answer once its text appears; returns the rest of the output."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir("/")
            os.execvpe(self.words[0], [*self.words, *arguments], self.environment | {"TERM": "xterm"})
        fcntl.ioctl(terminal, 0x5414, struct.pack("HHHH", 50, 120, 0, 0))  # TIOCSWINSZ
        said, begun, answers = b"", time.monotonic(), list(answers)
        read = 0
        while True:
            assert time.monotonic() - begun < PATIENCE, f"{arguments} waits: {said[-2000:].decode(errors='replace')}"
            ready, _, _ = select.select([terminal], [], [], 1)
            if ready:
                try:
                    more = os.read(terminal, 65536)
                except OSError:
                    more = b""
                if not more:
                    break
                said += more
            if answers and (at := said.find(answers[0][0].encode(), read)) >= 0:
                text, keys = answers.pop(0)
                read = at + len(text.encode())
                os.write(terminal, keys.encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(terminal)
        text = said.decode(errors="replace")
        assert code == 0 and not answers, f"{arguments} ends with {code}, {answers} not asked:\n{text[-3000:]}"
        return text


def is_static(binary):
    """Whether an ELF program needs no interpreter and no library."""
    data = pathlib.Path(binary).read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", "no little-endian ELF64"
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    dynamic = None
    for number in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + number * size)
        if kind == 3:  # PT_INTERP
            return False
        if kind == 2:  # PT_DYNAMIC
            dynamic = data[at:at + length]
    tags = [struct.unpack_from("<qQ", dynamic, at)[0] for at in range(0, len(dynamic), 16)] if dynamic else []
    return 1 not in tags  # DT_NEEDED


def is_movable(binary):
    """Whether an ELF program can be loaded anywhere (ET_DYN)."""
    return struct.unpack_from("<H", pathlib.Path(binary).read_bytes(), 16)[0] == 3


def demo(place):
    shown = place.good("demo")
    assert "query_records" in shown and "Four answers and a refusal" in shown, shown
    return "the whole `pdpp demo`"


def sandbox(place):
    with place.sandbox() as url:
        place.good("connect", url, "--no-browser", "--store", "file")
        answers = place.serve({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, call(3, "search", q="invoice", limit=1))
        assert len(answers[2]["tools"]) == 6, answers
        assert "invoice" in json.dumps(answers[3]).lower() and not answers[3].get("isError"), answers
        place.good("disconnect", "--all", "--yes")
    return "`pdpp sandbox`, `connect`, `mcp serve` over stdio to its end, `disconnect`"


MAIL = """From ana@example.org Thu Jan 01 10:00:00 2026
From: Borgny <borgny@example.org>
To: Ana <ana@example.org>
Subject: The fitter of {number}
Date: Thu, 01 Jan 2026 10:00:00 +0100
Message-ID: <{number}@example.org>

He comes on Thursday between eight and ten, with the part {word}.

"""


def own_data(place):
    """A mailbox is imported in a named time zone, granted at a terminal, and read."""
    folder = place.path(place.home) / "exports"
    folder.mkdir()
    (folder / "All mail.mbox").write_text("".join(MAIL.format(number=number, word="heatpump") for number in range(40)))
    done = json.loads(place.good("import", f"{place.home}/exports", "--account", "ana@example.org", "--timezone", "Europe/Oslo", "--yes", "--json"))
    assert "40" in json.dumps(done), done
    place.at_a_terminal(
        "connect", "local", "--in-terminal", "--store", "file",
        answers=[("not dated", " \r"), ("Which fields", "\r"), ("When should the grant end", "\r"), ("Approve?", "y")],
    )
    found = place.serve(call(2, "search", q="fitter", limit=2))
    assert "fitter" in json.dumps(found[2]) and not found[2].get("isError"), found
    place.good("disconnect", "--all", "--yes")
    return "`pdpp import` of a mailbox, `connect local` at a terminal, a read of it through `mcp serve`"


def zones(place):
    """Days are counted in a named time zone."""
    with place.sandbox() as url:
        place.good("connect", url, "--no-browser", "--store", "file")
        counted = place.serve(call(2, "aggregate", stream="transactions", metric="count", group_by_time="booked_at", granularity="day", time_zone="Europe/Oslo"))[2]
        place.good("disconnect", "--all", "--yes")
    assert not counted.get("isError"), counted
    return "days counted in the zone Europe/Oslo"


def memory(place):
    """A server that answers a thousand calls does not grow in the second half."""
    with place.sandbox() as url:
        place.good("connect", url, "--no-browser", "--store", "file")
        server = subprocess.Popen([*place.words, "mcp", "serve"], env=place.environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def ask(message):
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        def resident():
            lines = pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

        ask(INITIALIZE)
        sizes = []
        for number in range(2, 1002):
            answer = ask(call(number, "search", q="invoice", limit=20))
            assert not answer["result"].get("isError"), answer
            if number in (501, 1001):
                sizes.append(resident())
        server.stdin.close()
        assert server.wait(timeout=20) == 0
        place.good("disconnect", "--all", "--yes")
    assert sizes[1] < sizes[0] + 2048, f"it grew from {sizes[0]} to {sizes[1]} KiB"
    return "a thousand calls of `search` to one server, which grew by less than 2 MiB in the second half"


class Names(threading.Thread):
    """A name server at 127.0.0.1 with one name, which is this computer."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.wanted = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.socket.settimeout(0.2)
        self.asked, self.is_wanted = 0, True

    def end(self):
        self.is_wanted = False
        self.join()
        self.socket.close()

    def run(self):
        while self.is_wanted:
            try:
                question, whence = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            end = question.index(b"\0", 12) + 1
            kind, = struct.unpack_from(">H", question, end)
            self.asked += 1
            is_it = question[12:end].lower() == self.wanted
            answers = [b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01"] if is_it and kind == 1 else []
            head = question[:2] + struct.pack(">HHHHH", 0x8180 if is_it else 0x8183, 1, len(answers), 0, 0)
            self.socket.sendto(head + question[12:end + 4] + b"".join(answers), whence)


class Shop(threading.Thread):
    """An HTTPS server that is not a provider."""

    def __init__(self, certificate, key):
        super().__init__(daemon=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.context, self.port = context, self.listener.getsockname()[1]

    def run(self):
        while True:
            plain, _ = self.listener.accept()
            try:
                with self.context.wrap_socket(plain, server_side=True) as stream:
                    stream.recv(65536)
                    stream.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                pass


def names_and_certificates(place):
    """Names from /etc/hosts and from a name server; a certificate from `--ca-file` and from the place's own authorities. All in a root
    that has none of these files at first."""
    work = place.folder

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=work, check=True, capture_output=True)

    (work / "leaf").write_text("subjectAltName=DNS:provider.test\nbasicConstraints=CA:FALSE\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=provider.test", "-keyout", "key.pem", "-out", "asked.pem")
    openssl("x509", "-req", "-in", "asked.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "leaf", "-out", "cert.pem")
    shop = Shop(work / "cert.pem", work / "key.pem")
    shop.start()
    url = f"https://provider.test:{shop.port}"
    shutil.copy(work / "ca.pem", place.path(f"{place.home}/ca.pem"))
    trusting = ["--ca-file", f"{place.home}/ca.pem"]
    etc = place.path("/etc")
    etc.mkdir(exist_ok=True)
    for name in ("hosts", "resolv.conf"):
        (etc / name).unlink(missing_ok=True)
    # If no name server is configured, musl asks this computer, and waits.
    place.refused("provider_host_unknown provider_timeout", *trusting, "connect", url, "--no-browser")
    (etc / "hosts").write_text("127.0.0.1 provider.test\n")
    place.refused("no_provider_here", *trusting, "connect", url, "--no-browser")
    place.refused("http_setup_failed", "connect", url, "--no-browser")
    (etc / "hosts").unlink()
    (etc / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    names = Names("provider.test")
    names.start()
    place.refused("no_provider_here", *trusting, "connect", url, "--no-browser")
    assert names.asked > 0, "nobody asked the name server"
    place.refused("provider_host_unknown", *trusting, "connect", url.replace("provider", "absent"), "--no-browser")
    authorities = etc / "ssl/certs/ca-certificates.crt"
    authorities.parent.mkdir(parents=True, exist_ok=True)
    before = authorities.read_bytes() if authorities.exists() else None
    authorities.write_bytes((before or b"") + (work / "ca.pem").read_bytes())
    try:
        place.refused("no_provider_here", "connect", url, "--no-browser")
    finally:
        authorities.unlink() if before is None else authorities.write_bytes(before)
        names.end()
    return "names from `/etc/hosts` and from a name server; certificates from `--ca-file` and from `/etc/ssl/certs`"


def nothing_left(place):
    """`doctor` reports that everything is in order when nothing is connected."""
    code, out, err = place.run("doctor")
    assert "tokens" in out + err, out + err
    return "`pdpp doctor`"
