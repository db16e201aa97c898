#!/usr/bin/env python3
"""Several providers with a fixed delay, in front of one sandbox: compare.py measures a fan-out against them.

    providers.py URL COUNT MILLISECONDS

URL is a sandbox. Each provider forwards a request to it, and replaces the sandbox's address in the answer with its own, so that
a client can connect to it. It repeats an answer below /v1 for the same bytes, MILLISECONDS after they came: neither
the sandbox nor its database then takes any of the time, and Python takes 0.2 ms of it, or 0.4 ms for ten at once. Prints
one line of JSON: the URLs of the providers.
"""

import collections
import http.client
import json
import re
import select
import socket
import sys
import time

upstream, count, delay = sys.argv[1].split("//")[1].encode(), int(sys.argv[2]), float(sys.argv[3]) / 1000


def said_of(text, one, other):
    """`text` with one address replaced by another; within a form its colon is encoded."""
    return text.replace(one, other).replace(one.replace(b":", b"%3A"), other.replace(b":", b"%3A"))


def handed_on(request, own):
    """The sandbox's answer, with the address of the provider at `own`."""
    head, body = said_of(request, own, upstream).split(b"\r\n\r\n", 1)
    first, *fields = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    fields = dict(field.split(": ", 1) for field in fields if not field.lower().startswith(("connection:", "content-length:")))
    connection = http.client.HTTPConnection(upstream.decode())
    connection.request(method, path, body or None, fields)
    answer = connection.getresponse()
    body = said_of(answer.read(), upstream, own)
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}", *(f"{name}: {value}" for name, value in answer.getheaders()
             if name.lower() not in ("content-length", "connection", "transfer-encoding")), f"content-length: {len(body)}"]
    return said_of("\r\n".join(lines).encode(), upstream, own) + b"\r\n\r\n" + body


def is_whole(request):
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and len(body) >= int(length[1] if length else 0)


listeners = {}
for _ in range(count):
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    listeners[listener] = f"127.0.0.1:{listener.getsockname()[1]}".encode()
print(json.dumps([f"http://{own.decode()}" for own in listeners.values()]), flush=True)

clients, heard, known, due = {}, {}, {}, collections.deque()
while True:
    # epoll would count in milliseconds.
    wait = max(due[0][0] - time.perf_counter(), 0) if due else None
    ready, _, _ = select.select([*listeners, *clients], [], [], wait)
    now = time.perf_counter()
    for one in ready:
        if one in listeners:
            client, _ = one.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            clients[client], heard[client] = listeners[one], b""
            continue
        try:
            more = one.recv(1 << 16)
        except OSError:
            more = b""
        if not more:
            one.close()
            del clients[one], heard[one]
            continue
        request = heard[one] + more
        if request not in known and not is_whole(request):
            heard[one] = request
            continue
        heard[one] = b""
        answer = known.get(request)
        if answer is None:
            answer = handed_on(request, clients[one])
            if request.startswith(b"GET /v1/"):
                known[request] = answer
        if request in known:
            due.append((now + delay, one, answer))
        else:
            one.sendall(answer)
    while due and due[0][0] <= time.perf_counter():
        _, client, answer = due.popleft()
        if client in clients:
            client.sendall(answer)
