"""Codex without a login: its app server calls a tool for us, and a scripted model plays a whole turn.

Both read the config in HOME, and write nothing there.
"""

import json
import queue
import subprocess
import threading
import time

import loopback
from scripted_model import strings


class AppServer:
    """`codex app-server`: JSON-RPC on stdio, as Codex's own programs use it."""

    def __init__(self, command, environment, directory):
        self.process = subprocess.Popen([str(part) for part in command], env=environment, cwd=directory,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.asked = 0

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def __enter__(self):
        self.ask("initialize", {"clientInfo": {"name": "test", "title": "test", "version": "0"},
                                "capabilities": {"experimentalApi": True}})
        self.send({"jsonrpc": "2.0", "method": "initialized"})
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params, within=60):
        self.asked += 1
        self.send({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        until = time.monotonic() + within
        while True:
            line = self.lines.get(timeout=max(0.1, until - time.monotonic()))
            if line is None:
                raise ValueError(f"Codex ended instead of answering {method}")
            answer = json.loads(line)
            if answer.get("id") == self.asked and "method" not in answer:
                if "error" in answer:
                    raise ValueError(f"Codex refused {method}: {answer['error']}")
                return answer["result"]


class ScriptedResponses(loopback.Loopback):
    """A model behind the Responses API on loopback: it calls the scripted tools in order, then ends the turn."""

    def __init__(self, server, calls):
        """`calls`: (tool name without prefix, arguments) in order, of the MCP server `server`."""
        self.server_name, self.calls = server, calls
        self.requests = []
        model = self

        class Handler(loopback.Handler):
            def do_GET(self):
                self.finish_with("application/json", b'{"data":[],"models":[]}')

            def do_POST(self):
                asked = self.asked()
                if "tools" in asked:
                    model.requests.append(asked)
                self.finish_with("text/event-stream", as_events(model.next_item(asked)))

        super().__init__(Handler)
        self.url += "/v1"

    def next_item(self, asked):
        """Depends on the conversation alone, so a retried request gets the same answer."""
        given = asked.get("input", [])
        done = sum(item.get("type") == "function_call_output" for item in given)
        if done == len(self.calls):
            return message("The scripted turn is over.")
        name, arguments = self.calls[done]
        for namespace, tool in self.offered(asked):
            if tool == name or tool.endswith(f"{self.server_name}__{name}"):
                item = {"type": "function_call", "id": f"fc_{done}", "call_id": f"call_{done}", "name": tool,
                        "arguments": json.dumps(arguments)}
                return {**item, "namespace": namespace} if namespace else item
        can_search = any(tool.get("type") == "tool_search" for tool in asked.get("tools", []))
        searched = any(item.get("type") == "tool_search_output" for item in given)
        if can_search and not searched:
            return {"type": "tool_search_call", "id": "ts_0", "call_id": "ts_call_0", "execution": "client",
                    "arguments": {"query": name, "limit": 10}, "status": "completed"}
        return message(f"{name} was not found.")

    def offered(self, asked):
        """(namespace or None, tool name), of our server's tools only."""
        found = [item.get("tools", []) for item in asked.get("input", []) if item.get("type") == "tool_search_output"]
        for tool in [*asked.get("tools", []), *(tool for tools in found for tool in tools)]:
            if tool.get("type") == "namespace":
                if self.server_name in tool.get("name", ""):
                    yield from ((tool["name"], one.get("name", "")) for one in tool.get("tools", []))
            elif f"{self.server_name}__" in tool.get("name", ""):
                yield None, tool["name"]

    def shown(self):
        """The results of the calls, in order, each as the text that the model received."""
        given = self.requests[-1].get("input", []) if self.requests else []
        outputs = [item.get("output") for item in given if item.get("type") == "function_call_output"]
        return ["\n".join(strings(output)) for output in outputs]

    def shown_at_first(self):
        return "\n".join(strings(self.requests[0])) if self.requests else ""


def message(text):
    return {"type": "message", "id": "msg_0", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}


def as_events(item):
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
             "total_tokens": 2}
    events = [
        {"type": "response.created", "response": {"id": "resp_0"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_0", "usage": usage}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
