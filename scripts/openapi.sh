#!/usr/bin/env bash
# Has schemathesis make up requests from the host's own OpenAPI document and looks at every answer: none may be a fault of ours
# (5xx, but a documented 501, or 502 of a model that the run itself chose and that is not there), and none one that the document does not
# say.
#
#   scripts/openapi.sh                   10,000 requests or more, as .ci/run does; fewer would be a failure
#   scripts/openapi.sh --requests 1500   fewer
#
# What takes the time is schemathesis, some 8 ms of one core for a request, and a host answers a hundred a second in the long run. So two
# run at once, each with a host of its own and half of the operations.
#
# The program is BB_SERVER, or the debug build. schemathesis comes from PyPI into ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}.
# Without python3 or the network: exit code 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/install.sh

VERSION=4.32.5
requests=10000
while (($#)); do
  case $1 in
    --requests) requests=$2; shift ;;
    *) echo "unknown option $1; the head of this file says which there are" >&2; exit 2 ;;
  esac
  shift
done

tools=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}/schemathesis
if [[ $("$tools/bin/schemathesis" --version 2>/dev/null) != *"$VERSION"* ]]; then
  command -v python3 >/dev/null || apt_install python3 python3-venv || { echo "there is no python3 here"; exit 77; }
  python3 -m venv "$tools" 2>/dev/null || { apt_install python3-venv && python3 -m venv "$tools"; } || exit 77
  "$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION" || { echo "schemathesis cannot be installed here"; exit 77; }
fi

server=${BB_SERVER:-}
if [[ -z $server ]]; then
  cargo build --locked --quiet --bin breadboard-ls
  server=$(cargo metadata --locked --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/debug/breadboard-ls
fi
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN

place=$(mktemp -d)
jobs=()
trap 'for job in "${jobs[@]}"; do kill "$job" 2>/dev/null || true; done; rm -rf "$place"' EXIT
# A model that can be listed; no session ever has a turn here.
"$tools/bin/python" -c '
import http.server, json
class Models(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Models)
print(server.server_port, flush=True)
server.serve_forever()
' >"$place/model" &
jobs+=($!)
for _ in $(seq 100); do [[ -s $place/model ]] && break; sleep 0.1; done

# A host in a folder of its own; prints where it listens, once it does.
host() {
  local at=$1
  mkdir -p "$at/workspace"
  printf 'fn main() {}\n' >"$at/workspace/main.rs"
  "$server" engine --listen 127.0.0.1:0 --workspace "$at/workspace" --state-dir "$at/state" --trust \
    --model m --model-provider openai --model-url "http://127.0.0.1:$(cat "$place/model")/v1" >/dev/null 2>"$at/said" &
  jobs+=($!)
  for _ in $(seq 100); do
    grep -qs 'Listening on' "$at/said" && return
    kill -0 $! || { cat "$at/said"; exit 1; }
    sleep 0.1
  done
}

# The operations that these words choose, at the host in that folder.
requests() {
  local at=$1 url token auth workspace session operations
  shift
  url=$(sed -n 's/.*Listening on \([^;]*\);.*/\1/p' "$at/said")
  token=$(cat "$at/state/host/token")
  auth="Authorization: Bearer $token"
  # Places that lead somewhere, so that not every answer is that there is nothing.
  workspace=$(curl -sf -H "$auth" "$url/v1/workspaces" | sed -n 's/.*"id":"\(ws_[0-9a-f]*\)".*/\1/p')
  session=$(curl -sf -H "$auth" -H 'content-type: application/json' -d "{\"workspace_id\":\"$workspace\"}" "$url/v1/sessions" |
    sed -n 's/^{"id":"\([^"]*\)".*/\1/p')
  operations=$(curl -sf -H "$auth" "$url/v1/openapi.json" | grep -o '"summary"' | wc -l)
  cat >"$at/schemathesis.toml" <<TOML
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501, 502]

[parameters]
"path.workspace_id" = "$workspace"
"path.session_id" = "$session"
TOML
  # The host says when it is too often: 429 is in the document. An operation that takes nothing has one request only, so the others
  # have more than their share. What schemathesis remembers goes with the folder.
  cd "$at"
  exec "$tools/bin/schemathesis" --config-file "$at/schemathesis.toml" run "$url/v1/openapi.json" "$@" \
    --header "$auth" --phases examples,coverage,fuzzing --mode all --generation-deterministic \
    --max-examples "$((requests * 2 / operations + 1))" --continue-on-failure --request-timeout 30 --rate-limit 95/s \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
}

host "$place/workspaces"
host "$place/others"
requests "$place/workspaces" --include-path-regex '^/v1/workspaces' >"$place/workspaces/report" 2>&1 &
of_workspaces=$!
requests "$place/others" --exclude-path-regex '^/v1/workspaces' >"$place/others/report" 2>&1 &
of_others=$!
jobs+=("$of_workspaces" "$of_others")
code=0
wait "$of_workspaces" || code=$?
wait "$of_others" || code=$?
tail -n 60 "$place/workspaces/report" "$place/others/report"
made=$(sed -n 's/^ *\([0-9]*\) generated,.*/\1/p' "$place"/*/report | awk '{ all += $1 } END { print all + 0 }')
echo "$made requests."
if ((code == 0 && made < requests)); then
  echo "That is fewer than $requests; have schemathesis make more of each operation (--max-examples above)." >&2
  exit 1
fi
exit "$code"
