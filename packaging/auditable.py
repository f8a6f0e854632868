#!/usr/bin/env python3
"""Puts into a Linux program which packages are linked into it, where scanners of vulnerabilities look for it (`cargo audit bin`, syft).

  packaging/auditable.py TRIPLE PROGRAM

The section `.dep-v0` of `cargo auditable`, which holds compressed JSON and is not loaded when the program runs. That tool is a wrapper of
the compiler, as the one for other C libraries is, and one would have to wrap the other; the result is the same.
"""

import json
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import crates

ROOT = Path(__file__).resolve().parent.parent
SECTION = ".dep-v0"


def objcopy(*words: object) -> None:
    """Runs the one that comes with the compiler, which reads programs of every processor; where it does not, this machine's."""
    said = subprocess.run(["rustc", "--print", "sysroot"], check=True, stdout=subprocess.PIPE, text=True).stdout
    sysroot = Path(said.strip())
    program = next(sysroot.glob("lib/rustlib/*/bin/rust-objcopy"), "objcopy")
    # Its library lies where the compiler's does.
    own = {"LD_LIBRARY_PATH": str(sysroot / "lib")} if program != "objcopy" else {}
    subprocess.run([program, *words], check=True, env={**os.environ, **own})


def listed(packages: list[dict]) -> bytes:
    """The packages as the section has them, by name and version."""
    entries = []
    for package in packages:
        source = package["source"] or ""
        kind = "crates.io" if "crates.io" in source else "registry" if source else "local"
        entries.append({"name": package["name"], "version": package["version"], "source": kind})
    own = next(entry for entry in entries if entry["name"] == "breadboard-ls")
    own["root"] = True
    own["dependencies"] = [at for at, entry in enumerate(entries) if entry is not own]
    return zlib.compress(json.dumps({"packages": entries}, separators=(",", ":")).encode(), 9)


def put(data: bytes, program: Path) -> None:
    """Adds the section; one that is there already is replaced."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        objcopy("--remove-section", SECTION, "--add-section", f"{SECTION}={file.name}", program)


def read(program: Path) -> list[dict]:
    """What a program says is linked into it."""
    with tempfile.TemporaryDirectory() as folder:
        section = Path(folder) / "section"
        objcopy("--dump-section", f"{SECTION}={section}", program, Path(folder) / "copy")
        return json.loads(zlib.decompress(section.read_bytes()))["packages"]


if __name__ == "__main__":
    triple, program = sys.argv[1:]
    put(listed(crates.linked(ROOT, triple, with_own=True)), Path(program))
