#!/usr/bin/env bash
# acpx, a headless client of the Agent Client Protocol, with `breadboard-ls acp` as its agent. No model: what the built-in engine
# finds and replaces by itself is enough. ACPX is the client, BB_SERVER the agent.
set -uo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME=$place/home
mkdir -p "$HOME" "$place/w/src"
file=$place/w/src/header.rs
old='pub fn parse_frame_header(line: &str) -> usize { line.len() }'
new='pub fn read_frame_header(line: &str) -> usize { line.len() }'
replace='replace `parse_frame_header` with `read_frame_header` in src/header.rs'

# ask FLAGS_OF_THE_AGENT FLAGS_OF_THE_CLIENT QUESTION
ask() {
  # shellcheck disable=SC2086 # several flags
  said=$(timeout 60 "$ACPX" --agent "$BB_SERVER acp --state-dir $place/state $1" $2 --cwd "$place/w" exec "$3" 2>&1)
}

# claim WORDS CONDITION...
claim() {
  local words=$1
  shift
  if "$@"; then
    echo "ok: $words"
  else
    echo "not ok: $words"
    echo "$said"
    exit 1
  fi
}
says() { grep -qF -- "$1" <<<"$said"; }
holds() { [[ $(<"$file") == "$1" ]]; }

echo "$old" >"$file"
ask "" --deny-all "Where is parse_frame_header defined?"
claim "an answer comes with its place" says 'src/header.rs:1'
claim "its tool calls are shown with their kind" says 'kind: search'
claim "the turn ends well" says '[done] end_turn'

ask "--trust" --deny-all "$replace"
claim "what the client refuses is not written" holds "$old"

ask "" --approve-all "$replace"
claim "without trust nothing is written, whatever the client allows" holds "$old"

ask "--trust" --approve-all "$replace"
claim "the client is asked" says 'session/request_permission'
claim "the client writes what it allowed" says 'fs/write_text_file'
claim "the file holds it" holds "$new"
claim "that turn ends well, too" says '[done] end_turn'

echo "$old" >"$file"
ask "--trust" "--approve-all --no-fs" "$replace"
claim "a client without files gets it written to disk" holds "$new"
