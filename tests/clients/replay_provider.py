#!/usr/bin/env python3
"""A PDPP provider that replays the exchanges of a directory, for the client suites. Standard library only.

    replay_provider.py DIR

Prints one line of JSON, {"url": ...}, when it listens (loopback, a free port), and ends when its
standard input does. An exchange is {request{method, path|url, query, headers, body}, response{status,
headers, body}}; the addresses that the recorded discovery documents name become its own. The owner
approves on the second poll. A read is answered by the exchange of the same path that shares most query
parameters, its own query text (`q`, `cursor`) exactly; only recordings that succeeded count.
"""

import http.server
import json
import pathlib
import sys
import threading
import urllib.parse


class Exchange:
    def __init__(self, recorded):
        request, self.response = recorded["request"], recorded["response"]
        target = request.get("url") or request["path"]
        target = target.removeprefix("<AS>").removeprefix("<RS>")
        parsed = urllib.parse.urlsplit(target)
        self.method = request["method"]
        self.path = urllib.parse.unquote(parsed.path)
        self.query = urllib.parse.parse_qsl(request.get("query") or parsed.query, keep_blank_values=True)
        self.bearer = request.get("headers", {}).get("authorization", "").removeprefix("Bearer ")

    @property
    def status(self):
        return self.response["status"]

    @property
    def body(self):
        return self.response.get("body")


class Provider:
    def __init__(self, directory):
        files = sorted(pathlib.Path(directory).rglob("*.json"))
        loaded = [json.loads(file.read_text()) for file in files]
        self.exchanges = [Exchange(one) for one in loaded if isinstance(one, dict) and "request" in one]
        self.polls = 0
        self.token = None

    def first(self, suffix, status, method="POST"):
        """The first exchange whose path ends in `suffix`, with this status."""
        for exchange in self.exchanges:
            if exchange.method == method and exchange.path.endswith(suffix) and exchange.status == status:
                return exchange
        return None

    def recorded_addresses(self):
        resource = self.first("/.well-known/oauth-protected-resource", 200, "GET").body["resource"]
        issuer = self.first("/.well-known/oauth-authorization-server", 200, "GET").body["issuer"]
        return resource, issuer

    def answer(self, method, target, bearer):
        parsed = urllib.parse.urlsplit(target)
        path = urllib.parse.unquote(parsed.path)
        query = urllib.parse.parse_qsl(parsed.query, keep_blank_values=True)
        if method == "POST":
            return self.connect(path)
        if path.startswith("/v1/") and bearer != self.token:
            return 401, {"error": {"type": "authentication_error", "code": "context.active_false",
                                   "message": "The bearer is not the one that was issued"}}
        found = self.read(path, query)
        if found is None:
            return 404, {"error": {"type": "not_found", "code": "not_found", "message": f"No recording of {path}"}}
        return found.status, found.body

    def connect(self, path):
        if path.endswith("/token"):
            self.polls += 1
            if self.polls == 1 and (pending := self.first("/token", 202)):
                return 202, pending.body
            approved = self.first("/token", 200)
            self.token = approved.body["access_token"]
            return 200, approved.body
        for status in (201, 200):
            if found := self.first(path, status):
                return status, found.body
        return 404, {"error": "not_found", "error_description": f"No recording of POST {path}"}

    def read(self, path, query):
        exact = {"q", "cursor", "changes_since", "field", "group_by", "group_by_time"}
        candidates = []
        for exchange in self.exchanges:
            if exchange.method != "GET" or exchange.path != path or exchange.status != 200:
                continue
            if "OWNER" in exchange.bearer:
                continue
            pinned = [{pair for pair in pairs if pair[0] in exact} for pairs in (exchange.query, query)]
            if pinned[0] == pinned[1]:
                shared = len(set(exchange.query) & set(query))
                apart = len(set(exchange.query) ^ set(query))
                candidates.append((exchange.bearer == self.token, shared, -apart, exchange))
        return max(candidates, key=lambda one: one[:3])[3] if candidates else None


def handler(provider):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def respond(self):
            self.rfile.read(int(self.headers.get("content-length") or 0))
            bearer = (self.headers.get("authorization") or "").removeprefix("Bearer ")
            status, body = provider.answer(self.command, self.path, bearer)
            text = json.dumps(body)
            own = f"http://127.0.0.1:{self.server.server_port}"
            for address in provider.addresses:
                text = text.replace(address, own)
            data = text.encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("request-id", "req_replayed")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = respond

    return Handler


def main():
    provider = Provider(sys.argv[1])
    provider.addresses = provider.recorded_addresses()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(provider))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
