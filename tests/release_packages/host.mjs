// Prints, as JSON, what Claude Desktop starts for an unpacked bundle: host.mjs TOOLS FOLDER SETTINGS. It uses the
// code that its makers publish for this: settings that nobody filled in come as their placeholders.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [tools, folder, settings] = process.argv.slice(2);
const { getMcpConfigForManifest } = await import(pathToFileURL(resolve(tools, "node_modules/@anthropic-ai/mcpb/dist/node.js")));
const config = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(resolve(folder, "manifest.json"), "utf8")),
  extensionPath: folder,
  systemDirs: { HOME: process.env.HOME },
  userConfig: JSON.parse(settings),
  pathSeparator: "/",
});
console.log(JSON.stringify(config));
