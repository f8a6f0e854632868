#!/usr/bin/env bash
# The extension in a real VS Code, driven as a user would: packages it, installs it, runs e2e/run.mjs.
#
#   BB_SERVER   the server program; default: target/release or target/debug of this repository
#   SHOTS       folder for screenshots; default: none are kept
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export E2E_CACHE=${E2E_CACHE:-${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}}
if [[ -z ${BB_SERVER:-} ]]; then
  for candidate in ../../target/release/breadboard-ls ../../target/debug/breadboard-ls; do
    [[ -x $candidate ]] && BB_SERVER=$candidate && break
  done
fi
[[ -x ${BB_SERVER:-} ]] || { echo "no server program: build one, or name it in BB_SERVER" >&2; exit 2; }
bash e2e/install.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ ! -f ../sdk/dist/core/index.js ]]; then (cd .. && npm run build -w @breadboard-ls/sdk); fi
# As it is shipped for a platform: the server is in the package.
node package.mjs --target linux-x64 "$(realpath "$BB_SERVER")"
mv breadboard-ls-linux-x64-*.vsix "$work/extension.vsix"
WORK=$work timeout "${E2E_TIMEOUT:-600}" node e2e/run.mjs
