// Acts as the owner, in Chromium: approve.mjs DIRECTORY URL LOG ACCOUNT… opens URL, then the link that the sandbox
// printed into LOG, ticks these accounts, approves, and prints the browser's final address. DIRECTORY has the pinned
// node_modules of tests/browser.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [directory, url, log, ...accounts] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(directory), "approve.mjs"))("playwright-core");
const flags = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags.split(" ") });
try {
  const context = await browser.newContext({ javaScriptEnabled: false, locale: "en-US" });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await page.goto(url);
  let link;
  for (let tries = 0; !link && tries < 300; tries++) {
    link = /http\S+\/consent\/owner\/[0-9a-f]+(?=\s)/.exec(readFileSync(log, "utf8"))?.[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await page.goto(link);
  for (const account of accounts) await page.getByRole("checkbox", { name: account }).check();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.waitForURL(/^http:\/\/localhost:\d+\/callback/);
  console.log(page.url().split("?")[0]);
} finally {
  await browser.close();
}
