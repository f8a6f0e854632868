#!/usr/bin/env bash
# Tests the Neovim plugin in a real Neovim, with the real server: the fixtures of the view, the parts, and the stories.
#
#   BB_SERVER=target/release/breadboard-ls editors/nvim/tests/run.sh [path/to/nvim ...]
#
# Without a path: `nvim` of the PATH where it is 0.10 or newer; else Debian's 0.10 (trixie), which root installs into
# ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}/nvim-root and runs there without touching the system.
# The last line reads `N passed, N failed`, counting Neovims. Exit code 77: no Neovim could be had.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../../scripts/install.sh"
. "$here/../../../scripts/neovim.sh"
cache=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}
root=$cache/nvim-root
limit=300 # seconds the tests may take in one Neovim

: "${BB_SERVER:?set BB_SERVER to the breadboard-ls binary to be tested}"
BB_SERVER=$(realpath -- "$BB_SERVER")
[[ -x $BB_SERVER ]] || { echo "BB_SERVER is not a program: $BB_SERVER" >&2; exit 2; }
export BB_SERVER
# Nobody's own engine or token takes part, and no proxy stands before the model of the tests.
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1

run_in() {
  local home code
  home=$(mktemp -d)
  # Its own HOME and XDG directories: neither the user's configuration nor his logs take part.
  BB_HOME=$home HOME=$home XDG_CONFIG_HOME=$home/xdg XDG_STATE_HOME=$home/xdg XDG_DATA_HOME=$home/xdg \
    XDG_CACHE_HOME=$home/xdg timeout --kill-after=5 "$limit" "$@" --headless -u NONE -i NONE -n -S "$here/main.lua" </dev/null
  code=$?
  if ((code != 0)) && [[ -f $home/xdg/nvim/lsp.log ]]; then
    tail -n 20 "$home/xdg/nvim/lsp.log"
  fi
  rm -rf "$home"
  return "$code"
}

# `:qa` in mid-turn ends Neovim, and leaves neither server nor agent behind.
quits_in() {
  local home code agent end
  home=$(mktemp -d)
  BB_HOME=$home HOME=$home XDG_CONFIG_HOME=$home/xdg XDG_STATE_HOME=$home/xdg XDG_DATA_HOME=$home/xdg \
    XDG_CACHE_HOME=$home/xdg timeout --kill-after=5 "$limit" "$@" --headless -u NONE -i NONE -n -S "$here/quit.lua" </dev/null
  code=$?
  agent=$(cat "$home/agent" 2>/dev/null)
  end=$((SECONDS + 20))
  while [[ -n $agent ]] && kill -0 "$agent" 2>/dev/null && ((SECONDS < end)); do
    sleep 0.05
  done
  if ((code == 0)) && [[ -n $agent ]] && ! kill -0 "$agent" 2>/dev/null; then
    echo "ok     :qa in mid-turn ends Neovim, the server and the agent"
  else
    echo "FAILED :qa in mid-turn: Neovim ended with $code, the agent is process '$agent'"
    code=1
  fi
  rm -rf "$home"
  return "$code"
}

# Nothing was ever set up: the init.lua says where the plugin and the server are, and no more.
fresh_in() {
  local home code
  home=$(mktemp -d)
  printf "vim.opt.runtimepath:append('%s')\nrequire('breadboard').setup({ cmd = { '%s', '--stdio' } })\n" "$here/.." "$BB_SERVER" >"$home/init.lua"
  BB_HOME=$home HOME=$home XDG_CONFIG_HOME=$home/xdg XDG_STATE_HOME=$home/xdg XDG_DATA_HOME=$home/xdg \
    XDG_CACHE_HOME=$home/xdg timeout --kill-after=5 "$limit" "$@" --headless -u "$home/init.lua" -i NONE -n -S "$here/fresh.lua" </dev/null
  code=$?
  rm -rf "$home"
  return "$code"
}

# An older Neovim than the plugin takes, with the plugin set up as the README says, is told so in one sentence.
old_is_told() {
  local home told code=0
  home=$(mktemp -d)
  printf "vim.opt.runtimepath:append('%s')\nrequire('breadboard').setup({ trusted = true })\n" "$here/.." >"$home/init.lua"
  told=$(HOME=$home XDG_STATE_HOME=$home XDG_DATA_HOME=$home "$1" --headless -u "$home/init.lua" -i NONE -n +q 2>&1)
  rm -rf "$home"
  [[ $told =~ ^breadboard\ needs\ Neovim\ 0\.10\ or\ newer\;\ this\ is\ [0-9.]+,\ so\ :BreadBoard\ is\ not\ there\.[[:space:]]*$ ]] ||
    { echo "$told"; code=1; }
  return "$code"
}

nvims=("$@")
if ((${#nvims[@]} == 0)); then
  found=$(new_nvim "$root") || exit 77
  nvims=("$found")
fi

passed=0 failed=0
if [[ -z $* ]] && command -v nvim >/dev/null && ! nvim_is_new_enough nvim; then
  if old_is_told nvim; then
    echo "ok     D20: $(nvim --version | head -n 1) is told that it is too old"
  else
    echo "FAILED D20: $(nvim --version | head -n 1) is not told in one sentence that it is too old"
    failed=1
  fi
fi
for nvim in "${nvims[@]}"; do
  echo "--- $("$nvim" --version | head -n 1)"
  if fresh_in "$nvim" 2>&1 && run_in "$nvim" 2>&1 && quits_in "$nvim" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
