#!/usr/bin/env bash
# Tries the recipes of editors/README.md as they stand there, and the package for Emacs, in the real editors.
#
#   BB_SERVER=target/release/breadboard-ls editors/tests/run.sh [announced] [emacs] [eglot] [lsp-mode] [helix] [helix-next] [kakoune]
#
# As root on Debian it installs what is missing: Emacs with Eglot and lsp-mode on the system, Helix and Kakoune (trixie's and sid's) and
# kakoune-lsp (built by cargo, minutes) into ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}. An editor that cannot be had
# is skipped. BB_SHOTS: a folder for the screens of those on a terminal, as text.
# The last line reads `N passed, N failed[, N skipped]`. Plugins have their own scripts: editors/nvim/tests/run.sh.
# Exit code 0: all passed. 1: one failed. 77: none failed, but one was skipped. Under CI=true an editor that this machine
# could have installed counts as failed instead.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../scripts/install.sh"
cache=${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}
limit=120 # seconds an editor may take, its installation not counted
passed=0 failed=0 skipped=0

: "${BB_SERVER:?set BB_SERVER to the breadboard-ls binary to be tested}"
BB_SERVER=$(realpath -- "$BB_SERVER")
[[ -x $BB_SERVER ]] || { echo "BB_SERVER is not a program: $BB_SERVER" >&2; exit 2; }
unset BREADBOARD_API_URL BREADBOARD_API_TOKEN BREADBOARD_MODEL_TOKEN
mkdir -p "$cache"

# The first fenced block of a language under a heading of editors/README.md.
recipe() {
  awk -v heading="## $1" -v fence="\`\`\`$2" '
    $0 == heading { here = 1; next }
    /^## / { here = 0 }
    here && !inside && $0 == fence { inside = 1; next }
    inside && $0 == "```" { exit }
    inside' "$here/../README.md"
}

prepare_emacs() {
  command -v emacs >/dev/null || apt_install emacs-nox
  command -v emacs >/dev/null || { echo "emacs is not installed"; return 1; }
  has_eglot || apt_install elpa-eglot
  has_eglot || { echo "this emacs has no eglot"; return 1; }
  [[ -n $(compgen -G '/usr/share/emacs/site-lisp/elpa/package-lint-*') ]] || apt_install elpa-package-lint
  [[ -n $(compgen -G '/usr/share/emacs/site-lisp/elpa/package-lint-*') ]] || { echo "this emacs has no package-lint"; return 1; }
}

has_eglot() {
  emacs -Q --batch --eval "(progn (dolist (d (file-expand-wildcards \"/usr/share/emacs/site-lisp/elpa/*\"))
    (add-to-list 'load-path d)) (require 'eglot))"
}

