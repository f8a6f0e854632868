# shellcheck shell=bash
# Sourced by the scripts that test in Neovim, behind install.sh: finds one that is new enough for the plugin, or installs it.

# Whether this program is Neovim 0.10 or newer.
nvim_is_new_enough() {
  local version major minor
  version=$("$1" --version 2>/dev/null | sed -n '1s/^NVIM v\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  [[ -n $version ]] || return 1
  read -r major minor <<<"$version"
  ((major > 0 || minor >= 10))
}

# Installs Debian trixie's Neovim beside the system, under a directory of its own. It runs through its own loader, so an older
# libc does not matter.
install_nvim_root() {
  local root=$1 log part=$1.part.$$
  can_install || {
    echo "Neovim 0.10 or newer is not installed, and only root on Debian can install it here; give its path" >&2
    return 1
  }
  log=$(mktemp)
  mkdir -p "$(dirname "$root")"
  {
    { command -v mmdebstrap >/dev/null || apt_install mmdebstrap; } &&
      mmdebstrap --mode=root --variant=apt --include=neovim,ca-certificates trixie "$part"
  } >"$log" 2>&1 || {
    echo "Neovim could not be installed:" >&2
    tail -n 5 "$log" >&2
    rm -rf "$part" "$log"
    return 1
  }
  rm -f "$log"
  mv "$part" "$root" 2>/dev/null || rm -rf "$part" # another run may have been faster
}

# Prints a program that is Neovim 0.10 or newer: that of the PATH, else Debian's in this directory, which is installed first.
new_nvim() {
  local root=$1 loader libraries
  if nvim_is_new_enough nvim; then
    command -v nvim
    return
  fi
  [[ -x $root/usr/bin/nvim ]] || install_nvim_root "$root" || return 1
  if [[ ! -x $root/nvim ]]; then
    loader=("$root"/usr/lib*/ld-linux-*.so.*) libraries=("$root"/usr/lib/*-linux-gnu)
    printf '#!/bin/sh\nVIMRUNTIME=%q exec %q --library-path %q %q "$@"\n' "$root/usr/share/nvim/runtime" "${loader[0]}" \
      "${libraries[0]}" "$root/usr/bin/nvim" >"$root/nvim.$$"
    chmod +x "$root/nvim.$$"
    mv "$root/nvim.$$" "$root/nvim"
  fi
  echo "$root/nvim"
}
