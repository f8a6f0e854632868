"""Real servers of the Model Context Protocol behind the embedded engine: used, asked about, denied, killed in mid-call.

The servers come from npm (server-everything, server-filesystem) and from PyPI (mcp-server-time). The model is scripted; it runs in here.
Only the standard library is used. NODE_SERVERS is the folder of `node_modules/.bin`, PYTHON the interpreter that has the third server.
"""

import http.server
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PATIENCE = 60


class Model(http.server.BaseHTTPRequestHandler):
    """Speaks OpenAI's streaming protocol; says what the story put into `replies`, and keeps what it was asked."""

    replies = queue.Queue()
    asked = queue.Queue()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.put(body)
        said = self.replies.get(timeout=PATIENCE)
        if isinstance(said, str):
            delta, finish = {"content": said}, "stop"
        else:
            name, arguments = said
            function = {"name": name, "arguments": json.dumps(arguments)}
            delta = {"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]}
            finish = "tool_calls"
        chunks = [{"index": 0, "delta": delta}, {"index": 0, "delta": {}, "finish_reason": finish}]
        text = "".join(f"data: {json.dumps({'choices': [chunk]})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class Server:
    """breadboard-ls, as an editor drives it."""

    def __init__(self, workspace, state, servers, model):
        env = {name: value for name, value in os.environ.items() if not name.startswith("BREADBOARD_")}
        env["NO_PROXY"] = "127.0.0.1"
        command = [os.environ["BB_SERVER"], "--stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=workspace)
        self.messages, self.heard, self.next_id = [], threading.Condition(), 0
        threading.Thread(target=self.read, daemon=True).start()
        options = {
            "workspaceTrusted": True,
            "stateDir": state,
            "mcpServers": servers,
            "model": {"provider": "openai", "name": "story", "url": model},
        }
        folder = {"uri": "file://" + workspace, "name": "workspace"}
        self.ask("initialize", {"capabilities": {}, "workspaceFolders": [folder], "initializationOptions": options})
        self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    def read(self):
        while True:
            length = 0
            while (line := self.process.stdout.readline()).strip():
                name, value = line.split(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:
                return
            message = json.loads(self.process.stdout.read(length))
            with self.heard:
                self.messages.append(message)
                self.heard.notify_all()

    def send(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def until(self, what, look):
        end = time.monotonic() + PATIENCE
        with self.heard:
            while True:
                if (found := look(self.messages)) is not None:
                    return found
                if not self.heard.wait(end - time.monotonic()):
                    raise AssertionError(f"{what} did not come; the last messages: {self.messages[-5:]}")

    def ask(self, method, params):
        self.next_id += 1
        mine = self.next_id
        self.send({"jsonrpc": "2.0", "id": mine, "method": method, "params": params})
        answers = lambda messages: next((m for m in messages if m.get("id") == mine and "method" not in m), None)
        answer = self.until(f"an answer to {method}", answers)
        assert "result" in answer, f"{method} was refused: {answer}"
        return answer["result"]

    def event(self, session, what, fits, seen):
        def look(messages):
            for message in messages:
                if message.get("method") == "bb/events" and message["params"]["sessionId"] == session:
                    for event in message["params"]["events"]:
                        if event["seq"] > seen[0] and fits(event):
                            return event
            return None

        found = self.until(what, look)
        seen[0] = found["seq"]
        return found

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Scenario(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = os.path.realpath(self.folder.name)
        state = os.path.join(self.workspace, ".state")
        with open(os.path.join(self.workspace, "note.txt"), "w", encoding="utf-8") as note:
            note.write("Remember the milk.\n")
        self.endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=self.endpoint.serve_forever, daemon=True).start()
        bin = os.environ["NODE_SERVERS"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        everything = os.path.join(bin, "mcp-server-everything")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.http = subprocess.Popen([everything, "streamableHttp"], env={**os.environ, "PORT": str(port)}, **quiet)
        self.listens(port)
        servers = {
            "everything": {"command": everything},
            "web": {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Token": "canary-of-a-header"}},
            "files": {"command": os.path.join(bin, "mcp-server-filesystem"), "args": [self.workspace]},
            "time": {"command": os.environ["PYTHON"], "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]},
        }
        self.server = Server(self.workspace, state, servers, f"http://127.0.0.1:{self.endpoint.server_address[1]}")
        self.session = self.server.ask("bb/createSession", {})["sessionId"]
        self.seen = [0]

    def tearDown(self):
        self.server.end()
        self.server.process.stdout.close()
        self.http.terminate()
        self.http.wait(PATIENCE)
        self.endpoint.shutdown()
        self.endpoint.server_close()
        self.folder.cleanup()

    def listens(self, port):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                assert time.monotonic() < end, "the server over HTTP does not listen"
                time.sleep(0.1)

    def ready(self):
        end = time.monotonic() + PATIENCE
        while True:
            listed = {server["name"]: server for server in self.server.ask("bb/mcp/list", {})["servers"]}
            if all(server["status"] == "ready" for server in listed.values()):
                return listed
            assert time.monotonic() < end, listed
            time.sleep(0.1)

    def called(self, text, name, arguments, decision):
        """A prompt whose model calls one tool; gives what was asked, how the call ended, and what the model was told."""
        Model.replies.put((name, arguments))
        Model.replies.put("Done.")
        self.server.ask("bb/sendMessage", {"sessionId": self.session, "text": text})
        Model.asked.get(timeout=PATIENCE)
        ask = self.server.event(self.session, "a question", lambda e: e["class"] == "permission.request", self.seen)
        answer = {"sessionId": self.session, "requestId": ask["permission"]["requestId"], "decision": decision}
        self.server.ask("bb/approvePermission", answer)
        self.meanwhile()
        end = self.server.event(self.session, "the end of a call", lambda e: e["class"] == "tool.result", self.seen)
        told = Model.asked.get(timeout=PATIENCE)["messages"][-1]["content"]
        self.server.event(self.session, "the end of a turn", lambda e: e["class"] == "run.finished", self.seen)
        return ask["permission"], end["payload"], told

    def meanwhile(self):
        pass

    def test_real_servers_are_used_asked_denied_and_killed(self):
        listed = self.ready()
        for name, tool in [("everything", "echo"), ("files", "read_text_file"), ("time", "get_current_time")]:
            self.assertIn(tool, [offered["name"] for offered in listed[name]["tools"]])
        # Used, each after it was asked with its server and its arguments
        asked, end, told = self.called("echo", "mcp__everything__echo", {"message": "hello"}, "allow_once")
        subject = {"kind": "tool", "server": "everything", "name": "echo", "input": {"message": "hello"}}
        self.assertEqual(asked["subject"], subject)
        self.assertIn("hello", told)
        note = os.path.join(self.workspace, "note.txt")
        _, end, told = self.called("read", "mcp__files__read_text_file", {"path": note}, "allow_once")
        self.assertIn("Remember the milk.", told)
        _, end, told = self.called("time", "mcp__time__get_current_time", {"timezone": "Europe/Oslo"}, "allow_once")
        self.assertIn("Europe/Oslo", told)
        _, end, told = self.called("web", "mcp__web__echo", {"message": "over HTTP"}, "allow_once")
        self.assertIn("over HTTP", told)
        # Denied: nothing is written
        written = os.path.join(self.workspace, "written.txt")
        arguments = {"path": written, "content": "x"}
        _, end, told = self.called("write", "mcp__files__write_file", arguments, "deny")
        self.assertTrue(told.startswith("Error (denied)"), told)
        self.assertFalse(os.path.exists(written))
        # Killed in mid-call: said, and the next call starts it again
        self.meanwhile = self.kill_everything
        long = {"duration": 60, "steps": 5}
        _, end, told = self.called("wait", "mcp__everything__trigger-long-running-operation", long, "allow_once")
        self.assertEqual(end["status"], "failed")
        self.assertIn("`everything` ended", told)
        self.meanwhile = lambda: None
        _, end, told = self.called("again", "mcp__everything__echo", {"message": "back"}, "allow_once")
        self.assertIn("back", told)
        # A resource and a prompt of a real server
        listed = self.ready()
        self.assertTrue(listed["everything"]["resources"] and listed["everything"]["commands"])
        mention = listed["everything"]["resources"][0]["mention"]
        Model.replies.put("Read.")
        self.server.ask("bb/sendMessage", {"sessionId": self.session, "text": f"What does @{mention} say?"})
        sent = Model.asked.get(timeout=PATIENCE)["messages"][-1]["content"]
        self.assertIn(f"Resource `{mention}`", sent)
        self.server.event(self.session, "the end of a turn", lambda e: e["class"] == "run.finished", self.seen)
        self.assertNotIn("canary-of-a-header", json.dumps(self.server.messages))

    def kill_everything(self):
        """Once the call runs: the process of the server is the one below our guardians."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for entry in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as line:
                        words = line.read().split(b"\0")
                except OSError:
                    continue
                is_server = words[0].endswith(b"node") and any(word.endswith(b"mcp-server-everything") for word in words[1:2])
                if is_server and self.is_ours(int(entry)):
                    time.sleep(0.5)  # the call is on its way; killed before it comes, it fails in the same words
                    os.kill(int(entry), signal.SIGKILL)
                    return
            time.sleep(0.05)
        raise AssertionError("the server is not found")

    def is_ours(self, pid):
        while pid > 1:
            if pid == self.server.process.pid:
                return True
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                pid = int(stat.read().rsplit(")", 1)[1].split()[1])
        return False


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