run_emacs() {
  local built=$home/package
  mkdir -p "$built"
  cp "$here/../emacs/breadboard.el" "$built"
  # Neither the compiler nor the checks of its documentation and of what makes a package have anything to say.
  emacs -Q --batch --eval "(progn (dolist (d (file-expand-wildcards \"/usr/share/emacs/site-lisp/elpa/*\")) (add-to-list 'load-path d))
    (setq byte-compile-error-on-warn t) (unless (byte-compile-file \"$built/breadboard.el\") (kill-emacs 1)))" || return 1
  [[ -z $(emacs -Q --batch --eval "(checkdoc-file \"$built/breadboard.el\")" 2>&1 | tee /dev/stderr) ]] || return 1
  BB_PACKAGE=$built emacs -Q --batch -l "$here/package_lint.el" || return 1
  BB_PACKAGE=$built timeout --kill-after=5 "$limit" emacs -Q --batch -l "$here/emacs.el" </dev/null
}

prepare_eglot() {
  prepare_emacs && prepare_terminal
}

run_eglot() {
  recipe "Emacs with Eglot" elisp >"$home/recipe.el"
  on_terminal emacs.py BB_CLIENT=eglot BB_RECIPE="$home/recipe.el"
}

prepare_lsp-mode() {
  prepare_emacs && prepare_terminal || return 1
  [[ -n $(compgen -G '/usr/share/emacs/site-lisp/elpa/lsp-mode-*') ]] || apt_install elpa-lsp-mode
  [[ -n $(compgen -G '/usr/share/emacs/site-lisp/elpa/lsp-mode-*') ]] || { echo "this emacs has no lsp-mode"; return 1; }
}

run_lsp-mode() {
  recipe "Emacs with lsp-mode" elisp >"$home/recipe.el"
  on_terminal emacs.py BB_CLIENT=lsp-mode BB_RECIPE="$home/recipe.el"
}

# What draws the screens of editors on a terminal.
prepare_terminal() {
  command -v python3 >/dev/null || { echo "python3 is not installed"; return 1; }
  if [[ ! -x $cache/helix-venv/bin/python ]]; then
    python3 -m venv "$cache/helix-venv" || { apt_install python3-venv && python3 -m venv "$cache/helix-venv"; } || return 1
  fi
  "$cache/helix-venv/bin/python" -c 'import pexpect, pyte' 2>/dev/null ||
    "$cache/helix-venv/bin/pip" install --quiet pexpect==4.9.0 pyte==0.8.2
}

# A Debian root of its own: a release, its folder, the packages.
prepare_root() {
  local release=$1 root=$cache/$2 packages=$3
  shift 3
  [[ -x $root/usr/lib64/ld-linux-x86-64.so.2 ]] && return
  [[ $(id -u) == 0 ]] || { echo "a Debian root can only be installed by root"; return 1; }
  command -v mmdebstrap >/dev/null || apt_install mmdebstrap
  rm -rf "$root.part"
  mmdebstrap --mode=root --variant=apt "$@" --include="$packages,ca-certificates" "$release" "$root.part" && mv "$root.part" "$root"
}

# A script beside this one, with some more variables.
on_terminal() {
  local script=$1
  shift
  env "$@" timeout --kill-after=5 "$limit" "$cache/helix-venv/bin/python" -B "$here/$script"
}

prepare_helix() {
  prepare_terminal && prepare_root trixie helix-root hx,kakoune
}

run_helix() {
  recipe Helix toml >"$home/recipe.toml"
  on_terminal helix.py BB_RECIPE="$home/recipe.toml" HELIX_ROOT="$cache/helix-root"
}

# What Debian has of the Helix that comes next: it shows questions. Its index is older than its date says.
prepare_helix-next() {
  prepare_terminal && prepare_root sid helix-sid hx --aptopt='Acquire::Check-Valid-Until "false"'
}

run_helix-next() {
  recipe Helix toml >"$home/recipe.toml"
  on_terminal helix.py BB_RECIPE="$home/recipe.toml" HELIX_ROOT="$cache/helix-sid" HELIX_ASKS=1
}

prepare_kakoune() {
  prepare_terminal && prepare_root trixie helix-root hx,kakoune || return 1
  [[ -x $cache/helix-root/usr/bin/kak ]] || { echo "the root of an older run has no kakoune; delete $cache/helix-root"; return 1; }
  [[ -x $cache/kak-lsp/bin/kak-lsp ]] || cargo install --quiet --locked --debug --root "$cache/kak-lsp" --target-dir "$cache/kak-lsp/target" \
    kak-lsp --version 22.0.0 || return 1
  rm -rf "$cache/kak-lsp/target"
}

run_kakoune() {
  recipe Kakoune kak >"$home/kakrc"
  ln -s "$cache/kak-lsp/bin/kak-lsp" "$home/bin/kak-lsp"
  on_terminal kakoune.py BB_RECIPE="$home/kakrc" KAKOUNE_ROOT="$cache/helix-root" XDG_RUNTIME_DIR="$home"
}

# The table of the page is that of the recordings.
prepare_announced() {
  command -v python3 >/dev/null || { echo "python3 is not installed"; return 1; }
}

run_announced() {
  python3 -B "$here/announced.py" --check
}

run_editor() {
  local editor=$1 begun=$SECONDS why
  echo "--- $editor"
  if ! "prepare_$editor" >"$cache/$editor.why" 2>&1; then
    why=$(tail -n 3 "$cache/$editor.why")
    if must_run; then
      echo "$editor: failed (CI must run it: $why)"
      failed=$((failed + 1))
    else
      echo "$editor: skipped ($why)"
      skipped=$((skipped + 1))
    fi
    return
  fi
  home=$(mktemp -d)
  mkdir "$home/bin"
  ln -s "$BB_SERVER" "$home/bin/breadboard-ls"
  # The recipes say `breadboard-ls`; its own HOME keeps the user's configuration and sessions out.
  if (export BB_HOME=$home HOME=$home PATH=$home/bin:$PATH XDG_STATE_HOME=$home/state; "run_$editor"); then
    echo "$editor: passed ($((SECONDS - begun)) s)"
    passed=$((passed + 1))
  else
    echo "$editor: failed ($((SECONDS - begun)) s)"
    failed=$((failed + 1))
  fi
  rm -rf "$home"
}

editors=("$@")
every=(announced emacs eglot lsp-mode helix helix-next kakoune)
((${#editors[@]})) || editors=("${every[@]}")
for editor in "${editors[@]}"; do
  case $editor in
    announced | emacs | eglot | lsp-mode | helix | helix-next | kakoune) run_editor "$editor" ;;
    *) echo "there is no recipe for '$editor'; there are ${every[*]}" >&2; exit 2 ;;
  esac
done

summary="$passed passed, $failed failed"
((skipped == 0)) || summary+=", $skipped skipped"
echo "$summary"
((failed == 0)) || exit 1
((skipped == 0)) || exit 77
