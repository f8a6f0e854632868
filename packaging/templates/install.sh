#!/bin/sh
# Installs breadboard-ls @VERSION@ for the one who runs it:
#
#   curl -fsSL https://github.com/breadboard-ls/breadboard-ls/releases/latest/download/install.sh | sh
#
# Puts one program into ${BREADBOARD_INSTALL:-$HOME/.local/bin}. Its checksum stands in this script, so what is fetched is
# what was released with it. Nothing needs root, and nothing else is changed.
set -eu

url=${BREADBOARD_RELEASES:-@BASE@}
into=${BREADBOARD_INSTALL:-$HOME/.local/bin}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "there is no program for $(uname -s) here; on Windows take the archive win32-x64, or Scoop" ;;
esac
case $(uname -m) in
  x86_64 | amd64) processor=x64 ;;
  aarch64 | arm64) processor=arm64 ;;
  *) fail "there is no program for $(uname -m); build from source: https://github.com/breadboard-ls/breadboard-ls" ;;
esac
target=$system-$processor
case $target in
@SUMS@
  *) fail "this release has no program for $target; build from source: https://github.com/breadboard-ls/breadboard-ls" ;;
esac

if command -v curl >/dev/null; then
  fetch() { curl -fsSL --retry 2 -o "$2" "$1"; }
elif command -v wget >/dev/null; then
  fetch() { wget -qO "$2" "$1"; }
else
  fail "neither curl nor wget is installed; install one of them and run this again"
fi
if command -v sha256sum >/dev/null; then
  sum() { sha256sum "$1"; }
elif command -v shasum >/dev/null; then
  sum() { shasum -a 256 "$1"; }
else
  fail "neither sha256sum nor shasum is installed, so the program cannot be checked; install one and run this again"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=breadboard-ls-$target.tar.gz
fetch "$url/$archive" "$work/$archive" || fail "$url/$archive could not be fetched; check the network and run this again"
found=$(sum "$work/$archive" | cut -d ' ' -f 1)
[ "$found" = "$wanted" ] || fail "$archive is not what was released (its checksum is $found and not $wanted); nothing was installed"
tar -xzf "$work/$archive" -C "$work"
# A system that is too old for the program says so now, and what is installed stays as it was.
"$work/breadboard-ls-$target/breadboard-ls" --version >/dev/null ||
  fail "the program does not run on this system; build from source: https://github.com/breadboard-ls/breadboard-ls"
mkdir -p "$into"
# Beside it first, so that a server that runs keeps its file and nobody ever starts half a program.
cp "$work/breadboard-ls-$target/breadboard-ls" "$into/.breadboard-ls.new"
chmod 755 "$into/.breadboard-ls.new"
mv -f "$into/.breadboard-ls.new" "$into/breadboard-ls"
echo "breadboard-ls @VERSION@ is in $into"
case :$PATH: in
  *":$into:"*) ;;
  *) echo "$into is not on your PATH; add it, or name the program in full: $into/breadboard-ls" ;;
esac
