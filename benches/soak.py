#!/usr/bin/env python3
"""Long runs of `pdpp mcp serve` and `pdpp mcp host` with a provider that misbehaves.

    python3 benches/soak.py                        all kinds in parallel, 30 minutes, 200,000 calls each
    python3 benches/soak.py serve --minutes 2 --calls 10000 --seed 7

Kinds: `serve` reads several grants over stdio; `package` reads one token for all of them, through the provider's own
/mcp, with a tenth of the calls; `host` is the HTTP endpoint in front of the provider.

The provider is `pdpp sandbox` behind a proxy in this script, which drops, resets, cuts, delays and replaces
answers, and gives access tokens a life of seconds (their refresh tokens rotate). Grants are revoked and new ones
connected all the time. Every answer is compared with the data itself, read from the sandbox without the proxy: it must be
right, or one of the errors that are expected at that time. Memory, descriptors and threads are read from /proc every 10 s.

Exits with 1 if anything was wrong. Needs Linux and Python 3.11, and only the standard library.
"""

import argparse
import asyncio
import base64
import collections
import decimal
import hashlib
import html
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

KINDS = ("serve", "package", "host")
# Number of calls before the first measurement at rest.
FIRST = 5_000
# After this many seconds the proxy closes an unused connection, as servers do.
IDLE = 20
REST = 2 * IDLE
WORKERS = 32
# By how much the memory at rest may grow, from the first measurement to the last.
MAX_GROWTH = 0.1
TOKEN_LIFE = 40
REVOKE_EVERY = 30
ACCOUNTS = {
    "cin_chat_kestrel": "chat",
    "cin_bank_fjord": "bank",
    "cin_music_main": "music",
    "cin_coding_laptop": "coding",
    "cin_calendar_main": "calendar",
}
SOURCE = "https://sandbox.pdpp.example/connectors/"

# Errors that a call may get at any time, because the proxy disturbed it or an earlier one.
STRUCK = {
    "soak_fault", "provider_unreachable", "provider_timeout", "provider_answer_broken", "provider_answer_too_large",
    "provider_redirected", "rate_limited", "all_grants_failed", "http_500", "http_502", "http_503", "http_504",
}
# Errors that a call may get while its grant has ended, or its token could not be renewed.
OVER = {
    "grant_revoked", "grant_refused", "disconnected", "secret_missing", "token_dead", "refresh_lost",
    "refresh_refused", "refresh_failed", "refresh_busy", "unknown_connection", "stream_not_granted",
    "not_connected", "context.active_false", "invalid_cursor", "cursor_expired",
}


class Wrong(Exception):
    """An answer that must not be given."""


# ------------------------------------------------------------------------------------------------ HTTP


async def read_message(reader):
    """The first line, the header fields and the body of a request or an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length") or 0))
    return first, headers, body


def pieces(body, size=1 << 16):
    return [body[at : at + size] for at in range(0, len(body), size)]


def message(first, headers, body):
    if "transfer-encoding" in headers:
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in pieces(body)) + b"0\r\n\r\n"
        lines = [first, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1") + body
    lines = [first, *(f"{name}: {value}" for name, value in headers.items()), f"content-length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Client:
    """Requests to one port of this computer over connections that are kept."""

    def __init__(self, port):
        self.port, self.idle = port, []

    async def send(self, method, target, headers=None, body=b""):
        """Status, header fields and body."""
        sent = message(f"{method} {target} HTTP/1.1", {"host": f"127.0.0.1:{self.port}", **(headers or {})}, body)
        while True:
            is_new = not self.idle
            if is_new:
                streams = await asyncio.open_connection("127.0.0.1", self.port, limit=32 << 20)
            else:
                streams = self.idle.pop()
            reader, writer = streams
            try:
                writer.write(sent)
                first, answered, got = await read_message(reader)
            except (OSError, asyncio.IncompleteReadError):
                writer.close()
                if is_new:
                    raise
                continue
            except asyncio.CancelledError:
                writer.close()
                raise
            if answered.get("connection", "") == "close":
                writer.close()
            else:
                self.idle.append(streams)
            return int(first.split()[1]), answered, got

    def close(self):
        while self.idle:
            self.idle.pop()[1].close()


FORM = {"content-type": "application/x-www-form-urlencoded"}


def form(**values):
    return urllib.parse.urlencode(values).encode()


def environment(home):
    """The environment of a child process, with the variables that tune the C library's allocator, for comparisons."""
    return {"HOME": str(home), **{name: value for name, value in os.environ.items() if name.startswith("MALLOC_")}}


# ------------------------------------------------------------------------------------------------ the provider


class Sandbox:
    """`pdpp sandbox`, which approves every request."""

    def __init__(self, binary, directory):
        self.data = directory / "sandbox"
        command = [binary, "sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json", "--data-dir", self.data]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(directory)
        )
        self.port = urllib.parse.urlsplit(json.loads(self.process.stdout.readline())["url"]).port

    def stop(self):
        self.process.terminate()
        self.process.wait()


NOT_JSON = [b"", b"<!doctype html><h1>Bad gateway</h1>", b"\xff\xfe\x00{", b"[" * 100_000, b'{"data":[', b"nul"]
# These are not objects: an object without its members is read as an empty list.
NOT_PDPP = [b"null", b"[]", b"7", b'"x"', b"true", b'[{"data":[]}]']


