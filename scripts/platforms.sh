#!/usr/bin/env bash
# Whether the program compiles, without a warning, for the systems that this machine is not. Links and runs nothing.
#
#   scripts/platforms.sh                          all of them
#   scripts/platforms.sh x86_64-pc-windows-gnu    those that are named
#
#   BREADBOARD_CACHE  where the C compiler for macOS is installed (zig, from PyPI); default ~/.cache/breadboard-ls-tools
#
# Installs what it needs: standard libraries by rustup, a C compiler for Windows by apt, one for macOS by pip. A target whose
# standard library rustup does not get is skipped, and a line says so: no package manager has it.
#
# Exit code 0: all compiled, or were skipped. 1: one did not. 77: none failed, but a C compiler cannot be had here; a line says which.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/install.sh
. scripts/cross.sh

# One target after another: each takes gigabytes.
check() {
  local target=$1 cargo=cargo
  standard_library "$target" || return
  case $target in
    *-windows-gnu) mingw || return ;;
    *-apple-darwin) zig || return; cargo="cargo-zigbuild" ;;
    x86_64-unknown-linux-gnu) ;;
    *) echo "$target: not run, this script has no C compiler for it"; return "$NOT_RUN" ;;
  esac
  CARGO_PROFILE_DEV_DEBUG=0 "$cargo" clippy --locked --lib --bins --target "$target" -- -D warnings
}

targets=("$@")
((${#targets[@]})) || targets=(x86_64-pc-windows-gnu aarch64-apple-darwin x86_64-apple-darwin)
summary=() failed=0 missing=0
for target in "${targets[@]}"; do
  echo "--- $target"
  begun=$SECONDS code=0 outcome=ok
  check "$target" || code=$?
  if ((code == SKIPPED)); then
    outcome=skipped
  elif ((code == NOT_RUN)) && must_run; then
    echo "$target: failed (CI must run it, and this machine can install what it needs; the reason stands above)"
    outcome=FAILED failed=1
  elif ((code == NOT_RUN)); then
    outcome="not run" missing=1
  elif ((code != 0)); then
    outcome=FAILED failed=1
  fi
  summary+=("$(printf '%-26s %-7s %4d s' "$target" "$outcome" "$((SECONDS - begun))")")
done
printf '%s\n' "--- summary" "${summary[@]}"
((failed)) && exit 1
((missing)) && exit "$NOT_RUN"
exit 0
