#!/usr/bin/env python3
"""Measures what pdpp costs, compared with the floor and the budgets, in one run.

    compare.py [--check] [PDPP] [-- COMMAND…]

PDPP is the optimised binary (target/release/pdpp). The floor of a start is a process that echoes its first
line (`cat`); the floor of a call is the same request, sent to the same provider (the sandbox) over one kept
connection. COMMAND is another MCP server on stdio, whose start, memory and surface are measured as well, and also its calls, if it
has a tool of the same name that accepts the same arguments. It should read the same grant of the same sandbox: {url} and {token} in
its words, or the variables PDPP_PROVIDER_URL and PDPP_ACCESS_TOKEN, name that grant; PDPP_CACHE_ROOT is a directory that contains it in
the form that the TypeScript reference, @pdpp/mcp-server, uses.
--check measures only what does not depend on how busy the machine is: no times. Both modes exit with 1 if a budget does not hold.
"""

import argparse
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

MB = 1_000_000
STARTS, CALLS, IN_FLIGHT = 31, 300, 16
# Over how many providers a search is spread, and how many milliseconds each of them takes.
GRANTS, DELAY = (1, 2, 5, 10), 20
BUDGETS = {
    # The goals were 24 and 12. docs/performance.md explains the difference.
    "binary, MB": 29.5,
    "peak after tools/list, MB": 15,
    "  of it the process's own, MB": 1.2,
    "tools, bytes": 6656,
    "server instructions, characters": 512,
    "initialize, ms": 3,
    "initialize above the floor, ms": 2,
    "end of input to exit, ms": 50,
    "query_records above the floor, ms": 1,
    f"  above the slowest of the {GRANTS[-1]}, ms": 5,
}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
over = []


class Failed(Exception):
    """A server did not answer as it must."""


def row(what, value, floor=None, other=None, digits=2):
    """Prints one line of the table, and notes a budget that does not hold."""
    budget, verdict = BUDGETS.get(what), ""
    if budget is not None:
        verdict = "ok" if value <= budget else "OVER"
        if verdict == "OVER":
            over.append(what)
    cells = ["-" if cell is None else f"{cell:,.{digits}f}" for cell in (value, floor, other)]
    budget = "" if budget is None else f"{budget:,}"
    print(f"{what:<42}{cells[0]:>11}{cells[1]:>11}{cells[2]:>11}{budget:>9} {verdict}".rstrip(), flush=True)


class Process:
    """A program with pipes, started with as little of Python's own work as possible."""

    def __init__(self, command, environment):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        quiet = os.open(os.devnull, os.O_WRONLY)
        program = shutil.which(command[0]) or command[0]
        actions = [(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1),
                   (os.POSIX_SPAWN_DUP2, quiet, 2)]
        self.started = time.perf_counter()
        self.pid = os.posix_spawn(program, [str(word) for word in command], environment, file_actions=actions)
        self.input, self.output, self.rest = ours_out, ours_in, b""
        for end in (theirs_in, theirs_out, quiet):
            os.close(end)

    def send(self, *messages):
        os.write(self.input, b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def line(self):
        while b"\n" not in self.rest:
            read = os.read(self.output, 1 << 20)
            if not read:
                raise Failed("a server ended before it answered")
            self.rest += read
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def answer(self, number):
        """The result with that id; notifications from the server are skipped."""
        while True:
            said = json.loads(self.line())
            if said.get("id") == number and "method" not in said:
                if not said.get("result"):
                    raise Failed(json.dumps(said)[:300])
                return said["result"]

    def request(self, number, method, params):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def initialize(self):
        self.request(1, "initialize", INITIALIZE)
        return self.answer(1)

    def tools(self):
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.request(2, "tools/list", {})
        return self.answer(2)["tools"]

    def memory(self, name):
        """A line of what the system reports about the process's memory, in MB."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 / MB

    def end(self):
        os.close(self.input)
        began = time.perf_counter()
        os.waitpid(self.pid, 0)
        os.close(self.output)
        return time.perf_counter() - began


def ms(seconds):
    return statistics.median(seconds) * 1e3


def start(command, environment):
    """Milliseconds to the first answer, MB after the tools, milliseconds to the end: medians."""
    times, peaks, owns, ends = [], [], [], []
    for run in range(STARTS + 3):
        process = Process(command, environment)
        process.request(1, "initialize", INITIALIZE)
        process.line()
        took = time.perf_counter() - process.started
        if command[0] != "cat":
            process.tools()
        peak, own, end = process.memory("VmHWM"), process.memory("RssAnon"), process.end()
        if run >= 3:  # The first ones fill the page cache.
            times.append(took), peaks.append(peak), owns.append(own), ends.append(end)
    return ms(times), statistics.median(peaks), ms(ends), statistics.median(owns)


def surface(command, environment):
    """The size of a server's tools in bytes, and of its instructions in characters."""
    process = Process(command, environment)
    instructions = process.initialize().get("instructions") or ""
    tools = process.tools()
    process.end()
    return len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode()), len(instructions)


