#!/usr/bin/env python3
"""Says what the program weighs, and fails where that is more than it may be.

  scripts/size.py target/dist/breadboard-ls
  cargo rustc --locked --profile dist --bin breadboard-ls -- -C strip=none
  scripts/size.py --crates target/dist/breadboard-ls      # and which code is whose, of a program with its symbols; fails for nothing

Generic code of the standard library that was made for the types of another crate counts as the standard library's: names do not say more.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "packaging"))
sys.dont_write_bytecode = True

from targets import BUDGET  # noqa: E402

# What the parts of a program are for, by the start of their names; the rest is its head and what it needs of the system.
PARTS = {
    ".text": "code",
    ".rodata": "constants",
    ".eh_frame": "unwinding",
    ".gcc_except_table": "unwinding",
    ".data.rel.ro": "tables with addresses",
    ".got": "tables with addresses",
}
# Crates that are one in the table.
STANDARD = {"core", "alloc", "std"}
LISTED = 40


def mebibytes(size: int) -> str:
    return f"{size / (1 << 20):6.2f} MiB"


def parts(program: Path) -> Counter:
    listed = subprocess.run(["readelf", "-SW", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = Counter()
    for name, size in re.findall(r"\] (\.\S+)\s+(?!NOBITS)\S+\s+\S+ \S+ (\S+)", listed):
        start = next((start for start in PARTS if name.startswith(start)), None)
        if start:
            found[PARTS[start]] += int(size, 16)
    return found


def crate(name: str) -> str:
    """Whose function it is: the first crate in its name; what has none was written in C."""
    match = re.search(r"(?<![\w:])([a-z_]\w*)(?:\[[0-9a-f]+\])?::", name)
    if not match:
        return "C"
    return "the standard library" if match[1] in STANDARD else match[1]


def crates(program: Path) -> Counter:
    listed = subprocess.run(["nm", "-S", "--defined-only", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    symbols = [line.split() for line in listed.splitlines()]
    code = [(int(words[1], 16), words[3]) for words in symbols if len(words) == 4 and words[2] in "tTwW"]
    names = "\n".join(name for _, name in code)
    plain = subprocess.run(["c++filt"], check=True, input=names, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    found = Counter()
    for (size, _), name in zip(code, plain, strict=True):
        found[crate(name)] += size
    return found


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("program", type=Path)
    reader.add_argument("--crates", action="store_true", help="say which code is whose; the program needs its symbols")
    options = reader.parse_args()
    size = options.program.stat().st_size
    print(f"{mebibytes(size)}  {options.program.name}, which may have {mebibytes(BUDGET).strip()}")
    for what, bytes_of_it in parts(options.program).most_common():
        print(f"{mebibytes(bytes_of_it)}  {what}")
    if options.crates:
        for name, code in crates(options.program).most_common(LISTED):
            print(f"{mebibytes(code)}  code of {name}")
    elif size > BUDGET:
        sys.exit(f"scripts/size.py: {size - BUDGET:,} bytes too many; `--crates` says whose they are, docs/decisions/0051-weight.md what was tried")


main()
