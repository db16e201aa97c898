#!/usr/bin/env python3
"""Another user of this computer attacks `pdpp sandbox`, `pdpp connect` and `pdpp mcp host`: what they can see, take, decide
and stop.

    suite.py PDPP

Needs root, to act as two other users: one runs pdpp, the other attacks, with the ids that `setpriv --reuid --clear-groups` leaves. Every
attack prints `held` or `WORKED`; the last line counts them, and the exit code is 1 if any worked. At the end the
owner decides, to show that the attacks did not fail only because nothing works.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

OWNER, OTHER = 60_001, 60_002
MAIL = "https://sandbox.pdpp.example/connectors/mail"
DETAILS = [{"type": "https://pdpp.dev/data-access", "source": {"id": MAIL}, "streams": [{"name": "*"}]}]
FORM = "application/x-www-form-urlencoded"
# What no stranger may read on a page or in an error.
DATA = ("Fjord", "Work mail", "connectors/bank", "cin_", "contacts", "35 streams")
PATIENCE = 30


def ask(url, body=None, kind="application/json", within=PATIENCE, **headers):
    """Status, headers and text of one exchange; redirects are not followed."""
    at = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=within)
    target = at.path + (f"?{at.query}" if at.query else "")
    if body is None:
        connection.request("GET", target or "/", headers=headers)
    else:
        if not isinstance(body, str):
            body = json.dumps(body) if kind == "application/json" else urllib.parse.urlencode(body)
        connection.request("POST", target, body.encode(), {"content-type": kind, **headers})
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, answer, text


def hidden(html, name):
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    return found and found[1].replace("&amp;", "&")


def ticked(html):
    """The boxes of a page, all ticked."""
    boxes = re.findall(r"<input type=\"checkbox\"[^>]*>", html)
    pairs = [(re.search(r' name="([^"]+)"', box), re.search(r' value="([^"]+)"', box)) for box in boxes]
    return [(name[1], value[1]) for name, value in pairs if name and value]


# --- What the other user does: each says whether it worked --------------------------------------------------------------


def try_to_approve(page):
    """The current page of a request, its form filled in, and sent in every way that ever existed."""
    _, head, html = ask(page)
    cookie = (head.getheader("set-cookie") or "pdpp_owner=x").split(";")[0]
    base = page.split("/consent")[0]
    form = [("request_uri", urllib.parse.parse_qs(urllib.parse.urlsplit(page).query).get("request_uri", [""])[0])]
    form += [("csrf", hidden(html, "csrf") or "x"), ("digest", hidden(html, "digest") or "x"), *ticked(html)]
    for target in ("/consent/approve", "/consent/x/approve", f"{urllib.parse.urlsplit(page).path}/approve"):
        ask(base + target, form, FORM, cookie=cookie)


def approve_itself(url):
    """The attacker's own request, approved by the attacker."""
    _, _, text = ask(f"{url}/agent-connect", {"client_name": "Other user", "resource": url})
    attempt = json.loads(text)
    try_to_approve(attempt["approval_url"])
    status, _, text = ask(attempt["poll_url"], {"polling_code": attempt["polling_code"]})
    return status == 200 and "access_token" in text


def approve_the_owners(url, page, poll_url, polling_code):
    try_to_approve(page)
    status, _, _ = ask(poll_url, {"polling_code": polling_code})
    return status == 200


def read_the_page(url, page):
    return any(word in ask(page)[2] for word in DATA)


def learn_from_errors(url):
    source = dict(DETAILS[0], source={"id": f"{MAIL}x"})
    stream = dict(DETAILS[0], streams=[{"name": "mesages"}])
    answers = [ask(f"{url}/oauth/par", {"client_id": "pdpp_cli", "authorization_details": [asked]})
               for asked in (source, stream, DETAILS[0])]
    return any(word in text for _, _, text in answers for word in DATA) or len({status for status, *_ in answers}) > 1


def redeem(url, request_uri):
    """A request_uri that the attacker saw somewhere, used for their own attempt."""
    worked = False
    for client in ({"client_id": "pdpp_cli"}, {}, {"client_name": "Other user"}):
        status, _, _ = ask(f"{url}/agent-connect", {"request_uri": request_uri, "resource": url, **client})
        worked = worked or status == 201
    return worked


