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
NOT_RUN=77
SKIPPED=3
ZIG=0.17.1
ZIGBUILD=0.23.4
tools=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}

# The standard library of the target, for the toolchain in use.
standard_library() {
  local target=$1
  [[ ! -d $(rustc --print sysroot)/lib/rustlib/$target/lib ]] || return 0
  command -v rustup >/dev/null || { echo "$target: skipped, there is no rustup to fetch its standard library with"; return "$SKIPPED"; }
  rustup --quiet target add "$target" || { echo "$target: skipped, rustup cannot fetch its standard library"; return "$SKIPPED"; }
}

mingw() {
  command -v x86_64-w64-mingw32-gcc >/dev/null || apt_install gcc-mingw-w64-x86-64 ||
    { echo "x86_64-pc-windows-gnu: not run, there is no x86_64-w64-mingw32-gcc (Debian: gcc-mingw-w64-x86-64)"; return "$NOT_RUN"; }
}

zig() {
  local made=$tools/zig-$ZIG-$ZIGBUILD
  [[ -x $made/bin/cargo-zigbuild ]] || {
    python3 -m venv "$made" && "$made/bin/pip" install --quiet "ziglang==$ZIG" "cargo-zigbuild==$ZIGBUILD"
  } >/dev/null || { rm -rf "$made"; echo "macOS: not run, zig cannot be installed (python3 with venv, and PyPI)"; return "$NOT_RUN"; }
  export PATH=$made/bin:$PATH
}

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
