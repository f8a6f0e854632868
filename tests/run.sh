#!/usr/bin/env bash
# The one test command: proves the walls, then formatting, lints and every test.
#
#   tests/run.sh                        a small set of randomised cases, another one each day
#   BREADBOARD_SEEDS=2000 tests/run.sh  that many cases a property, from a fresh seed
#   BREADBOARD_FAULT_RUNS=50 tests/run.sh  fewer fault runs (`tests/faults`) than the thousand
#   BREADBOARD_TAB_RUNS=50 tests/run.sh    fewer runs of tabs (`tests/loop/tabs_runs.rs`) than the thousand
#   BREADBOARD_WINDOW_RUNS=50 tests/run.sh more runs of windows (`tests/windows`) than the few
#
# Seeds are those of the date (UTC) and are printed with the way to run with them again: PROPTEST_RNG_SEED (properties),
# BREADBOARD_ATTACK_SEED (`tests/hostile`), BREADBOARD_SEED (runs of tabs, kills at random instants; the first of them).
# What is set stays.
#
# On a bare Debian machine it installs the one thing it needs besides Rust: a C compiler, for the bundled SQLite and
# tree-sitter grammars. Clients from outside are tests/peers/run.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for tool in cargo rustc; do
  command -v "$tool" >/dev/null || {
    echo "$tool is not installed; install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or newer (rustup.rs) and run this again" >&2
    exit 2
  }
done

if ! command -v cc >/dev/null; then
  if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    echo "==> no C compiler: installing gcc"
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev
  else
    echo "no C compiler (cc) found; install one (Debian: apt-get install gcc libc6-dev) and run this again" >&2
    exit 2
  fi
fi

# With it the tests write what they would otherwise check, and pass.
if [[ -n ${BREADBOARD_UPDATE+set} ]]; then
  if [[ ${CI:-} == true ]]; then
    echo "BREADBOARD_UPDATE is set, so nothing would be checked against what is on disk; unset it" >&2
    exit 2
  fi
  echo "BREADBOARD_UPDATE is ignored here: run the test that writes by its name (CONTRIBUTING.md)" >&2
  unset BREADBOARD_UPDATE
fi

# The same all day, so that a failure of this morning can be looked at this afternoon.
today=$(date -u +%Y%m%d)
export BREADBOARD_ATTACK_SEED=${BREADBOARD_ATTACK_SEED:-$today} BREADBOARD_SEED=${BREADBOARD_SEED:-${today}0000}
again="BREADBOARD_ATTACK_SEED=$BREADBOARD_ATTACK_SEED BREADBOARD_SEED=$BREADBOARD_SEED"
if [[ -n ${BREADBOARD_SEEDS:-} ]]; then
  export PROPTEST_CASES=$BREADBOARD_SEEDS
  again="PROPTEST_CASES=$PROPTEST_CASES $again"
  [[ -z ${PROPTEST_RNG_SEED:-} ]] || again="PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED $again"
else
  export PROPTEST_CASES=${PROPTEST_CASES:-32} PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$today}
  again="PROPTEST_CASES=$PROPTEST_CASES PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED $again"
fi

# Plain `cargo test` takes two hundred of them, which is enough while one works.
export BREADBOARD_TAB_RUNS=${BREADBOARD_TAB_RUNS:-1000}
again+=" BREADBOARD_TAB_RUNS=$BREADBOARD_TAB_RUNS"

# Nobody's own engine, token or state takes part.
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN

failed=()

# Every step runs, so that one look shows all that is wrong.
step() {
  local name=$1 begun=$SECONDS
  shift
  echo "==> $name"
  if "$@"; then
    echo "    $name: ok ($((SECONDS - begun)) s)"
  else
    echo "    $name: FAILED ($((SECONDS - begun)) s)"
    failed+=("$name")
  fi
}

# The pure rooms (`domain`, `protocol`) must not reach a runtime, a socket or a database, whatever a dependency drags in.
no_runtime_in_the_pure_rooms() {
  local tree
  tree=$(cargo tree --locked --package breadboard-core -e normal --prefix none) || return 1
  ! grep -E '^(tokio|mio|tower|tower-lsp|reqwest|hyper|rusqlite) ' <<<"$tree"
}

all_tests() {
  local log code=0
  log=$(mktemp)
  cargo test --locked --no-fail-fast 2>&1 | tee "$log" || code=$?
  echo "==> closing lines of cargo test"
  grep -E '^test result:|^error: ' "$log" || echo "cargo test printed no result"
  rm -f "$log"
  return "$code"
}

step "formatting" cargo fmt --all --check
step "the wall: domain and protocol compile alone" cargo check --locked --package breadboard-core
step "the wall: no runtime behind it" no_runtime_in_the_pure_rooms
step "lints" cargo clippy --locked --workspace --all-targets -- -D warnings
echo "==> seeds; to run with the same again: $again tests/run.sh"
step "tests ($PROPTEST_CASES cases a property)" all_tests

if ((${#failed[@]})); then
  printf 'failed: %s\n' "${failed[@]}"
  echo "again: $again tests/run.sh"
  exit 1
fi