def guess_codes(url):
    """Guessed codes and links. The effect on the owner is checked afterwards."""
    _, head, html = ask(f"{url}/consent/device")
    cookie = (head.getheader("set-cookie") or "x=y").split(";")[0]
    for _ in range(30):
        code = "".join(secrets.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(8))
        form = {"csrf": hidden(html, "csrf") or "x", "user_code": code}
        if ask(f"{url}/consent/device", form, FORM, cookie=cookie)[0] == 303:
            return True
    return any(ask(f"{url}/consent/owner/{secrets.token_hex(32)}")[0] == 303 for _ in range(200))


def flood(url):
    """As many requests and registrations as fit."""
    for number in range(1_100):
        ask(f"{url}/agent-connect", {"client_name": f"Flood {number}", "resource": url})
    for _ in range(50):
        ask(f"{url}/oauth/par", {"client_id": "pdpp_cli", "authorization_details": DETAILS})
    return False


def send_as_a_web_page(url):
    """What a page of another site can send without asking for permission."""
    body = json.dumps({"client_name": "Drive-by", "resource": url})
    tries = [ask(f"{url}{path}", body, kind, **more)
             for path in ("/oauth/register", "/agent-connect")
             for kind, more in (("text/plain", {}), ("application/json", {"origin": "https://evil.example"}))]
    return any(status in (200, 201) for status, *_ in tries)


