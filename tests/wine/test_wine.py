"""Programs in job objects, scripts of cmd.exe and the watch over the editor, on Windows as Wine has it.

`BREADBOARD_WINE` is the folder of the program (run.sh makes it).
"""

import os
import subprocess
import time
import unittest
from pathlib import Path

FOLDER = Path(os.environ["BREADBOARD_WINE"])
# For one answer: Wine starts slowly, and the machine does other work.
PATIENCE = 90


def windows_path(name: str) -> str:
    """`Z:` is the root of this machine."""
    return "Z:" + str(FOLDER / name).replace("/", "\\")


def script(name: str, text: str) -> str:
    (FOLDER / name).write_bytes(text.replace("\n", "\r\n").encode())
    return windows_path(name)


def wait_for(condition, what: str):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"{what} did not come"
        time.sleep(0.05)


def processes(word: str) -> list[int]:
    """Of this Wine, those whose command line has the word."""
    mark, found = f"WINEPREFIX={os.environ['WINEPREFIX']}\0".encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fits = word.encode() in (place / "cmdline").read_bytes() and mark in (place / "environ").read_bytes()
        except OSError:
            continue
        if fits:
            found.append(int(place.name))
    return found


class Wine(unittest.TestCase):
    def start(self, *words: str) -> subprocess.Popen:
        program = subprocess.Popen(
            ["wine", str(FOLDER / "breadboard-wine.exe"), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def said(self, *words: str) -> str:
        return self.start(*words).communicate(timeout=PATIENCE)[0]

    def tree(self) -> str:
        return script("tree.cmd", "@echo off\nping -n 600 127.0.0.1 > NUL\n")

    def test_a_script_of_npm_is_found_by_its_name_and_gets_its_arguments_as_they_are(self):
        shim = script("shim.cmd", "@echo off\necho %1 and %2\n")
        (FOLDER / "shim").write_text("#!/bin/sh\n")
        said = self.said("run", shim.removesuffix(".cmd"), "a b", "x & echo evil > evil.txt")
        self.assertIn('"a b" and "x & echo evil > evil.txt"\n', said)
        self.assertIn("code: Some(0)", said)
        self.assertFalse((FOLDER / "evil.txt").exists() or Path("evil.txt").exists())
        self.assertIn("was not found", self.said("run", windows_path("nothing")))

    def test_a_tree_ends_with_the_one_who_holds_it_however_that_is_killed(self):
        self.start("hold", self.tree())
        wait_for(lambda: processes("ping"), "the tree")
        (holder,) = [pid for pid in processes("breadboard-wine.exe\0hold")]
        os.kill(holder, 9)
        begun = time.monotonic()
        wait_for(lambda: not processes("ping") and not processes("cmd.exe"), "the end of the tree")
        self.assertLess(time.monotonic() - begun, 3)

    def test_a_tree_ends_when_it_is_ended_and_its_holder_lives_on(self):
        holder = self.start("end", self.tree())
        wait_for(lambda: processes("ping"), "the tree")
        holder.stdin.write("\n")
        holder.stdin.flush()
        self.assertTrue(holder.stdout.readline().startswith("runs "))
        self.assertEqual(holder.stdout.readline().strip(), "ended")
        self.assertEqual((processes("ping"), processes("cmd.exe")), ([], []))

    def test_the_end_of_the_editor_is_told_and_that_of_one_that_never_was(self):
        editor = self.start("hold", self.tree())
        number = editor.stdout.readline().split()[1]
        watch = self.start("watch", number)
        self.assertEqual(watch.stdout.readline().strip(), "watching")
        self.assertIsNone(watch.poll())
        (holder,) = [pid for pid in processes("breadboard-wine.exe\0hold")]
        os.kill(holder, 9)
        self.assertEqual(watch.stdout.readline().strip(), "gone")
        self.assertIn("gone", self.said("watch", "999996"))


if __name__ == "__main__":
    unittest.main()
