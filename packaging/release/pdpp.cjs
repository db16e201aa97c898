#!/usr/bin/env node
// Replaces this process with the binary of this platform's package; if Node cannot do that, starts it as a child with
// the same standard streams, signals and exit code.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const file = process.platform === "win32" ? "pdpp.exe" : "pdpp";
const base = `pdpp-${process.platform}-${process.arch}`;

// The place where the package is installed, or nothing.
function installed(name) {
  try {
    return require.resolve(`${name}/${file}`);
  } catch {
    return undefined;
  }
}

// npm 10 and later installs only the package for this system's C library, older versions install both. The one for musl is static and
// starts with any C library, the other with glibc only.
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
  console.error(`error: the package ${base}, which holds the program for this computer, is not installed
  because: npm left out optional packages, or there is none for this platform
  next: npm install pdpp --include=optional`);
  process.exit(1);
}

const given = process.argv.slice(2);
if (process.execve) {
  // Otherwise Node warns at every start that this is experimental.
  process.removeAllListeners("warning");
  try {
    process.execve(binary, [binary, ...given], process.env);
  } catch {
    // Continue as if it did not exist.
  }
}
const child = spawn(binary, given, { stdio: "inherit" });
// A terminal sends these to both processes; a host that ends its server sends them to this one only. The child decides
// the exit code.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${binary} does not start\n  because: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
