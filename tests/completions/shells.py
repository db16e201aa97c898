#!/usr/bin/env python3
"""Completion in real shells, at a terminal: shells.py PDPP [SHELL ...]

The test types a line, presses Tab, then Enter, and checks the words with which the shell then starts `pdpp`: a
stand-in on PATH that records them (and asks PDPP for candidates). Grants have names that a hostile provider
would choose. PowerShell is not tested, because Debian does not have it.
"""

import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds, for a machine with much other work
EVIL = "Evil $(touch pwned) `touch pwned` '; touch pwned & | < > !! * ? ~ {a,b} [c] # \\ \"$HOME\" %s é ="

GRANTS = [
    # provider, grant, label
    ("https://a.example", "grt_aaaaaaaaaaaaaaaaaaaa", "Diary"),
    ("https://a.example", "grt_bbbbbbbbbbbbbbbbbbbb", "Work mail"),
    ("https://a.example/other", "grt_cccccccccccccccccccc", "It's \"quoted\""),
    ("https://a.example/other", "grt_dddddddddddddddddddd", EVIL),
    ("http://127.0.0.1:{port}", "grt_eeeeeeeeeeeeeeeeeeee", "New\nline\x1b[2J\x07"),
    ("http://127.0.0.1:{port}", "grt_ffffffffffffffffffff", "--yes"),
    ("http://127.0.0.1:{port}", "grt_gggggggggggggggggggg", "bob@home: a=b"),
]
# The input before Tab, and the resulting words.
CASES = [
    ("pdpp stat", ["status"]),
    ("pdpp status --che", ["status", "--check"]),
    ("pdpp status --provider http:", ["status", "--provider", "http://127.0.0.1:{port}"]),
    ("pdpp status --provider http://127.0.0.1:", ["status", "--provider", "http://127.0.0.1:{port}"]),
    ("pdpp status --provider=https://a.example/", ["status", "--provider=https://a.example/other"]),
    ("pdpp disconnect http://127", ["disconnect", "http://127.0.0.1:{port}"]),
    ("pdpp connect https://a.example/o", ["connect", "https://a.example/other"]),
    ("pdpp status --grant Di", ["status", "--grant", "Diary"]),
    ("pdpp status --grant=Wo", ["status", "--grant=Work mail"]),
    ("pdpp mcp serve --grant Work", ["mcp", "serve", "--grant", "Work mail"]),
    ("pdpp disconnect --grant It", ["disconnect", "--grant", "It's \"quoted\""]),
    ("pdpp disconnect --grant Ev", ["disconnect", "--grant", EVIL]),
    ("pdpp disconnect Ev", ["disconnect", EVIL]),
    ("pdpp disconnect --grant bob@", ["disconnect", "--grant", "bob@home: a=b"]),
    ("pdpp disconnect --grant grt_e", ["disconnect", "--grant", "grt_eeeeeeee"]),
    ("pdpp disconnect --grant grt_f", ["disconnect", "--grant", "grt_ffffffff"]),
    ("pdpp connect x --stream mess", ["connect", "x", "--stream", "messages"]),
    ("pdpp mcp setup claude-", ["mcp", "setup", "claude-desktop"]),
    ("pdpp mcp setup codex cur", ["mcp", "setup", "codex", "cursor"]),
    ("pdpp mcp call query_", ["mcp", "call", "query_records"]),
    ("pdpp man disc", ["man", "disconnect"]),
    ("pdpp man mcp insp", ["man", "mcp", "inspect"]),
    ("pdpp connect x --field fil", ["connect", "x", "--field", "fil"]),
]
# Inside an open quote, and names of files, neither of which elvish's script supports.
MORE = {
    "bash": [
        ("pdpp status --cache-dir fil", ["status", "--cache-dir", "file.txt"]),
        ('pdpp status --grant "Work', ["status", "--grant", "Work mail"]),
        ('pdpp status --grant "Ev', ["status", "--grant", "Ev"]),
    ],
    "zsh": [
        ("pdpp status --cache-dir fil", ["status", "--cache-dir", "file.txt"]),
        ('pdpp status --grant "Work', ["status", "--grant", "Work mail"]),
        ('pdpp status --grant "Ev', ["status", "--grant", EVIL]),
    ],
    "fish": [
        ("pdpp status --cache-dir fil", ["status", "--cache-dir", "file.txt"]),
        ("pdpp status --grant 'Work", ["status", "--grant", "Work mail"]),
    ],
    "elvish": [],
}
# Closes what bash leaves open if it offers nothing.
AFTER = {('bash', 'pdpp status --grant "Ev'): '"'}

