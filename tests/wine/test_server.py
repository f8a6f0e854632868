"""The whole server on Windows, or on what Wine has of it: an answer, an edit, an agent and its tree, a kill and what is there afterwards."""

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from desk import PROGRAM, UNDER_WINE, WINE, Model, Place, Server, environment, processes, run, wait_for  # noqa: E402


class OnWindows(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.remove)

    def server(self, options: dict | None = None, **more) -> Server:
        server = Server(self.place, options, **more)
        self.addCleanup(server.kill)
        return server

    def model(self, *replies) -> Model:
        model = Model(*replies)
        self.addCleanup(model.stop)
        return model

    def assert_plain(self, text: str):
        """No path has the prefix that Windows gives to what it has resolved."""
        self.assertNotIn("\\\\?\\", text.replace("\\\\\\\\?\\\\", "\\\\?\\"))
        self.assertNotIn("//?/", text)
        self.assertNotIn("%3F/", text)

    def test_a_question_is_answered_with_the_place_in_the_workspace(self):
        self.place.write("src\\retry.py".replace("\\", "/"), b"def retry_delay(attempt):\r\n    return 2 ** attempt\r\n")
        done = run(self.place, "ask", "--state-dir", self.place.windows("state"), "where is the retry delay computed?")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("src/retry.py", done.stdout)
        self.assert_plain(done.stdout + done.stderr)

    def test_the_doctor_finds_the_installation_and_says_no_path_that_nobody_types(self):
        done = run(self.place, "doctor", "--state-dir", self.place.windows("state"))
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        self.assertIn(self.place.windows("state"), done.stdout)
        self.assert_plain(done.stdout + done.stderr)

    def test_an_edit_in_a_file_of_windows_is_shown_approved_and_written_byte_for_byte(self):
        before = "one\r\ntwo\r\n𝄞 three".encode()
        file = self.place.write("src/a.txt", before)
        edits = [{"old_text": "two", "new_text": "2"}]
        wish = ("propose_patch", {"file_path": "src/a.txt", "rationale": "digits are shorter", "edits": edits})
        server = self.server(self.model(wish, "done").options())
        session = server.session()
        server.prompt(session, "make it shorter")
        permission = server.permission(session)
        self.assertEqual(permission["title"], "Write src/a.txt")
        self.assertEqual(file.read_bytes(), before, "nothing is written before it is allowed")
        server.decide(session, permission, "allow_once")
        server.end_of_turn(session)
        self.assertEqual(file.read_bytes(), "one\r\n2\r\n𝄞 three".encode())
        self.assertEqual([one.name for one in file.parent.iterdir()], ["a.txt"], "nothing else is left behind")
        self.assert_plain(server.everything())
        self.assertEqual(server.shut_down(), 0)

    def test_a_buffer_is_found_however_its_drive_its_case_and_its_folder_are_spelled(self):
        self.place.write("Src/Größe.txt", b"on disk\n")
        folder = self.place.home[3:].replace("\\", "/")
        server = self.server()
        session = server.session()
        spellings = [
            self.place.uri("Src", "Gr%C3%B6%C3%9Fe.txt"),
            f"file:///C:/{folder}/ws/Src/Gr%C3%B6%C3%9Fe.txt",
            f"file:///c:/{folder.upper()}/WS/src/gr%C3%B6%C3%9Fe.TXT",
            f"file:///C%3a/{folder}/ws/./Src/Größe.txt",
        ]
        for number, uri in enumerate(spellings):
            document = {"uri": uri, "languageId": "plaintext", "version": 1, "text": f"unsaved {number}\n"}
            server.notify("textDocument/didOpen", {"textDocument": document})
            for path in ("Src/Größe.txt", "src/größe.TXT"):
                read = server.ask("bb/readFileSnippet", {"sessionId": session, "path": path})
                self.assertEqual((read["content"], read["source"]), (f"unsaved {number}\n", "buffer"), (uri, path))
            server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        self.assertEqual(server.shut_down(), 0)

    def test_killed_and_opened_again_nothing_is_lost_and_nothing_is_there_twice(self):
        options = self.model("the first answer", "the second answer", "the third answer").options()
        server = self.server(options)
        session = server.session()
        server.prompt(session, "one")
        server.end_of_turn(session)
        told = server.events(session)
        for word, kill in (("two", lambda one: one.process.kill()), ("three", terminate)):
            # Killed as soon as the turn's end was told, with no time to put anything away.
            server.prompt(session, word)
            server.end_of_turn(session)
            told = server.events(session)
            kill(server)
            server.process.wait(60)
            server = self.server(options)
            listed = [one["sessionId"] for one in server.ask("bb/listSessions", {})["sessions"]]
            self.assertEqual(listed, [session])
            again = server.events(session)
            self.assertEqual(again[: len(told)], told)
            numbers = [event["seq"] for event in again]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertEqual(server.shut_down(), 0)

    @unittest.skipUnless(UNDER_WINE, "on Windows itself a look at the file as often as can be would hold it")
    def test_killed_while_it_writes_a_file_that_is_as_it_was_or_as_it_was_to_be_and_no_event_is_torn(self):
        before = b"line\r\n" * 60_000 + b"two\r\n"
        after = before[:-5] + b"2\r\n"
        edits = [{"old_text": "two", "new_text": "2"}]
        wish = ("propose_patch", {"file_path": "src/a.txt", "rationale": "shorter", "edits": edits})
        file = self.place.write("src/a.txt", before)
        touched = lambda: len(list(file.parent.iterdir())) > 1 or file.read_bytes() != before  # noqa: E731
        for moment in ("the answer is sent", "the folder changes", "the file is changed"):
            file.write_bytes(before)
            options = self.model(wish, "done").options()
            server = self.server(options)
            session = server.session()
            server.prompt(session, "make it shorter")
            permission = server.permission(session)
            told = server.events(session)
            answer = {"requestId": permission["requestId"], "decision": "allow_once", "digest": permission["digest"]}
            server.request("bb/approvePermission", {"sessionId": session, **answer})
            # A look as often as can be: whatever the write is at then, it is killed there.
            until = time.monotonic() + 60
            while moment == "the folder changes" and not touched():
                self.assertLess(time.monotonic(), until, moment)
            while moment == "the file is changed" and file.read_bytes() == before:
                self.assertLess(time.monotonic(), until, moment)
            server.process.kill()
            server.process.wait(60)
            self.assertIn(file.read_bytes(), (before, after), moment)
            again = self.server(options)
            events = again.events(session)
            self.assertEqual(events[: len(told)], told, moment)
            self.assertEqual([event["seq"] for event in events], list(range(1, len(events) + 1)), moment)
            self.assertEqual(again.shut_down(), 0)

    @unittest.skipUnless(UNDER_WINE, "its console is a terminal of this system, which a test can type into")
    def test_ctrl_c_stops_the_turn_and_not_the_server_in_the_middle_of_it(self):
        import fcntl
        import pty
        import termios

        model = self.model("held")
        model.hold()
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        chosen = ["--model", "story", "--model-provider", "openai", "--model-url", model.url]
        asked = subprocess.Popen(
            [*WINE, PROGRAM, "ask", "--state-dir", self.place.windows("state"), *chosen, "hello"],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.place.workspace, env=environment(TERM="xterm"),
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.addCleanup(asked.kill)
        wait_for(lambda: model.asked, "the question")
        os.write(ours, b"\x03")
        said = b""
        # The terminal ends with the last one who has it.
        while b"stopping" not in said or asked.poll() is None:
            try:
                said += os.read(ours, 65_536)
            except OSError:
                break
        model.let_go()
        self.assertIn(b"stopping", said)
        self.assertNotIn(b"does not listen", said)
        self.assertEqual(asked.wait(60), 130, said)

    def agent(self, *steps: dict, command: str | None = None) -> dict:
        args = ["simulate", "acp", "--script", json.dumps(list(steps))]
        return {"workspaceTrusted": True, "agents": {"sim": {"command": command or windows_program(), "args": args}}}

    def test_a_script_of_npm_is_found_by_its_name_and_its_arguments_arrive_as_they_are(self):
        # As npm makes them: a script of cmd.exe beside one of a shell, which Windows cannot run.
        (self.place.outer / "sim.cmd").write_bytes(f'@ECHO off\r\n"{windows_program()}" %*\r\n'.encode())
        (self.place.outer / "sim").write_text("#!/bin/sh\n")
        words = 'a "quoted" word & echo evil > evil.txt | ^ (x) !y! \\ end'
        if not UNDER_WINE:
            words += " %PATH%"
        server = self.server(self.agent({"chunk": words}, command=self.place.windows("sim")))
        session = server.session(agent="sim")
        server.prompt(session, "go")
        server.end_of_turn(session)
        said = [event for event in server.events(session) if event["class"].startswith("transcript.assistant")]
        self.assertIn(json.dumps(words), json.dumps(said))
        evil = [one for one in self.place.outer.rglob("evil.txt")]
        self.assertEqual(evil, [])

    def test_an_agent_that_is_not_there_is_said_to_be_not_there(self):
        server = self.server(self.agent({"say": "up"}, command=self.place.windows("nothing")))
        answer = server.answer(server.request("bb/createSession", {"agent": "sim"}))
        told = json.dumps(answer) if "error" in answer else ""
        if not told:
            session = answer["result"]["sessionId"]
            answer = server.answer(server.request("bb/sendMessage", {"sessionId": session, "text": "go"}))
            told = json.dumps(answer) if "error" in answer else json.dumps(server.end_of_turn(session))
        self.assertIn("was not found", told)

    def test_the_end_of_the_editor_ends_the_server_and_its_agent_though_its_pipes_are_held(self):
        editor = subprocess.Popen([*WINE, "ping", "-n", "600", "127.0.0.1"], stdout=subprocess.DEVNULL, env=environment())
        self.addCleanup(editor.wait)
        self.addCleanup(editor.kill)
        number = wait_for(lambda: windows_number("ping.exe"), "the editor") if UNDER_WINE else editor.pid
        server = self.server(self.agent({"say": "up"}, {"wait": "for_ever"}), process_id=number)
        session = server.session(agent="sim")
        server.prompt(session, "go")
        wait_for(lambda: processes("simulate", "acp"), "the agent")
        self.assertIsNone(server.process.poll())
        # The pipes of the server are ours and stay open.
        editor.kill()
        server.process.wait(60)
        wait_for(lambda: not processes("simulate", "acp"), "the end of the agent")

    def running_agent(self, **more) -> tuple[Server, str]:
        server = self.server(self.agent({"spawn": {"holds_output": False}}, {"say": "up"}, {"wait": "for_ever"}), **more)
        session = server.session(agent="sim")
        server.prompt(session, "go")
        wait_for(lambda: processes("ping"), "the child of the agent")
        self.assertTrue(processes("simulate", "acp"))
        return server, session

    def assert_tree_ends(self):
        begun = time.monotonic()
        wait_for(lambda: not processes("ping") and not processes("simulate", "acp"), "the end of the tree")
        self.assertLess(time.monotonic() - begun, 5)

    def test_an_agent_and_what_it_started_end_with_a_killed_server(self):
        server, _ = self.running_agent()
        server.process.kill()
        self.assert_tree_ends()

    def test_an_agent_and_what_it_started_end_with_the_server_that_is_told_to(self):
        server, session = self.running_agent()
        server.ask("bb/stop", {"sessionId": session})
        self.assertEqual(server.shut_down(), 0)
        self.assert_tree_ends()

    def test_state_and_token_are_closed_to_every_other_user(self):
        server = self.server()
        server.session()
        self.assertEqual(server.shut_down(), 0)
        host = subprocess.Popen(
            [*WINE, PROGRAM, "engine", "--listen", "127.0.0.1:0", "--workspace", str(self.place.windows("ws")),
             "--state-dir", self.place.windows("state")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment(),
        )
        self.addCleanup(host.wait)
        self.addCleanup(host.kill)
        state = self.place.outer / "state"
        token = state / "host" / "token"
        # SQLite makes its files in these, and Wine gives them nothing of the folder, which is closed itself.
        handed_down = state / "host" / "index"
        logs = ("-wal", "-shm")
        wait_for(lambda: token.exists() and token.stat().st_size > 20, "the token")
        kept = [one for one in [state, *state.rglob("*")] if handed_down not in one.parents]
        kept = [one for one in kept if not (UNDER_WINE and one.name.endswith(logs))]
        found = {str(one.relative_to(state)): one.stat().st_mode & 0o007 for one in kept}
        if UNDER_WINE:
            # It keeps of an access list what the modes of this system can say, and gives the owner's group what the owner has.
            self.assertTrue({"sessions.sqlite3", os.path.join("host", "token")} <= set(found), found)
            self.assertEqual({name: mode for name, mode in found.items() if mode}, {})
            return
        for name in found:
            told = subprocess.run(["icacls", str(state / name)], capture_output=True, text=True, timeout=60).stdout
            entries = [line for line in told.splitlines() if ":(" in line]
            self.assertEqual(len(entries), 1, told)
            self.assertIn(os.environ["USERNAME"].lower(), entries[0].lower())


def terminate(server: Server):
    """As the task manager does it."""
    subprocess.run([*WINE, "taskkill", "/F", "/IM", "breadboard-ls.exe"], capture_output=True, env=environment(), timeout=60)


def windows_number(name: str) -> int | None:
    """The process id that Windows gave to a program of this name."""
    words = ["wine", "wmic", "process", "get", "Name,ProcessId"]
    try:
        told = subprocess.run(words, capture_output=True, env=environment(), timeout=60)
    except subprocess.TimeoutExpired:
        # On a machine that does much else; whoever waits asks again.
        return None
    for line in told.stdout.decode("utf-16-le", "ignore").splitlines():
        words = line.split()
        if len(words) == 2 and words[0].lower().endswith(name) and words[1].isdigit():
            return int(words[1])
    return None


def windows_program() -> str:
    return PROGRAM if not UNDER_WINE else "Z:" + os.path.realpath(PROGRAM).replace("/", "\\")


if __name__ == "__main__":
    unittest.main()
