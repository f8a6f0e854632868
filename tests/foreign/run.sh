#!/usr/bin/env bash
# Linux that this machine is not. The program for another processor, under qemu: what a person does first, and black-box tests with that
# program in the place of this machine's own. And this machine's own on a kernel that lacks what the last ten years brought.
#
#   tests/foreign/run.sh               builds linux-arm64 with the profile `release`, and runs everything
#   tests/foreign/run.sh containment   one file of tests, all of it
#   BB_FOREIGN=program …               a program for arm64 that is built already
#
#   BREADBOARD_CACHE  where the C compiler is installed (zig, from PyPI); default ~/.cache/breadboard-ls-tools
#
# Installs what it needs: the standard library by rustup, zig by pip, qemu by apt. The kernel is told to start such programs with qemu
# (binfmt_misc), because the server starts itself; only root can do that, and it is taken back at the end.
#
# What qemu does not have, so that these tests are not among those below:
#   Landlock              commands are not confined, which is said by `doctor`, by each command and here
#   orphans that fall to a guardian   they are found by the mark in their environment instead, which `containment` shows
#   time                  a start takes half a second; what asks for less than a second, or compares what somebody who waits is told,
#                         is left out
#
# Exit code 0: all held. 1: something did not. 3: the kernel of this machine does not let them run, which no package changes.
# 77: the program cannot be built here. A line says why.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/install.sh
NOT_RUN=77
FORBIDDEN=3
NAME=linux-arm64
QEMU=qemu-aarch64-static
BINFMT=/proc/sys/fs/binfmt_misc
work=$(mktemp -d)
registered=0

leave() {
  ((!registered)) || echo -1 >"$BINFMT/breadboard-$NAME"
  rm -rf "$work"
}
trap leave EXIT

command -v "$QEMU" >/dev/null || apt_install qemu-user-static || { echo "not run: there is no $QEMU (Debian: qemu-user-static)"; exit "$NOT_RUN"; }

# `F`: qemu is opened now, so that it is found from within every root. `P`: programs keep the name that they were started by.
register() {
  local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
  local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  [[ -e $BINFMT/register ]] || mount -t binfmt_misc binfmt_misc "$BINFMT" || return 1
  # What an earlier run that was killed left.
  [[ ! -e $BINFMT/breadboard-$NAME ]] || echo -1 >"$BINFMT/breadboard-$NAME"
  printf '%s' ":breadboard-$NAME:M::$magic:$mask:$(command -v "$QEMU"):FP" >"$BINFMT/register" && registered=1
}
register 2>"$work/why" || { echo "not run: the kernel cannot be told to start programs of $NAME with qemu: $(cat "$work/why")"; exit "$FORBIDDEN"; }

unshare --mount --propagation private true 2>"$work/why" || { echo "not run: no mounts of their own for some processes: $(cat "$work/why")"; exit "$FORBIDDEN"; }

program=${BB_FOREIGN:-}
if [[ -z $program ]]; then
  target=${CARGO_TARGET_DIR:-$PWD/target}/foreign begun=$SECONDS code=0
  PROFILE=${PROFILE:-release} CARGO_TARGET_DIR=$target scripts/programs.sh --out "$target/out" "$NAME" || code=$?
  ((code == 0)) || exit "$code"
  program=$target/out/$NAME/breadboard-ls
  echo "$NAME: built in $((SECONDS - begun)) s, $(stat -c %s "$program") bytes"
fi
program=$(realpath -- "$program")
failed=0

# A check of this file: its name, what it says, what must stand in that.
says() {
  local name=$1 said=$2 wanted=$3
  if grep -q -- "$wanted" <<<"$said"; then
    echo "ok    $name"
  else
    failed=1
    printf 'FAIL  %s: there is no "%s" in this:\n%s\n' "$name" "$wanted" "$said"
  fi
}

mkdir "$work/workspace"
printf 'def retry_delay(attempt):\n    return 2 ** attempt\n' >"$work/workspace/retry.py"
cd "$work/workspace" || exit 1
own=(--state-dir "$work/state")
says "is of that processor" "$(od -An -tx1 -j18 -N2 "$program")" "b7 00"
says "needs no library and no loader" "$(grep -aqE '/lib/ld-|\.so\.[0-9]' "$program" && echo some || echo none)" "none"
says "says its version" "$("$program" --version 2>&1)" "^breadboard-ls [0-9]"
says "answers a question" "$("$program" ask "${own[@]}" 'where is the retry delay computed?' 2>&1)" "retry.py:1"
told=$("$program" doctor "${own[@]}" 2>&1)
says "the doctor finds nothing that failed" "$told" "^Nothing failed"
says "the doctor says what this system cannot do" "$told" "cannot confine commands"
cd "$OLDPWD" || exit 1
((failed)) && exit 1

# Tests that are built for this machine start the program of this machine's build.
declare -A built=()
binary_of() {
  built[$1]=${built[$1]:-$(cargo test --locked --no-run --message-format=json --test "$1" 2>"$work/build" |
    python3 -c 'import json, sys; print(next(m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable") and m["target"]["name"] == sys.argv[1]))' "$1")}
  [[ -n ${built[$1]} ]] || { cat "$work/build"; return 1; }
}

# The other program is laid over it, where only these tests see it.
under_qemu() {
  local file=$1
  shift
  binary_of "$file" || return
  CARGO_MANIFEST_DIR=$PWD BREADBOARD_SLOWNESS=6 unshare --mount --propagation private \
    sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' - \
    "$program" "$(dirname "$(dirname "${built[$file]}")")/breadboard-ls" "${built[$file]}" "$@"
}

# This machine's own program, and its tests, on a kernel that has nothing of the last ten years.
on_an_old_kernel() {
  local file=$1
  shift
  binary_of "$file" || return
  CARGO_MANIFEST_DIR=$PWD python3 -B tests/foreign/old_kernel.py "${built[$file]}" "$@"
}

if (($#)); then
  for file in "$@"; do under_qemu "$file" || failed=1; done
  exit "$failed"
fi
begun=$SECONDS
under_qemu e2e --test-threads 2 agent_edits:: agent_client:: agent_ended:: edits::r000 edits::r002 restart::r000_53_a_kill_while \
  background_commands::a_command_in_the_background_ends || failed=1
under_qemu containment --test-threads 2 || failed=1
echo "under qemu: $((SECONDS - begun)) s"
begun=$SECONDS
on_an_old_kernel containment || failed=1
on_an_old_kernel e2e agent_edits:: agent_ended:: edits::r0 || failed=1
echo "on an old kernel: $((SECONDS - begun)) s"
exit "$failed"
