#!/usr/bin/env bash
# Runs seeded conversations under faults, kills and restarts (tests/faults) in any number, and says where it stands.
#
#   scripts/faults.sh                      10,000 runs, seeds 1001 to 11000: none of those that every test run has
#   scripts/faults.sh --runs 500 --from 1  others
#   scripts/faults.sh --status             what was done so far, and nothing more
#   scripts/faults.sh --again              forgets what was done so far
#
# It can be stopped at any time (Ctrl-C, kill) and goes on where it was. What was done is in target/faults, one line a run; a
# run that failed leaves its story in target/tmp.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=10000 from=1001 again=no status=no
while (($#)); do
  case $1 in
    --runs) runs=$2; shift ;;
    --from) from=$2; shift ;;
    --again) again=yes ;;
    --status) status=yes ;;
    *) echo "unknown option $1; the head of this file says which there are" >&2; exit 2 ;;
  esac
  shift
done

mkdir -p target/faults
file=$PWD/target/faults/from-$from.jsonl
[[ $again == no ]] || rm -f "$file"
if [[ $status == yes ]]; then
  echo "$(grep -c '}$' "$file" 2>/dev/null || true) of $runs runs from seed $from are done, $(grep -c '"why":"[^"]' "$file" 2>/dev/null || true) of them failed"
  exit 0
fi

# Nobody's own engine, token or state takes part.
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN BREADBOARD_FAULT_SEED
export BREADBOARD_FAULT_RUNS=$runs BREADBOARD_FAULT_FROM=$from BREADBOARD_FAULT_FILE=$file
exec cargo test --locked --test faults -- --nocapture
