#!/usr/bin/env bash
# Packages are made of one build of the server, put on a release server on loopback, and installed as a reader of the README would.
#
#   BB_SERVER         the program that is packaged; default: the dist build of this checkout, which must be there
#   BB_STATIC         a program that is linked statically (scripts/programs.sh), tried in a root with nothing in it; default: none is
#   BREADBOARD_CACHE  where the bare Debian is kept; default ~/.cache/breadboard-ls-tools
#
# Exit code 0: all held. 1: something did not. 77: nothing failed, but something could not be tried here; a line says what.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/install.sh
NOT_RUN=77
BB_SERVER=${BB_SERVER:-target/dist/breadboard-ls}
[[ -x $BB_SERVER ]] || { echo "BB_SERVER is not a program: $BB_SERVER" >&2; exit 1; }
BB_SERVER=$(realpath -- "$BB_SERVER")
export BB_SERVER
[[ -z ${BB_STATIC:-} ]] || BB_STATIC=$(realpath -- "$BB_STATIC")
export BB_STATIC
missing=0

# Debian of this machine's own release, because the program was linked against its C library, with nothing but curl. Kept as an
# archive, so that each run has it as it was made.
bare_root() {
  local cache=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools} release kept
  can_install || { echo "no bare Debian: only root on Debian can make one"; return 1; }
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
  kept=$cache/bare-$release.tar
  [[ -f $kept ]] || {
    command -v debootstrap >/dev/null || apt_install debootstrap || return 1
    local made
    made=$(mktemp -d)
    debootstrap --variant=minbase --include=curl,ca-certificates "$release" "$made" >"$made.log" 2>&1 ||
      { tail -n 5 "$made.log"; rm -rf "$made" "$made.log"; return 1; }
    mkdir -p "$cache"
    tar -C "$made" -cf "$kept.new" . && mv "$kept.new" "$kept"
    rm -rf "$made" "$made.log"
  }
  BARE_ROOT=$(mktemp -d)
  tar -C "$BARE_ROOT" -xf "$kept" || return 1
  export BARE_ROOT
}

bare_root || missing=1
trap '[[ -z ${BARE_ROOT:-} ]] || rm -rf "$BARE_ROOT"' EXIT
log=$(mktemp)
python3 -B -m unittest discover -v -s tests/packages "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
grep -q '^NOT RUN' "$log" && missing=1
# A run without a test says nothing.
grep -qE '^Ran [1-9]' "$log" || code=1
rm -f "$log"
((code)) && exit 1
((missing)) && exit "$NOT_RUN"
exit 0
