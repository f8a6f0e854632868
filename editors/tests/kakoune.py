"""A whole turn in a real Kakoune with kakoune-lsp on a terminal, with the recipe of editors/README.md and no plugin of ours: typed,
sent, one change accepted and one rejected.

Needs BB_HOME (an empty directory), BB_RECIPE (the recipe), KAKOUNE_ROOT (a Debian root with the package `kakoune`), `kak-lsp` and
`breadboard-ls` on the PATH.
"""

import os

from terminal import Terminal, rooted

LINES = [f"delay {n}" if n in (3, 25) else f"line {n}" for n in range(1, 31)]


def main():
    home = os.environ["BB_HOME"]
    root = os.environ["KAKOUNE_ROOT"]
    workspace = f"{home}/workspace"
    os.makedirs(f"{workspace}/.git")
    os.makedirs(f"{home}/.config/kak")
    with open(f"{workspace}/backoff.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(LINES) + "\n")
    # The loader is not `kak`: kakoune-lsp calls it by name to answer.
    kak = " ".join(rooted(root, f"{root}/usr/bin/kak"))
    with open(f"{home}/bin/kak", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {kak} "$@"\n')
    os.chmod(f"{home}/bin/kak", 0o755)
    with open(os.environ["BB_RECIPE"], encoding="utf-8") as file, open(f"{home}/.config/kak/kakrc", "w", encoding="utf-8") as kakrc:
        kakrc.write("set-option global startup_info_version 99999999\nset-option global ui_options terminal_assistant=none\n")
        kakrc.write(file.read())

    env = {"KAKOUNE_RUNTIME": f"{root}/usr/share/kak", "KAKOUNE_CONFIG_DIR": f"{home}/.config/kak"}
    kakoune = Terminal([f"{home}/bin/kak", "notes.bb.md"], workspace, env)
    kakoune.until(r"notes\.bb\.md")
    kakoune.type("ireplace `delay` with `wait` in backoff.txt\x1b")
    kakoune.until(r"in backoff\.txt")

    def act(title, seen):
        # Until the server is there, or the change before on its way, there is no such action.
        for _ in range(20):
            kakoune.type(f":lsp-code-action 'BreadBoard: {title}.*'\r")
            if kakoune.soon(seen):
                return
        kakoune.until(seen)

    act("Send to the agent", r"Asks:.* Write backoff\.txt")
    kakoune.until(r"\+wait 25")
    kakoune.keep("kakoune-asked")
    kakoune.type("gg/-delay 3\r")
    act("Reject change 1 of 2", r"Reject|sent|DIAG|delay")
    kakoune.type("gg/-delay 25\r")
    act("Accept change 2 of 2", r"Accept 1 of 2 changes")
    kakoune.keep("kakoune-done")
    kakoune.type(":edit backoff.txt\r")
    kakoune.until(r"\bwait 25\b")
    kakoune.type(":write-all\r")
    kakoune.keep("kakoune-file")
    kakoune.type(":kill!\r")
    kakoune.ends()
    with open(f"{workspace}/backoff.txt", encoding="utf-8") as file:
        held = file.read()
    wanted = "\n".join(LINES).replace("delay 25", "wait 25") + "\n"
    assert held == wanted, f"the file holds something else than what was accepted:\n{held}"
    print("typed, sent, one change accepted and one rejected")


main()