SHELLS = {
    "bash": (["bash", "--noprofile", "--rcfile"], "PS1='READY> '\nset +o history\nset +H\nsource {scripts}/pdpp.bash\n"),
    "zsh": (
        ["zsh"],
        "PS1='READY> '\nunsetopt banghist\nfpath=({scripts} $fpath)\nautoload -Uz compinit\ncompinit -D -u\n"
        "zstyle ':completion:*' menu no\n",
    ),
    "fish": (
        ["fish", "--no-config", "-i", "-C"],
        "function fish_prompt; echo -n 'READY> '; end; set -g fish_autosuggestion_enabled 0; source {scripts}/pdpp.fish",
    ),
    "elvish": (["elvish", "-rc"], "set edit:prompt = {{ put 'READY> ' }}\nset edit:rprompt = {{ }}\neval (slurp < {scripts}/pdpp.elv)\n"),
}


def index(port):
    entries = []
    for number, (provider, grant, label) in enumerate(GRANTS):
        provider = provider.format(port=port)
        entries.append({
            "id": f"{number:032x}", "store": "file", "provider": provider, "grant_id": grant, "query_base": f"{provider}/v1",
            "issuer": provider, "token_kind": "client", "label": label,
            "sources": [{"id": "https://s.example/mail", "streams": ["messages", "$(touch pwned)"], "stream_count": 2}],
        })
    return {"version": 2, "written_by": "0.1.0", "credentials": entries}


class Terminal:
    """A shell at a separate terminal."""

    def __init__(self, command, environment, folder):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.seen = ""

    def wait_for(self, wanted):
        """Waits until `wanted()` holds, or the terminal shows a text."""
        end = time.monotonic() + PATIENCE
        while not (wanted in self.seen if isinstance(wanted, str) else wanted()):
            if time.monotonic() > end:
                raise TimeoutError(f"the terminal shows: {self.seen[-3000:]!r}")
            if select.select([self.file], [], [], 0.02)[0]:
                self.seen += os.read(self.file, 65536).decode(errors="replace")
                # elvish and fish query the position of the cursor.
                for _ in range(self.seen.count("\x1b[6n")):
                    os.write(self.file, b"\x1b[1;1R")
                self.seen = self.seen.replace("\x1b[6n", "")
                # elvish asks for confirmation of what it must quote; the first Enter confirms.
                if "COMPLETING" in self.seen:
                    self.seen = ""
                    self.type("\r")

    def type(self, text):
        os.write(self.file, text.encode())


def try_shell(name, folder, environment, fill):
    command, start = SHELLS[name]
    start = start.format(scripts=ROOT / "completions")
    folder.mkdir()
    if name == "zsh":
        (folder / ".zshrc").write_text(start)
        environment = {**environment, "ZDOTDIR": str(folder)}
    elif name == "fish":
        command = [*command, start]
    else:
        (folder / "rc").write_text(start)
        command = [*command, str(folder / "rc")]
    work = folder / "work"
    work.mkdir()
    (work / "file.txt").touch()
    said = folder / "words"
    terminal = Terminal(command, {**environment, "WORDS": str(said)}, work)
    wrong = []
    for typed, words in CASES + MORE[name]:
        typed, words = fill(typed), [fill(word) for word in words]
        terminal.wait_for("READY> ")
        terminal.seen = ""
        said.unlink(missing_ok=True)
        terminal.type(typed + "\t" + AFTER.get((name, typed), ""))
        terminal.type("\r")
        try:
            terminal.wait_for(said.exists)
        except TimeoutError as error:
            wrong.append(f"{name}: {typed!r} starts nothing; {error}")
            break
        got = said.read_text().split("\0")[:-1]
        if got != words:
            wrong.append(f"{name}: {typed!r}\n  starts  {got}\n  and not {words}\n  {terminal.seen!r}")
    if os.listdir(work) != ["file.txt"]:
        wrong.append(f"{name}: something was run: {os.listdir(work)}")
    os.kill(terminal.pid, signal.SIGKILL)
    os.waitpid(terminal.pid, 0)
    os.close(terminal.file)
    return wrong


