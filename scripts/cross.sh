# shellcheck shell=bash
# Sourced by the scripts that compile for another system: its standard library, and a C compiler that links for it.
# Wants scripts/install.sh sourced first. Builds nothing.

NOT_RUN=77
SKIPPED=3
ZIG=0.17.1
ZIGBUILD=0.23.4
TOOLS=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}

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

# Zig has a C compiler and a C library for macOS and for every Linux; `cargo-zigbuild` has cargo use it. Both are from PyPI.
zig() {
  local made=$TOOLS/zig-$ZIG-$ZIGBUILD
  [[ -x $made/bin/cargo-zigbuild ]] || {
    python3 -m venv "$made" && "$made/bin/pip" install --quiet "ziglang==$ZIG" "cargo-zigbuild==$ZIGBUILD"
  } >/dev/null || { rm -rf "$made"; echo "not run: zig cannot be installed (python3 with venv, and PyPI)"; return "$NOT_RUN"; }
  export PATH=$made/bin:$PATH
}
