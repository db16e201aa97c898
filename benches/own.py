#!/usr/bin/env python3
"""Measures importing and reading one's own data, with mail that this script makes up.

    python3 benches/own.py                                  # 100,000 text mails, 20,000 with attachments; about 10 minutes
    python3 benches/own.py --mails 10000 --binary target/release/pdpp --keep DIRECTORY

    python3 benches/own.py --compare                        # notmuch and mu on the same mails, if they are installed
    python3 benches/own.py --mails 1000000 --attached 300000 --compare --patience 1200    # 6 GB of text, 10 GB of attachments

Prints MB per second, peak memory, the ratio of what is stored to what was read, a second run without changes, one over a touched file,
and one over a file that grew; then searches, filters and aggregates through `pdpp mcp serve` in process, under a grant that covers whole
streams. Needs Linux and Python 3.11, and only the standard library.
"""

import argparse
import base64
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MB = 1_000_000
PEOPLE = 400
START = 1_262_304_000  # 2010-01-01


def vocabulary(rng, size=30_000):
    begin, middle, end = "b br c d dr f g gr h k kl l m n p pr r s st t tr v w".split(), "a e i o u ea ou".split(), "l m n r s t nd rt ck".split()
    words = set()
    while len(words) < size:
        words.add("".join(rng.choice(begin) + rng.choice(middle) for _ in range(rng.randint(1, 3))) + rng.choice(end))
    return sorted(words)


class Mailbox:
    """Makes up mails: the same seed makes the same ones."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.words = vocabulary(self.rng)
        # A few words are frequent, most are rare.
        self.weights = [1 / (rank + 10) for rank in range(len(self.words))]
        self.pool = self.rng.choices(self.words, self.weights, k=400_000)
        self.people = [f"{self.rng.choice(self.words)}.{self.rng.choice(self.words)}" for _ in range(PEOPLE)]

    def text(self, words):
        at = self.rng.randrange(len(self.pool) - words)
        line = self.pool[at:at + words]
        return "\n".join(" ".join(line[i:i + 12]) for i in range(0, words, 12))

    def mail(self, number, total, body_words, attachment):
        when = START + number * 490_000_000 // total
        sender = self.people[int(self.rng.paretovariate(1.2)) % PEOPLE]
        subject = " ".join(self.rng.choices(self.pool, k=5))
        date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(when))
        head = (f"From {sender}@example.org {time.asctime(time.gmtime(when))}\n"
                f"Delivered-To: ana@example.net\nMessage-ID: <{number}.{when}@example.org>\nDate: {date}\n"
                f"From: {sender} <{sender}@example.org>\nTo: Ana <ana@example.net>\nSubject: {subject}\nMIME-Version: 1.0\n")
        body = self.text(body_words)
        # A word that only this mail has.
        body += f"\nneedle{number:07d}\n"
        if not attachment:
            return f"{head}Content-Type: text/plain; charset=utf-8\n\n{body}\n".encode()
        encoded = base64.encodebytes(self.rng.randbytes(attachment)).decode()
        return (f"{head}Content-Type: multipart/mixed; boundary=\"=b{number}\"\n\n--=b{number}\nContent-Type: text/plain; charset=utf-8\n\n{body}\n"
                f"--=b{number}\nContent-Type: application/octet-stream; name=\"file{number}.bin\"\n"
                f"Content-Disposition: attachment; filename=\"file{number}.bin\"\nContent-Transfer-Encoding: base64\n\n{encoded}"
                f"--=b{number}--\n\n").encode()


def write(path, seed, mails, body_words, attachment, first=0, total=None, mode="wb"):
    box = Mailbox(seed)
    with open(path, mode, buffering=1 << 20) as out:
        for number in range(first, first + mails):
            out.write(box.mail(number, total or mails, body_words, attachment))
    # Otherwise the next measurement would wait for writes that are still pending.
    os.sync()
    return os.path.getsize(path)


def run(command, environment, patience=None):
    """Seconds, processor seconds and peak memory in MB of a command, and its output; None if it took longer than `patience` seconds."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        # Both keep what they have read when they are interrupted.
        late = threading.Timer(patience, child.send_signal, [signal.SIGINT]) if patience else None
        if late:
            late.start()
        _, status, usage = os.wait4(child.pid, 0)
        took = time.perf_counter() - began
        if late:
            late.cancel()
            if took >= patience:
                return None
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if child.returncode != 0:
        sys.exit(f"own: {' '.join(map(str, command))} ended with {child.returncode}:\n{said}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MB, said


def size_of(directory):
    return sum(path.stat().st_size for path in pathlib.Path(directory).rglob("*") if path.is_file())


def imports(pdpp, home, environment, name, path, text_bytes):
    data = home / f"own-{name}"
    command = [pdpp, "import", str(path), "--yes", "--data-dir", str(data)]
    size = os.path.getsize(path) / MB
    took, busy, peak, said = run(command, environment)
    print(f"{name}: {size:,.0f} MB, first import {took:.1f} s, {size / took:.0f} MB/s, peak {peak:.0f} MB")
    # The speed with two processors to itself, even if other work is on the machine.
    print(f"   {busy:.1f} processor seconds, {2 * size / busy:.0f} MB/s with two processors")
    print("   " + next((line for line in said.splitlines() if " read = " in line), "no summary"))
    print(f"   kept {size_of(data) / MB:,.0f} MB, {size_of(data) / text_bytes:.2f} of the text of {text_bytes / MB:,.0f} MB", flush=True)
    again, *_ = run(command, environment)
    os.utime(path)
    touched, *_ = run(command, environment)
    print(f"   untouched again {again:.2f} s; touched and read again {touched:.1f} s ({touched / took:.2f} of the first time)", flush=True)
    return data, command


class Server:
    """`pdpp mcp serve`, called over stdio."""

    def __init__(self, pdpp, environment):
        self.child = subprocess.Popen([pdpp, "mcp", "serve"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "own", "version": "1"}})

    def request(self, method, params):
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n"
        self.child.stdin.write(line.encode())
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def call(self, tool, **arguments):
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result") or sys.exit(f"own: {answer}")
        if result.get("isError"):
            sys.exit(f"own: {tool} {arguments}: {result['content'][0]['text'][:500]}")
        return result

    def median(self, tool, times=15, **arguments):
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            self.call(tool, **arguments)
            taken.append(time.perf_counter() - began)
        return statistics.median(taken) * 1e3


