#!/usr/bin/env bash
# The book of docs/, built by mdBook, and every link in it: pages, anchors, pictures, and files of the repository. Asks no
# network whether an address elsewhere still answers.
#
#   scripts/book.sh [FOLDER]   where it goes; default target/book
#
# mdBook comes from crates.io into ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}, built once and without optimisation.
#
# Exit code 0: it is built and every link leads somewhere. 1: not. 77: mdBook cannot be had here; a line says so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
NOT_RUN=77
VERSION=0.5.4
tools=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-tools}
command -v python3 >/dev/null || { echo "the book was not built: python3 is not installed"; exit "$NOT_RUN"; }

# In its own target directory, so that an interrupted installation goes on where it ended. It neither serves nor watches here.
export PATH=$tools/mdbook/bin:$PATH
[[ $(mdbook --version 2>/dev/null) == "mdbook v$VERSION" ]] || {
  CARGO_TARGET_DIR=$tools/mdbook-target CARGO_PROFILE_DEV_DEBUG=0 \
    cargo install mdbook --version "=$VERSION" --locked --debug --quiet --no-default-features --features search \
    --root "$tools/mdbook" --force
} || { echo "the book was not built: cargo cannot install mdbook $VERSION"; exit "$NOT_RUN"; }

place=$(realpath -m -- "${1:-target/book}")
mdbook build --dest-dir "$place" || exit 1
# What a page shows must be in it, and a link that leads nowhere be seen.
python3 scripts/book_links.py check "$place" || exit 1
