#!/usr/bin/env bash
# Builds the programs that are shipped, for scripts/dist: the same bytes from the same commit, in whatever folder it is built.
#
#   scripts/programs.sh --out DIR linux-x64 linux-arm64     into DIR/linux-x64/breadboard-ls …
#   scripts/programs.sh --out DIR x86_64-unknown-linux-gnu  a platform's other program, by the name that rustc has for it
#
#   PROFILE           the profile of cargo; default dist
#   BREADBOARD_CACHE  where the C compiler is installed (zig, from PyPI); default ~/.cache/breadboard-ls-tools
#
# linux-x64 and linux-arm64 are linked statically with musl, so that one program runs on every Linux of its processor; the programs
# of `…-linux-gnu` run with glibc 2.17 and newer. Programs for Windows and macOS are built on those systems, by the workflow
# `release`.
#
# Exit code 0: all were built. 1: one was not. 77: a compiler or a standard library cannot be had here; a line says which.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/install.sh
. scripts/cross.sh
GLIBC=2.17
PROFILE=${PROFILE:-dist}

[[ ${1:-} == --out && $# -ge 3 ]] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$2"
out=$(realpath -- "$2")
shift 2

# What a program says of the places where it was built: the same, wherever that was.
same_everywhere() {
  local root home target sysroot commit pairs pair flags=() c_flags=()
  root=$(pwd -P)
  home=$(realpath -m -- "${CARGO_HOME:-$HOME/.cargo}")
  target=$(realpath -m -- "${CARGO_TARGET_DIR:-target}")
  sysroot=$(rustc --print sysroot)
  commit=$(rustc --version --verbose | sed -n 's/^commit-hash: //p')
  # The later ones win.
  pairs=("$root=." "$home=/cargo" "$target=/target" "$sysroot/lib/rustlib/src/rust=/rustc/$commit")
  for pair in "${pairs[@]}"; do
    flags+=("--remap-path-prefix=$pair")
    c_flags+=("-ffile-prefix-map=$pair")
  done
  CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' "${flags[@]}")
  export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'} CFLAGS="${c_flags[*]}" CARGO_INCREMENTAL=0
}

# The versions of glibc whose functions a program names.
runs_with_old_glibc() {
  local newest
  newest=$(grep -aoE 'GLIBC_2\.[0-9]+' "$1" | sort -uV | tail -n 1)
  [[ -n $newest && $(printf '%s\n' "$newest" "GLIBC_$GLIBC" | sort -V | tail -n 1) == "GLIBC_$GLIBC" ]] ||
    { echo "scripts/programs.sh: $1 wants ${newest:-no glibc that can be seen}, and glibc $GLIBC is promised" >&2; return 1; }
}

build() {
  local name=$1 triple suffix=""
  case $name in
    linux-x64) triple=x86_64-unknown-linux-musl ;;
    linux-arm64) triple=aarch64-unknown-linux-musl ;;
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) triple=$name suffix=.$GLIBC ;;
    *) echo "scripts/programs.sh: no program for $name is built here" >&2; return 1 ;;
  esac
  standard_library "$triple" || return "$NOT_RUN"
  cargo-zigbuild build --locked --profile "$PROFILE" --bin breadboard-ls --target "$triple$suffix" || return 1
  install -D "${CARGO_TARGET_DIR:-target}/$triple/$PROFILE/breadboard-ls" "$out/$name/breadboard-ls"
  [[ $triple != *-gnu ]] || runs_with_old_glibc "$out/$name/breadboard-ls" || return 1
  # What is linked into it, where scanners of vulnerabilities look.
  python3 -B packaging/auditable.py "$triple" "$out/$name/breadboard-ls"
}

# Read whole before it begins, so that the file may change while it builds.
main() {
  local name
  zig || return
  same_everywhere
  for name in "$@"; do build "$name" || return; done
}

main "$@"
exit
