#!/usr/bin/env bash
# What only Windows has of the server, under Wine: job objects, scripts of cmd.exe, the watch over the editor's process.
#
# Builds a small program from the server's own files (program/). Installs what it needs: the standard library by rustup, a C compiler
# and Wine by apt. Where rustup does not get the library, the stage is skipped, and a line says so. Wine has no ACLs, no junctions and
# no real consoles, so those are not tried.
#
# Exit code 0: all held, or it was skipped. 1: something did not. 77: Wine or the compiler cannot be had here; a line says which.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/install.sh
NOT_RUN=77
TARGET=x86_64-pc-windows-gnu

[[ -d $(rustc --print sysroot)/lib/rustlib/$TARGET/lib ]] ||
  { command -v rustup >/dev/null && rustup --quiet target add "$TARGET"; } ||
  { echo "skipped: rustup cannot fetch a standard library for $TARGET"; exit 0; }
command -v x86_64-w64-mingw32-gcc >/dev/null || apt_install gcc-mingw-w64-x86-64 ||
  { echo "not run: there is no x86_64-w64-mingw32-gcc (Debian: gcc-mingw-w64-x86-64)"; exit "$NOT_RUN"; }
command -v wine >/dev/null || apt_install wine wine64 || { echo "not run: there is no wine (Debian: wine, wine64)"; exit "$NOT_RUN"; }

target=${CARGO_TARGET_DIR:-$PWD/target}/wine
cargo build --locked --quiet --manifest-path tests/wine/program/Cargo.toml --target "$TARGET" --target-dir "$target" || exit 1
work=$(mktemp -d)
export WINEPREFIX=$work/prefix WINEDEBUG=-all BREADBOARD_WINE=$work/program
trap 'wineserver -k 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$BREADBOARD_WINE"
cp "$target/$TARGET/debug/breadboard-wine.exe" "$BREADBOARD_WINE" || exit 1
x86_64-w64-mingw32-gcc -shared -o "$BREADBOARD_WINE/bcryptprimitives.dll" tests/wine/prng.c -ladvapi32 || exit 1
# Made once, before anything is waited for.
wine wineboot --init >/dev/null 2>&1
python3 -B -m unittest discover -v -s tests/wine
