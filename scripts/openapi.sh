#!/usr/bin/env bash
# Has schemathesis make up requests from the host's own OpenAPI document and looks at every answer: none may be a fault of ours
# (5xx, but a documented 501, or 502 of a model that the run itself chose and that is not there), and none one that the document does not
# say.
#
#   scripts/openapi.sh                   10,000 requests and some more
#   scripts/openapi.sh --requests 1500   fewer, as .ci/run does
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
host= model=
trap 'for job in $host $model; do kill "$job" 2>/dev/null || true; done; rm -rf "$place"' EXIT
mkdir "$place/workspace"
printf 'fn main() {}\n' >"$place/workspace/main.rs"
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
model=$!
for _ in $(seq 100); do [[ -s $place/model ]] && break; sleep 0.1; done
"$server" engine --listen 127.0.0.1:0 --workspace "$place/workspace" --state-dir "$place/state" --trust \
  --model m --model-provider openai --model-url "http://127.0.0.1:$(cat "$place/model")/v1" >/dev/null 2>"$place/said" &
host=$!
for _ in $(seq 100); do
  grep -q 'Listening on' "$place/said" && break
  kill -0 "$host" || { cat "$place/said"; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/.*Listening on \([^;]*\);.*/\1/p' "$place/said")
token=$(cat "$place/state/host/token")
auth="Authorization: Bearer $token"

# Places that lead somewhere, so that not every answer is that there is nothing.
workspace=$(curl -sf -H "$auth" "$url/v1/workspaces" | sed -n 's/.*"id":"\(ws_[0-9a-f]*\)".*/\1/p')
session=$(curl -sf -H "$auth" -H 'content-type: application/json' -d "{\"workspace_id\":\"$workspace\"}" "$url/v1/sessions" |
  sed -n 's/^{"id":"\([^"]*\)".*/\1/p')
operations=$(curl -sf -H "$auth" "$url/v1/openapi.json" | grep -o '"summary"' | wc -l)
cat >"$place/schemathesis.toml" <<TOML
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501, 502]

[parameters]
"path.workspace_id" = "$workspace"
"path.session_id" = "$session"
TOML

# The host answers a hundred a second in the long run, and says when it is more: 429 is in the document. An operation that takes
# nothing has one request only, so the others have more than their share.
# What it remembers of this run goes with the place.
(cd "$place" && exec "$tools/bin/schemathesis" --config-file "$place/schemathesis.toml" run "$url/v1/openapi.json" \
  --header "$auth" --phases examples,coverage,fuzzing --mode all --generation-deterministic \
  --max-examples "$((requests * 3 / operations + 1))" --continue-on-failure --request-timeout 30 --rate-limit 95/s \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance) \
  2>&1 | tee "$place/report" | tail -n 60
code=${PIPESTATUS[0]}
exit "$code"
