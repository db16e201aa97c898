"""A person's own data, from an export to an answer in a real host: the four commands of README, and what must not get through."""

import json
import os
import select
import subprocess
import time
import zipfile

# Words that appear in one mail only, in one that the grant leaves out, and in what a person asked an agent for.
GRANTED, LEFT_OUT, ASKED = "kjelpressur", "ostrelager", "grundlinje"

MAIL = """From {number}@xxx Thu Mar 05 08:{minute:02}:00 +0000 2026
X-GM-THRID: {number}
X-Gmail-Labels: Inbox
Message-ID: <{number}@example.org>
Date: Thu, 5 Mar 2026 08:{minute:02}:00 +0000
From: {name} <{name}@example.org>
To: Ana <ana@example.net>
Delivered-To: ana@example.net
Subject: {subject}
Content-Type: text/plain; charset=utf-8

{body}

"""


def write_takeout(path, mails=500):
    """An export in the form of Takeout: one mbox in a zip."""
    box = [MAIL.format(number=100_000 + number, minute=number % 60, name=f"person{number % 7}", subject=f"Weekly note {number}",
                       body=f"Nothing much happened in week {number}.") for number in range(mails)]
    box.insert(mails // 2, MAIL.format(number=99_999, minute=30, name="landlord", subject="The boiler on the third floor",
                                       body=f"The {GRANTED} fell again. The plumber comes on Tuesday at nine."))
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Takeout/Mail/All mail Including Spam and Trash.mbox", "".join(box))


def write_bank(path):
    path.write_text(f"date,text,amount\n2026-03-01,{LEFT_OUT} rent,-900.00\n2026-03-02,salary,2500.00\n")


def at_a_terminal(command, environment, directory, within=120):
    """Runs `command` at a separate terminal and agrees to its questions: its exit code, and its output."""
    main, terminal = os.openpty()
    child = subprocess.Popen([str(part) for part in command], env=environment, cwd=directory, stdin=terminal, stdout=terminal,
                             stderr=terminal, start_new_session=True)
    os.close(terminal)
    said, until = b"", time.monotonic() + within
    while time.monotonic() < until:
        if select.select([main], [], [], 1)[0]:
            try:
                said += os.read(main, 65536)
            except OSError:
                break
        elif child.poll() is not None:
            break
        elif said:
            os.write(main, b"y" if b"[y/N]" in said[-40:] else b"\r")
    os.close(main)
    try:
        return child.wait(10), said.decode(errors="replace")
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        raise


def summary(ran):
    """The sources of an `import --json`, by their formats."""
    return {one["format"]: one for one in json.loads(ran.stdout)["sources"]}