def end_all_of(mark):
    """elvish leaves a daemon behind: processes with our mark in their environment are ours."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGTERM)
        except OSError:
            pass


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(SHELLS)
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary, socket.socket() as provider, socket.socket(socket.AF_UNIX) as bus:
        folder = pathlib.Path(temporary)
        # A completion that contacts the provider or the keyring is noticed here.
        provider.bind(("127.0.0.1", 0))
        bus.bind(str(folder / "bus"))
        for listener in (provider, bus):
            listener.listen()
            listener.setblocking(False)
        port = provider.getsockname()[1]
        home = folder / "home"
        cache = home / ".local/share/pdpp"
        cache.mkdir(parents=True, mode=0o700)
        (cache / "index.json").write_text(json.dumps(index(port)))
        (cache / "index.json").chmod(0o600)
        (folder / "bin").mkdir()
        stand_in = folder / "bin/pdpp"
        stand_in.write_text(
            f'#!/bin/sh\nif [ "$1" = __complete ]; then exec {binary} "$@"; fi\n'
            'printf "%s\\0" "$@" >"$WORDS.new" && mv "$WORDS.new" "$WORDS"\n'
        )
        stand_in.chmod(0o755)
        environment = {
            "HOME": str(home), "PATH": f"{folder}/bin:/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/bus", "HTTPS_PROXY": f"http://127.0.0.1:{port}",
            "PDPP_COMPLETION_TEST": temporary,
        }

        # The cost of a Tab, and that failures are silent.
        ask = [binary, "__complete", "--", "disconnect", ""]
        before = os.times()
        shown = [subprocess.run(ask, env=environment, capture_output=True, check=True) for _ in range(10)]
        spent = (sum(os.times()[2:4]) - sum(before[2:4])) * 100
        lines = shown[0].stdout.decode().splitlines()
        assert len(lines) == 3 + len(GRANTS) and all(one.stderr == b"" for one in shown), shown[0]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", shown[0].stdout.decode()), shown[0]
        print(f"{spent:.1f} ms of processor time for {len(lines)} candidates")
        assert spent < 20
        for content in (b"{", b"\0" * 100, None):
            (folder / "broken").mkdir(exist_ok=True)
            (folder / "broken/index.json").unlink(missing_ok=True)
            if content is not None:
                (folder / "broken/index.json").write_bytes(content)
            silent = subprocess.run([*ask[:3], "--cache-dir", folder / "broken", *ask[3:]], env=environment, capture_output=True)
            assert (silent.returncode, silent.stdout, silent.stderr) == (0, b"", b""), silent

        fill = lambda text: text.replace("{port}", str(port))
        for name in names:
            version = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
            found = try_shell(name, folder / name, environment, fill)
            print(f"{name} ({version}): {len(CASES + MORE[name])} lines completed" if not found else "\n".join(found))
            wrong += found
        for what, listener in (("a provider", provider), ("the keyring", bus)):
            try:
                listener.accept()
                wrong.append(f"completion asked {what}")
            except BlockingIOError:
                pass
        end_all_of(f"PDPP_COMPLETION_TEST={temporary}")
    print("not tried: PowerShell")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
