"""The Helix recipe of editors/README.md, typed as it stands there into a real Helix on a terminal.

Needs BB_HOME (an empty directory), BB_RECIPE (the recipe), HELIX_ROOT (a Debian root with the package `hx`) and
`breadboard-ls` on the PATH. Waits for what the screen shows, never for a time.
"""

import glob
import os
import re
import sys
import time

import pexpect
import pyte

PATIENCE = 30  # seconds that Helix may owe us anything; test machines are busy
ROWS, COLUMNS = 40, 120


class Screen(pyte.Screen):
    """Helix asks what the terminal can do in ways that pyte does not know; silence is an answer that it accepts."""

    def report_device_status(self, *_args, **_kwargs):
        pass

    def report_device_attributes(self, *_args, **_kwargs):
        pass


class Helix:
    def __init__(self, root, folder, file):
        programs = [f"{root}/usr/libexec/helix/hx", f"{root}/usr/bin/hx"]
        program = next(path for path in programs if os.access(path, os.X_OK))
        loader = glob.glob(f"{root}/usr/lib*/ld-linux-*.so.*")[0]
        libraries = glob.glob(f"{root}/usr/lib/*-linux-gnu")[0]
        env = dict(os.environ, TERM="xterm-256color", HELIX_RUNTIME=f"{root}/usr/lib/hx/runtime")
        self.screen = Screen(COLUMNS, ROWS)
        self.stream = pyte.Stream(self.screen)
        self.child = pexpect.spawn(
            loader,
            ["--library-path", libraries, program, file],
            cwd=folder,
            env=env,
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            timeout=1,
        )

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text()):
            if time.monotonic() > end:
                sys.exit(f"waited {PATIENCE} s for {pattern!r}; the screen shows:\n{self.text()}")
            try:
                self.stream.feed(self.child.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                pass
            except pexpect.EOF:
                sys.exit(f"Helix ended before {pattern!r}; the screen showed:\n{self.text()}")

    def type(self, keys):
        self.child.send(keys)

    def ends(self):
        self.child.expect(pexpect.EOF, timeout=PATIENCE)
        self.child.close()
        return self.child.exitstatus


def main():
    home = os.environ["BB_HOME"]
    workspace = f"{home}/workspace"
    os.makedirs(f"{workspace}/.git")
    with open(f"{workspace}/backoff.py", "w", encoding="utf-8") as file:
        file.write("def retry_delay(attempt):\n    return 100 * attempt\n")
    with open(os.environ["BB_RECIPE"], encoding="utf-8") as file:
        commands = [line.strip() for line in file if line.strip()]
    assert len(commands) == 1 and commands[0].startswith(":insert-output breadboard-ls ask"), commands

    helix = Helix(os.environ["HELIX_ROOT"], workspace, "backoff.py")
    helix.until(r"return 100 \* attempt")
    helix.type(":new\r")
    helix.until(r"\[scratch\]")
    helix.type(commands[0] + "\r")
    helix.until(r"\[scratch\] \[\+\]")
    # The cursor stands behind what was inserted; no line may be so long that the window has scrolled away from it.
    helix.until(r"(?m)^ *\d+ +No model is configured, so this answer is only what searching")
    helix.until(r"(?m)^ *\d+ +1\. `backoff\.py:1`")
    helix.until(r"(?m)^ *\d+ +To get answers from a model")
    helix.type(":quit-all!\r")
    assert helix.ends() == 0
    print("asked and answered")


main()
