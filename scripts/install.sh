# shellcheck shell=bash
# Sourced by the scripts that install what they try: whether this machine can, by apt, and what it means where it did not.
# Installs nothing by itself.

# Root on Debian can install packages.
can_install() { [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; }

# Installs packages; what apt says is shown only when it fails.
apt_install() {
  local log code=0
  can_install || return 1
  log=$(mktemp)
  { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 install -y --no-install-recommends "$@" ||
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 install -y --no-install-recommends "$@"; }; } \
    >"$log" 2>&1 || { code=$?; tail -n 5 "$log"; }
  rm -f "$log"
  return "$code"
}

# In CI, on a machine that can install what is needed, what was not run is a failure.
must_run() { [[ ${CI:-} == true ]] && can_install; }
