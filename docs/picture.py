#!/usr/bin/env python3
"""Draws docs/ask.svg from the terminal session in README.md, which is the fenced block behind `<!-- ask.svg -->`.

    python3 docs/picture.py                                 draws what stands there
    python3 docs/picture.py target/release/breadboard-ls    asks that program anew first, and puts its answer there

It asks in `src`, since the README itself would be found first: nothing has the words of the question as it has.
"""

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
SIZE, LEADING, PAD, BAR = 13, 19, 18, 30
ADVANCE = 0.602 * SIZE  # of a character in the usual monospace faces; textLength makes others fit
INK, DIM, GREEN, BLUE, GROUND = "#d8dee9", "#8a93a3", "#a3be8c", "#88c0d0", "#1e2430"


def colour(line: str, in_code: bool) -> str:
    if line.startswith("$ "):
        return GREEN
    if line.startswith("```") or line.startswith("· ") or line == "…":
        return DIM
    if in_code:
        return DIM if re.match(r"\s*//", line) else BLUE
    return INK


def draw(lines: list[str]) -> str:
    width = round(max(map(len, lines)) * ADVANCE + 2 * PAD)
    height = BAR + len(lines) * LEADING + PAD
    dots = "".join(f'<circle cx="{PAD + 16 * n}" cy="16" r="5" fill="#4c566a"/>' for n in range(3))
    rows, in_code = [], False
    for number, line in enumerate(lines):
        fill = colour(line, in_code)
        in_code ^= line.startswith("```")
        text = line.lstrip(" ")
        if text:
            x = PAD + (len(line) - len(text)) * ADVANCE
            rows.append(
                f'<text x="{x:.1f}" y="{BAR + SIZE + number * LEADING}" fill="{fill}" '
                f'textLength="{len(text) * ADVANCE:.1f}" lengthAdjust="spacingAndGlyphs">{escape(text, quote=False)}</text>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{SIZE}" '
        f'role="img" aria-label="breadboard-ls ask in a terminal">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>{dots}\n' + "\n".join(rows) + "\n</svg>\n"
    )


QUESTION = "Where is the frame guard that refuses oversized frames?"


def answered(program: str) -> str:
    """What the program says, shortened: the first place whole, of the others where they are."""
    with tempfile.TemporaryDirectory() as state:
        command = [program, "ask", "--workspace", "src", "--state-dir", state, QUESTION]
        # What is told on the way stands where a terminal has it.
        said = subprocess.check_output(
            command, cwd=HERE.parent, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, text=True
        )
    # Counts change with every file, and the rest of an excerpt says nothing more.
    said = re.sub(r"(places of )\d+( files)", r"\1…\2", said)
    first, *others = re.split(r"\n(?=\d\. `)", said[: said.rindex("\nTo get answers")].rstrip("\n"))
    shown, *places = others
    lines = [f'$ breadboard-ls ask --workspace src "{QUESTION}"', first, shown]
    for place in places:
        lines += [place.split("\n", 1)[0], "…"]
    return "\n".join(lines)


path = HERE.parent / "README.md"
readme = path.read_text(encoding="utf-8")
session = re.search(r"<!-- ask\.svg -->.*?^````text\n(.*?)\n````$", readme, re.DOTALL | re.MULTILINE)
if session is None:
    raise SystemExit("README.md has no ````text block behind <!-- ask.svg -->")
text = session[1]
if len(sys.argv) > 1:
    text = answered(sys.argv[1])
    path.write_text(readme[: session.start(1)] + text + readme[session.end(1) :], encoding="utf-8")
(HERE / "ask.svg").write_text(draw(text.split("\n")), encoding="utf-8")