def name_slow_clients(url):
    """Clients whose documents never arrive. Other requests must be answered in the meantime."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as documents:
        address = "http://127.0.0.1:{}".format(documents.getsockname()[1])

        def push(number):
            with contextlib.suppress(OSError, http.client.HTTPException):
                ask(f"{url}/oauth/par", {"client_id": f"{address}/{number}", "authorization_details": DETAILS})

        pushing = [threading.Thread(target=push, args=[number], daemon=True) for number in range(70)]
        for thread in pushing:
            thread.start()
        time.sleep(1)
        began = time.monotonic()
        ask(f"{url}/.well-known/oauth-protected-resource")
        return time.monotonic() - began > 1.5


def hold_connections(url, most):
    """Incomplete requests on more connections than allowed."""
    at = urllib.parse.urlsplit(url)
    held = []
    for _ in range(int(most) + 10):
        held.append(socket.create_connection((at.hostname, at.port), timeout=PATIENCE))
        held[-1].sendall(b"POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bea")
    try:
        ask(f"{at.scheme}://{at.netloc}/healthz", within=5)
        return False
    except OSError:
        return True
    finally:
        for connection in held:
            connection.close()


def read_metrics(url):
    """What a page receives whose own name was made to lead here."""
    return ask(url, host="evil.example")[0] == 200


def processes():
    """The arguments of the owner's processes, in the process list."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == OWNER:
                yield folder, (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")


def read_arguments():
    """A way to the request, or to the file or address that leads there, found in the process list."""
    secret = re.compile(r"request_uri|user_code|state=|code_challenge|/consent/|/oauth/authorize")
    for _, arguments in processes():
        for argument in arguments:
            if secret.search(argument):
                print(f"  an argument says {argument}", file=sys.stderr)
                return True
            path = argument.removeprefix("file://")
            with contextlib.suppress(OSError, ValueError):
                if path.startswith(("/tmp/", "/run/", "/home/", "/var/")) and secret.search(pathlib.Path(path).read_text()):
                    return True
            if re.fullmatch(r"http://127\.0\.0\.1:\d+/?", argument):
                status, head, text = ask(argument)
                if secret.search((head.getheader("location") or "") + text):
                    print(f"  {argument} leads on", file=sys.stderr)
                    return True
    for folder, _ in processes():
        with contextlib.suppress(OSError):
            (folder / "environ").read_bytes()
            return True
    return False


def read_files(*folders):
    """Everything readable below the owner's folders. In this test, everyone can open the folders themselves."""
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    (pathlib.Path(path) / name).read_bytes()
                    print(f"  {path}/{name} can be read", file=sys.stderr)
                    return True
    return False


def end_the_login():
    """A forged answer, to every port that the owner's programs listen on."""
    ports = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[7]) == OWNER:
                ports.append(int(fields[1].split(":")[1], 16))
    for port in ports:
        for query in ("error=access_denied&state=x", "error=access_denied", "code=x&state=x"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                ask(f"http://127.0.0.1:{port}/callback?{query}")
    # The owner can see whether it ended.
    return False


# --- The owner, and what became of the attacks ---------------------------------------------------------------------------


class Owner:
    def __init__(self, pdpp, root):
        self.pdpp, self.root, self.children = pdpp, root, []

    def folder(self, name):
        made = self.root / name
        made.mkdir(mode=0o755)
        os.chown(made, OWNER, OWNER)
        return made

    def spawn(self, home, *arguments, **more):
        environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", **more}
        child = subprocess.Popen(
            [*as_user(OWNER), self.pdpp, *map(str, arguments)], env=environment, cwd=home, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.children.append(child)
        child.heard = []
        child.hearing = threading.Thread(target=lambda: child.heard.extend(iter(child.stderr.readline, "")), daemon=True)
        child.hearing.start()
        return child

    def sandbox(self, home, *arguments):
        child = self.spawn(home, "sandbox", "--listen", "127.0.0.1:0", "--json", *arguments)
        child.url = json.loads(child.stdout.readline())["url"]
        return child

    def stop(self):
        for child in self.children:
            child.kill()
            child.wait()


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


def waited(look, patience=PATIENCE):
    end = time.monotonic() + patience
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def links(child):
    return re.findall(r"(http://\S+/consent/owner/\w+)", "".join(child.heard))


def opens_link(link):
    """The owner's browser: its page and cookie."""
    status, head, _ = ask(link)
    return status == 303 and (head.getheader("location"), head.getheader("set-cookie").split(";")[0])


def approves(link):
    page, cookie = opens_link(link)
    html = ask(page, cookie=cookie)[2]
    form = [("csrf", hidden(html, "csrf")), *ticked(html)]
    _, head, text = ask(f"{page}/review", form, FORM, cookie=cookie)
    if not head.getheader("location"):
        sys.exit(f"the owner cannot go on: {text}")
    summary = ask(head.getheader("location"), cookie=cookie)[2]
    ask(f"{page}/approve", [("csrf", hidden(summary, "csrf")), ("digest", hidden(summary, "digest"))], FORM, cookie=cookie)


def main(pdpp):
    if os.geteuid() != 0:
        sys.exit("second_user: needs root, to be two other users")
    results = {}
    with tempfile.TemporaryDirectory(prefix="pdpp-second-user-", ignore_cleanup_errors=True) as made:
        root = pathlib.Path(made)
        root.chmod(0o755)
        # Where both may run them, wherever the clone is.
        binary, script = root / "pdpp", root / "suite.py"
        shutil.copy(pdpp, binary)
        shutil.copy(__file__, script)
        binary.chmod(0o755)
        script.chmod(0o755)
        owner = Owner(binary, root)

        def attack(name, *arguments, then=lambda: False):
            ran = subprocess.run([*as_user(OTHER), sys.executable, script, "--as-other", name, *map(str, arguments)],
                                 text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=20 * PATIENCE)
            if ran.returncode not in (0, 3):
                sys.exit(f"second_user: {name} could not be tried: {ran.stderr}")
            worked = ran.returncode == 3 or bool(then())
            results[name] = worked
            print(f"{'WORKED' if worked else 'held  '}  {name.replace('_', ' ')}", flush=True)
            if worked and ran.stderr:
                print(ran.stderr, end="")

        try:
            run(owner, attack)
        finally:
            owner.stop()
    worked = [name for name, did in results.items() if did]
    print(f"second_user: {len(results) - len(worked)} attacks held, {len(worked)} worked")
    return 1 if worked else 0


def attack_by_index(owner, url, attack):
    """An index that names another address: does its bearer go there?"""
    home = owner.folder("home-4")
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(PATIENCE)
        heard = []

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    taken = elsewhere.accept()[0]
                    heard.append(taken.recv(8192))
                    taken.close()

        threading.Thread(target=listen, daemon=True).start()
        connecting = owner.spawn(home, "connect", url, "--no-browser", "--store", "file")
        if connecting.wait(timeout=PATIENCE) != 0:
            sys.exit(f"second_user: the owner could not connect: {''.join(connecting.heard)}")
        index = home / ".local/share/pdpp/index.json"
        index.write_text(index.read_text().replace(url, "http://127.0.0.1:{}".format(elsewhere.getsockname()[1])))
        reading = owner.spawn(home, "mcp", "call", "schema")
        reading.wait(timeout=PATIENCE)
        attack("edit_the_index", then=lambda: any(b"authorization: bearer" in said.lower() for said in heard))


def edit_the_index():
    # The owner has already done it: nobody else can.
    return False


def run(owner, attack):
    data = owner.folder("data-parent") / "data"
    sandbox = owner.sandbox(owner.folder("home-1"), "--data-dir", data)
    url = sandbox.url
    attempt = json.loads(ask(f"{url}/agent-connect", {"client_name": "Owner's app", "resource": url})[2])
    attack("read_the_page", url, attempt["approval_url"])
    attack("learn_from_errors", url)
    attack("approve_itself", url)
    attack("approve_the_owners", url, attempt["approval_url"], attempt["poll_url"], attempt["polling_code"])
    pushed = json.loads(ask(f"{url}/oauth/par", {"client_id": "pdpp_cli", "authorization_details": DETAILS})[2])
    begin = {"client_id": "pdpp_cli", "request_uri": pushed["request_uri"], "resource": url}
    ask(f"{url}/agent-connect", begin)
    attack("redeem", url, pushed["request_uri"])
    attack("send_as_a_web_page", url)

    device = {"client_id": "pdpp_cli", "resource": f"{url}/mcp", "authorization_details": json.dumps(DETAILS)}
    begun = json.loads(ask(f"{url}/oauth/device_authorization", device, FORM)[2])
    device_link = waited(lambda: links(sandbox)[-1:], 5)

    def stopped():
        """Whether the owner can no longer reach the page of their device."""
        if device_link:
            return not opens_link(device_link[0])
        _, head, html = ask(f"{url}/consent/device")
        form = {"csrf": hidden(html, "csrf"), "user_code": begun["user_code"]}
        cookie = head.getheader("set-cookie").split(";")[0]
        return ask(f"{url}/consent/device", form, FORM, cookie=cookie)[0] != 303

    attack("guess_codes", url, then=stopped)
    attack("flood", url, then=lambda: ask(f"{url}/agent-connect", {"client_name": "Owner's app", "resource": url})[0] != 201)

    attack("name_slow_clients", url)

    served = owner.sandbox(owner.folder("home-3"), "--data-dir", (endpoints := owner.folder("served")) / "data", "--auto-approve")
    endpoint = owner.spawn(
        endpoints, "mcp", "host", "--json", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--provider-url",
        served.url, "--introspection-file", endpoints / "data" / "introspection.json", "--max-connections", "20")
    ready = json.loads(endpoint.stdout.readline())
    attack("hold_connections", ready["url"], "20")
    attack("read_metrics", ready["metrics_url"])
    attack_by_index(owner, served.url, attack)

    # `pdpp connect`, with a browser that stays open.
    programs = owner.root / "bin"
    programs.mkdir()
    for name in ("browser", "xdg-open", "x-www-browser", "www-browser"):
        # Without `exec`, so that the arguments can be seen.
        (programs / name).write_text("#!/bin/sh\nsleep 20\n")
        (programs / name).chmod(0o755)
    home = owner.folder("home-2")
    browser = {"BROWSER": str(programs / "browser"), "DISPLAY": ":9", "PATH": f"{programs}:/usr/bin:/bin"}
    connecting = owner.spawn(home, "connect", url, "--flow", "authorization-code", **browser)
    if not waited(lambda: any(str(programs) in argument for _, arguments in processes() for argument in arguments)):
        sys.exit(f"second_user: connect opened no browser: {''.join(connecting.heard)}")
    attack("read_arguments")
    attack("end_the_login", then=lambda: waited(lambda: connecting.poll() is not None, 3))
    connecting.kill()

    # And one that gets a grant, without a browser: the owner decides with the link on the sandbox's terminal.
    before = len(links(sandbox))
    connecting = owner.spawn(home, "connect", url, "--source", f"{MAIL.rsplit('/', 1)[0]}/bank", "--no-browser", "--store", "file")
    link = waited(lambda: links(sandbox)[before:])
    if link:
        approves(link[-1])
        if connecting.wait(timeout=PATIENCE) != 0:
            sys.exit(f"second_user: the owner could not connect: {''.join(connecting.heard)}")
        print("ok      the owner decided, and connect got its grant", flush=True)
    else:
        print("there is no owner's link: nobody could be proved to be the owner", flush=True)
        connecting.kill()
    attack("read_files", home, data)


if __name__ == "__main__":
    if sys.argv[1] == "--as-other":
        sys.exit(3 if globals()[sys.argv[2]](*sys.argv[3:]) else 0)
    sys.exit(main(sys.argv[1]))
