#!/usr/bin/env bash
# The Zed extension: its tests, the component that Zed loads, and its manifest.
#
# Needs the standard library for wasm32-wasip2, which rustup installs; where it cannot, only the tests run, and a line says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
TARGET=wasm32-wasip2
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

cargo test --locked --quiet
[[ -d $(rustc --print sysroot)/lib/rustlib/$TARGET/lib ]] ||
  { command -v rustup >/dev/null && rustup --quiet target add "$TARGET"; } ||
  { echo "the component for Zed was not built: rustup cannot fetch a standard library for $TARGET"; exit 0; }
cargo build --locked --quiet --release --target "$TARGET"
python3 -B - "$CARGO_TARGET_DIR/$TARGET/release/breadboard_zed.wasm" <<'CHECK'
import pathlib, sys, tomllib

component = pathlib.Path(sys.argv[1]).read_bytes()
# A component, not a module: layer 1 (Component Model, Binary.md); Zed reads for which of its versions from a section.
assert component[:8] == b"\0asm\x0d\0\1\0", component[:8]
assert b"zed:api-version" in component, "the section zed:api-version is missing"
manifest = tomllib.loads(pathlib.Path("extension.toml").read_text())
package = tomllib.loads(pathlib.Path("Cargo.toml").read_text())["package"]
assert manifest["schema_version"] == 1
assert manifest["version"] == package["version"], "extension.toml and Cargo.toml name different versions"
for key in ("id", "name", "authors", "description", "repository"):
    assert manifest.get(key), f"extension.toml has no {key}"
(server,) = manifest["language_servers"].items()
assert server[0] == server[1]["name"] == "breadboard-ls" and len(server[1]["languages"]) == len(set(server[1]["languages"])) > 0
print(f"the component for Zed has {len(component):,} bytes; its manifest is whole")
CHECK
