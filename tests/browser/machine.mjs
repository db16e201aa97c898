// What the suite drives: the sandbox, `pdpp connect`, a separate HOME for each grant, a made-up export, and sites
// that do not belong to the sandbox. Nothing here knows the page.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A check that did not hold. */
export class Failed extends Error {}

export function must(holds, what) {
  if (!holds) throw new Failed(what);
}

export function equal(is, wanted, what) {
  const [one, other] = [is, wanted].map((value) => JSON.stringify(value));
  must(one === other, `${what}: ${one} instead of ${other}`);
}

/** The file that moves the sandbox's clock, and the library that reads it. */
function fakeTime(root) {
  const library = readdirSync("/usr/lib")
    .flatMap((triplet) => {
      const folder = join("/usr/lib", triplet, "faketime");
      try {
        return readdirSync(folder).map((name) => join(folder, name));
      } catch {
        return [];
      }
    })
    .find((path) => path.endsWith("libfaketimeMT.so.1"));
  must(library, "libfaketime is not installed");
  return { library, file: join(root, "clock") };
}

/** A running `pdpp sandbox`, and what is connected to it. */
export class Machine {
  #children = new Set();
  #homes = 0;
  #said;
  #links = 0;
  /** What a browser is known by that `pdpp connect` has let in, by the page that it was led to. */
  cookies = new Map();

