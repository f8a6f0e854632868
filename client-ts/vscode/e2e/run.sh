#!/usr/bin/env bash
# The extension in a real VS Code, driven as a user would: packages it, installs it, runs e2e/run.mjs.
#
#   BB_SERVER    the server program; default: target/release or target/debug of this repository
#   SHOTS        folder for screenshots; default: none are kept
#   CHAPTERS     names of chapters (e2e/chapters), with commas; default: all, and before them a new user's way and one in German (`fresh` or `german` for that alone)
#   WITHOUT      names of chapters to leave out of all
#   PATIENCE     milliseconds that a chapter waits for something to be seen; default 45000
#   E2E_TIMEOUT  seconds the story may take, the installation not counted; default 600
#
# Exit code 77: this machine has no VS Code to try it in, and none can be installed here (install.sh says why).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export E2E_CACHE=${E2E_CACHE:-${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}}
if [[ -z ${BB_SERVER:-} ]]; then
  for candidate in ../../target/release/breadboard-ls ../../target/debug/breadboard-ls; do
    [[ -x $candidate ]] && BB_SERVER=$candidate && break
  done
fi
[[ -x ${BB_SERVER:-} ]] || { echo "no server program: build one, or name it in BB_SERVER" >&2; exit 2; }
BB_SERVER=$(realpath -- "$BB_SERVER")
export BB_SERVER
# Nobody's own engine or token takes part.
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN
bash e2e/install.sh
# The agents that tests/agents/run.sh has installed take part; where there are none, their chapter has nothing to say.
. ../../tests/agents/installed.sh
E2E_AGENTS=$(agents_installed)
export E2E_AGENTS
# A Neovim takes part beside it where one can be had.
. ../../scripts/install.sh
. ../../scripts/neovim.sh
E2E_NVIM=$(new_nvim "$E2E_CACHE/nvim-root" || true)
export E2E_NVIM
# The Node of the cache will do where there is none, or one that is too old for the packages.
node -e 'process.exit(require("node:zlib").crc32 === undefined ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null ||
  export PATH=$E2E_CACHE/n24/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[[ -d ../node_modules ]] || (cd .. && npm ci --no-audit --no-fund --loglevel=error)
if [[ ! -f ../sdk/dist/core/index.js ]]; then (cd .. && npm run build -w @breadboard-ls/sdk); fi
# As it is shipped for a platform: the server is in the package.
node package.mjs --target linux-x64 "$BB_SERVER"
mv breadboard-ls-linux-x64-*.vsix "$work/extension.vsix"
# A language server of the story's own, whose symbols `@` finds.
(cd e2e/symbols && npx vsce package --no-dependencies --allow-missing-repository --skip-license --out "$work/symbols.vsix" >/dev/null)
[[ -z ${SHOTS:-} ]] || mkdir -p "$SHOTS"
# Somebody who has set up nothing; of the chapters alone, only where that is asked for by its name.
if [[ -z ${CHAPTERS:-} || $CHAPTERS == fresh ]]; then
  WORK=$work timeout --kill-after=10 "${E2E_TIMEOUT:-600}" node e2e/fresh.mjs
  [[ ${CHAPTERS:-} != fresh ]] || exit 0
fi
if [[ -z ${CHAPTERS:-} || $CHAPTERS == german ]]; then
  WORK=$work timeout --kill-after=10 "${E2E_TIMEOUT:-600}" node e2e/german.mjs
  [[ ${CHAPTERS:-} != german ]] || exit 0
fi
WORK=$work timeout --kill-after=10 "${E2E_TIMEOUT:-600}" node e2e/run.mjs
