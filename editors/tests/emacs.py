"""A whole turn in a real Emacs on a terminal, with Eglot or lsp-mode, the recipe of editors/README.md and no plugin: typed, sent, one
change accepted and one rejected.

Needs BB_HOME (an empty directory), BB_RECIPE (the recipe), BB_CLIENT (`eglot` or `lsp-mode`), `emacs` and `breadboard-ls` on the PATH.
"""

import os
import re

from terminal import Terminal

LINES = [f"delay {n}" if n in (3, 25) else f"line {n}" for n in range(1, 31)]
CLIENT = os.environ["BB_CLIENT"]
# What each says when it is there, how it is asked for code actions, what it then says, and what when there are none.
READY, ACTIONS, PICK, NONE = {
    "eglot": (r"\(Chat.*eglot", "eglot-code-actions", r"Pick an action", r"No code actions here"),
    "lsp-mode": (r"breadboard:\d+ initialized successfully", "lsp-execute-code-action", r"Select code action", r"No code actions"),
}[CLIENT]
# Eglot of Debian lies beside Emacs 28; later ones have it built in.
PRELUDE = """(dolist (folder (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa/*")) (add-to-list 'load-path folder))
(dolist (file (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa/*/*-autoloads.el")) (load file t t))
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil lsp-auto-guess-root t lsp-enable-snippet nil lsp-auto-execute-action nil)
"""


def command(emacs, name):
    emacs.type("\x1bx")
    emacs.until(r"(?m)^M-x")
    emacs.type(name + "\r")


def act(emacs, title):
    """Picks a code action at the cursor."""
    while True:
        command(emacs, ACTIONS)
        emacs.until(f"{PICK}|{NONE}")
        if re.search(PICK, emacs.text()):
            break
        # The change before is on its way.
        emacs.type("\x07")
        emacs.until(NONE, gone=True)
    emacs.type(f"BreadBoard: {title}")
    emacs.until(re.escape(title[-20:]))


def main():
    home = os.environ["BB_HOME"]
    workspace = f"{home}/workspace"
    os.makedirs(f"{workspace}/.git")
    with open(f"{workspace}/backoff.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(LINES) + "\n")
    with open(os.environ["BB_RECIPE"], encoding="utf-8") as file, open(f"{home}/init.el", "w", encoding="utf-8") as init:
        init.write(PRELUDE + file.read())

    emacs = Terminal(["emacs", "-nw", "-Q", "-l", f"{home}/init.el", "notes.bb.md"], workspace, {})
    emacs.until(READY)
    emacs.type("replace `delay` with `wait` in backoff.txt")
    act(emacs, "Send to the agent")
    emacs.type("\r")
    emacs.until(r"Asks:.* Write backoff\.txt")
    # Eglot asks in the minibuffer; whoever leaves that open question finds it among the code actions.
    emacs.until(r"All of it is in the chat document")
    emacs.keep(f"{CLIENT}-question")
    emacs.type("\x07")
    emacs.until(r"All of it is in the chat document", gone=True)
    emacs.type("\x1b<\x13-delay 3\r")
    act(emacs, "Reject change 1 of 2 in backoff.txt")
    emacs.keep(f"{CLIENT}-reject")
    emacs.type("\r")
    emacs.type("\x1b<\x13-delay 25\r")
    act(emacs, "Accept change 2 of 2 in backoff.txt")
    emacs.type("\r")
    if CLIENT == "eglot":
        # The file is not visited: Eglot asks before it edits one.
        emacs.until(r"Proceed\?")
        emacs.keep(f"{CLIENT}-proceed")
        emacs.type("y")
    emacs.until(r"Accept 1 of 2 changes")
    emacs.keep(f"{CLIENT}-done")
    emacs.type("\x18\x06\x01\x0bbackoff.txt\r")
    emacs.until(r"\bwait 25\b")
    emacs.keep(f"{CLIENT}-file")
    emacs.type("\x18\x13")
    # Two dashes for two stars: it is saved. What else is said in the last line comes and goes.
    emacs.until(r"--+F1 +backoff\.txt|:----.*backoff\.txt")
    command(emacs, "kill-emacs")
    if not emacs.ended():
        emacs.type("yes\r")
    assert emacs.ends() == 0
    with open(f"{workspace}/backoff.txt", encoding="utf-8") as file:
        held = file.read()
    wanted = "\n".join(LINES).replace("delay 25", "wait 25") + "\n"
    assert held == wanted, f"the file holds something else than what was accepted:\n{held}"
    print("typed, sent, one change accepted and one rejected")


main()