class Direct:
    """The provider's `/v1` over one kept connection."""

    def __init__(self, url, token):
        host, port = re.fullmatch(r"http://([\d.]+):(\d+)", url).groups()
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = f"HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"

    def ask(self, path):
        self.socket.sendall(f"GET /v1/{path} {self.head}".encode())

    def body(self):
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += self.socket.recv(1 << 20)
        head, body = heard.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 200"):
            raise Failed(head.decode())
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(body) < length:
            body += self.socket.recv(1 << 20)
        return body

    def get(self, path):
        self.ask(path)
        return self.body()


def together(lines, path):
    """Sends a request for `path` from all of them at once, and returns their answers."""
    for line in lines:
        line.ask(path)
    return [line.body() for line in lines]


def timed(once, times=CALLS):
    took = []
    for _ in range(times):
        began = time.perf_counter()
        once()
        took.append(time.perf_counter() - began)
    return took


class Sandbox:
    """A provider that approves at once, and grants of it in a separate cache."""

    def __init__(self, pdpp, directory):
        self.pdpp, self.environment = pdpp, {"HOME": str(directory), "PATH": os.environ["PATH"]}
        command = [pdpp, "sandbox", "--listen", "127.0.0.1:0", "--json", "--auto-approve"]
        self.process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.cache = directory / "cache"

    def connect(self, name, url=None):
        command = [self.pdpp, "connect", url or self.url, "--no-browser", "--store", "file", "--name", name,
                   "--cache-dir", self.cache, "--json"]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    def tokens(self):
        """The tokens of the grants, in the order in which they were connected."""
        index = json.loads((self.cache / "index.json").read_text())
        secrets = [self.cache / "secrets" / credential["id"] for credential in index["credentials"]]
        return [json.loads(secret.read_text())["access_token"] for secret in secrets]

    def serve(self, *options):
        return [self.pdpp, "mcp", "serve", "--cache-dir", self.cache, *options]

    def other(self, words):
        """The command `words` and the environment in which it reads the first grant."""
        token, root = self.tokens()[0], self.cache / "other"
        held = root / "clients" / (re.sub("[^a-zA-Z0-9.-]", "_", self.url.split("//")[1]) + ".json")
        held.parent.mkdir(parents=True, exist_ok=True)
        held.write_text(json.dumps({"credential": {"access_token": token}}))
        words = [word.replace("{url}", self.url).replace("{token}", token) for word in words]
        return words, {**os.environ, "PDPP_PROVIDER_URL": self.url, "PDPP_ACCESS_TOKEN": token, "PDPP_CACHE_ROOT": str(root)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Providers:
    """Providers in front of a sandbox that each take DELAY milliseconds (providers.py)."""

    def __init__(self, sandbox, count):
        script = pathlib.Path(__file__).with_name("providers.py")
        command = [sys.executable, script, sandbox.url, str(count), str(DELAY)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.urls = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Calls:
    """A started server that is called."""

    def __init__(self, command, environment):
        self.process, self.number = Process(command, environment), 10
        self.process.initialize()
        self.names = [tool["name"] for tool in self.process.tools()]

    def begin(self, tool, **arguments):
        self.number += 1
        self.process.request(self.number, "tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        self.begin(tool, **arguments)
        answer = self.process.answer(self.number)
        if answer.get("isError"):
            raise Failed(f"{tool}: {answer['content'][0]['text'][:300]}")
        return answer


class Nobody:
    """Stands for the other server if there is none."""

    names = ()


def first_call(command, environment, tool, arguments):
    """Milliseconds that the first call of a new session takes: the median."""
    def once():
        server = Calls(command, environment)
        [took] = timed(lambda: server.call(tool, **arguments), 1)
        server.process.end()
        return took

    return ms([once() for _ in range(STARTS)])


def if_it_can(server, tool, measure):
    """What `measure` returns, if that server has the tool and accepts these arguments."""
    if tool not in server.names:
        return None
    try:
        return measure()
    except Failed as error:
        print(f"compare: the other server: {error}", file=sys.stderr)
        return None


def lengths(answer):
    """The sizes of the two views of a result, in bytes."""
    if answer is None:
        return None, None
    structured = json.dumps(answer.get("structuredContent"), separators=(",", ":"), ensure_ascii=False)
    return sum(len(part.get("text", "").encode()) for part in answer["content"]), len(structured.encode())


def throughput(begin, finish, calls=2000):
    """Calls per second with IN_FLIGHT of them running at once."""
    began = time.perf_counter()
    for _ in range(IN_FLIGHT):
        begin()
    for done in range(calls):
        finish()
        if done < calls - IN_FLIGHT:
            begin()
    return calls / (time.perf_counter() - began)


def calls(pdpp, directory, words):
    with Sandbox(pdpp, directory) as sandbox:
        sandbox.connect("Grant 1")
        [token] = sandbox.tokens()
        direct = Direct(sandbox.url, token)
        rows, page, hits = "streams/transactions/records?limit=10", "streams/transactions/records?limit=90", "search?q=invoice&limit=5"
        ten, many, search = {"stream": "transactions", "limit": 10}, {"stream": "transactions", "limit": 90}, {"q": "invoice", "limit": 5}
        other = sandbox.other(words) if words else None
        theirs = Calls(*other) if other else Nobody

        def repeated(server, tool, arguments, times=CALLS):
            """The median of this many calls, warm."""
            for _ in range(20):
                server.call(tool, **arguments)
            return ms(timed(lambda: server.call(tool, **arguments), times))

        def beside(tool, arguments, times=CALLS):
            return if_it_can(theirs, tool, lambda: repeated(theirs, tool, arguments, times))

        row("first query_records of a session, ms", first_call(sandbox.serve(), sandbox.environment, "query_records", ten),
            other=if_it_can(theirs, "query_records", lambda: first_call(*other, "query_records", ten)))
        server = Calls(sandbox.serve(), sandbox.environment)
        for warm in range(20):
            server.call("query_records", **ten), direct.get(rows), server.call("schema")
        ours, floor = repeated(server, "query_records", ten), ms(timed(lambda: direct.get(rows)))
        row("query_records of 10 rows, ms", ours, floor, beside("query_records", ten))
        row("query_records above the floor, ms", ours - floor)
        ours, floor = repeated(server, "search", search, 100), ms(timed(lambda: direct.get(hits), 100))
        row("search of 5 hits, ms", ours, floor, beside("search", search, 100))
        row("search above the floor, ms", ours - floor)

        def ping():
            server.number += 1
            server.process.request(server.number, "ping", {})

        row(f"ping, {IN_FLIGHT} in flight, per second", throughput(ping, server.process.line, 20000), digits=0)
        lines = [Direct(sandbox.url, token) for _ in range(IN_FLIGHT)]
        asked = []

        def ask():
            asked.append(lines.pop())
            asked[-1].ask(rows)

        def hear():
            ready, _, _ = select.select([one.socket for one in asked], [], [])
            heard = next(one for one in asked if one.socket is ready[0])
            heard.body()
            asked.remove(heard)
            lines.append(heard)

        def many_at_once(server):
            return throughput(lambda: server.begin("query_records", **ten), server.process.line)

        row(f"query_records, {IN_FLIGHT} in flight, per second", many_at_once(server), throughput(ask, hear),
            if_it_can(theirs, "query_records", lambda: many_at_once(theirs)), digits=0)

        print("\nbytes of a result (text, structured; floor: the provider's body)")

        def first_hit(server):
            """The server's own id for the first hit."""
            return {"id": server.call("search", **search)["structuredContent"]["results"][0]["id"]}

        counted = {"stream": "transactions", "metric": "count", "group_by": "category"}
        shown = {
            "schema": ("schema", {}, "schema"),
            "schema of a stream": ("schema", {"stream": "transactions"}, None),
            "query_records, 10 rows": ("query_records", ten, rows),
            "aggregate": ("aggregate", counted, "streams/transactions/aggregate?metric=count&group_by=category"),
            "search, 5 hits": ("search", search, hits),
            "fetch": ("fetch", first_hit, None),
        }
        for name, (tool, of, path) in shown.items():
            def answer(server):
                return server.call(tool, **(of(server) if callable(of) else of))

            ours, said = lengths(answer(server)), lengths(if_it_can(theirs, tool, lambda: answer(theirs)))
            row(f"  {name}, text", ours[0], len(direct.get(path)) if path else None, said[0], digits=0)
            row(f"  {name}, structured", ours[1], other=said[1], digits=0)
        server.process.end()

        print("\na large page, both views of it")
        server = Calls(sandbox.serve("--max-result-bytes", "48000"), sandbox.environment)
        row("query_records of 90 rows, ms", repeated(server, "query_records", many, 100),
            ms(timed(lambda: direct.get(page), 100)), beside("query_records", many, 100))
        server.process.end()
        if other:
            theirs.process.end()


def fan_out(pdpp, directory):
    print(f"\na search of several grants at once: each has a separate provider, which takes {DELAY} ms")
    print("(floor: the same requests at once, directly; it includes the time of this script and of its providers)")
    search, hits = {"q": "invoice", "limit": 5}, "search?q=invoice&limit=5"
    with Sandbox(pdpp, directory) as sandbox, Providers(sandbox, GRANTS[-1]) as providers:
        lines = []
        for url in providers.urls:
            sandbox.connect(f"Grant {len(lines) + 1}", url)
            lines.append(Direct(url, sandbox.tokens()[-1]))
            if len(lines) not in GRANTS:
                continue
            server = Calls(sandbox.serve(), sandbox.environment)
            server.call("search", **search), together(lines, hits)
            ours = ms(timed(lambda: server.call("search", **search), 50))
            server.process.end()
            many = "s" * (len(lines) > 1)
            row(f"search over {len(lines)} grant{many}, ms", ours, ms(timed(lambda: together(lines, hits), 50)))
        slowest = max(ms(timed(lambda: line.get(hits), 20)) for line in lines)
        row("  slowest of these grants alone, ms", None, slowest)
        row(f"  above the slowest of the {len(lines)}, ms", ours - slowest)
        first = first_call(sandbox.serve(), sandbox.environment, "search", search)
        row(f"first search of a session, {len(lines)} grants, ms", first)
        row(f"  above the slowest of the {len(lines)}, ms", first - slowest)


def measure(pdpp, directory, words, check):
    environment = {"HOME": str(directory), "PATH": os.environ["PATH"]}
    with Sandbox(pdpp, directory) as sandbox:
        sandbox.connect("A grant")
        serve, other = sandbox.serve(), sandbox.other(words) if words else None
    print(f"{'':<42}{'pdpp':>11}{'floor':>11}{'other':>11}{'budget':>9}")
    row("binary, MB", os.path.getsize(pdpp) / MB)
    mine, theirs = surface(serve, environment), surface(*other) if other else (None, None)
    row("tools, bytes", mine[0], other=theirs[0], digits=0)
    row("server instructions, characters", mine[1], other=theirs[1], digits=0)
    floor, ours = start(["cat"], environment), start(serve, environment)
    beside = start(*other) if other else (None,) * 4
    row("peak after tools/list, MB", ours[1], floor[1], beside[1])
    row("  of it the process's own, MB", ours[3], floor[3], beside[3])
    if not check:
        row("initialize, ms", ours[0], floor[0], beside[0])
        row("initialize above the floor, ms", ours[0] - floor[0])
        row("end of input to exit, ms", ours[2], floor[2], beside[2])
        print()
        calls(pdpp, directory / "calls", words)
        fan_out(pdpp, directory / "grants")


def main():
    words, other = sys.argv[1:], None
    # argparse would take the first word after `--` for PDPP.
    if "--" in words:
        words, other = words[: words.index("--")], words[words.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="compare.py [--check] [PDPP] [-- COMMAND…]")
    parser.add_argument("--check", action="store_true", help="measure only what does not depend on how busy the machine is")
    parser.add_argument("pdpp", nargs="?", default="target/release/pdpp", metavar="PDPP", help="the binary [%(default)s]")
    options = parser.parse_args(words)
    pdpp, check = str(pathlib.Path(options.pdpp).resolve()), options.check
    if not os.access(pdpp, os.X_OK):
        parser.error(f"{pdpp} is not a program: cargo build --release")
    try:
        with tempfile.TemporaryDirectory() as directory:
            measure(pdpp, pathlib.Path(directory), other, check)
    except Failed as error:
        sys.exit(f"compare: {error}")
    if over:
        sys.exit("compare: over: " + "; ".join(over))


if __name__ == "__main__":
    main()