def approve(pdpp, environment, data):
    """Runs `connect local --in-terminal` at a separate terminal, with everything that is asked for ticked."""
    main, terminal = os.openpty()
    child = subprocess.Popen([pdpp, "connect", "local", "--in-terminal", "--data-dir", str(data), "--stream", "messages",
                              "--stream", "message_bodies"], env=environment, stdin=terminal, stdout=terminal, stderr=terminal,
                             start_new_session=True)
    os.close(terminal)
    said, until = b"", time.monotonic() + 120
    while child.poll() is None and time.monotonic() < until:
        if select.select([main], [], [], 1)[0]:
            try:
                said += os.read(main, 65536)
            except OSError:
                break
        elif said:
            os.write(main, b"y" if said.rstrip().endswith(b"[y/N]") or b"[y/N]" in said[-40:] else b"\r")
    if child.wait(timeout=30) != 0:
        sys.exit(f"own: connect local ended with {child.returncode}:\n{said.decode(errors='replace')}")


def reads(pdpp, environment, mails):
    began = time.perf_counter()
    server = Server(pdpp, environment)
    server.call("schema")
    print(f"reads in process: start and first call {(time.perf_counter() - began) * 1e3:.0f} ms")
    box = Mailbox(1)
    frequent, rare = box.words[0], box.words[20_000]
    sender = f"{box.people[1]}@example.org"
    needle = f"needle{mails // 2:07d}"
    rows = {
        f"search of a frequent word ({frequent}), 10 hits": ("search", {"q": frequent, "limit": 10}),
        f"search of a rare word ({rare}), 10 hits": ("search", {"q": rare, "limit": 10}),
        "search of a word that one mail has": ("search", {"q": needle, "limit": 10}),
        "search of a frequent word within a sender": (
            "search", {"q": box.words[3], "limit": 10, "streams": ["messages"], "filter": {"from_email": sender}}),
        "group by sender": ("aggregate", {"stream": "messages", "metric": "count", "group_by": "from_email"}),
        "group by month": (
            "aggregate", {"stream": "messages", "metric": "count", "group_by_time": "received_at", "granularity": "month"}),
        "count of one sender": ("aggregate", {"stream": "messages", "metric": "count", "filter": {"from_email": sender}}),
        "newest 10 of one sender": ("query_records", {"stream": "messages", "filter": {"from_email": sender}, "limit": 10}),
    }
    for what, (tool, arguments) in rows.items():
        print(f"   {what:<58}{server.median(tool, **arguments):>9.1f} ms", flush=True)
    found = json.dumps(server.call("search", q=needle, limit=3))
    print(f"   the word of one mail found: {'yes' if needle in found else 'NO'}")
    status = pathlib.Path(f"/proc/{server.child.pid}/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024 / MB
    print(f"   peak memory of the server {peak:.0f} MB")
    server.child.stdin.close()
    server.child.wait()


def maildir_of(box, directory):
    """Writes the mails of an mbox that this script made as one file per mail, because the other programs read no mbox."""
    for part in ("cur", "new", "tmp"):
        (directory / part).mkdir(parents=True)
    number, out = 0, None
    with open(box, "rb") as lines:
        for line in lines:
            if line.startswith(b"From "):
                if out:
                    out.close()
                out = open(directory / "cur" / f"{number}.pdpp:2,S", "wb")
                number += 1
            else:
                out.write(line)
    out.close()


def others(work, environment, box, mails, patience):
    """The same mails and the same questions with notmuch and mu; each of their questions starts a process.

    A program that has not read all mails after `patience` seconds is stopped, and the script prints how many it has read.
    """
    mailbox = Mailbox(1)
    frequent, rare = mailbox.words[0], mailbox.words[20_000]
    sender = f"{mailbox.people[1]}@example.org"
    needle = f"needle{mails // 2:07d}"
    size = os.path.getsize(box) / MB
    mail = work / "mail"
    maildir_of(box, mail)
    environment = {**environment, "NOTMUCH_CONFIG": str(work / "notmuch-config"), "MUHOME": str(work / "mu")}
    (work / "notmuch-config").write_text(f"[database]\npath={mail}\n[user]\nname=Ana\nprimary_email=ana@example.net\n")
    others = {
        "notmuch": (["notmuch", "config", "get", "database.path"], ["notmuch", "new", "--quiet"], mail / ".notmuch",
                    ["notmuch", "search", "--limit=10"], ["notmuch", "count"], ["notmuch", "count"]),
        "mu": (["mu", "init", "--quiet", f"--maildir={mail}"], ["mu", "index", "--quiet"], work / "mu",
               ["mu", "find", "--maxnum=10", "--sortfield=date", "--reverse"], None,
               ["sh", "-c", "mu find --fields=i '' | wc -l"]),
    }
    for name, (prepare, index, kept, search, count, have) in others.items():
        if not shutil.which(name):
            print(f"{name}: not installed")
            continue
        run(prepare, environment)
        done = run(index, environment, patience)
        if done is None:
            print(f"{name}: stopped after {patience} s of its first import, load {os.getloadavg()[0]:.1f}; of {mails:,} mails it has "
                  f"{run(have, environment)[3].strip()}, and has kept {size_of(kept) / MB:,.0f} MB", flush=True)
            shutil.rmtree(kept)
            continue
        took, _, peak, _ = done
        print(f"{name}: first import {took:.1f} s, {size / took:.0f} MB/s, peak {peak:.0f} MB, "
              f"kept {size_of(kept) / MB:,.0f} MB, {size_of(kept) / MB / size:.2f} of the text")
        again, *_ = run(index, environment)
        print(f"   untouched again {again:.2f} s")
        asked = {f"search of a frequent word ({frequent}), 10 hits": [*search, frequent],
                 f"search of a rare word ({rare}), 10 hits": [*search, rare],
                 "search of a word that one mail has": [*search, needle],
                 "search of a frequent word within a sender": [*search, f"from:{sender}", mailbox.words[3]]}
        if count:
            asked["count of one sender"] = [*count, f"from:{sender}"]
        for what, command in asked.items():
            taken = statistics.median(run(command, environment)[0] for _ in range(15)) * 1e3
            print(f"   {what:<58}{taken:>9.1f} ms", flush=True)
    shutil.rmtree(mail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/pdpp")
    parser.add_argument("--mails", type=int, default=100_000)
    parser.add_argument("--attached", type=int, help="how many mails have an attachment of 24 kB [a fifth of --mails]")
    parser.add_argument("--patience", type=int, help="seconds that notmuch and mu may each take for their first import")
    parser.add_argument("--keep", type=pathlib.Path, help="a directory to work in, which is kept")
    parser.add_argument("--compare", action="store_true", help="run notmuch and mu on the same mails")
    options = parser.parse_args()
    pdpp = str(pathlib.Path(options.binary).resolve())
    work = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="pdpp-own-"))
    work.mkdir(exist_ok=True)
    environment = {"HOME": str(work), "PATH": os.environ["PATH"], "TERM": "dumb", "PDPP_SECRET_STORE": "file"}
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    try:
        heavy, text = work / "attachments.mbox", work / "text.mbox"
        attached = options.attached or options.mails // 5
        write(heavy, 2, attached, 120, 24_000)
        imports(pdpp, work, environment, "attachments", heavy, attached * 1_000)
        heavy.unlink()
        size = write(text, 1, options.mails, 700, 0)
        data, command = imports(pdpp, work, environment, "text", text, size)
        write(text, 3, options.mails // 50, 700, 0, first=options.mails, total=options.mails, mode="ab")
        grown, *_ = run(command, environment)
        print(f"   {options.mails // 50:,} mails appended: {grown:.1f} s", flush=True)
        approve(pdpp, environment, data)
        reads(pdpp, environment, options.mails)
        if options.compare:
            shutil.rmtree(data)
            os.truncate(text, size)
            others(work, environment, text, options.mails, options.patience)
    finally:
        if not options.keep:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
