"""An editor on a terminal of ours: keys in, what the screen shows out. Waits for what the screen shows, never for a time."""

import glob
import os
import re
import sys
import time

import pexpect
import pyte

PATIENCE = 30  # seconds that an editor may owe us anything; test machines are busy
ROWS, COLUMNS = 44, 110


class Screen(pyte.Screen):
    """Editors ask what the terminal can do in ways that pyte does not know; silence is an answer that they accept."""

    def report_device_status(self, *_args, **_kwargs):
        pass

    def report_device_attributes(self, *_args, **_kwargs):
        pass


class Terminal:
    def __init__(self, argv, folder, env):
        self.screen = Screen(COLUMNS, ROWS)
        self.stream = pyte.Stream(self.screen)
        self.child = pexpect.spawn(
            argv[0],
            argv[1:],
            cwd=folder,
            env=dict(os.environ, TERM="xterm-256color", **env),
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            codec_errors="replace",
            timeout=1,
        )

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def soon(self, pattern):
        """Whether the screen shows something within two seconds."""
        end = time.monotonic() + 2
        while time.monotonic() < end and not re.search(pattern, self.text()):
            try:
                self.stream.feed(self.child.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                pass
        return bool(re.search(pattern, self.text()))

    def until(self, pattern, gone=False):
        end = time.monotonic() + PATIENCE
        while bool(re.search(pattern, self.text())) == gone:
            if time.monotonic() > end:
                sys.exit(f"waited {PATIENCE} s for {pattern!r}; the screen shows:\n{self.text()}")
            try:
                self.stream.feed(self.child.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                pass
            except pexpect.EOF:
                sys.exit(f"the editor ended before {pattern!r}; the screen showed:\n{self.text()}")

    def type(self, keys):
        self.child.send(keys)

    def keep(self, name):
        """The screen as text, for a page that shows it; only where BB_SHOTS names a folder."""
        if folder := os.environ.get("BB_SHOTS"):
            with open(f"{folder}/{name}.txt", "w", encoding="utf-8") as file:
                file.write(self.text().rstrip() + "\n")

    def ended(self):
        """Whether it ends by itself, in a moment; some ask first."""
        try:
            self.child.expect(pexpect.EOF, timeout=2)
        except pexpect.TIMEOUT:
            return False
        return True

    def ends(self):
        self.child.expect(pexpect.EOF, timeout=PATIENCE)
        self.child.close()
        return self.child.exitstatus


def rooted(root, program, *arguments):
    """A program of a Debian root, run beside the system's own libraries."""
    loader = glob.glob(f"{root}/usr/lib*/ld-linux-*.so.*")[0]
    libraries = glob.glob(f"{root}/usr/lib/*-linux-gnu")[0]
    return [loader, "--library-path", libraries, program, *arguments]
