#!/usr/bin/env bash
# The whole server for Windows under Wine, driven over its real wire: an answer, an edit, an agent and its tree, kills, escapes. And the
# tests of both libraries.
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
#   time of a file's birth         Wine says that of its last change; a folder's identity has it (NOT_UNDER_WINE, below).
#   numbers of proptest            its sampler of floats refuses what the C library of mingw computes (NOT_UNDER_WINE).
#   thousands of files             each is opened by the server of Wine; two tests of the journal take a minute and more (NOT_UNDER_WINE).
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
# Tests of the libraries that Wine fails, for a reason that stands above. What is not so on Windows itself says so where it stands.
NOT_UNDER_WINE=()
for name in platform::access_list::tests::a_file_is_closed platform::private::tests::what_is_made_private \
  front::desktop::token::tests::r002_06_a_token front::desktop::token::tests::a_file_without_a_token \
  workspace::identity::tests::a_folder_keeps lenient_json::tests::numbers_that_are_none lenient_json::tests::strict_json \
  store::tests::loss::every_byte store::tests::loss::a_log_that_was_cut; do
  NOT_UNDER_WINE+=(--skip "$name")
done
TARGET=x86_64-pc-windows-gnu

[[ -d $(rustc --print sysroot)/lib/rustlib/$TARGET/lib ]] ||
  { command -v rustup >/dev/null && rustup --quiet target add "$TARGET"; } ||
  { echo "skipped: rustup cannot fetch a standard library for $TARGET"; exit 0; }
command -v x86_64-w64-mingw32-gcc >/dev/null || apt_install gcc-mingw-w64-x86-64 ||
  { echo "not run: there is no x86_64-w64-mingw32-gcc (Debian: gcc-mingw-w64-x86-64)"; exit "$NOT_RUN"; }
command -v wine >/dev/null || apt_install wine wine64 || { echo "not run: there is no wine (Debian: wine, wine64)"; exit "$NOT_RUN"; }

# Built to be run a few times: nothing is optimised, and nobody looks for its lines. The program and the tests of both libraries in
# one go, so that what they use is built once: the program comes along with a test of it, and that one is the smallest.
build() {
  CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0 cargo test --locked --quiet --no-run --message-format=json-render-diagnostics \
    --package breadboard-ls --package breadboard-core --lib --test requirements --target "$TARGET" --target-dir "$target" \
    --config 'profile.dev.package."*".opt-level=0' --config 'profile.dev.package.libsqlite3-sys.opt-level=1' >"$work/built"
}

# The tests of one library.
library() {
  local exe
  exe=$(python3 -c '
import json, sys
for line in open(sys.argv[2]):
    said = json.loads(line)
    if said.get("executable") and said["target"]["name"] == sys.argv[1] and "lib" in said["target"]["kind"]:
        print(said["executable"])' "$1" "$work/built")
  [[ -n $exe ]] || { echo "no tests of $1 were built"; return 1; }
  cp "$exe" "$BREADBOARD_EXE/$1.exe"
  (cd "$2" && wine "$BREADBOARD_EXE/$1.exe" --quiet "${NOT_UNDER_WINE[@]}")
}

target=${CARGO_TARGET_DIR:-$PWD/target}/wine begun=$SECONDS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build || exit 1
echo "breadboard-ls.exe and the tests of the libraries: built in $((SECONDS - begun)) s"
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
  exit
fi
code=0
python3 -B -m unittest discover -v -s tests/wine || code=1
echo "the program under Wine: $((SECONDS - begun)) s"
begun=$SECONDS
export PROPTEST_CASES=${PROPTEST_CASES:-32}
library breadboard_core src/core || code=1
library breadboard_ls . || code=1
echo "the libraries under Wine: $((SECONDS - begun)) s"
exit "$code"
