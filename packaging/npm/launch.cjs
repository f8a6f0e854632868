#!/usr/bin/env node
// Starts the program of the platform's package. Where Node can, the program takes this process's place; elsewhere this
// process waits for it, hands signals on, and ends as it ended.
"use strict";

const { spawn } = require("node:child_process");

const name = `@breadboard-ls/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "breadboard-ls.exe" : "breadboard-ls";

function program() {
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    console.error(
      `breadboard-ls: the package ${name} is not installed. Either there is no program for this platform, or optional ` +
        "packages were left out (--omit=optional); install again without that, or build from source.",
    );
    process.exit(1);
  }
}

const path = program();
const args = process.argv.slice(2);
if (typeof process.execve === "function" && process.platform !== "win32") {
  process.execve(path, [path, ...args], process.env);
}
const child = spawn(path, args, { stdio: "inherit", windowsHide: true });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (problem) => {
  console.error(`breadboard-ls: ${path} could not be started: ${problem.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  for (const one of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(one);
  process.kill(process.pid, signal);
});