class Proxy:
    """Forwards requests to the sandbox, and misbehaves while `fierce`."""

    # The weight of each kind of fault, when one happens.
    READS = {
        "reset": 3, "close": 3, "cut": 3, "status": 8, "not json": 4, "not pdpp": 3, "slow": 12, "drip": 2, "limited": 1,
        "redirect": 1, "not gzip": 1, "large": 0.3, "hang": 0.1, "unknown": 0.02,
    }
    OTHERS = {"reset": 3, "status": 3, "not json": 3, "slow": 6}

    def __init__(self, upstream, rng, without):
        self.upstream, self.rng = upstream, rng
        self.reads = {kind: share for kind, share in self.READS.items() if kind not in without}
        self.due = rng.sample([*self.reads] * 3, 3 * len(self.reads))
        self.client = Client(upstream)
        self.fierce = False
        self.struck = collections.Counter()
        self.requests = 0
        self.ends = {}
        self.token_of = {}
        self.refreshes = 0
        # When a good token was declared dead, or the answer to a refresh failed.
        self.doubted = []

    async def start(self):
        server = await asyncio.start_server(self.connection, "127.0.0.1", 0, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        self.here, self.there = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.upstream}"

    def moved(self, data, to_here):
        pairs = [(self.there, self.here), (self.there.replace(":", "%3A"), self.here.replace(":", "%3A"))]
        for there, here in pairs:
            old, new = (there, here) if to_here else (here, there)
            data = data.replace(old.encode(), new.encode()) if isinstance(data, bytes) else data.replace(old, new)
        return data

    async def connection(self, reader, writer):
        try:
            while await self.exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def strike(self, path, is_refresh):
        if not self.fierce:
            return None
        if path.startswith("/v1/") or path == "/mcp":
            share, kinds = 0.06, self.reads
        elif path == "/introspect":
            share, kinds = 0.1, self.OTHERS
        elif is_refresh:
            # `lost`: the sandbox has used up the refresh token, and nobody gets the next one.
            share, kinds = 0.06, {"status": 3, "slow": 6, "lost": 1}
        else:
            return None
        if self.rng.random() >= share:
            return None
        # Each kind has happened before the first measurement.
        if kinds is self.reads and self.due:
            kind = self.due.pop()
        else:
            kind = self.rng.choices(list(kinds), list(kinds.values()))[0]
        self.struck[kind] += 1
        if is_refresh and kind != "slow":
            # The client cannot know whether the refresh token was used up, and does not send it twice.
            self.doubted.append(time.monotonic())
        return kind

    async def exchange(self, reader, writer):
        first, headers, body = await asyncio.wait_for(read_message(reader), IDLE)
        method, target, _ = first.split()
        path = urllib.parse.urlsplit(target).path
        is_refresh = path == "/oauth/token" and b"grant_type=refresh_token" in body
        self.requests += 1
        kind = self.strike(path, is_refresh)
        if kind in ("reset", "close"):
            if kind == "reset":
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return False
        if kind == "hang":
            await asyncio.sleep(45)
            return False
        status, answered, got = self.instead(kind)
        if status is None:
            status, answered, got = await self.passed_on(method, target, headers, body)
            if kind == "lost":
                return False
        if kind in ("slow", "drip"):
            await asyncio.sleep(self.rng.choice([0.05, 0.2, 0.5, 2]))
        if kind == "not gzip":
            answered = {**answered, "content-encoding": "gzip"}
        sent = message(f"HTTP/1.1 {status} X", answered, got)
        if kind == "cut":
            writer.write(sent[: max(1, len(sent) - 1 - len(got) // 2)])
            await writer.drain()
            return False
        if kind == "drip":
            for at in range(0, min(len(sent), 4_000), 500):
                if writer.is_closing():
                    return False
                writer.write(sent[at : at + 500])
                await asyncio.sleep(0.02)
            sent = sent[4_000:]
        writer.write(sent)
        await writer.drain()
        return True

    def instead(self, kind):
        json_type = {"content-type": "application/json"}
        error = json.dumps({"error": {"type": "api_error", "code": "soak_fault", "message": "Struck"}}).encode()
        if kind == "status":
            body = self.rng.choice([error, b"", b"<html>Bad gateway</html>"])
            return self.rng.choice([500, 502, 503, 504]), json_type, body
        if kind == "limited":
            return 429, {**json_type, "retry-after": "1"}, error
        if kind == "redirect":
            return 302, {"location": "https://elsewhere.example/"}, b""
        if kind == "not json":
            return 200, {"content-type": self.rng.choice(["text/html", "application/json"])}, self.rng.choice(NOT_JSON)
        if kind == "not pdpp":
            return 200, json_type, self.rng.choice(NOT_PDPP)
        if kind == "large":
            # Half of these answers announce their size.
            how = self.rng.choice([{}, {"transfer-encoding": "chunked"}])
            return 200, {**json_type, **how}, b'{"data":["' + b"x" * (17 << 20) + b'"]}'
        if kind == "unknown":
            body = {"error": {"type": "authentication_error", "code": "context.active_false", "message": "Not active"}}
            self.doubted.append(time.monotonic())
            return 401, json_type, json.dumps(body).encode()
        return None, {}, b""

    async def passed_on(self, method, target, headers, body):
        now = time.time()
        kept = ("authorization", "content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name")
        sent = {name: value for name, value in headers.items() if name in kept}
        bearer = sent.get("authorization", "").removeprefix("Bearer ")
        if self.ends.get(bearer, now + 1) <= now:
            sent["authorization"] = "Bearer over"
        path = urllib.parse.urlsplit(target).path
        asked = dict(urllib.parse.parse_qsl(body.decode())).get("token") if path == "/introspect" else None
        if self.ends.get(asked, now + 1) <= now:
            body = form(token="over")
        status, answered, got = await self.client.send(
            method, self.moved(target, False), sent, self.moved(body, False) if body else b""
        )
        answered = {
            name: self.moved(value, True)
            for name, value in answered.items()
            if name not in ("content-length", "transfer-encoding", "connection")
        }
        got = self.moved(got, True)
        if path == "/oauth/token" and status == 200:
            told = json.loads(got)
            told["expires_in"] = TOKEN_LIFE
            self.ends[told["access_token"]] = now + TOKEN_LIFE
            self.token_of[told.get("grant_id") or told.get("grant_package_id")] = told["access_token"]
            self.refreshes += b"refresh_token" in body.split(b"&")[0] or b"grant_type=refresh_token" in body
            got = json.dumps(told).encode()
        if asked in self.ends and status == 200:
            told = json.loads(got)
            if "exp" in told:
                told["exp"] = int(self.ends[asked])
            got = json.dumps(told).encode()
        return status, answered, got

    async def revoke(self, grant_id):
        """Ends a grant at the sandbox, as its owner would."""
        bearer = {"authorization": f"Bearer {self.token_of[grant_id]}"}
        status, _, body = await self.client.send("POST", f"/grants/{grant_id}/revoke", bearer)
        if status != 200:
            raise Wrong(f"the sandbox does not revoke {grant_id}: {status} {body}")


class OAuth:
    """Grants for this script itself: authorization code with PKCE, at `port`."""

    REDIRECT = "http://127.0.0.1:9/callback"

    def __init__(self, port):
        self.port, self.client, self.client_id = port, Client(port), None

    async def grant(self, key):
        """The token endpoint's answer for everything of the source `key`."""
        if self.client_id is None:
            registration = {
                "client_name": "Soak", "redirect_uris": [self.REDIRECT], "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            }
            kind = {"content-type": "application/json"}
            _, _, body = await self.client.send("POST", "/oauth/register", kind, json.dumps(registration).encode())
            self.client_id = json.loads(body)["client_id"]
        verifier = base64.urlsafe_b64encode(os.urandom(40)).decode().rstrip("=")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        details = {
            "type": "https://pdpp.dev/data-access", "access_mode": "continuous", "streams": [{"name": "*"}],
            "purpose_code": "https://pdpp.dev/purpose/personal_ai_assistant", "purpose_description": "A soak.",
            "source": {"id": SOURCE + key, "kind": "connector"},
        }
        asked = form(
            response_type="code", client_id=self.client_id, redirect_uri=self.REDIRECT, code_challenge=challenge,
            code_challenge_method="S256", state="x", scope="pdpp:read", resource=f"http://127.0.0.1:{self.port}/mcp",
            authorization_details=json.dumps([details]),
        ).decode()
        _, headers, body = await self.client.send("GET", f"/oauth/authorize?{asked}")
        if "location" not in headers:
            raise Wrong(f"no code: {body[:500]}")
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(headers["location"]).query))["code"]
        return await self.token(
            grant_type="authorization_code", code=code, redirect_uri=self.REDIRECT, code_verifier=verifier
        )

    async def token(self, **values):
        body = form(client_id=self.client_id, **values)
        status, _, got = await self.client.send("POST", "/oauth/token", FORM, body)
        if status != 200:
            raise Wrong(f"no token: {status} {got[:500]}")
        return json.loads(got)


# ------------------------------------------------------------------------------------------------ what is right


def exact(text):
    """Parses JSON so that numbers are compared digit for digit."""
    return json.loads(text, parse_float=str)


def shown(value):
    """`value` in the form of structured output: an integer that a double would round is a text."""
    if isinstance(value, dict):
        return {key: shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shown(inner) for inner in value]
    is_rounded = type(value) is int and decimal.Decimal(repr(float(value))) != value
    return str(value) if is_rounded else value


class Stream:
    def __init__(self, connection, name, rows, declared):
        self.connection, self.name, self.rows = connection, name, rows
        self.by_id = {row["id"]: row["data"] for row in rows}
        self.filters = [field for field, can in declared.items() if can["exact_filter"]["usable"]]
        self.groups = [field for field, can in declared.items() if can["aggregation"]["group_by"]["usable"]]
        self.fields = list(declared)


async def load(sandbox):
    """All records of every account, read without the proxy."""
    oauth, streams = OAuth(sandbox.port), []
    for connection, key in ACCOUNTS.items():
        bearer = {"authorization": f"Bearer {(await oauth.grant(key))['access_token']}"}

        async def get(target):
            status, _, body = await oauth.client.send("GET", target, bearer)
            if status != 200:
                raise Wrong(f"{target}: {status} {body[:500]}")
            return exact(body)

        for declared in (await get("/v1/schema"))["connectors"][0]["streams"]:
            base, rows = f"/v1/streams/{declared['name']}/records?limit=100", []
            page = await get(base)
            while True:
                rows += [{"id": row["id"], "data": row["data"]} for row in page["data"]]
                if not page["has_more"]:
                    break
                page = await get(f"{base}&cursor={urllib.parse.quote(page['next_cursor'])}")
            if rows:
                streams.append(Stream(connection, declared["name"], rows, declared["field_capabilities"]))
    oauth.client.close()
    return streams


class Call:
    """A call, and what decides whether its answer is right.

    `expected` are the codes of acceptable errors; `is_whole` is true if every grant must be present. `since` is when the
    cursor of a further page was given: it may wait for minutes, while its grant is replaced.
    """

    def __init__(self, tool, arguments, check=None, connection=None, expected=(), is_whole=False):
        self.tool, self.arguments, self.check = tool, arguments, check
        self.connection, self.expected, self.is_whole = connection, expected, is_whole
        self.since = None


def same(got, wanted, what):
    if got != wanted:
        place, got, wanted = first_difference(got, wanted)
        raise Wrong(f"{what}: {place or 'it'} is {json.dumps(got)[:1500]} instead of {json.dumps(wanted)[:1500]}")


def first_difference(got, wanted, place=""):
    """Where two different values of JSON start to differ, and the value of each there."""
    if isinstance(got, dict) and isinstance(wanted, dict) and got.keys() == wanted.keys():
        key = next(key for key in got if got[key] != wanted[key])
        return first_difference(got[key], wanted[key], f"{place}.{key}" if place else key)
    if isinstance(got, dict) and isinstance(wanted, dict) and set(got) ^ set(wanted):
        only = sorted(set(got) ^ set(wanted))
        return place, {key: got[key] for key in only if key in got}, {key: wanted[key] for key in only if key in wanted}
    if isinstance(got, list) and isinstance(wanted, list) and len(got) == len(wanted):
        at = next(at for at, one in enumerate(got) if one != wanted[at])
        return first_difference(got[at], wanted[at], f"{place}[{at}]")
    return place, got, wanted


def same_data(got, wanted, what):
    """Like `same`; for a long text that does not fit on a page, the beginning is enough."""
    for key, value in wanted.items():
        if isinstance(value, str) and len(value) > 2_000 and got.get(key) != value:
            same(str(got.get(key))[:500], value[:500], what)
            got = {**got, key: value}
    same(got, wanted, what)


def handle(connection, stream, record):
    return f"{connection}/{stream}:" + record.replace("%", "%25").replace("/", "%2F")


class Calls:
    """Makes up calls."""

    def __init__(self, streams, rng):
        self.streams, self.rng = streams, rng
        self.known = {}
        self.walks = collections.deque(maxlen=64)
        texts = [
            (stream, row["id"], field, value)
            for stream in streams
            for row in stream.rows
            for field, value in row["data"].items()
            if isinstance(value, str) and len(value) > 10 and field in stream.fields
        ]
        self.texts = texts
        words = collections.Counter(
            word for _, _, _, text in rng.sample(texts, min(4_000, len(texts))) for word in set(re.findall(r"\b[a-z]{5,12}\b", text))
        )
        self.words = [word for word, _ in words.most_common(150)]

    def next(self, only=None):
        """A call; with `only`, a call to this connection."""
        rng = self.rng
        if self.walks and rng.random() < 0.3:
            for _ in range(len(self.walks)):
                walk = self.walks.popleft()
                if only in (None, walk.connection):
                    return walk
                self.walks.append(walk)
        streams = [stream for stream in self.streams if only in (None, stream.connection)]
        make = rng.choices(
            [self.query, self.fetch, self.field, self.count, self.groups, self.search, self.schema, self.mistake],
            [30, 20, 12, 10, 8, 10, 5, 5],
        )[0]
        return make(rng.choice(streams), only)

    def query(self, stream, _only):
        rng = self.rng
        arguments = {"stream": stream.name, "connection_id": stream.connection, "limit": rng.randint(1, 12)}
        rows = stream.rows
        if rng.random() < 0.3 and stream.filters:
            field = rng.choice(stream.filters)
            value = rng.choice(rows)["data"].get(field)
            if isinstance(value, (str, int, bool)) and value != "" and not (isinstance(value, str) and len(value) > 200):
                arguments["filter"] = {field: value}
                rows = [row for row in rows if row["data"].get(field) == value]
        if rng.random() < 0.3:
            arguments["order"] = "asc"
            rows = rows[::-1]
        return self.page(stream, arguments, rows, 0)

    def page(self, stream, arguments, rows, start):
        def check(text, got):
            page = got["data"]
            count = len(page["data"])
            wanted = rows[start : start + count]
            for row, right in zip(page["data"], wanted, strict=True):
                same(row["id"], right["id"], "record")
                same_data(row["data"], shown(right["data"]), row["id"])
            if count > arguments["limit"] or (count == 0 and start < len(rows)):
                raise Wrong(f"{count} records")
            same(page["has_more"], start + count < len(rows), "has_more")
            for row in wanted:
                record = handle(stream.connection, stream.name, row["id"])
                if record not in text and json.dumps(record, ensure_ascii=False) not in text:
                    raise Wrong(f"the text has no {row['id']}")
            if page["has_more"] and start + count < 60:
                following = {**got["next"]["arguments"]}
                following.setdefault("limit", arguments["limit"])
                walk = self.page(stream, following, rows, start + count)
                walk.since = time.monotonic()
                self.walks.append(walk)

        return Call("query_records", arguments, check, stream.connection)

    def fetch(self, stream, _only):
        row = self.rng.choice(stream.rows)
        record = handle(stream.connection, stream.name, row["id"])

        def check(_text, got):
            same(got["id"], record, "id")
            if len(json.dumps(row["data"])) < 2_000:
                same(exact(got["text"]), row["data"], "record")

        return Call("fetch", {"id": record}, check, stream.connection)

    def field(self, _stream, only):
        while True:
            stream, record, field, value = self.rng.choice(self.texts)
            if only in (None, stream.connection):
                break
        arguments = {"id": handle(stream.connection, stream.name, record), "field_path": field}

        def check(_text, got):
            window = got["data"]["window"]
            same(window["total_chars"], len(value), "length")
            same(window["text"], value[window["start_chars"] : window["end_chars"]], "window")

        return Call("read_record_field", arguments, check, stream.connection)

    def count(self, stream, _only):
        def check(_text, got):
            same(got["data"]["value"], len(stream.rows), "count")

        arguments = {"stream": stream.name, "connection_id": stream.connection, "metric": "count"}
        return Call("aggregate", arguments, check, stream.connection)

    def groups(self, stream, only):
        if not stream.groups:
            return self.count(stream, only)
        field = self.rng.choice(stream.groups)
        counted = collections.Counter(json.dumps(shown(row["data"].get(field))) for row in stream.rows)

        def check(_text, got):
            for group in got["data"]["groups"]:
                same(group["count"], counted[json.dumps(group["key"])], f"group {group['key']}")
            same(got["data"]["filtered_record_count"], len(stream.rows), "count")

        arguments = {"stream": stream.name, "connection_id": stream.connection, "metric": "count", "group_by": field}
        return Call("aggregate", arguments, check, stream.connection)

    def again(self, call, got):
        """The same call has the same answer, except for what is generated each time."""
        def plain(value):
            if isinstance(value, dict):
                # A note explains that fewer rows fit than were asked for: a package's provider may have trimmed its
                # own answer before.
                fleeting = ("cursor", "next_cursor", "next", "note", "links", "request_id", "bearer", "url", "grant_id")
                return {key: plain(inner) for key, inner in value.items() if key not in fleeting}
            return [plain(inner) for inner in value] if isinstance(value, list) else value

        key = json.dumps([call.tool, call.arguments], sort_keys=True)
        same(plain(got), self.known.setdefault(key, plain(got)), f"{key} at another time")

    def search(self, stream, only):
        word = self.rng.choice(self.words)
        arguments = {"q": word, "limit": self.rng.randint(1, 10)}
        if only or self.rng.random() < 0.5:
            arguments["connection_id"] = stream.connection
        call = Call("search", arguments, connection=arguments.get("connection_id"))
        known = {(one.connection, one.name): one for one in self.streams}

        def check(text, got):
            for hit in got["results"]:
                connection, _, rest = hit["id"].partition("/")
                name, _, record = rest.partition(":")
                one = known.get((connection, name))
                data = one and one.by_id.get(urllib.parse.unquote(record))
                # A package also holds the mail, which is not loaded.
                if connection not in ACCOUNTS and word in text.lower():
                    continue
                if not data or word not in json.dumps(data, ensure_ascii=False).lower():
                    raise Wrong(f"{hit['id']} does not have {word}")
            if call.connection:
                self.again(call, got)

        call.check = check
        return call

    def schema(self, stream, only):
        if not only and self.rng.random() < 0.3:
            known = {one.name for one in self.streams}

            def check(text, _got):
                for name in known:
                    if name not in text and "warning" not in text:
                        raise Wrong(f"no stream {name}")

            return Call("schema", {}, check, is_whole=True)
        call = Call("schema", {"stream": stream.name, "connection_id": stream.connection}, connection=stream.connection)
        call.check = lambda _text, got: self.again(call, got)
        return call

    def mistake(self, stream, _only):
        connection = stream.connection
        made = [
            ("query_records", {"connection_id": connection}, "missing_argument", None),
            ("query_records", {"stream": stream.name, "connection_id": connection, "limit": "many"}, "invalid_argument", None),
            ("query_records", {"stream": "nowhere", "connection_id": connection}, "stream_not_granted", connection),
            ("fetch", {"id": "x"}, "invalid_id", None),
            ("fetch", {"id": handle(connection, stream.name, "no such")}, "not_found", connection),
            ("search", {"q": "x", "bogus": 1}, "unknown_argument", None),
            ("aggregate", {"stream": stream.name, "connection_id": connection, "metric": "median"}, "invalid_argument", None),
        ]
        tool, arguments, code, asks = self.rng.choice(made)
        return Call(tool, arguments, None, asks, (code, "context.stream_not_allowed"))


# ------------------------------------------------------------------------------------------------ the judge


class Span:
    """When the grant of a connection was over: from when it may have been, until when, and from when it surely was."""

    def __init__(self):
        self.gone = []

    def over(self):
        # A token that is not renewed while its grant is revoked proves nothing new.
        if not self.gone or self.gone[-1][1] is not None:
            self.gone.append([time.monotonic(), None, None])

    def surely(self):
        self.gone[-1][2] = time.monotonic()

    def back(self):
        self.gone[-1][1] = time.monotonic()

    def surely_gone(self, start):
        """Whether a call that began at `start` and ends now must not read anything."""
        return any(surely and surely < start and back is None for _, back, surely in self.gone[-2:])

    def maybe_gone(self, start, end, after):
        return any(over <= end and (back is None or start <= back + after) for over, back, _ in self.gone[-4:])


class Judge:
    """Counts right answers, and remembers wrong ones."""

    def __init__(self, kind):
        self.kind, shared_grant = kind, kind == "package"
        self.spans = collections.defaultdict(Span)
        self.shared = shared_grant
        self.right, self.errors, self.wrong = 0, collections.Counter(), []
        self.strict = False
        self.doubted = []

    def span(self, connection):
        return self.spans[None if self.shared else connection]

    def fail(self, what):
        self.wrong.append(what)
        if len(self.wrong) <= 20:
            print(f"{time.strftime('%H:%M:%S')} {self.kind} WRONG: {what}", flush=True)

    def gone(self, connection, start, end):
        """Whether an answer may report that the grant is over."""
        spans = self.spans.values() if connection is None else [self.span(connection)]
        doubted = any(at <= end and start <= at + 65 for at in self.doubted[-3:])
        return doubted or any(span.maybe_gone(start, end, 65) for span in spans)

    def result(self, call, result, start):
        """Judges the result of a `tools/call`. Returns the error's code, if it is an error."""
        end = time.monotonic()
        code = None
        try:
            text = result["content"][0]["text"]
            if not result.get("isError"):
                if call.check is None:
                    raise Wrong("this should have been an error")
                if not (call.is_whole and self.gone(None, start, end)):
                    call.check(text, result["structuredContent"])
                if call.connection and call.tool != "schema" and self.span(call.connection).surely_gone(start):
                    raise Wrong("read after its grant was revoked")
                self.right += 1
                return None
            code = result["structuredContent"]["error"]["code"]
            if code not in text:
                raise Wrong("the text does not have the code")
            if call.check is None and code in call.expected:
                self.right += 1
                return code
            self.errors[code] += 1
            since = call.since if code == "invalid_cursor" and call.since else start
            if self.strict or code not in STRUCK and not (code in OVER and self.gone(call.connection, since, end)):
                raise Wrong(f"unexpected error {code}")
            return code
        except Wrong as why:
            self.fail(f"{why}\n  {call.tool} {json.dumps(call.arguments)}\n  {json.dumps(result)[:3000]}")
        except (KeyError, IndexError, TypeError, ValueError) as why:
            self.fail(f"{why!r}\n  {call.tool} {json.dumps(call.arguments)}\n  {json.dumps(result)[:3000]}")
        return code


# ------------------------------------------------------------------------------------------------ a process


def usage(pid):
    """Resident memory in kB, total and anonymous; descriptors; threads."""
    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    kilobytes = lambda name: int(status[name].split()[0])
    return {
        "rss": kilobytes("VmRSS"), "anon": kilobytes("RssAnon"), "peak": kilobytes("VmHWM"),
        "fds": len(os.listdir(f"/proc/{pid}/fd")), "threads": int(status["Threads"]),
    }


def bare_exit():
    """The time of `cat` from the end of its input to its own end, in ms: the machine's share. The median of nine."""
    took = []
    for _ in range(9):
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
            time.sleep(0.01)
            began = time.monotonic()
            process.stdin.close()
            process.wait()
            took.append((time.monotonic() - began) * 1000)
    return round(sorted(took)[4], 1)


class Soak:
    """What the kinds share: the phases, the pace, the measurements."""

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.rng = random.Random(f"{options.kind} {options.seed}")
        self.answered = self.revoked = 0
        self.samples = []
        self.process = None
        self.judge = Judge(options.kind)

    async def run(self):
        options = self.options
        self.sandbox = Sandbox(options.binary, self.directory)
        try:
            self.proxy = Proxy(self.sandbox.port, self.rng, options.without)
            await self.proxy.start()
            self.judge.doubted = self.proxy.doubted
            self.calls = Calls(await load(self.sandbox), self.rng)
            await self.begin()
            began = time.monotonic()
            sampler = asyncio.create_task(self.sample(began))
            self.proxy.fierce = True
            pace = options.calls / max(30, options.minutes * 60 - 2 * options.rest - options.calm - 30)
            await self.work(lambda: self.answered >= min(FIRST, options.calls // 4), pace)
            first = await self.at_rest("after the first calls")
            # After a grant was replaced, its cursor may be refused later than the judge allows.
            self.calls.walks.clear()
            self.proxy.fierce = True
            until = began + options.minutes * 60 - options.rest - options.calm - 10
            await self.work(lambda: self.answered >= options.calls and time.monotonic() >= until, pace)
            self.proxy.fierce = False
            # Everything is connected again; refusals of the last minute are checked again.
            await asyncio.sleep(options.calm)
            await self.look_again()
            self.calls.walks.clear()
            self.judge.strict = True
            before = self.answered
            await self.work(lambda: self.answered >= before + 500, pace, revokes=False)
            last = await self.at_rest("at the end")
            sampler.cancel()
            return await self.report(first, last, time.monotonic() - began)
        finally:
            if self.process and self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            self.sandbox.stop()

    async def work(self, is_done, pace, revokes=True):
        """Makes calls from all workers at this pace, in calls per second, until `is_done`; then waits for all answers."""
        start, made = time.monotonic(), 0

        async def worker(number):
            nonlocal made
            while not is_done():
                made += 1
                wait = start + made / (pace * 1.02) - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                await self.one(number)

        disturbing = asyncio.create_task(self.disturb()) if revokes else None
        workers = [asyncio.create_task(worker(number)) for number in range(WORKERS)]
        try:
            await asyncio.gather(*workers)
        finally:
            if disturbing:
                self.proxy.fierce = False
                self.enough = True
                await disturbing

    async def disturb(self):
        """Revokes a grant and connects it again, over and over."""
        self.enough = False
        while not self.enough:
            waited = time.monotonic() + REVOKE_EVERY
            while time.monotonic() < waited and not self.enough:
                await asyncio.sleep(0.5)
                await self.mend()
            if not self.enough:
                self.revoked += 1
                await self.revoke_one()
        await self.mend()

    async def mend(self):
        pass

    async def at_rest(self, when):
        self.proxy.fierce = False
        await self.hush()
        await asyncio.sleep(self.options.rest)
        measured = usage(self.pid())
        print(f"{self.options.kind}: at rest {when}, {self.answered} answers: {measured}", flush=True)
        return measured

    async def hush(self):
        pass

    async def look_again(self):
        pass

    async def sample(self, began):
        while True:
            self.samples.append({"s": round(time.monotonic() - began), "answers": self.answered, **usage(self.pid())})
            if len(self.samples) % 30 == 1:
                errors = sum(self.judge.errors.values())
                print(f"{self.options.kind}: {self.samples[-1]} right {self.judge.right} errors {errors}", flush=True)
            await asyncio.sleep(10)

    def hold(self, is_true, what):
        if not is_true:
            self.judge.fail(what)

    async def report(self, first, last, took):
        ends = await self.finish()
        ends["bare_exit_ms"] = bare_exit()
        judge, options = self.judge, self.options
        self.hold(last["rss"] <= first["rss"] * (1 + MAX_GROWTH), f"memory grew: {first['rss']} kB, then {last['rss']} kB")
        self.hold(last["fds"] <= first["fds"], f"descriptors left: {first['fds']}, then {last['fds']}")
        self.hold(last["threads"] <= first["threads"], f"threads left: {first['threads']}, then {last['threads']}")
        self.hold(ends["exit_code"] == 0, f"exit code {ends['exit_code']}")
        # The host is stopped by a signal; it promises only to answer what it has.
        most = 1_000 if options.kind == "host" else options.exit_ms + ends["bare_exit_ms"]
        self.hold(ends["exit_ms"] <= most, f"exit after {ends['exit_ms']} ms, a bare process {ends['bare_exit_ms']} ms")
        self.hold(self.answered >= options.calls, f"{self.answered} answers only")
        self.hold(judge.right >= 0.75 * self.answered, f"{judge.right} of {self.answered} answers were right only")
        early = [one["rss"] for one in self.samples if one["answers"] >= FIRST][:12]
        late = [one["rss"] for one in self.samples][-12 - int(options.rest // 10) : -int(options.rest // 10) or None]
        return {
            "kind": options.kind, "seconds": round(took), "calls": self.answered, "right": judge.right,
            "errors": dict(judge.errors.most_common()), "wrong": len(judge.wrong),
            "requests": self.proxy.requests, "struck": dict(self.proxy.struck.most_common()),
            "refreshed": self.proxy.refreshes, "revoked": self.revoked, "lost": sum(len(span.gone) for span in judge.spans.values()) - self.revoked,
            "first": first, "last": last, "growth": round(last["rss"] / first["rss"] - 1, 3), "busy_rss": [sorted(part)[len(part) // 2] if part else 0 for part in (early, late)],
            "rss_by_minute": [one["rss"] for one in self.samples[::6]], "most": {name: max(one[name] for one in self.samples) for name in ("rss", "fds", "threads")}, **ends,
        }


# ------------------------------------------------------------------------------------------------ serve


class Serve(Soak):
    """`pdpp mcp serve`, with one grant per account; for `package`, with one token for all."""

    def pid(self):
        return self.process.pid

    async def begin(self):
        self.cache = self.directory / "cache"
        self.is_package = self.options.kind == "package"
        self.grants = {}
        for connection in [None] if self.is_package else ACCOUNTS:
            await self.connect(connection)
        binary = str(self.options.binary)
        self.stderr = open(self.directory / "stderr", "wb")
        self.process = await asyncio.create_subprocess_exec(
            binary, "mcp", "serve", "--cache-dir", str(self.cache), limit=32 << 20,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, env=environment(self.directory),
        )
        self.waiting, self.cancelled, self.ids, self.broken = {}, set(), 0, 0
        self.lost = set()
        self.reading = asyncio.create_task(self.read())
        opened = await self.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"},
        })
        if "result" not in opened:
            raise Wrong(f"no start: {opened}")
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.listed = await self.request("tools/list", {})

    async def connect(self, connection, more=()):
        """Runs `pdpp connect` and answers its approval page."""
        command = [
            str(self.options.binary), "connect", f"http://127.0.0.1:{self.proxy.port}", "--no-browser", "--store", "file",
            "--json", "--flow", "authorization-code", "--cache-dir", str(self.cache), *more,
        ]
        if connection and not more:
            command += ["--source", SOURCE + ACCOUNTS[connection]]
        for _ in range(5):
            process = await asyncio.create_subprocess_exec(
                *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(self.directory)
            )
            address = None
            while line := await process.stderr.readline():
                if found := re.fullmatch(rb"  (http://127\.0\.0\.1:\d+/)\n", line):
                    address = found[1].decode()
                elif address and (found := re.search(rb"([A-Z]{4}-[A-Z]{4})", line)):
                    await self.approve(address, found[1].decode())
                    address = None
            told = json.loads(await process.stdout.read())
            # The first read with a new token may be disturbed like any other; then nothing is stored.
            if await process.wait() == 0:
                self.grants[connection] = told["grant_id"]
                return
        raise Wrong(f"not connected: {told}")

    async def approve(self, address, code):
        """Acts as a browser: types the code, and is redirected by the sandbox at once."""
        page = Client(urllib.parse.urlsplit(address).port)
        form = {"content-type": "application/x-www-form-urlencoded", "origin": address.rstrip("/")}
        _, headers, body = await page.send("POST", "/", form, f"code={code}".encode())
        cookie = {"cookie": headers["set-cookie"].split(";")[0]}
        url = urllib.parse.urlsplit(html.unescape(re.search(r'content="0; url=([^"]+)"', body.decode())[1]))
        provider = Client(url.port)
        _, headers, _ = await provider.send("GET", f"{url.path}?{url.query}")
        back = urllib.parse.urlsplit(headers["location"])
        await page.send("GET", f"{back.path}?{back.query}", cookie)
        page.close()
        provider.close()

    async def pdpp(self, *arguments):
        process = await asyncio.create_subprocess_exec(
            str(self.options.binary), *arguments, "--cache-dir", str(self.cache),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(self.directory),
        )
        said = await process.stdout.read()
        return await process.wait(), said

    def write(self, said):
        self.process.stdin.write((said if isinstance(said, bytes) else json.dumps(said).encode()) + b"\n")

    async def request(self, method, params):
        self.ids += 1
        number, answer = self.ids, asyncio.get_running_loop().create_future()
        self.waiting[number] = answer
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        await self.process.stdin.drain()
        return await asyncio.wait_for(answer, 120)

    async def read(self):
        while line := await self.process.stdout.readline():
            answer = exact(line)
            number = answer.get("id")
            if number is None and "error" in answer:
                self.broken -= 1
                if self.broken < 0:
                    self.judge.fail(f"an error without an id: {line[:500]}")
            elif number in self.waiting:
                waiting = self.waiting.pop(number)
                if not waiting.cancelled():
                    waiting.set_result(answer)
            elif number in self.cancelled:
                self.cancelled.discard(number)
            elif "method" not in answer:
                self.judge.fail(f"nobody asked, or it was answered before: {line[:500]}")

    async def one(self, _number):
        roll = self.rng.random()
        if roll < 0.005:
            # This is not a message, and gets the matching answer.
            self.broken += 1
            self.write(self.rng.choice([b"{", b"[]", b"nonsense", b"\xff", b'{"jsonrpc":"2.0"', b"7"]))
        elif roll < 0.01:
            listed = await self.request("tools/list", {})
            if listed.get("result") != self.listed["result"]:
                self.judge.fail(f"other tools: {json.dumps(listed)[:1000]}")
        call, start = self.calls.next(), time.monotonic()
        asked = {"name": call.tool, "arguments": call.arguments}
        if roll > 0.99:
            self.ids += 1
            number = self.ids
            self.cancelled.add(number)
            self.write({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked})
            await asyncio.sleep(self.rng.random() * 0.02)
            self.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            return
        try:
            answer = await self.request("tools/call", asked)
        except asyncio.TimeoutError:
            return self.judge.fail(f"no answer in 120 s: {asked}")
        self.answered += 1
        if "result" not in answer:
            return self.judge.fail(f"no result: {json.dumps(answer)[:1000]} for {asked}")
        code = self.judge.result(call, answer["result"], start)
        if code in ("refresh_lost", "refresh_refused", "token_dead"):
            self.lost.add(call.connection if not self.is_package else None)

    async def mend(self):
        """Connects a grant again that is reported as over, because a refresh token was lost on its way."""
        while self.lost:
            key = self.lost.pop()
            if key in self.grants:
                span = self.judge.span(key)
                span.over()
                await self.renew(key)
                span.back()

    async def renew(self, key):
        await self.connect(key, ("--renew", "--grant", self.grants[key]))
        self.lost.discard(key)

    async def revoke_one(self):
        key = self.rng.choice(list(self.grants))
        span = self.judge.span(key)
        span.over()
        if self.rng.random() < 0.3:
            code, said = await self.pdpp("disconnect", "--yes", "--grant", self.grants[key])
            if code != 0:
                self.judge.fail(f"disconnect: {said}")
            more = ()
        else:
            await self.proxy.revoke(self.grants[key])
            more = ("--renew", "--grant", self.grants[key])
        span.surely()
        await asyncio.sleep(4)
        # The new one exists before the command ends.
        span.gone[-1][2] = None
        await self.connect(key, more)
        span.back()

    async def look_again(self):
        # `schema` reads the index again; any other tool does so when a grant turns out to be gone.
        await self.request("tools/call", {"name": "schema", "arguments": {}})

    async def finish(self):
        if self.waiting:
            self.judge.fail(f"{len(self.waiting)} requests were not answered")
        if self.broken:
            self.judge.fail(f"{self.broken} broken lines were not answered")
        began = time.monotonic()
        self.process.stdin.close()
        code = await self.process.wait()
        took = round((time.monotonic() - began) * 1000, 1)
        await self.reading
        said = (self.directory / "stderr").read_bytes()
        if b"panicked" in said:
            self.judge.fail(f"a panic: {said[-2000:]}")
        kept = {path.name: path.stat().st_size for path in self.cache.rglob("*") if path.is_file()}
        secrets = len(list((self.cache / "secrets").iterdir()))
        self.hold(secrets <= 2 * len(self.grants), f"{secrets} secrets are kept for {len(self.grants)} grants")
        self.hold(sum(kept.values()) <= 4 << 20, f"the cache takes {kept}")
        return {"exit_code": code, "exit_ms": took, "cache_bytes": sum(kept.values()), "secrets": secrets}


# ------------------------------------------------------------------------------------------------ host


class Bearer:
    """A client of the host: a grant, and its current access token."""

    def __init__(self, connection):
        self.connection, self.told, self.ends, self.lock = connection, None, 0, asyncio.Lock()


class Host(Soak):
    """`pdpp mcp host` in front of the provider, with one bearer per account."""

    def pid(self):
        return self.process.pid

    async def begin(self):
        credentials = self.directory / "introspection.json"
        shutil.copy(self.sandbox.data / "introspection.json", credentials)
        credentials.chmod(0o600)
        base = f"http://127.0.0.1:{self.proxy.port}"
        self.process = await asyncio.create_subprocess_exec(
            str(self.options.binary), "mcp", "host", "--provider-url", base, "--introspection-file", str(credentials),
            "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--json", "--requests-per-minute", "20000",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=1 << 20, env=environment(self.directory),
        )
        told = json.loads(await self.process.stdout.readline())
        self.port = urllib.parse.urlsplit(told["url"]).port
        self.metrics = urllib.parse.urlsplit(told["metrics_url"]).port
        self.said, self.reading = [], asyncio.create_task(self.read())
        self.authority = f"127.0.0.1:{self.proxy.port}"
        self.oauth = OAuth(self.proxy.port)
        self.bearers = [Bearer(connection) for connection in ACCOUNTS]
        self.clients = [Client(self.port) for _ in range(WORKERS)]
        self.refusals, self.ids = collections.Counter(), 0
        for bearer in self.bearers:
            bearer.told, bearer.ends = await self.oauth.grant(ACCOUNTS[bearer.connection]), time.time() + TOKEN_LIFE

    async def read(self):
        while line := await self.process.stderr.readline():
            if b'"event":"request"' not in line:
                self.said.append(line.decode(errors="replace"))

    async def token(self, bearer):
        """The access token, replaced before it expires; one in fifty is replaced a little late."""
        async with bearer.lock:
            if time.time() > bearer.ends - (5 if self.rng.random() > 0.02 else -2):
                try:
                    bearer.told = await self.oauth.token(grant_type="refresh_token", refresh_token=bearer.told["refresh_token"])
                except (Wrong, OSError, asyncio.IncompleteReadError):
                    # Disturbed, lost or revoked.
                    self.judge.span(bearer.connection).over()
                    bearer.told = await self.oauth.grant(ACCOUNTS[bearer.connection])
                    self.judge.span(bearer.connection).back()
                bearer.ends = time.time() + TOKEN_LIFE
            return bearer.told["access_token"]

    async def one(self, number):
        client, roll = self.clients[number], self.rng.random()
        bearer = self.rng.choice(self.bearers)
        call, start = self.calls.next(bearer.connection), time.monotonic()
        self.ids += 1
        said = {"jsonrpc": "2.0", "id": self.ids, "method": "tools/call",
                "params": {"name": call.tool, "arguments": call.arguments}}
        token = await self.token(bearer)
        made_up = roll < 0.01
        if made_up:
            token = f"pdpp_ct_{self.rng.getrandbits(128):032x}"
        ends = self.proxy.ends.get(token, 0)
        headers = {
            "host": self.authority, "authorization": f"Bearer {token}", "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        body = json.dumps(said).encode()
        if 0.01 < roll < 0.02:
            return await self.rude(headers, body)
        try:
            status, _, got = await asyncio.wait_for(client.send("POST", "/mcp", headers, body), 120)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as why:
            return self.judge.fail(f"no answer: {why!r} for {said}")
        self.answered += 1
        try:
            answer = exact(got)
        except ValueError:
            return self.judge.fail(f"HTTP {status}, not JSON: {got[:500]}")
        if status == 200:
            if answer.get("id") != said["id"]:
                return self.judge.fail(f"answer to another: {got[:500]}")
            if made_up or "result" not in answer:
                return self.judge.fail(f"HTTP 200 for {said} with {token[:12]}: {got[:500]}")
            self.judge.result(call, answer["result"], start)
            return None
        code = answer["error"]["code"]
        is_over = time.time() >= ends - 1 or self.judge.gone(bearer.connection, start, time.monotonic())
        fits = {
            401: code == "token_inactive" and (made_up or is_over),
            503: code.startswith("introspection_") and not self.judge.strict,
            429: code in ("rate_limited", "too_many_at_once"),
        }
        if not fits.get(status):
            return self.judge.fail(f"HTTP {status} {got[:500]} for {said}")
        if made_up and status == 401:
            self.judge.right += 1
        else:
            self.judge.errors[code] += 1

    async def rude(self, headers, body):
        """A client that goes away, sends half a message, or sends something that is not a message."""
        sent = message("POST /mcp HTTP/1.1", headers, body)
        how = self.rng.randrange(4)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        if how == 0:
            writer.write(sent)
        elif how == 1:
            writer.write(sent[: len(sent) - len(body) // 2])
        elif how == 2:
            writer.write(message("POST /mcp HTTP/1.1", headers, self.rng.choice(NOT_JSON)))
            status = (await asyncio.wait_for(reader.readline(), 60)).split()[1]
            # 401 and 503 are sent before the body is read.
            if status not in (b"400", b"401", b"413", b"429", b"503"):
                self.judge.fail(f"HTTP {status} for no message")
        else:
            writer.write(self.rng.choice([b"\r\n\r\n", b"GET\r\n\r\n", b"POST /mcp HTTP/1.1\r\nhost: x\r\n\r\n", b"\x16\x03\x01"]))
        await asyncio.sleep(self.rng.random() * 0.01)
        writer.close()

    async def revoke_one(self):
        bearer = self.rng.choice(self.bearers)
        async with bearer.lock:
            span = self.judge.span(bearer.connection)
            span.over()
            await self.proxy.revoke(bearer.told["grant_id"])
            span.surely()
        await asyncio.sleep(4)
        async with bearer.lock:
            bearer.told, bearer.ends = await self.oauth.grant(ACCOUNTS[bearer.connection]), time.time() + TOKEN_LIFE
            span.back()

    async def hush(self):
        for client in self.clients:
            client.close()

    async def finish(self):
        client = Client(self.metrics)
        _, _, told = await client.send("GET", "/metrics")
        client.close()
        gauges = dict(line.rsplit(" ", 1) for line in told.decode().splitlines() if line and line[0] != "#")
        left = {name: value for name, value in gauges.items() if re.search(r"in_flight|connections", name)}
        self.hold(left and all(float(value) == 0 for value in left.values()), f"at work while at rest: {left}")
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = await self.process.wait()
        took = round((time.monotonic() - began) * 1000, 1)
        await self.reading
        if any("panicked" in line for line in self.said):
            self.judge.fail(f"a panic: {self.said[-20:]}")
        return {"exit_code": code, "exit_ms": took, "gauges": left}


# ------------------------------------------------------------------------------------------------ the command


def one_kind(options):
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"pdpp-soak-{options.kind}-"))
    if options.kind == "package":
        options.calls //= 10
    try:
        soak = (Host if options.kind == "host" else Serve)(options, directory)
        result = asyncio.run(soak.run())
        print(json.dumps(result), flush=True)
        return 1 if soak.judge.wrong else 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)} [all]")
    parser.add_argument("--binary", type=pathlib.Path, default=root / "target/release/pdpp")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--calls", type=int, default=200_000, help="calls of each kind; a tenth of that for `package`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rest", type=float, default=REST, help="seconds without calls before a measurement at rest")
    parser.add_argument("--calm", type=float, default=70, help="seconds without faults before the last calls")
    parser.add_argument("--exit-ms", type=float, default=50, help="the longest end of `serve`, above that of a bare process")
    parser.add_argument("--without", action="append", default=[], metavar="FAULT", help="leave out this fault; repeat for more")
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    # If it ends early, it leaves no process, and no directory with tokens.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.kind:
        sys.exit(one_kind(options))
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"no kind is called {', '.join(unknown)}")
    # A copy, because the file may be rebuilt in the meantime.
    with tempfile.TemporaryDirectory(prefix="pdpp-soak-") as directory:
        binary = shutil.copy(options.binary, pathlib.Path(directory) / "pdpp")
        print(f"{options.binary}: {subprocess.run([binary, '--version'], capture_output=True, text=True).stdout.strip()}, "
              f"{os.cpu_count()} processors, load {os.getloadavg()}", flush=True)
        given = sys.argv[1:]
        common = [one for one in given if one not in KINDS]
        runs = {
            kind: subprocess.Popen([sys.executable, __file__, *common, "--binary", binary, "--kind", kind])
            for kind in options.kinds or KINDS
        }
        try:
            failed = [kind for kind, run in runs.items() if run.wait() != 0]
        finally:
            for run in runs.values():
                run.terminate()
                run.wait()
        print(f"load {os.getloadavg()}; {'FAILED: ' + ', '.join(failed) if failed else 'all is well'}", flush=True)
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
