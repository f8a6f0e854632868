#!/usr/bin/env bash
# Runs the fuzz targets under libFuzzer, one after the other, and says what came of each.
#
#   scripts/fuzz.sh                          every target for a minute
#   scripts/fuzz.sh --seconds 600 sse diff   these two for ten minutes each
#   scripts/fuzz.sh --sanitizer address      with address sanitizer, at about half the speed; `none` is the default, since our
#                                            own code has no `unsafe`
#   scripts/fuzz.sh --pure                   only the targets of the pure rooms, which are built ten times as fast
#   scripts/fuzz.sh --keep                   adds what was found new to fuzz/corpus, each thing once and as small as can be
#
# What a target promises is in fuzz/entries; `cargo test --test fuzz` runs the same on the stable compiler. Inputs that were
# found stay in target/fuzz/corpus and are begun with the next time; an input that fails is in target/fuzz/artifacts. It
# needs cargo-fuzz, which it installs, and a C++ compiler, and no other toolchain than the project's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=60 sanitizer=none keep=no features=() targets=()
while (($#)); do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --sanitizer) sanitizer=$2; shift ;;
    --pure) features=(--no-default-features) ;;
    --keep) keep=yes ;;
    -*) echo "unknown option $1; the head of this file says which there are" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done

command -v c++ >/dev/null || { echo "no C++ compiler (c++) found; install one (Debian: apt-get install g++) and run this again" >&2; exit 2; }
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked

# The coverage that libFuzzer needs is behind flags that the stable compiler hides.
export RUSTC_BOOTSTRAP=1
# Targets write their files where a tidy person would look for them.
out=$PWD/target/fuzz
export TMPDIR=$out/tmp
mkdir -p "$TMPDIR"
options=(--sanitizer "$sanitizer" --target-dir "$out" "${features[@]}")

all_targets() {
  if ((${#features[@]})); then
    awk '/^\[\[bin\]\]/ { name = "" } /^name = / { name = $3 } /^required-features/ { name = "" }
         /^bench = / && name { gsub(/"/, "", name); print name }' fuzz/Cargo.toml
  else
    cargo fuzz list
  fi
}
((${#targets[@]})) || mapfile -t targets < <(all_targets)

failed=()
summary=()
for target in "${targets[@]}"; do
  echo "==> $target: building"
  nice -n 19 cargo fuzz build "${options[@]}" "$target"
  corpus=$out/corpus/$target artifacts=$out/artifacts/$target log=$out/$target.log
  mkdir -p "$corpus" "$artifacts"
  before=$(find "$artifacts" -type f | wc -l)
  echo "==> $target: $seconds s"
  # 4096 bytes hold what is in the corpus; an input that takes ten seconds, or 1 GiB, is a failure too.
  arguments=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1
    -artifact_prefix="$artifacts/")
  code=0
  nice -n 19 cargo fuzz run "${options[@]}" "$target" "$corpus" "fuzz/corpus/$target" -- "${arguments[@]}" \
    >"$log" 2>&1 || code=$?
  number() { sed -n "s/^stat::$1: *//p" "$log" | tail -1; }
  coverage() { grep -oE 'cov: [0-9]+' "$log" | "$1" -1 | grep -oE '[0-9]+'; }
  crashes=$(($(find "$artifacts" -type f | wc -l) - before))
  executions=$(number number_of_executed_units)
  line="$target: ${executions:-0} executions, $(number average_exec_per_sec)/s, edges $(coverage head || true) at first and $(coverage tail || true) at last, $(number new_units_added) new inputs, $crashes failed"
  summary+=("$line")
  echo "    $line"
  if ((code != 0)); then
    failed+=("$target")
    tail -30 "$log"
  elif [[ $keep == yes ]]; then
    cargo fuzz run "${options[@]}" "$target" -- -merge=1 "fuzz/corpus/$target" "$corpus" >>"$log" 2>&1
  fi
done

echo "==> summary (the logs are in target/fuzz)"
printf '%s\n' "${summary[@]}"
if ((${#failed[@]})); then
  echo "failed: ${failed[*]}; an input of target/fuzz/artifacts runs again with"
  echo "  BREADBOARD_FUZZ_INPUT=<file> cargo test --test fuzz <target> -- --exact"
  exit 1
fi
