"""A model whose every move is scripted, behind the Anthropic Messages API on loopback.

It lets a whole turn of a real agent run without a login or a model: once it is offered tools, it calls
the scripted ones one after the other (through the host's own tool search if the host defers them),
then ends the turn. It keeps what it received, because a real model would have received the same.
"""

import json

import loopback


class ScriptedModel(loopback.Loopback):
    def __init__(self, calls):
        """`calls`: (tool name, arguments) in order."""
        self.calls = calls
        self.requests = []
        model = self

        class Handler(loopback.Handler):
            def do_HEAD(self):
                self.finish_with("application/json", b"")

            def do_GET(self):
                self.finish_with("application/json", b'{"data":[]}')

            def do_POST(self):
                asked = self.asked()
                if "count_tokens" in self.path:
                    return self.finish_with("application/json", b'{"input_tokens":1000}')
                if "/v1/messages" not in self.path:
                    return self.finish_with("application/json", b"{}")
                block = model.next_block(asked)
                if asked.get("stream"):
                    self.finish_with("text/event-stream", as_events(asked, block))
                else:
                    self.finish_with("application/json", json.dumps(as_message(asked, [block])).encode())

        super().__init__(Handler)

    def next_block(self, asked):
        """The next content block: depends on the conversation alone, so a retried request gets the same."""
        offered = {tool.get("name") for tool in asked.get("tools", [])}
        if not offered:
            return {"type": "text", "text": "ok"}
        self.requests.append(asked)
        blocks = list(content_blocks(asked))
        wanted = [name for name, _ in self.calls]
        done = sum(block.get("type") == "tool_use" and block.get("name") in wanted for block in blocks)
        if done == len(self.calls):
            return {"type": "text", "text": "The scripted turn is over."}
        name, arguments = self.calls[done]
        found = {reference for block in blocks for reference in tool_references(block)}
        if name not in offered and name not in found and "ToolSearch" in offered:
            searched = any(block.get("name") == "ToolSearch" for block in blocks)
            if searched:
                return {"type": "text", "text": f"{name} was not found."}
            select = "select:" + ",".join(dict.fromkeys(wanted))
            return tool_use(len(blocks), "ToolSearch", {"query": select, "max_results": 10})
        return tool_use(len(blocks), name, arguments)

    def shown(self, name):
        """The results of the calls of tool `name`, each as the text that the model received."""
        if not self.requests:
            return []
        blocks = list(content_blocks(self.requests[-1]))
        ids = [block["id"] for block in blocks if block.get("type") == "tool_use" and block.get("name") == name]
        results = {block["tool_use_id"]: block for block in blocks if block.get("type") == "tool_result"}
        return [result_text(results[one]) for one in ids if one in results]

    def shown_at_first(self):
        """Everything in the first request before the conversation: system prompt, tools, reminders."""
        return "\n".join(strings(self.requests[0])) if self.requests else ""


def content_blocks(asked):
    for message in asked.get("messages", []):
        if isinstance(message.get("content"), list):
            yield from message["content"]


def tool_references(block):
    content = block.get("content")
    if block.get("type") == "tool_result" and isinstance(content, list):
        for part in content:
            if part.get("type") == "tool_reference":
                yield part.get("tool_name")


def result_text(block):
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def tool_use(number, name, arguments):
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": arguments}


def as_message(asked, content):
    reason = "tool_use" if content and content[0]["type"] == "tool_use" else "end_turn"
    return {
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": asked.get("model", "scripted"),
        "content": content, "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def as_events(asked, block):
    whole = as_message(asked, [block])
    started = {**whole, "content": [], "stop_reason": None}
    if block["type"] == "text":
        opened, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        opened = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    events = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
         "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
