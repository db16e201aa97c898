#!/usr/bin/env node
// Starts the binary of this platform's package in place of this process; where Node cannot do that, beside it, with
// the same standard streams, signals and exit code.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const file = process.platform === "win32" ? "pdpp.exe" : "pdpp";
const base = `pdpp-${process.platform}-${process.arch}`;

// Where the package is installed, else nothing.
function installed(name) {
  try {
    return require.resolve(`${name}/${file}`);
  } catch {
    return undefined;
  }
}

// npm 10 and later installs the package of this system's C library alone, older ones both. The one for musl is static: it starts
// with any, and the other with glibc alone.
function isMusl() {
  process.report.excludeNetwork = true;
  return !process.report.getReport().header.glibcVersionRuntime;
}

let binary = installed(base);
if (process.platform === "linux") {
  const musl = installed(`${base}-musl`);
  if (musl && (!binary || isMusl())) binary = musl;
}
if (!binary) {
  console.error(`error: the package ${base}, which holds the program for this machine, is not installed
  because: npm left out optional packages, or there is none for this platform
  next: npm install pdpp --include=optional`);
  process.exit(1);
}

const given = process.argv.slice(2);
if (process.execve) {
  // Else Node says that this is experimental, on every start.
  process.removeAllListeners("warning");
  try {
    process.execve(binary, [binary, ...given], process.env);
  } catch {
    // As without it.
  }
}
const child = spawn(binary, given, { stdio: "inherit" });
// A terminal sends these to both; a host that ends its server sends them to this process alone. What it ends with
// is the child's to decide.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${binary} does not start\n  because: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