  static async start(pdpp) {
    const machine = new Machine();
    machine.pdpp = pdpp;
    machine.root = mkdtempSync(join(tmpdir(), "pdpp-browser-"));
    const { library, file } = fakeTime(machine.root);
    machine.clock = file;
    machine.at("+0");
    const child = machine.#spawn(["sandbox", "--listen", "127.0.0.1:0", "--json"], {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
    const said = text(child.stderr);
    machine.#said = said;
    machine.url = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line).url));
      child.once("exit", (code) => reject(new Failed(`the sandbox ended with ${code}: ${said.text}`)));
    });
    return machine;
  }

  /** The owner's link that the sandbox prints next: what `pdpp sandbox` shows on its terminal for each request. */
  async link() {
    for (let tries = 0; tries < 200; tries++) {
      const all = [...this.#said.text.matchAll(/(http\S+\/consent\/owner\/[0-9a-f]+)\s/g)];
      if (all.length > this.#links) return all[this.#links++][1];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Failed(`no owner's link was printed: ${this.#said.text}`);
  }

  /** Moves the sandbox's clock, as libfaketime writes it: `+0`, `+11m`. */
  at(offset) {
    writeFileSync(this.clock, `${offset}\n`);
  }

  /** The directory of a person who has connected nothing. */
  home() {
    const home = join(this.root, `home-${(this.#homes += 1)}`);
    mkdirSync(home);
    return home;
  }

  #spawn(args, environment) {
    const child = spawn(this.pdpp, args, {
      stdio: ["ignore", "pipe", "pipe"],
      // The suite brings the browser; it is named here because a container has none.
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", TERM: "dumb", NO_COLOR: "1", BROWSER: "true", ...environment },
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Runs `pdpp`: its exit code and what it said. */
  async run(home, ...args) {
    return ended(this.#spawn(args, { HOME: home }));
  }

  /** Starts `pdpp connect`; it waits until its page is decided. */
  async connect(home, ...args) {
    const { page, end, child } = await this.#waiting(home, "connect", this.url, ...args);
    // If the browser starts the flow, no request exists yet.
    const link = page.includes("/oauth/authorize") ? null : await this.link();
    return { page, link, end, stop: () => child.kill() };
  }

  /** The same for the person's own data, whose page the browser is led to by itself. */
  async connectLocal(home, ...args) {
    const { page, end } = await this.#waiting(home, "connect", "local", ...args);
    return { page, end };
  }

  /** The owner's page of the person's own data. */
  async openPage(home) {
    const { page, end } = await this.#waiting(home, "provider", "open");
    return { page, end };
  }

  async #waiting(home, ...args) {
    const child = this.#spawn([...args, "--no-browser"], { HOME: home });
    const end = ended(child);
    let heard = "";
    let entering = false;
    const page = await new Promise((resolve, reject) => {
      child.stderr.on("data", (chunk) => {
        heard += chunk;
        // A device code's page is named directly; the others are behind a page of this computer and a code.
        const device = /(https?:\S+\/consent\/device\?\S+)\s/.exec(heard);
        if (device) resolve(device[1]);
        const [, address] = /^ {2}(http:\/\/127\.0\.0\.1:\d+\/)$/m.exec(heard) ?? [];
        const [, code] = /│ {2}([A-Z]{4}-[A-Z]{4}) {2}│/.exec(heard) ?? [];
        if (address && code && !entering) {
          entering = true;
          resolve(this.#enter(address, code));
        }
      });
      child.once("exit", (code) => reject(new Failed(`${args[0]} ended with ${code} and without a page: ${heard}`)));
    });
    return { page, end, child };
  }

  /** A HOME with a mailbox and a bank's file in the person's own store. */
  async homeWithOwnData() {
    const home = this.home();
    const [mailbox, bank] = [join(home, "All mail.mbox"), join(home, "bank.csv")];
    const mail = ([day, name, subject, text], at) =>
      `From ${1850000000000000000n - BigInt(at)}@xxx Mon Nov ${day} 09:15:00 +0000 2026
X-GM-THRID: ${at}
X-Gmail-Labels: Inbox
Delivered-To: maren.solberg@example.org
Message-ID: <${at}@mail.example>
Date: ${day} Nov 2026 09:15:00 +0000
From: ${name} <${name.toLowerCase().replace(" ", ".")}@example.com>
To: Maren Solberg <maren.solberg@example.org>
Subject: ${subject}
Content-Type: text/plain; charset=utf-8

${text}

`;
    const mails = [
      ["26", "Ingrid Solberg", "Lunch on Sunday", "Lunch is at one. Bring a jar of the cherry jam."],
      ["25", "Borgny Haugen", "Heating: the fitter comes on Thursday", "The fitter comes on Thursday between eight and ten."],
      ["24", "Fjordbank", "Your sign-in code", "Your code to sign in is 402911. It is good for ten minutes."],
      ["20", "Kari Moen", "Choir moves to the library", "The hall has no light. We sing in the library, at seven as usual."],
    ];
    writeFileSync(mailbox, mails.map(mail).join(""));
    writeFileSync(bank, "date,text,amount,currency\n2026-11-25,Bakery at the Corner,-86.50,NOK\n2026-11-22,Rent,-11200.00,NOK\n");
    const ran = await this.run(home, "import", mailbox, bank, "--yes");
    equal(ran.code, 0, `pdpp import ends with (${ran.stderr})`);
    return home;
  }

  /** Types `code` at `address`, and gives the page that this leads to. */
  async #enter(address, code) {
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams({ code }) });
    const html = await answer.text();
    const found = /content="0; url=([^"]+)"/.exec(html);
    must(found, `${address} leads nowhere: ${html}`);
    const page = found[1].replaceAll("&amp;", "&");
    const [name, value] = answer.headers.get("set-cookie").split(";")[0].split("=");
    this.cookies.set(page, { name, value, domain: "127.0.0.1", path: "/callback", httpOnly: true, sameSite: "Lax" });
    return page;
  }

  /** Starts `pdpp connect` with a browser of its own that keeps what it is handed: gives that file, and its arguments. */
  async connectByFile(home, ...args) {
    const [script, kept] = [join(this.root, "keeping-browser"), join(home, "handed.html")];
    const lines = ["#!/bin/sh", `cp "\${1#file://}" "${kept}.tmp"`, `mv "${kept}.tmp" "${kept}"`, ""];
    writeFileSync(script, lines.join("\n"), { mode: 0o755 });
    const end = ended(this.#spawn(["connect", this.url, ...args], { HOME: home, BROWSER: script }));
    for (let tries = 0; !existsSync(kept); tries++) {
      must(tries < 300, "no browser was started");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { file: `file://${kept}`, end };
  }

  /** What a host would get from a tool. */
  async call(home, tool, args = {}) {
    const ran = await this.run(home, "mcp", "call", tool, JSON.stringify(args), "--json");
    try {
      return JSON.parse(ran.stdout);
    } catch {
      throw new Failed(`mcp call ${tool} ended with ${ran.code}: ${ran.stderr}`);
    }
  }

  /** A page that asks for what `body` says, beside any `pdpp connect`. */
  async ask(body) {
    const asked = await this.post("/agent-connect", body);
    equal(asked.status, 201, "a request for access is answered with");
    return { page: asked.body.approval_url, link: await this.link(), code: asked.body.user_code };
  }

  async post(path, body) {
    const answer = await fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  async stop() {
    const children = [...this.#children];
    const gone = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of children) child.kill();
    await Promise.all(gone);
    rmSync(this.root, { recursive: true, force: true });
  }
}

function text(stream) {
  const heard = { text: "" };
  stream.setEncoding("utf8").on("data", (chunk) => (heard.text += chunk));
  return heard;
}

function ended(child) {
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code, stdout: stdout.text, stderr: stderr.text }));
  });
}

/** Another site on this computer: it answers every path with `html`, and keeps who asked for it. */
export async function otherSite(html) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url, referer: request.headers.referer });
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(html);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    seen,
    // One is the same site as the sandbox, and one is another: cookies distinguish the two by site, not by origin.
    near: `http://127.0.0.1:${port}/`,
    far: `http://localhost:${port}/`,
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}
