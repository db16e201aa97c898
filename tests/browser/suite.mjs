// The owner's side in Chromium: the sandbox's consent page and the page of the person's own data, and what can be
// read after them.
//
//     suite.mjs PDPP DIRECTORY
//
// PDPP is the binary, DIRECTORY the one with the pinned node_modules, which also gets the screenshots. A person
// decides on the page that `pdpp connect` names; then `pdpp connect` and `pdpp mcp call` show the result. No page may
// run a script unless a check allows it. Every check prints `ok` or `FAILED`; the last line is `N passed, N failed`,
// and the exit code is 1 if any failed.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

import { Failed, Machine, equal, must, otherSite } from "./machine.mjs";

const [pdpp, directory] = process.argv.slice(2, 4).map((path) => resolve(path));
const require = createRequire(join(directory, "suite.mjs"));
const { chromium } = require("playwright-core");
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const BANK = "https://sandbox.pdpp.example/connectors/bank";
const MAIL = "https://sandbox.pdpp.example/connectors/mail";
const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
const USUAL_PHONE = { width: 390, height: 844 };

let browser;
let machine;

// --- The page --------------------------------------------------------------------------------------

/**
 * Opens `asked`, an address or a request, as `options` say, in a browser of its own, and leaves nothing of it behind. Of
 * a request the owner comes from the address that the app gave to the link that the sandbox printed.
 */
async function on(asked, options, act) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: WIDE, locale: "en-US", ...options });
  context.setDefaultTimeout(15_000);
  try {
    const cookie = machine.cookies.get(asked.page ?? asked);
    if (cookie) await context.addCookies([cookie]);
    const page = await context.newPage();
    let answer = await page.goto(asked.page ?? asked);
    if (asked.page) {
      await showsHeading(page, "Only the owner decides");
      answer = await page.goto(asked.link ?? (await machine.link()));
    }
    return await act(page, answer, context);
  } finally {
    await context.close();
  }
}

const shoot = (page, name, options = {}) => page.screenshot({ path: join(directory, `${name}.png`), ...options });
const goOn = (page) => page.getByRole("button", { name: "Continue" }).click();
const approve = async (page) => {
  await goOn(page);
  await page.getByRole("button", { name: "Approve" }).click();
};
const unfold = (page, name) => account(page, name).getByText("Streams and fields").click();
const tickAll = async (page) => {
  for (const one of await page.locator(".whole input").all()) await one.check();
};
const deny = (page) => page.getByRole("button", { name: "Deny" }).click();
const account = (page, name) => page.getByRole("group", { name });
const whole = (group) => group.locator(".whole input");
const heading = (page) => page.getByRole("heading", { level: 1 }).innerText();

