#!/usr/bin/env bash
# The whole server for Windows under Wine, driven over its real wire: an answer, an edit, an agent and its tree, kills, escapes.
#
#   tests/wine/run.sh                     builds the program and runs everything
#   tests/wine/run.sh test_escapes        one file of tests; also test_server.OnWindows.test_… for one
#   BREADBOARD_ATTACK_SEED=7 tests/wine/run.sh test_escapes   the escapes mixed as on another day; the default is the date (UTC)
#
# Installs what it needs: the standard library by rustup, a C compiler and Wine by apt. Where rustup does not get the library, the
# stage is skipped, and a line says so.
#
# What Wine cannot do, so that only .github/workflows/platforms.yml tries it, on Windows itself:
#   junctions                      `mklink` of Wine makes none. A folder on which a volume is mounted is one to its programs all the same, of
#                                  which nobody can say where it leads: root mounts one, and nothing of it may be seen (test_escapes). On
#                                  Windows the same test makes a junction; that one which stays inside is followed is tried there alone.
#   symbolic links                 those of this system look like what they lead to.
#   access lists handed down       Wine keeps of a list what the modes of this system can say, and gives a new file what the umask
#                                  says. So what is closed by name is looked at here; what inherits is not (platform::access_list).
#   short names (8.3)              Wine makes them up for each listing and keeps none; that they are refused is tried, not that
#                                  Windows would have found the file.
#   percent signs for scripts      its cmd.exe reads the arguments of a script twice, so `%PATH%` in one is replaced.
#   locks of other programs        a file that is open can be renamed over here. The trying again is tested on Linux (platform::busy).
#   windows of consoles            its console is the terminal that it was started in, which is enough for Ctrl-C.
#   shares (UNC)                   there is no network share; names of shares are refused before anybody looks for one.
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

# Built to be run a few times: nothing is optimised, and nobody looks for its lines.
build() {
  CARGO_PROFILE_DEV_DEBUG=0 cargo build --locked --quiet --bin breadboard-ls --target "$TARGET" --target-dir "$target" \
    --config 'profile.dev.package."*".opt-level=0' --config 'profile.dev.package.libsqlite3-sys.opt-level=1'
}

target=${CARGO_TARGET_DIR:-$PWD/target}/wine begun=$SECONDS
build || exit 1
echo "breadboard-ls.exe: built in $((SECONDS - begun)) s"
work=$(mktemp -d)
export WINEPREFIX=$work/prefix WINEDEBUG=-all BREADBOARD_EXE=$work/program
export BREADBOARD_ATTACK_SEED=${BREADBOARD_ATTACK_SEED:-$(date -u +%Y%m%d)}
trap 'wineserver -k 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$BREADBOARD_EXE"
cp "$target/$TARGET/debug/breadboard-ls.exe" "$BREADBOARD_EXE" || exit 1
# One function that Wine before version 10 lacks.
x86_64-w64-mingw32-gcc -shared -o "$BREADBOARD_EXE/bcryptprimitives.dll" tests/wine/prng.c -ladvapi32 || exit 1
# Made once, before anything is waited for.
wine wineboot --init >/dev/null 2>&1
begun=$SECONDS
if (($#)); then
  (cd tests/wine && python3 -B -m unittest -v "$@")
else
  python3 -B -m unittest discover -v -s tests/wine
fi
code=$?
echo "under Wine: $((SECONDS - begun)) s"
exit "$code"
