#!/usr/bin/env bash
# Every client against one build of the server: the TypeScript packages, the Neovim plugin, the extension in a real
# VS Code, and the recipes for other editors.
#
#   scripts/clients.sh                         all of them
#   scripts/clients.sh client-ts nvim vscode editors   those that are named
#
#   BB_SERVER         the server's program; default: the release build of this checkout, which is made if it is not there
#   BREADBOARD_CACHE  where editors are installed; default ~/.cache/breadboard-ls-clients. Never the checkout.
#   SHOTS             folder for pictures of VS Code; default: none are kept
#
# Exit code 0: what ran is well, and all was run. 1: something failed. 77: nothing failed, but something could not be
# run on this machine; the summary says what. Under CI=true what this machine could have installed counts as failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/install.sh
NOT_RUN=77

# `target-dir` may be set by the environment or by a configuration file; cargo knows.
if [[ -z ${BB_SERVER:-} ]]; then
  BB_SERVER=$(cargo metadata --locked --no-deps --format-version 1 |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release/breadboard-ls
  [[ -x $BB_SERVER ]] || cargo build --locked --release --bin breadboard-ls || exit 1
fi
[[ -x $BB_SERVER ]] || { echo "BB_SERVER is not a program: $BB_SERVER" >&2; exit 1; }
BB_SERVER=$(realpath -- "$BB_SERVER")
export BB_SERVER

# The packages are installed once; what is installed already stays when it is what the lock file says.
install_packages() {
  command -v npm >/dev/null || { echo "npm is not installed (Node 20.15 or newer)"; return "$NOT_RUN"; }
  cmp -s client-ts/package-lock.json client-ts/node_modules/.installed-lock || {
    (cd client-ts && npm ci --no-audit --no-fund --loglevel=error) &&
      cp client-ts/package-lock.json client-ts/node_modules/.installed-lock
  } || return 1
}

run_client_ts() {
  install_packages || return
  (cd client-ts && npm test)
}

run_nvim() {
  editors/nvim/tests/run.sh
}

run_vscode() {
  ! command -v npm >/dev/null || install_packages || return
  client-ts/vscode/e2e/run.sh
}

run_editors() {
  editors/tests/run.sh
}

suites=("$@")
((${#suites[@]})) || suites=(client-ts nvim vscode editors)
summary=() failed=0 missing=0
for suite in "${suites[@]}"; do
  case $suite in
    client-ts) run=run_client_ts ;;
    nvim | vscode | editors) run=run_$suite ;;
    *) echo "there is no suite '$suite'; there are client-ts, nvim, vscode and editors" >&2; exit 1 ;;
  esac
  begun=$SECONDS code=0 outcome=ok
  ((${#suites[@]} == 1)) || echo "--- $suite"
  "$run" || code=$?
  if ((code == NOT_RUN)) && must_run; then
    echo "$suite: failed (CI must run it, and this machine can install what it needs; the reason stands above)"
    outcome=FAILED failed=1
  elif ((code == NOT_RUN)); then
    outcome="not run" missing=1
  elif ((code != 0)); then
    outcome=FAILED failed=1
  fi
  summary+=("$(printf '%-10s %-7s %4d s' "$suite" "$outcome" "$((SECONDS - begun))")")
done
((${#suites[@]} == 1)) || printf '%s\n' "--- summary" "${summary[@]}"
((failed)) && exit 1
((missing)) && exit "$NOT_RUN"
exit 0