async function showsHeading(page, wanted) {
  // A form that was just sent leads to its page a moment later.
  for (let tries = 0; tries < 50; tries++) {
    const found = await heading(page).catch(() => null);
    if (found === wanted) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  equal(await heading(page), wanted, "the page is headed");
}

/** The checkboxes of the page, by name and value. */
const ticks = (page) =>
  page.locator("input[type=checkbox]").evaluateAll((all) => all.map((one) => [one.name, one.value, one.checked]));

async function atMostTwoScreens(page, what) {
  const content = await page.evaluate(() => document.documentElement.scrollHeight);
  const { height } = page.viewportSize();
  must(content <= 2 * height, `${what}: ${content} px in a window ${height} px high`);
}

async function noSidewaysScroll(page, what) {
  const content = await page.evaluate(() => document.documentElement.scrollWidth);
  const { width } = page.viewportSize();
  must(content <= width, `${what}: ${content} px of content in a window of ${width} px`);
}

// --- What came of it -------------------------------------------------------------------------------

async function connected(waiting) {
  const ended = await waiting.end;
  must(ended.code === 0, `connect ended with ${ended.code}: ${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

/** The records of a stream, through a tool call. */
async function records(home, args) {
  const result = await machine.call(home, "query_records", args);
  must(!result.isError, JSON.stringify(result.structuredContent?.error));
  return result.structuredContent.data.data;
}

async function refused(home, args, code) {
  const result = await machine.call(home, "query_records", args);
  must(result.isError === true, `it was answered: ${JSON.stringify(result).slice(0, 400)}`);
  equal(result.structuredContent.error.code, code, "it was refused with");
}

async function streamsOf(home) {
  const result = await machine.call(home, "schema");
  must(!result.isError, JSON.stringify(result));
  const named = result.structuredContent.data.connectors.flatMap((connector) =>
    connector.streams.map((stream) => `${connector.connector_key}/${stream.name}`),
  );
  return named.sort();
}

async function nothingIsStored(home) {
  const ran = await machine.run(home, "mcp", "call", "schema");
  equal(ran.code, 78, "a tool call without a grant ends with");
}

// --- Deciding --------------------------------------------------------------------------------------

/** R8.1: the owner approves in a browser; the token that arrives reads what was shown. */
async function approves_as_it_stands() {
  const home = machine.home();
  const waiting = await machine.connect(home);
  await on(waiting, {}, async (page) => {
    await shoot(page, "consent");
    must((await page.getByText("35 streams from 7 accounts").count()) === 1, "it does not say how much is asked for");
    equal((await ticks(page)).filter(([name, , ticked]) => name === "connection" && ticked), [], "accounts that are ticked beforehand");
    await atMostTwoScreens(page, "the form");
    await page.setViewportSize(USUAL_PHONE);
    await atMostTwoScreens(page, "the form on a phone");
    await page.setViewportSize(WIDE);
    await goOn(page);
    must((await page.getByRole("alert").innerText()).includes("Nothing would be shared"), "nothing ticked goes on");
    await page.getByRole("button", { name: "With text" }).click();
    must(!(await whole(account(page, "Fjord Bank")).isChecked()), "a set ticks a bank");
    await whole(account(page, "Fjord Bank")).check();
    await goOn(page);
    await shoot(page, "summary", { fullPage: true });
    await atMostTwoScreens(page, "the summary");
    await page.getByRole("button", { name: "Approve" }).click();
    await showsHeading(page, "Access approved");
    const text = await page.locator("main").innerText();
    for (const part of ["Fjord Bank", "transactions all 10 fields", "It ends automatically at", "How to end it sooner"]) {
      must(text.includes(part), `the page after does not say ${part}: ${text}`);
    }
    await shoot(page, "approved", { fullPage: true });
  });
  const said = await connected(waiting);
  for (const name of ["Personal mail, Work mail", "Calendar", "Fjord Bank"]) {
    must(said.includes(name), `connect does not name ${name}: ${said}`);
  }
  equal((await streamsOf(home)).length, 29, "streams that a tool sees");
  equal((await records(home, { stream: "transactions", limit: 3 })).length, 3, "records");
}

/** The whole way of a browser: the private file, this computer's page, the provider's, and back; with scripts and without. */
async function comes_in_by_its_file_and_brings_the_answer() {
  for (const javaScriptEnabled of [true, false]) {
    for (const flow of ["agent-connect", "authorization-code"]) {
      const home = machine.home();
      const waiting = await machine.connectByFile(home, "--flow", flow, "--source", BANK);
      await on(waiting.file, { javaScriptEnabled }, async (page) => {
        if (!javaScriptEnabled) await page.getByRole("button", { name: "Continue" }).click();
        await page.waitForURL((url) => url.href.startsWith(machine.url));
        await showsHeading(page, "Only the owner decides");
        await page.goto(await machine.link());
        await approve(page);
        await showsHeading(page, flow === "agent-connect" ? "Access approved" : "Back to the terminal");
        await shoot(page, `in-by-file-${flow}`);
      });
      await connected(waiting);
    }
  }
}

async function denies() {
  const home = machine.home();
  const waiting = await machine.connect(home);
  await on(waiting, {}, async (page) => {
    await deny(page);
    await showsHeading(page, "Access denied");
    await shoot(page, "denied");
  });
  const ended = await waiting.end;
  equal(ended.code, 77, `connect ended (${ended.stderr}) with`);
  must(/denied|declined/i.test(ended.stderr), `connect does not say why: ${ended.stderr}`);
  await nothingIsStored(home);
}

/** One stream of the bank, two fields fewer, from a day on, for an hour: that is readable, and no more. */
async function narrows() {
  const home = machine.home();
  const waiting = await machine.connect(home, "--source", BANK);
  await on(waiting, {}, async (page) => {
    const bank = account(page, "Fjord Bank");
    must(await whole(bank).isChecked(), "the source that connect names is not ticked");
    await unfold(page, "Fjord Bank");
    for (const stream of ["accounts", "statements", "merchants"]) {
      await bank.getByRole("checkbox", { name: stream, exact: true }).uncheck();
    }
    await page.getByText("10 fields of transactions, Fjord Bank").click();
    const fields = page.getByRole("list", { name: "Fields of transactions" });
    for (const field of ["memo", "category"]) await fields.getByRole("checkbox", { name: field }).uncheck();
    must(await fields.getByRole("checkbox", { name: "booked at" }).isDisabled(), "a required field can be unticked");
    await page.getByLabel("Only records from this day on").fill("2026-06-01");
    await page.getByLabel("Access ends after").selectOption("1 hour");
    await shoot(page, "narrowed", { fullPage: true });
    await approve(page);
    await showsHeading(page, "Access approved");
  });
  const said = await connected(waiting);
  must(/1 stream: transactions/.test(said), `connect tells another grant: ${said}`);

  equal(await streamsOf(home), ["bank/transactions"], "streams that a tool sees");
  await refused(home, { stream: "accounts" }, "context.stream_not_allowed");
  const oldest = await records(home, { stream: "transactions", order: "asc", limit: 50 });
  const fields = [...new Set(oldest.flatMap((record) => Object.keys(record.data)))].sort();
  const left = ["account_id", "amount", "booked_at", "currency", "id", "is_pending", "merchant", "reference"];
  equal(fields, left, "fields that a tool sees");
  const [first] = oldest;
  must(first.data.booked_at.startsWith("2026-06-01"), `the oldest record is of ${first.data.booked_at}`);
  const early = await machine.call(home, "query_records", {
    stream: "transactions",
    filter: { booked_at: { lt: "2026-06-01T00:00:00Z" } },
  });
  equal(early.structuredContent.data?.data, [], `records from before that day (${early.content[0].text.slice(0, 300)})`);

  machine.at("+59m");
  equal((await records(home, { stream: "transactions", limit: 1 })).length, 1, "records after 59 minutes");
  machine.at("+61m");
  await refused(home, { stream: "transactions", limit: 1 }, "grant_expired");
  machine.at("+0");
}

/** Of two accounts that the app did not tell apart none is ticked, and none is shared unless the owner says so. */
async function picks_one_of_two_accounts() {
  const home = machine.home();
  const waiting = await machine.connect(home, "--source", MAIL);
  await on(waiting, {}, async (page) => {
    for (const name of ["Personal mail", "Work mail"]) {
      must(!(await whole(account(page, name)).isChecked()), `${name} is ticked`);
    }
    await shoot(page, "two-accounts");
    must(!(await account(page, "Work mail").getByText("Streams and fields").isVisible()), "what is not ticked can be narrowed");
    await whole(account(page, "Work mail")).check();
    await unfold(page, "Work mail");
    await account(page, "Work mail").getByRole("checkbox", { name: "threads", exact: true }).uncheck();
    await whole(account(page, "Work mail")).uncheck();
    await page.getByLabel("Only records from this day on").fill("2026-01-31");
    await page.getByLabel("Access ends after").selectOption("7 days");
    const before = await ticks(page);
    await goOn(page);
    const alert = page.getByRole("alert");
    must((await alert.innerText()).includes("Nothing would be shared"), `it says ${await alert.innerText()}`);
    must((await page.title()).startsWith("Not approved yet"), `its title is ${await page.title()}`);
    await shoot(page, "problem");
    // What the owner unticked must stay unticked, or the next Approve would give more than they intended.
    equal(await ticks(page), before, "ticks after a form that was turned back");
    equal(await page.getByLabel("Only records from this day on").inputValue(), "2026-01-31", "the day");
    equal(await page.getByLabel("Access ends after").inputValue(), "7d", "the end");
    await whole(account(page, "Work mail")).check();
    await approve(page);
    await showsHeading(page, "Access approved");
  });
  const said = await connected(waiting);
  must(said.includes("Work mail") && !said.includes("Personal mail"), `connect tells another grant: ${said}`);
  const connections = new Set((await records(home, { stream: "messages", limit: 20 })).map((one) => one.connection_id));
  equal([...connections], ["cin_mail_work"], "accounts that a tool sees");
  must(!(await streamsOf(home)).includes("mail/threads"), "the unticked stream is granted");
}

/** Purpose, promises and one-time access, in the app's words and marked so; training needs its own tick. */
async function asks_for_training_apart() {
  const registered = await machine.post("/oauth/register", { client_name: "Corpus Mill" });
  const request = {
    client_id: registered.body.client_id,
    authorization_details: [
      {
        type: "https://pdpp.dev/data-access",
        source: { kind: "connector", id: BANK },
        purpose_code: "https://pdpp.dev/purpose/ai_training",
        purpose_description: "Make a model of how people spend.",
        access_mode: "single_use",
        client_claims: { commitments: ["We never sell it."] },
        streams: [{ name: "merchants" }, { name: "transactions", time_range: { since: "2026-01-01T00:00:00Z" } }],
      },
    ],
  };
  const pushed = await machine.post("/oauth/par", request);
  equal(pushed.status, 201, `the pushed request (${JSON.stringify(pushed.body)}) is answered with`);
  await on({ page: pushed.body.authorization_url }, {}, async (page) => {
    const text = await page.locator("main").innerText();
    for (const part of [
      "Corpus Mill asks to read your data",
      "Make a model of how people spend.",
      "This is what the app says. Declared purpose: training AI models. It asks for one-time access.",
      "which nobody can enforce",
      "We never sell it.",
    ]) {
      must(text.includes(part), `the page does not say ${part}: ${text}`);
    }
    await unfold(page, "Fjord Bank");
    const shown = await page.locator("main").innerText();
    must(/transactions [0-9]{3} records, only from 2026-01-01 on/.test(shown), `it counts what is not asked for: ${shown}`);
    const agree = page.getByRole("checkbox", { name: /used to train AI models/ });
    must(!(await agree.isChecked()), "agreement to training is ticked beforehand");
    await page.getByRole("checkbox", { name: "merchants", exact: true }).uncheck();
    await goOn(page);
    must((await page.getByRole("alert").innerText()).includes("explicit agreement"), "it was approved without a tick");
    await unfold(page, "Fjord Bank");
    must(!(await page.getByRole("checkbox", { name: "merchants", exact: true }).isChecked()), "merchants is back");
    await shoot(page, "training", { fullPage: true });
    await agree.check();
    await approve(page);
    await showsHeading(page, "Access approved");
  });
}

// --- Other ways to the page -------------------------------------------------------------------------

/** Authorization code: the owner picks one source, decides, and the browser comes back to the program. */
async function picks_a_source_and_comes_back() {
  const home = machine.home();
  const waiting = await machine.connect(home, "--flow", "authorization-code");
  await on(waiting, {}, async (page) => {
    await whole(account(page, "Music")).check();
    await goOn(page);
    await page.getByRole("link", { name: "Change the selection" }).click();
    await whole(account(page, "Music")).uncheck();
    await whole(account(page, "Fjord Bank")).check();
    await unfold(page, "Fjord Bank");
    await account(page, "Fjord Bank").getByRole("checkbox", { name: "statements", exact: true }).uncheck();
    await shoot(page, "picked", { fullPage: true });
    await approve(page);
    await showsHeading(page, "Back to the terminal");
    must(page.url().startsWith("http://127.0.0.1:"), `it ended at ${page.url()}`);
    await shoot(page, "back");
  });
  const said = await connected(waiting);
  must(!said.includes("package"), `one source is a package: ${said}`);
  equal(await streamsOf(home), ["bank/accounts", "bank/merchants", "bank/transactions"], "streams that a tool sees");
}

/** Several sources are a package: stored, and said to be read through the tools of the provider. */
async function picks_a_package() {
  const home = machine.home();
  const waiting = await machine.connect(home, "--flow", "authorization-code");
  await on(waiting, { viewport: PHONE }, async (page) => {
    await whole(account(page, "Fjord Bank")).check();
    await whole(account(page, "Music")).check();
    await noSidewaysScroll(page, "two accounts");
    await approve(page);
    await showsHeading(page, "Back to the terminal");
  });
  const said = await connected(waiting);
  must(said.includes("with a package of grants") && said.includes("reads through the tools there"), `connect says ${said}`);
  const ran = await machine.run(home, "mcp", "call", "schema");
  equal(ran.code, 0, `a tool call (${ran.stderr}) ends with`);
  must(ran.stdout.includes("transactions") && ran.stdout.includes("play_events"), `the tools say ${ran.stdout}`);

  const denied = await machine.connect(machine.home(), "--flow", "authorization-code");
  await on(denied, {}, async (page) => {
    await deny(page);
    await showsHeading(page, "The request was denied");
    await shoot(page, "back-denied");
  });
  equal((await denied.end).code, 77, "connect ended with");
}

/** Device code: the page that the owner's link opens shows it, to be compared. */
async function compares_a_device_code() {
  const home = machine.home();
  const waiting = await machine.connect(home, "--flow", "device-code", "--source", BANK);
  const code = new URL(waiting.page).searchParams.get("user_code");
  await on(waiting, {}, async (page) => {
    must((await page.locator(".code").innerText()).includes(code), "the page does not show the code");
    await shoot(page, "device-consent");
    await approve(page);
    await showsHeading(page, "Access approved");
  });
  await connected(waiting);
  equal((await records(home, { stream: "transactions", limit: 3 })).length, 3, "records");
}

// --- Who decides -----------------------------------------------------------------------------------

/** Another window, another tab, the back button: a request is decided once. */
async function is_decided_once() {
  const home = machine.home();
  const waiting = await machine.connect(home);
  await on(waiting, {}, async (page, _answer, context) => {
    const [second, third] = [await context.newPage(), await context.newPage()];
    await second.goto(page.url());
    await third.goto(page.url());
    await tickAll(page);
    await goOn(page);
    await second.goto(page.url());
    await page.getByRole("button", { name: "Approve" }).click();
    await showsHeading(page, "Access approved");
    await second.getByRole("button", { name: "Approve" }).click();
    await showsHeading(second, "Already approved");
    await deny(third);
    await showsHeading(third, "Already approved");
    await shoot(third, "already-approved");
    await page.reload();
    await showsHeading(page, "Access approved");
    await page.goBack();
    const again = page.getByRole("button", { name: "Approve" });
    if (await again.count()) await again.click();
    must(["Access approved", "Already approved"].includes(await heading(page)), `it says ${await heading(page)}`);
  });
  await connected(waiting);
  equal((await streamsOf(home)).length, 29, "streams of the one approval");

  const other = machine.home();
  const denied = await machine.connect(other);
  await on(denied, {}, async (page, _answer, context) => {
    const second = await context.newPage();
    await second.goto(page.url());
    await deny(page);
    await goOn(second);
    await showsHeading(second, "Already denied");
  });
  equal((await denied.end).code, 77, "connect ended with");
  await nothingIsStored(other);
}

async function expires() {
  const home = machine.home();
  const waiting = await machine.connect(home);
  await on(waiting, {}, async (page) => {
    const own = page.url();
    machine.at("+11m");
    await goOn(page);
    await showsHeading(page, "This request has expired");
    await shoot(page, "expired");
    await page.goto(own);
    await showsHeading(page, "This request has expired");
  });
  const ended = await waiting.end;
  machine.at("+0");
  must(ended.code !== 0, "connect succeeded");
  must(/expired/i.test(ended.stderr), `connect does not say why: ${ended.stderr}`);
  await nothingIsStored(home);
}

/** O7.4: whoever has no link is shown the same, whether or not there is such a request. */
async function tells_a_stranger_nothing() {
  const asked = await machine.ask({ client_name: "Bystander" });
  const texts = [];
  for (const url of [asked.page, `${machine.url}/consent?request_uri=urn%3Apdpp%3Apending-consent%3Adc_0`]) {
    await on(url, {}, async (page, answer) => {
      equal(answer.status(), 200, "it is answered with");
      await showsHeading(page, "Only the owner decides");
      texts.push(await page.content());
      await shoot(page, "stranger");
    });
  }
  equal(texts[0], texts[1], "the page of a request and of none");
  must(!texts[0].includes("Bystander") && !texts[0].includes("Fjord"), "it tells something");
  await on(asked, {}, async (page) => {
    await showsHeading(page, "Bystander asks to read your data");
    const own = page.url();
    await on(own, {}, async (stranger) => showsHeading(stranger, "Only the owner decides"));
    await on(asked.link, {}, async (stranger, answer) => {
      equal(answer.status(), 404, "a link that is spent is answered with");
      await showsHeading(stranger, "This link no longer works");
      await shoot(stranger, "spent");
    });
  });
}

/** A form of another site does not decide, whatever token it has and however it hides where it is. */
async function refuses_forms_of_other_sites() {
  const asked = await machine.ask({ client_name: "Bystander" });
  await on(asked, {}, async (page, _answer, context) => {
    const own = page.url();
    const token = await page.locator("input[name=csrf]").first().inputValue();
    const form = (name, action, csrf) =>
      `<form method="post" action="${own}/${action}">${csrf === null ? "" : `<input type="hidden" name="csrf" value="${csrf}">`}
         <button>${name}</button></form>`;
    const tries = { none: null, empty: "", stolen: token };
    const forms = Object.entries(tries).flatMap(([name, csrf]) =>
      ["review", "approve", "deny"].map((action) => form(`${name} ${action}`, action, csrf)),
    );
    for (const policy of ["unsafe-url", "no-referrer"]) {
      const site = await otherSite(`<!doctype html><meta name="referrer" content="${policy}">${forms.join("")}`);
      try {
        const visitor = await context.newPage();
        for (const from of [site.near, site.far]) {
          for (const name of Object.keys(tries).flatMap((one) => [`${one} review`, `${one} approve`, `${one} deny`])) {
            await visitor.goto(from);
            const answered = visitor.waitForResponse((answer) => answer.request().method() === "POST");
            await visitor.getByRole("button", { name, exact: true }).click();
            equal((await answered).status(), 403, `${name} from ${from} with ${policy} is answered with`);
            await showsHeading(visitor, "This form came from another page");
          }
        }
        await shoot(visitor, "foreign-form");
      } finally {
        await site.close();
      }
    }
    // Without a browser's headers, the token alone must be right, together with its cookie.
    const cookies = await context.cookies(own);
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
    const path = new URL(own).pathname;
    equal(cookies.map(({ httpOnly, sameSite, path }) => [httpOnly, sameSite, path]), [[true, "Strict", path]], "cookies");
    equal((await context.cookies(`${machine.url}/consent`)).length, 0, "cookies for other pages");
    for (const [what, headers, csrf] of [
      ["no token", { cookie }, null],
      ["a foreign token", { cookie }, "0".repeat(64)],
      ["a token without its cookie", {}, token],
    ]) {
      const body = new URLSearchParams({ digest: "x", ...(csrf && { csrf }) });
      const answer = await fetch(`${own}/deny`, { method: "POST", headers, body, redirect: "manual" });
      must(answer.status === 403 || (await answer.text()).includes("Only the owner decides"), `${what} is answered with ${answer.status}`);
    }
    await page.reload();
    await showsHeading(page, "Bystander asks to read your data");
    await tickAll(page);
    await approve(page);
    await showsHeading(page, "Access approved");
  });
}

// --- What the page is made of ----------------------------------------------------------------------

async function loads_nothing_from_elsewhere_and_runs_nothing() {
  const asked = await machine.ask({ client_name: "PDPP CLI" });
  const requests = [];
  const problems = [];
  const context = await browser.newContext({ viewport: WIDE });
  try {
    const page = await context.newPage();
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    const answer = await page.goto(asked.link, { waitUntil: "networkidle" });
    const url = page.url();
    const headers = answer.headers();
    const policy = Object.fromEntries(
      headers["content-security-policy"].split(";").map((one) => {
        const [name, ...values] = one.trim().split(/\s+/);
        return [name, values.join(" ")];
      }),
    );
    const strict = {
      "default-src": "'none'",
      "style-src": "'self'",
      "form-action": "'self'",
      "frame-ancestors": "'none'",
      "base-uri": "'none'",
    };
    equal(policy, strict, "the content security policy");
    for (const [name, value] of Object.entries({
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })) {
      equal(headers[name], value, name);
    }
    equal([...new Set(requests)].sort(), [asked.link, url, `${machine.url}/consent.css`].sort(), "addresses that were asked for");
    const source = await answer.text();
    must(!/<script|<style|<iframe|<img|\son[a-z]+\s*=|\sstyle\s*=|javascript:/i.test(source), "something inline is in the page");
    must(!/(?:src|href|action)="(?!\/)/.test(source), "an address in the page leads elsewhere");
    // The policy is the browser's too: what would be put into the page does not run.
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      return window.ran === true;
    });
    must(!ran, "a script that was put into the page ran");
    must(problems.splice(0).some((one) => one.includes("Content Security Policy")), "no policy was broken by it");

    // Where the owner goes from here does not learn the request's address.
    const site = await otherSite("<!doctype html><title>Elsewhere</title>");
    try {
      await page.goto(url);
      equal(problems, [], "the page's complaints");
      await page.evaluate((href) => {
        const link = document.createElement("a");
        Object.assign(link, { href, textContent: "elsewhere" });
        document.querySelector("main").prepend(link);
      }, site.near);
      await page.getByRole("link", { name: "elsewhere" }).click();
      await page.waitForURL(site.near);
      const visits = site.seen.filter((one) => one.path === "/");
      equal(visits.map((one) => one.referer ?? null), [null], "referrers that the other site got");
    } finally {
      await site.close();
    }
  } finally {
    await context.close();
  }
}

async function cannot_be_framed() {
  const links = [await machine.ask({ client_name: "PDPP CLI" }), await machine.ask({ client_name: "PDPP CLI" })];
  const sites = await Promise.all(
    links.map(({ link }) => otherSite(`<!doctype html><title>Frame</title><iframe src="${link}"></iframe>`)),
  );
  try {
    for (const from of [sites[0].near, sites[1].far]) {
      await on(from, {}, async (page) => {
        equal(await page.frameLocator("iframe").getByRole("button", { name: "Approve" }).count(), 0, "framed buttons");
        const shown = page.frames().slice(1).map((frame) => frame.url());
        equal(shown, ["chrome-error://chromewebdata/"], "the frame shows");
      });
    }
  } finally {
    for (const site of sites) await site.close();
  }
}

/** R4.9: a name is text: it runs nothing, hides nothing, and does not pass for the provider's words. */
async function shows_hostile_names_as_text() {
  const names = [
    `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`,
    `</q></h1><form action="//evil.example"><input name=csrf value=x> "quoted" & 'so'`,
    "Bank\u202e gnp.exe\u202c\u200b\u0000\u0007\u001b[31m\r\nApproved by the provider",
    "W".repeat(120),
    "\u0300\u0301\u0302\u0303".repeat(30),
    "محفظة البيانات الشخصية",
  ];
  for (const [number, name] of names.entries()) {
    const registered = await machine.post("/oauth/register", { client_name: name });
    equal(registered.status, 201, `registration of ${JSON.stringify(name)} is answered with`);
    const url = await machine.ask({ client_id: registered.body.client_id, client_name: name });
    // Scripts are enabled: a script that could run would run.
    await on(url, { javaScriptEnabled: true, viewport: PHONE }, async (page) => {
      const shown = await page.locator("h1 q").evaluate((one) => one.textContent);
      // No control character, no bidirectional control and no character without width is left unchanged.
      must(!/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(shown), `it hides: ${shown}`);
      const escaped = name.replace(/[\u0000-\u001f\u200b\u202c\u202e]/g, (one) =>
        ({ "\r": "\\r", "\n": "\\n" })[one] ?? `\\u{${one.codePointAt(0).toString(16)}}`,
      );
      equal(shown, escaped, "the name");
      equal(await page.title(), `${escaped} asks to read your data – PDPP sandbox`, "the title");
      const quotes = await page.locator("h1 q").evaluate((one) =>
        ["::before", "::after"].map((side) => getComputedStyle(one, side).content),
      );
      equal(quotes, ["open-quote", "close-quote"], "quotes around the name");
      must(await page.getByText("Unverified app.").isVisible(), "it is not said to be unverified");
      equal(await page.locator("script, img, iframe, form:not([action^='/consent/'])").count(), 0, "elements of its own");
      equal(await page.locator("input[name=csrf]").count(), 2, "tokens in the two forms");
      await noSidewaysScroll(page, `with ${JSON.stringify(name)}`);
      const [height, cut] = await page
        .locator("h1")
        .evaluate((one) => [one.offsetHeight, one.scrollWidth - one.clientWidth]);
      must(cut <= 0, `${cut} px of the name are cut off`);
      must(height < 600, `the heading is ${height} px high`);
      await shoot(page, `hostile-${number + 1}`);
    });
  }
  const long = await machine.post("/oauth/register", { client_name: "x".repeat(10_000) });
  equal(long.status, 400, "registration of a name of 10,000 letters is answered with");
}

// --- Who can use it --------------------------------------------------------------------------------

/** What has the focus: its name, where it is, and whether something lies over it. */
const focused = (page) =>
  page.evaluate(() => {
    const one = document.activeElement;
    const box = one.getBoundingClientRect();
    const bar = document.querySelector(".actions");
    return {
      tag: one.tagName.toLowerCase(),
      what: one.name || one.textContent,
      value: one.value,
      top: box.top + scrollY,
      isHidden: !bar.contains(one) && box.top < bar.getBoundingClientRect().bottom && box.bottom > bar.getBoundingClientRect().top,
      // A browser scrolls by whole pixels.
      isOutside: box.top < -1 || box.bottom > innerHeight + 1,
      hasRing: getComputedStyle(one).outlineStyle !== "none" && parseFloat(getComputedStyle(one).outlineWidth) >= 2,
    };
  });

/** From the first Tab to Enter on Approve, no pointer: down the page, each stop seen, and it does what it says. */
async function needs_no_pointer() {
  const home = machine.home();
  const waiting = await machine.connect(home, "--source", BANK);
  await on(waiting, { viewport: { width: 1280, height: 700 } }, async (page) => {
    const stops = [];
    const memo = await page
      .getByRole("list", { name: "Fields of transactions", includeHidden: true })
      .getByRole("checkbox", { name: "memo", includeHidden: true })
      .getAttribute("value");
    const step = async () => {
      await page.keyboard.press("Tab");
      const stop = await focused(page);
      const at = `${stop.tag} ${stop.what} ${stop.value ?? ""}`;
      must(stop.hasRing, `the focus is not seen on ${at}`);
      must(!stop.isHidden && !stop.isOutside, `${at} has the focus and is out of sight: ${JSON.stringify(stop)}`);
      stops.push(stop);
      return stop;
    };
    const until = async (wanted) => {
      for (let steps = 0; steps < 60; steps += 1) {
        const stop = await step();
        if (wanted(stop)) return;
      }
      throw new Failed(`not reached by Tab: ${wanted}`);
    };
    equal((await step()).what, "Deny", "the first stop");
    await until((stop) => stop.what === "connection");
    await until((stop) => stop.tag === "summary");
    await page.keyboard.press("Enter");
    await until((stop) => stop.tag === "input" && stop.value === "0");
    await page.keyboard.press("Space");
    await until((stop) => stop.tag === "summary" && stop.what.includes("transactions"));
    await page.keyboard.press("Enter");
    await until((stop) => stop.what === "field" && stop.value === memo);
    await page.keyboard.press("Space");
    await until((stop) => stop.what === "since");
    await page.keyboard.type("06012026");
    equal(await page.getByLabel("Only records from this day on").inputValue(), "2026-06-01", "the typed day");
    await until((stop) => stop.what === "expires");
    await page.keyboard.press("ArrowUp");
    // A row of fields reads from left to right, and the end is next to the day.
    const tops = stops.filter((stop) => stop.tag !== "button").map((stop) => Math.round(stop.top));
    must(tops.every((top, at) => at === 0 || top >= tops[at - 1] - 4), `the focus jumps: ${tops}`);
    await shoot(page, "keyboard");
    // Enter in a field continues, and does not deny.
    await page.getByLabel("Only records from this day on").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname.endsWith("/summary"));
    equal((await step()).what, "Deny", "the first stop of the summary");
    equal((await step()).what, "Approve", "the second");
    await page.keyboard.press("Enter");
    await showsHeading(page, "Access approved");
  });
  const said = await connected(waiting);
  must(!said.includes("accounts") && said.includes("transactions"), `connect tells another grant: ${said}`);
  const [oldest] = await records(home, { stream: "transactions", order: "asc", limit: 1 });
  must(!("memo" in oldest.data), "the field that Space unticked is granted");
  must(oldest.data.booked_at >= "2026-06-01", `the typed day does not hold: ${oldest.data.booked_at}`);
}

/** Everything that can be operated says what it is, to who does not see the page. */
async function names_every_control() {
  const url = await machine.ask({ client_name: "PDPP CLI" });
  await on(url, {}, async (page, _answer, context) => {
    await tickAll(page);
    for (const one of await page.locator("summary").all()) await one.click();
    const session = await context.newCDPSession(page);
    const { nodes } = await session.send("Accessibility.getFullAXTree");
    const property = (node, name) => node.properties?.find((one) => one.name === name)?.value.value;
    const controls = nodes.filter((node) => !node.ignored && (property(node, "focusable") || property(node, "disabled")));
    const kinds = {};
    const summaries = [];
    for (const node of controls) {
      const role = node.role.value;
      if (role === "RootWebArea") continue;
      kinds[role] = (kinds[role] ?? 0) + 1;
      must(node.name?.value.trim(), `a ${role} has no name`);
      if (role === "DisclosureTriangle") summaries.push(node.name.value);
    }
    // A date field has the button that shows its calendar.
    const { checkbox, button, combobox, Date: dates } = kinds;
    must(checkbox > 200 && button === 7 && combobox === 1 && dates === 2, JSON.stringify(kinds));
    equal([summaries.length, new Set(summaries).size], [42, 42], "disclosures, and names of theirs");
    for (const role of ["main", "banner", "heading", "group"]) {
      must(nodes.some((node) => node.role?.value === role && !node.ignored), `there is no ${role}`);
    }
    const described = nodes.filter((node) => ["Date", "combobox"].includes(node.role?.value));
    must(described.every((node) => node.description?.value), "a limit has no description");
  });
}

/** axe-core, in a browser that lets it in: the policy itself is checked where nothing is let in. */
async function satisfies_axe() {
  const summarise = (found) => found.map(({ id, impact, help, nodes }) => `${impact} ${id}: ${help}: ${nodes[0].html}`);
  const unsure = new Map();
  let checked = 0;
  for (const colorScheme of ["light", "dark"]) {
    for (const viewport of [WIDE, PHONE]) {
      for (const [what, prepare] of [
        ["as it opens", async () => {}],
        [
          "opened up",
          async (page) => {
            await tickAll(page);
            for (const one of await page.locator("summary").all()) await one.click();
            await whole(account(page, "Music")).uncheck();
          },
        ],
        ["turned back", goOn],
        ["summary", async (page) => (await tickAll(page), await goOn(page))],
        ["approved", async (page) => (await tickAll(page), await approve(page))],
        ["denied", deny],
        ["a stranger's", async (page) => void (await page.goto(`${machine.url}/consent`))],
      ]) {
        const url = await machine.ask({ client_name: "PDPP CLI" });
        await on(url, { bypassCSP: true, javaScriptEnabled: true, colorScheme, viewport }, async (page) => {
          await prepare(page);
          await page.evaluate(axeSource);
          const { violations, passes, incomplete } = await page.evaluate(() =>
            window.axe.run(document, {
              resultTypes: ["violations", "incomplete"],
              rules: { "target-size": { enabled: true } },
            }),
          );
          const where = `${what}, ${colorScheme}, ${viewport.width} px`;
          must(passes.length > 10, `axe checked ${passes.length} rules only: ${where}`);
          must(violations.length === 0, `${where}: ${summarise(violations).join("; ")}`);
          for (const { id, help, nodes } of incomplete) unsure.set(`${id} (${help})`, `${nodes[0].html.slice(0, 120)}, ${where}`);
          checked += 1;
        });
      }
    }
  }
  equal(checked, 28, "pages checked");
  for (const [rule, first] of unsure) console.log(`    axe leaves to a person: ${rule}, such as ${first}`);
}

/** A phone, a narrow window, the dark, twice the size: all of it readable without scrolling sideways. */
async function fits_every_window() {
  const windows = {
    phone: { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    "phone-dark": { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true, colorScheme: "dark" },
    // WCAG 2.2, 1.4.10: 1280 px at 400 %.
    narrow: { viewport: { width: 320, height: 640 } },
    dark: { colorScheme: "dark" },
    // 1280 × 900 at 200 %.
    "zoom-200": { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 },
    "high-contrast": { forcedColors: "active" },
  };
  for (const [name, options] of Object.entries(windows)) {
    await on(await machine.ask({ client_name: "PDPP CLI" }), options, async (page) => {
      await noSidewaysScroll(page, name);
      await shoot(page, name);
      await tickAll(page);
      for (const one of await page.locator("summary").all()) await one.click();
      await noSidewaysScroll(page, `${name}, opened up`);
      await page.locator(".source").nth(2).scrollIntoViewIfNeeded();
      await shoot(page, `${name}-open`);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const [red] = /\d+/.exec(ground);
      if (options.colorScheme === "dark") must(Number(red) < 64, `the dark page's ground is ${ground}`);
      // Only the letters at twice the size (WCAG 2.2, 1.4.4).
      await page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
      await noSidewaysScroll(page, `${name}, large letters`);
      for (const button of await page.locator("button").all()) {
        const { height } = await button.boundingBox();
        must(height < 120, `${name}, large letters: a button is ${height} px high`);
      }
      if (name.startsWith("phone")) await shoot(page, `${name}-large-letters`);
    });
  }
}

