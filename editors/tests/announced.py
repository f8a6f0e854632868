"""The table of editors/README.md, made from what each client announced at `initialize` (`announced/*.json`, kept by `record.py`).

    announced.py           prints it
    announced.py --check   fails where the page has another one
"""

import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- made by tests/announced.py -->", "<!-- end -->"


def at(capabilities, path):
    for key in path.split("."):
        capabilities = capabilities.get(key) if isinstance(capabilities, dict) else None
    return capabilities


def yes(value):
    return "yes" if value else "no"


COLUMNS = [
    ("edits", lambda c: yes(at(c, "workspace.applyEdit"))),
    ("for a version", lambda c: yes(at(c, "workspace.workspaceEdit.documentChanges"))),
    ("shows a document", lambda c: yes(at(c, "window.showDocument.support"))),
    ("questions", lambda c: yes(at(c, "window.showMessage"))),
    ("code actions", lambda c: "as such" if at(c, "textDocument.codeAction.codeActionLiteralSupport") else "commands"),
    ("lenses", lambda c: yes(isinstance(at(c, "textDocument.codeLens"), dict) or at(c, "workspace.codeLens"))),
    ("hints", lambda c: yes(isinstance(at(c, "textDocument.inlayHint"), dict))),
    ("progress", lambda c: yes(at(c, "window.workDoneProgress"))),
    ("counts in", lambda c: (at(c, "general.positionEncodings") or ["utf-16"])[0]),
]


def table():
    lines = ["| client | " + " | ".join(name for name, _ in COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for path in sorted(glob.glob(f"{HERE}/announced/*.json")):
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        cells = [read(told["capabilities"]) for _, read in COLUMNS]
        lines.append(f"| {told['client']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    if "--check" not in sys.argv:
        return print(table())
    with open(f"{HERE}/../README.md", encoding="utf-8") as file:
        page = file.read()
    stands = page.partition(BEGIN)[2].partition(END)[0].strip()
    if stands != table():
        sys.exit(f"editors/README.md has another table than what the clients announced; it is:\n{table()}")


main()
