"""A whole turn in a real Helix on a terminal, with the recipe of editors/README.md and no plugin: typed, sent, one change accepted
and one rejected.

Needs BB_HOME (an empty directory), BB_RECIPE (the recipe, a languages.toml), HELIX_ROOT (a Debian root with the package `hx`) and
`breadboard-ls` on the PATH. With HELIX_ASKS it is a Helix that shows questions, which 25.01 does not.
"""

import os
import re
import shutil

from terminal import Terminal, rooted

LINES = [f"delay {n}" if n in (3, 25) else f"line {n}" for n in range(1, 31)]


def choose(helix, title):
    """Opens the code actions and picks one."""
    offered = r"BreadBoard: " + re.escape(title)
    helix.type(" a")
    helix.until(offered + r"|No code actions|No configured language server")
    while not re.search(offered, helix.text()):
        # The server starts, or the change before is on its way.
        helix.type("\x1b")
        helix.until(r"No code actions|No configured language server", gone=True)
        helix.type(" a")
        helix.until(offered + r"|No code actions|No configured language server")
    rows = [line for line in helix.text().splitlines() if "BreadBoard: " in line]
    place = next(at for at, row in enumerate(rows) if f"BreadBoard: {title}" in row)
    helix.type("\x1b[B" * place + "\r")


def main():
    home = os.environ["BB_HOME"]
    root = os.environ["HELIX_ROOT"]
    workspace = f"{home}/workspace"
    os.makedirs(f"{workspace}/.git")
    os.makedirs(f"{home}/.config/helix")
    shutil.copy(os.environ["BB_RECIPE"], f"{home}/.config/helix/languages.toml")
    with open(f"{workspace}/backoff.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(LINES) + "\n")

    program = next(p for p in (f"{root}/usr/libexec/helix/hx", f"{root}/usr/bin/hx") if os.access(p, os.X_OK))
    env = {"HELIX_RUNTIME": f"{root}/usr/lib/hx/runtime"}
    helix = Terminal(rooted(root, program, "notes.bb.md"), workspace, env)
    helix.until(r"notes\.bb\.md")
    helix.type("ireplace `delay` with `wait` in backoff.txt\x1b")
    helix.until(r"in backoff\.txt")
    choose(helix, "Send to the agent")
    helix.until(r"Asks:.* Write backoff\.txt")
    helix.until(r"\+wait 25")
    if os.environ.get("HELIX_ASKS"):
        # It lies on top, with the first answer chosen; whoever closes it finds the request among the code actions.
        helix.until(r"All of it is in the chat document")
        helix.keep("helix-question")
        helix.type("\x1b")
        helix.until(r"All of it is in the chat document", gone=True)
    helix.keep("helix-asked")

    # On the first change: it is rejected.
    helix.type("/-delay 3\r")
    choose(helix, "Reject change 1 of 2 in backoff.txt")
    helix.type("/-delay 25\r")
    helix.type(" a")
    helix.until(r"BreadBoard: Accept change 2 of 2")
    helix.keep("helix-actions")
    helix.type("\x1b")
    helix.until(r"BreadBoard: Accept change 2 of 2", gone=True)
    choose(helix, "Accept change 2 of 2 in backoff.txt")
    helix.until(r"Accept 1 of 2 changes")
    helix.until(r"## You")
    helix.keep("helix-done")
    helix.type(":write-all\r")
    helix.type(":open backoff.txt\r")
    helix.until(r"\bwait 25\b")
    helix.keep("helix-file")
    helix.type(":quit-all!\r")
    assert helix.ends() == 0
    with open(f"{workspace}/backoff.txt", encoding="utf-8") as file:
        held = file.read()
    wanted = "\n".join(LINES).replace("delay 25", "wait 25") + "\n"
    assert held == wanted, f"the file holds something else than what was accepted:\n{held}"
    print("typed, sent, one change accepted and one rejected")


main()
