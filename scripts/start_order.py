#!/usr/bin/env python3
"""Writes link/start.ld: which functions run between the start of the server and the answer to `bb/init`.

  cargo rustc --locked --profile dist --bin breadboard-ls -- -C strip=none
  scripts/start_order.py target/dist/breadboard-ls
  scripts/start_order.py --sizes target/dist/breadboard-ls     # what lies at the front of a program linked with it

Needs valgrind, which counts what is called, and a program with its symbols. A name that is gone is passed over, and a new function lies
where it did, so the list is made anew when the figure of idle memory says so: after another compiler or Cargo.lock, which change hashes.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "link" / "start.ld"
HEAD = """\
/* Written by scripts/start_order.py. What runs at every start lies together: build.rs says why. */
SECTIONS
{
  .text.start : {
"""
TAIL = """\
  }
}
INSERT BEFORE .text;
"""
# Until nothing runs any more, under valgrind, in seconds.
SETTLES = 6
# What Linux maps around a page of code that is touched, in bytes.
AROUND = 64 << 10


def greet(program: Path, counted: Path) -> None:
    """Starts the server as an editor does, and ends it once it has answered."""
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory() as root:
        server = subprocess.Popen(
            ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={counted}", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

        def send(**message: object) -> None:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            server.stdin.flush()

        def answered(wanted: int) -> None:
            while True:
                head = server.stdout.readline()
                if not head:
                    sys.exit("scripts/start_order.py: the server ended before it answered")
                length = int(head.split(b":")[1])
                server.stdout.readline()
                message = json.loads(server.stdout.read(length))
                if message.get("id") == wanted and "method" not in message:
                    return

        uri = f"file://{root}"
        options = {"stateDir": state, "workspaceTrusted": True}
        folders = [{"uri": uri, "name": "start"}]
        params = {"processId": None, "rootUri": uri, "capabilities": {}, "workspaceFolders": folders, "initializationOptions": options}
        send(id=1, method="initialize", params=params)
        answered(1)
        send(method="initialized", params={})
        send(id=2, method="bb/init", params={})
        answered(2)
        # What the server does of its own accord behind that answer belongs to a start.
        time.sleep(SETTLES)
        send(id=3, method="shutdown")
        answered(3)
        send(method="exit")
        server.stdin.close()
        server.wait(timeout=60)


def called(counted: Path, program: Path) -> set[str]:
    """The symbols of the program itself in what callgrind wrote; each name is spelled out once, at its number."""
    objects, functions, found = {}, {}, set()
    inside = False
    for line in counted.read_text().splitlines():
        if match := re.match(r"c?ob=\((\d+)\)(?: (.*))?$", line):
            objects.setdefault(match[1], match[2])
            if line.startswith("ob="):
                # What an earlier list put into a section of its own valgrind calls by name, and says not whose it is.
                inside = Path(objects[match[1]]).name in (program.name, "???")
        elif match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            functions.setdefault(match[2], match[3])
            if inside and not match[1]:
                found.add(functions[match[2]])
    return found


def pattern(symbol: str) -> str:
    """The section of a function, without what changes from one compiler to the next."""
    symbol = symbol.split("'")[0]
    if match := re.match(r"(_ZN.+17h)[0-9a-f]{16}E", symbol):
        return f".text.{match[1]}*"
    if symbol.startswith("_R"):
        return ".text." + re.sub(r"\.llvm\.\d+$", "", re.sub(r"Cs[0-9A-Za-z]+_(?=\d)", "Cs*_", symbol)) + "*"
    return f".text.{symbol}"


def groups(program: Path, symbols: set[str]) -> tuple[set[str], set[str]]:
    """The patterns of what was called; and those that stand for much besides. Of these the first list has what was called by its whole
    name, which holds for one compiler and one Cargo.lock; the second keeps some of the gain for any other. A pattern that brings more
    than lies around what it is for is left out."""
    whole, run, named = Counter(), Counter(), defaultdict(list)
    listed = subprocess.run(["nm", "-S", "--defined-only", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in listed.splitlines():
        match line.split():
            case [_, size, kind, symbol] if kind in "tTwW":
                name = pattern(symbol)
                whole[name] += int(size, 16)
                if symbol in symbols:
                    run[name] += int(size, 16)
                    named[name].append(re.sub(r"\.llvm\.\d+$", "*", symbol))
    near, far = set(), set()
    for name, exact in named.items():
        if run[name] * 2 >= whole[name]:
            near.add(name)
            continue
        near.update(f".text.{symbol}" for symbol in exact)
        if whole[name] <= AROUND * len(exact):
            far.add(name)
    return near, far


def sizes(program: Path) -> None:
    listed = subprocess.run(["readelf", "-SW", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    for name, size in re.findall(r"\] (\.text\S*)\s+PROGBITS\s+\S+ \S+ (\S+)", listed):
        print(f"{name:<14} {int(size, 16):>12,} bytes")


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("programs", nargs="+", type=Path, help="programs with their symbols, one for each target that is shipped")
    reader.add_argument("--sizes", action="store_true", help="say how large the sections of code are, and write nothing")
    options = reader.parse_args()
    near, far = set(), set()
    for program in map(Path.resolve, options.programs):
        if options.sizes:
            sizes(program)
            continue
        with tempfile.TemporaryDirectory() as place:
            greet(program, Path(place) / "counted")
            found = groups(program, called(Path(place) / "counted", program))
        if len(found[0]) < 500:
            sys.exit(f"scripts/start_order.py: {len(found[0])} functions have names; link {program.name} with `-C strip=none`")
        near.update(found[0])
        far.update(found[1])
    if not options.sizes:
        SCRIPT.parent.mkdir(exist_ok=True)
        # What is marked as cold lies in a section of another name, and some of it runs at every start.
        near.update([name.replace(".text.", ".text.unlikely.", 1) for name in near if name.startswith((".text._ZN", ".text._R"))])
        lists = ("    *(\n" + "".join(f"      {name}\n" for name in sorted(names)) + "    )\n" for names in (near, far))
        SCRIPT.write_text(HEAD + "".join(lists) + TAIL)
        print(f"{SCRIPT.relative_to(ROOT)}: {len(near):,} functions, and {len(far):,} names without their hash")


main()