/**
 * The page of `pdpp connect local`. What was named is ticked and nothing else; the pictures of it are those of docs/.
 */
async function grants_own_data() {
  const home = await machine.homeWithOwnData();
  const named = ["--stream", "messages", "--stream", "message_bodies"];
  const windows = {
    "own-consent": { viewport: { width: 800, height: 925 } },
    "own-consent-dark": { viewport: { width: 800, height: 925 }, colorScheme: "dark" },
    "own-consent-phone": { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    "own-consent-phone-dark": { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true, colorScheme: "dark" },
  };
  for (const [name, options] of Object.entries(windows)) {
    const { page: at, end } = await machine.connectLocal(home, ...named);
    await on(at, { bypassCSP: true, javaScriptEnabled: true, ...options }, async (page) => {
      await page.getByRole("button", { name: "Continue" }).waitFor();
      await noSidewaysScroll(page, name);
      await shoot(page, name);
      for (const one of await page.locator("summary").all()) if (await one.isVisible()) await one.click();
      await noSidewaysScroll(page, `${name}, opened up`);
      await shoot(page, `${name}-open`, { fullPage: true });
      const shown = await page.locator(".fields input:checked:visible").evaluateAll((all) => all.map((one) => one.closest("ul").ariaLabel));
      equal([...new Set(shown)], ["Fields of messages", "Fields of message bodies"], `${name}: fields that look ticked`);
      await page.evaluate(axeSource);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      must(violations.length === 0, `${name}: ${violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`).join("; ")}`);
      await goOn(page);
      await noSidewaysScroll(page, `${name}, summary`);
      await shoot(page, name.replace("consent", "summary"));
      await page.getByRole("button", { name: "Approve" }).click();
    });
    equal((await end).code, 0, "pdpp connect local ends with");
  }
  const found = await machine.call(home, "search", { q: "fitter" });
  must(JSON.stringify(found).includes("Thursday"), `a search in what was granted finds ${JSON.stringify(found)}`);
  const hidden = await machine.call(home, "query_records", { stream: "security_messages" });
  equal(hidden.isError, true, "what was not ticked is refused");
}

/**
 * The owner's page, by keyboard alone and without a script: import a file, look at what a grant shows, end it, search, forget.
 * Then on a phone and in the dark, with axe.
 */
async function keeps_the_owners_page() {
  const home = await machine.homeWithOwnData();
  const asked = await machine.connectLocal(home, "--stream", "messages", "--field", "messages.subject");
  await on(asked.page, {}, async (page) => {
    await goOn(page);
    await page.getByRole("button", { name: "Approve" }).click();
  });
  equal((await asked.end).code, 0, "pdpp connect local ends with");
  await machine.call(home, "query_records", { stream: "messages" });
  readsBefore(home);
  const more = join(home, "more.mbox");
  writeFileSync(more, readFileSync(join(home, "All mail.mbox"), "utf8").replaceAll("choir", "band").replaceAll("Choir", "Band")
    .replaceAll("@mail.example", "@again.example").replace(/^From \d+@/gm, (line) => line.replace("185", "186")));

  const { page: at, end } = await machine.openPage(home);
  await on(at, {}, async (page) => {
    await showsHeading(page, "Your own data");
    // The browser learns that file choosers are answered here only once something listens, and not before it opens
    // one.
    page.on("filechooser", () => {});
    const step = async (what) => {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const one = document.activeElement;
        const box = one.getBoundingClientRect();
        const style = getComputedStyle(one);
        return {
          what: (one.labels?.[0]?.textContent ?? one.textContent).trim(),
          hasRing: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
          isOutside: box.top < -1 || box.bottom > innerHeight + 1,
        };
      });
      must(stop.hasRing && !stop.isOutside, `the focus is not seen on ${stop.what}: ${what}`);
      return stop.what;
    };
    const until = async (wanted) => {
      for (let steps = 0; steps < 60; steps += 1) if ((await step(wanted)).startsWith(wanted)) return;
      throw new Failed(`not reached by Tab: ${wanted}`);
    };
    const press = async (wanted) => {
      await until(wanted);
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    };
    equal(await step("first"), "Skip to the content", "the first stop");
    await page.keyboard.press("Enter");
    await until("Exports: files or archives");
    const choosing = page.waitForEvent("filechooser");
    await page.keyboard.press("Space");
    await (await choosing).setFiles(more);
    await press("Preview the import");
    await showsHeading(page, "Import this?");
    must((await page.locator("main").innerText()).includes("An agent can already read this account"), "it does not say so");
    await shoot(page, "page-import", { fullPage: true });
    await press("Import it, although an agent can read this account");
    await showsHeading(page, "It was imported");
    must(/4 read = [0-9] new/.test(await page.locator("main").innerText()), await page.locator("main").innerText());
    await shoot(page, "page-imported", { fullPage: true });
    await press("Grants");
    await showsHeading(page, "Grants");
    await shoot(page, "page-grants", { fullPage: true });
    await press("See what it shows");
    const shown = await page.locator("main").innerText();
    must(shown.includes("Heating: the fitter comes on Thursday") && !shown.includes("between eight"), shown);
    await shoot(page, "page-preview", { fullPage: true });
    await press("Reads");
    await showsHeading(page, "What was read");
    must(await page.getByRole("img").isVisible(), "there is no picture");
    await shoot(page, "page-reads", { fullPage: true });
    await press("Search");
    await until("Words to search for");
    await page.keyboard.type("light");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /hits?$/ }).waitFor();
    must((await page.locator("mark").first().innerText()).toLowerCase() === "light", "the word is not marked");
    await shoot(page, "page-search", { fullPage: true });
    await press("Grants");
    await press("End it …");
    await press("End it");
    await showsHeading(page, "Grants");
    must((await page.getByRole("status").innerText()).includes("has ended"), "it does not say that it has ended");
    await press("Sources");
    await press("Forget");
    const name = await page.locator("label .said").innerText();
    await until("To confirm");
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await showsHeading(page, "Your own data");
    must((await page.getByRole("status").innerText()).includes("is forgotten"), "it does not say that it is forgotten");
    await shoot(page, "page-forgotten", { fullPage: true });
    await press("Close this page now");
    await showsHeading(page, "This page is closed");
  });
  equal((await end).code, 0, "pdpp provider open ends with");
  equal((await machine.run(home, "mcp", "call", "schema")).code, 78, "a tool call after the end of the grant ends with");
}

/** Calls of the last weeks, as a server notes them. */
function readsBefore(home) {
  const grants = readdirSync(join(home, ".local/share/pdpp")).length;
  must(grants > 0, "nothing is kept");
  const index = JSON.parse(readFileSync(join(home, ".local/share/pdpp/index.json"), "utf8"));
  const id = JSON.stringify(index).match(/grt_[0-9a-f]+/)[0];
  const lines = [];
  for (let day = 27; day >= 0; day -= 1) {
    for (let call = 0; call < (day * 7) % 12; call += 1) {
      const time = new Date(Date.now() - day * 86_400_000 - call * 60_000).toISOString();
      const name = ["claude-code", "codex", "cursor"][(day + call) % 3];
      lines.push(JSON.stringify({
        time, host: { name, version: "1" }, tool: call % 2 ? "search" : "query_records",
        grants: [{ provider: "https://local.pdpp.invalid", grant_id: id }], streams: ["messages"], rows: call, bytes: call * 700,
        outcome: "ok", ms: 3,
      }));
    }
  }
  writeFileSync(join(home, ".local/share/pdpp/access.jsonl"), `${lines.join("\n")}\n`, { mode: 0o600 });
}

/** The owner's page in every window: nothing to scroll sideways, and nothing that axe finds. */
async function fits_the_owners_page_into_every_window() {
  const home = await machine.homeWithOwnData();
  const asked = await machine.connectLocal(home, "--stream", "messages", "--stream", "message_bodies");
  await on(asked.page, {}, async (page) => {
    await goOn(page);
    await page.getByRole("button", { name: "Approve" }).click();
  });
  equal((await asked.end).code, 0, "pdpp connect local ends with");
  readsBefore(home);
  const windows = {
    wide: { viewport: { width: 1000, height: 900 } },
    dark: { viewport: { width: 1000, height: 900 }, colorScheme: "dark" },
    phone: { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    "phone-dark": { viewport: PHONE, deviceScaleFactor: 2, isMobile: true, hasTouch: true, colorScheme: "dark" },
    narrow: { viewport: { width: 320, height: 640 } },
  };
  for (const [name, options] of Object.entries(windows)) {
    const { page: at, end } = await machine.openPage(home);
    await on(at, { bypassCSP: true, javaScriptEnabled: true, ...options }, async (page) => {
      await showsHeading(page, "Your own data");
      const base = page.url();
      const grants = `${base}/grants`;
      await page.goto(grants);
      const [preview, endIt] = await page.locator(".card .buttons a").evaluateAll((all) => all.map((one) => one.href));
      await page.goto(base);
      const forget = await page.getByRole("link", { name: /^Forget/ }).first().evaluate((one) => one.href);
      const pages = { sources: base, grants, preview, end: endIt, reads: `${base}/reads`, search: `${base}/search?q=fitter`, forget };
      for (const [part, address] of Object.entries(pages)) {
        await page.goto(address);
        const what = `${part}, ${name}`;
        await shoot(page, `page-${part}-${name}`);
        for (const one of await page.locator("summary").all()) if (await one.isVisible()) await one.click();
        await noSidewaysScroll(page, what);
        await page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
        await noSidewaysScroll(page, `${what}, large letters`);
        await page.evaluate(() => (document.documentElement.style.fontSize = ""));
        await page.evaluate(axeSource);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        must(violations.length === 0, `${what}: ${violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`).join("; ")}`);
      }
      await page.getByRole("button", { name: "Close this page now" }).click();
    });
    equal((await end).code, 0, "pdpp provider open ends with");
  }
}

