#!/usr/bin/env bash
# Whether two builds of one commit are the same bytes: from two clones in two folders, with two homes of cargo and two target
# directories, by scripts/programs.sh.
#
#   scripts/twice.sh              linux-x64
#   scripts/twice.sh linux-arm64  another program that scripts/programs.sh builds
#
#   PROFILE           the profile of cargo; default dist
#   BREADBOARD_CACHE  where the C compiler is installed; default ~/.cache/breadboard-ls-tools
#   KEEP              a folder for the two builds, which are removed otherwise
#
# Takes as long as two builds from nothing. What was not committed is not built.
#
# Exit code 0: the same bytes. 1: not, or one was not built; the libraries that differ are named. 77: as scripts/programs.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=${1:-linux-x64}
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
work=$(realpath -- "$work")
[[ -n ${KEEP:-} ]] || trap 'rm -rf "$work"' EXIT
home=${CARGO_HOME:-$HOME/.cargo}

# Each in a folder that is named and nested otherwise than the other's.
build() {
  local place=$1
  mkdir -p "$place/home/registry"
  [[ -d $place/checkout ]] || git clone --quiet --no-hardlinks . "$place/checkout"
  # Packages that were fetched already are unpacked anew, and not fetched anew.
  for part in index cache; do
    [[ ! -d $home/registry/$part || -d $place/home/registry/$part ]] || cp -a "$home/registry/$part" "$place/home/registry/"
  done
  CARGO_HOME=$place/home CARGO_TARGET_DIR=$place/built "$place/checkout/scripts/programs.sh" --out "$place/out" "$name"
}

# Libraries of one name with other bytes.
differing() {
  local one
  for one in "$1"/built/*/*/deps/lib*.rlib; do
    cmp -s "$one" "$2/${one#"$1"/}" || echo "${one##*/}"
  done
}

first=$work/first second=$work/a/folder/somewhere/else
build "$first"
build "$second"
if cmp "$first/out/$name/breadboard-ls" "$second/out/$name/breadboard-ls"; then
  echo "the same bytes twice: $name of $(git rev-parse --short HEAD), sha256 $(sha256sum <"$first/out/$name/breadboard-ls" | cut -d' ' -f1)"
  exit 0
fi
echo "not the same bytes; libraries that differ:"
differing "$first" "$second"
exit 1
