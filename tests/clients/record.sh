#!/usr/bin/env bash
# Writes down a usual session of each client of this release with its server, for tests/e2e/recorded_clients.rs: once a release, and
# never again for that one.
#
#   BB_SERVER=target/dist/breadboard-ls tests/clients/record.sh [sdk] [neovim]
#
# Needs node, `npm ci` in client-ts, and Neovim 0.10 (NVIM names another one than that of the PATH).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
: "${BB_SERVER:?set BB_SERVER to the breadboard-ls binary of the release}"
BB_SERVER=$(realpath -- "$BB_SERVER")
version=$("$BB_SERVER" --version | cut -d' ' -f2)
here=$PWD/tests/clients
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Nobody's own engine or token takes part.
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN

sdk() {
  (cd client-ts/sdk && npx tsc -b)
  node "$here/sdk_session.mjs" client-ts/sdk "$1/ws" "$1/state" node "$here/record.mjs" "$1/log" "$BB_SERVER" --stdio
}

neovim() {
  HOME=$1 XDG_CONFIG_HOME=$1/xdg XDG_STATE_HOME=$1/xdg XDG_DATA_HOME=$1/xdg XDG_CACHE_HOME=$1/xdg BB_WORKSPACE=$1/ws BB_STATE=$1/state \
    BB_CMD=$(printf '%s\n' node "$here/record.mjs" "$1/log" "$BB_SERVER" --stdio) \
    timeout 60 "${NVIM:-nvim}" --headless -u NONE -i NONE -n -S "$here/neovim_session.lua" </dev/null
}

clients=("$@")
((${#clients[@]})) || clients=(sdk neovim)
for client in "${clients[@]}"; do
  mkdir -p "$place/$client/ws/src" "$place/$client/state" "$place/$client/xdg"
  printf 'pub fn retries() -> u32 {\n    3\n}\n' >"$place/$client/ws/src/lib.rs"
  "$client" "$place/$client"
  out=$(mktemp)
  node "$here/keep.mjs" "$place/$client/log" "$out" "$client" "$version" "$place/$client/ws" "$place/$client/state"
  wire=$(head -n 1 "$out" | sed 's/.*"wire":\([0-9]*\).*/\1/')
  mkdir -p "tests/fixtures/clients/v$wire"
  mv "$out" "tests/fixtures/clients/v$wire/$version-$client.jsonl"
  chmod 644 "tests/fixtures/clients/v$wire/$version-$client.jsonl"
done