const CHECKS = [
  approves_as_it_stands,
  comes_in_by_its_file_and_brings_the_answer,
  denies,
  narrows,
  picks_one_of_two_accounts,
  asks_for_training_apart,
  picks_a_source_and_comes_back,
  picks_a_package,
  compares_a_device_code,
  is_decided_once,
  expires,
  tells_a_stranger_nothing,
  refuses_forms_of_other_sites,
  loads_nothing_from_elsewhere_and_runs_nothing,
  cannot_be_framed,
  shows_hostile_names_as_text,
  needs_no_pointer,
  names_every_control,
  satisfies_axe,
  fits_every_window,
  grants_own_data,
  keeps_the_owners_page,
  fits_the_owners_page_into_every_window,
];

async function main() {
  // Root may run the suite, and Chromium has no sandbox for root; the other options keep it from contacting anything
  // except the pages under test.
  const flags = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking " +
    "--disable-component-update --disable-sync --lang=en-US";
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags.split(" ") });
  console.log(`Chromium ${browser.version()}, playwright-core ${require("playwright-core/package.json").version}, ` +
    `axe-core ${require("axe-core/package.json").version}`);
  let [passed, failed] = [0, 0];
  try {
    machine = await Machine.start(pdpp);
    const only = process.argv.slice(4);
    for (const check of CHECKS.filter((one) => only.length === 0 || only.includes(one.name))) {
      const began = performance.now();
      let outcome = "ok";
      try {
        await check();
        passed += 1;
      } catch (error) {
        outcome = `FAILED\n    ${error instanceof Failed ? error.message : (error.stack ?? error)}`;
        failed += 1;
        machine.at("+0");
      }
      console.log(`  ${check.name} (${((performance.now() - began) / 1000).toFixed(1)} s) ... ${outcome}`);
    }
  } finally {
    await machine?.stop();
    await browser.close();
  }
  console.log(`browser: ${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

process.exitCode = await main();
