#!/usr/bin/env python3
"""A PDPP provider that replays recorded exchanges, for the client suites. Standard library only.

    replay_provider.py DIR FLOW BEARER

DIR contains one JSON file per exchange: {request{method, path|url, query, headers}, response{status, headers,
body}}. FLOW is the folder in it whose connect flow is played, BEARER the placeholder of the grant that the
flow issues and whose reads are answered. Prints {"url": ...} when it listens on loopback.
The owner approves on the second poll.

A read gets the recording of its path that shares most parameters. A recording with a parameter that was not
requested does not match, and parameters that select content (`q`, `cursor`, ...) must be equal; only the page size may
differ. A request without a recording is answered with 404.
"""

import http.server
import json
import pathlib
import sys
import urllib.parse


class Exchange:
    def __init__(self, recorded):
        request, response = recorded["request"], recorded["response"]
        self.status, self.body = response["status"], response.get("body")
        target = request.get("url") or request["path"]
        target = target.removeprefix("<AS>").removeprefix("<RS>")
        parsed = urllib.parse.urlsplit(target)
        self.method = request["method"]
        self.path = urllib.parse.unquote(parsed.path)
        query = request.get("query") or parsed.query
        self.query = set(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.bearer = request.get("headers", {}).get("authorization", "").removeprefix("Bearer ")


# Parameters that select what is read: a recording without them is another answer.
SELECTING = {"q", "cursor", "changes_since", "field", "group_by", "group_by_time", "metric"}
AS_METADATA = "/.well-known/oauth-authorization-server"
RS_METADATA = "/.well-known/oauth-protected-resource"


class Provider:
    def __init__(self, directory, flow, bearer):
        directory = pathlib.Path(directory)
        self.flow = [Exchange(json.loads(file.read_text())) for file in sorted((directory / flow).glob("*.json"))]
        reads = [Exchange(json.loads(file.read_text())) for file in sorted(directory.glob("*.json"))]
        self.bearer = f"<{bearer}>"
        self.reads = [one for one in reads if one.bearer == self.bearer and one.status == 200]
        if not self.flow or not self.reads:
            sys.exit(f"{directory} has no flow {flow}, or no reads of {self.bearer}")
        self.polls = 0
        resource, issuer = self.recorded(RS_METADATA)["resource"], self.recorded(AS_METADATA)["issuer"]
        self.addresses = [resource, issuer]
        # The flow's own token and grant are replaced by those whose reads are recorded.
        approved = next(one.body for one in self.flow if one.body and "access_token" in one.body)
        schema = next(one.body for one in self.reads if one.path == "/v1/schema")
        self.renamed = {
            approved["access_token"]: self.bearer,
            approved["grant_id"]: schema["bearer"]["grant_id"],
        }

    def recorded(self, path):
        return next(one.body for one in self.flow if one.path == path)

    def answer(self, method, target, bearer):
        parsed = urllib.parse.urlsplit(target)
        path = urllib.parse.unquote(parsed.path)
        query = set(urllib.parse.parse_qsl(parsed.query, keep_blank_values=True))
        if path.startswith("/v1/"):
            if bearer != self.bearer:
                return 401, error("context.active_false", "This is not the bearer that was issued")
            found = self.read(path, query)
        else:
            found = self.connect(method, path)
        return (found.status, found.body) if found else (404, error("not_found", f"No recording of {target}"))

    def connect(self, method, path):
        found = [one for one in self.flow if (one.method, one.path) == (method, path)]
        # A poll is recorded more than once: pending, then approved.
        return found[min(self.next_poll() if len(found) > 1 else 0, len(found) - 1)] if found else None

    def next_poll(self):
        self.polls += 1
        return self.polls - 1

    def read(self, path, query):
        def fits(one):
            selecting = {pair for pair in query if pair[0] in SELECTING}
            recorded = {pair for pair in one.query if pair[0] != "limit"}
            return one.path == path and selecting <= recorded <= query

        def closeness(one):
            return len(one.query & query), -len(one.query ^ query)

        return max(filter(fits, self.reads), key=closeness, default=None)


def error(code, message):
    return {"error": {"type": "invalid_request_error", "code": code, "message": message}}


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
            for recorded, now in {**provider.renamed, **dict.fromkeys(provider.addresses, own)}.items():
                text = text.replace(recorded, now)
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
    provider = Provider(*sys.argv[1:4])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(provider))
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
