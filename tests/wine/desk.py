"""The real server for Windows, driven over its real wire, and a model on loopback that says what a test tells it to.

`BREADBOARD_EXE` is the folder of `breadboard-ls.exe`. On Windows itself that is all; elsewhere it runs under Wine, and `WINEPREFIX` is
an empty Windows (run.sh makes both). Every wait is for a message or for the end of a process; without it the test fails.
"""

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

UNDER_WINE = os.name != "nt"
PROGRAM = str(Path(os.environ["BREADBOARD_EXE"]) / "breadboard-ls.exe")
WINE = ["wine"] if UNDER_WINE else []
DRIVE = Path(os.environ["WINEPREFIX"]) / "drive_c" if UNDER_WINE else Path(tempfile.gettempdir()).resolve()
# For one answer: Wine starts slowly, and the machine does other work.
PATIENCE = 120


def environment(**more: str) -> dict[str, str]:
    """Nobody's own engine, token or proxy takes part."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("BREADBOARD_")}
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        kept.pop(name, None)
        kept.pop(name.lower(), None)
    return {**kept, "NO_PROXY": "127.0.0.1,localhost", **more}


def wait_for(condition, what: str):
    """Until the condition gives something; that is given."""
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < until, f"{what} did not come"
        time.sleep(0.05)
    return found


def processes(*words: str) -> list[int]:
    """Of this Wine, those whose command line has all the words."""
    if not UNDER_WINE:
        script = "Get-CimInstance Win32_Process | % { \"$($_.ProcessId) $($_.CommandLine)\" }"
        told = subprocess.run(["powershell", "-NoProfile", "-Command", script], capture_output=True, text=True, timeout=60)
        lines = [line.split(" ", 1) for line in told.stdout.splitlines() if " " in line]
        return [int(pid) for pid, line in lines if all(word in line for word in words) and "Get-CimInstance" not in line]
    mark, found = f"WINEPREFIX={os.environ['WINEPREFIX']}\0".encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes()
            fits = all(word.encode() in line for word in words) and mark in (place / "environ").read_bytes()
        except OSError:
            continue
        if fits:
            found.append(int(place.name))
    return found


class Place:
    """A folder on drive C: with a workspace and a state directory."""

    def __init__(self):
        self.outer = Path(tempfile.mkdtemp(prefix="desk-", dir=DRIVE))
        self.workspace = self.outer / "ws"
        self.workspace.mkdir()
        self.home = f"C:\\{self.outer.name}" if UNDER_WINE else str(self.outer)

    def windows(self, *parts: str) -> str:
        """A path in the outer folder as Windows spells it."""
        return "\\".join([self.home, *parts])

    def uri(self, *parts: str) -> str:
        """A file of the workspace as VS Code spells it."""
        return "/".join([f"file:///{self.home[0].lower()}%3A", *self.home[3:].split("\\"), "ws", *parts])

    def write(self, name: str, data: bytes) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def remove(self):
        shutil.rmtree(self.outer, ignore_errors=True)

    def can_lead_out(self) -> bool:
        """Whether a folder of the workspace can be made that lies elsewhere. Under Wine that is a volume, which only root can mount."""
        return not UNDER_WINE or os.geteuid() == 0

    def lead_out(self, name: str, files: dict[str, str]) -> Path:
        """Makes a folder of the workspace that lies elsewhere: on Windows a junction. Wine makes none, but says the same of a folder on
        which a volume is mounted: a reparse point whose tag is that of junctions, and of which nobody can say where it leads."""
        link, other = self.workspace / name, self.outer / "elsewhere"
        if UNDER_WINE:
            link.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "breadboard-test", str(link)], check=True)
        else:
            other.mkdir()
            subprocess.run(["cmd", "/c", "mklink", "/J", str(link), str(other)], check=True, stdout=subprocess.DEVNULL)
        for file, text in files.items():
            path = link / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return link

    def take_back(self, link: Path):
        """Removes such a folder, and nothing that is in it."""
        if UNDER_WINE:
            subprocess.run(["umount", "--lazy", str(link)], check=True)
        link.rmdir()


class Model:
    """Speaks OpenAI's streaming protocol; gives these replies one after the other and keeps what it was asked."""

    def __init__(self, *replies):
        replies, asked = list(replies), []
        self.free = free = threading.Event()
        free.set()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_error(404)

            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                reply = replies.pop(0) if replies else "Nothing more."
                free.wait(PATIENCE)
                delta, why = {"content": reply}, "stop"
                if not isinstance(reply, str):
                    name, arguments = reply
                    call = {"name": name, "arguments": json.dumps(arguments)}
                    delta = {"tool_calls": [{"index": 0, "id": f"call_{len(asked)}", "type": "function", "function": call}]}
                    why = "tool_calls"
                events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": why}]}]
                body = ("".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n").encode()
                try:
                    self.send_response(200)
                    self.send_header("content-type", "text/event-stream")
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    # Whoever asked is gone.
                    self.close_connection = True

        self.asked = asked
        self.served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.served.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.served.server_address[1]}/v1"

    def options(self) -> dict:
        return {"model": {"provider": "openai", "name": "story", "url": self.url}, "workspaceTrusted": True}

    def hold(self):
        """Answers nothing until it is let go."""
        self.free.clear()

    def let_go(self):
        self.free.set()

    def stop(self):
        self.free.set()
        self.served.shutdown()
        self.served.server_close()


class Server:
    """A running server and its editor."""

    def __init__(self, place: Place, options: dict | None = None, root: str | None = None, process_id: int | None = None):
        self.process = subprocess.Popen(
            [*WINE, PROGRAM, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=place.workspace, env=environment()
        )
        self.inbox: queue.Queue = queue.Queue()
        self.received: list[dict] = []
        self.seen: dict[str, int] = {}
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()
        options = {"stateDir": place.windows("state"), **(options or {})}
        self.initialized = self.ask(
            "initialize",
            {
                "processId": process_id,
                "capabilities": {},
                "workspaceFolders": [{"uri": root or place.uri(), "name": "ws"}],
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})

    def _read(self):
        out = self.process.stdout
        while line := out.readline():
            assert line.lower().startswith(b"content-length: "), line
            length = int(line.split(b":")[1])
            assert out.readline() == b"\r\n", "a header block has one line"
            self.inbox.put(json.loads(out.read(length)))
        self.inbox.put(None)

    def send(self, message: dict):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: dict):
        self.send({"method": method, "params": params})

    def request(self, method: str, params: dict) -> int:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def wait(self, what: str, look):
        """What `look` finds in a message that came or comes."""
        for message in self.received:
            if (found := look(message)) is not None:
                return found
        until = time.monotonic() + PATIENCE
        while True:
            try:
                message = self.inbox.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                message = None
            if message is None:
                last = [json.dumps(one)[:600] for one in self.received[-5:]]
                raise AssertionError(f"{what} did not come; this did: {last}")
            self.received.append(message)
            if (found := look(message)) is not None:
                return found

    def answer(self, number: int) -> dict:
        return self.wait(f"an answer to {number}", lambda one: one if one.get("id") == number and "method" not in one else None)

    def ask(self, method: str, params: dict) -> dict:
        answer = self.answer(self.request(method, params))
        assert "result" in answer, f"{method} was refused: {answer}"
        return answer["result"]

    def refused(self, method: str, params: dict) -> dict:
        answer = self.answer(self.request(method, params))
        assert "error" in answer, f"{method} was not refused: {answer}"
        return answer["error"]

    def session(self, **params) -> str:
        return self.ask("bb/createSession", params)["sessionId"]

    def prompt(self, session: str, text: str) -> dict:
        return self.ask("bb/sendMessage", {"sessionId": session, "text": text})

    def event(self, session: str, what: str, fits) -> dict:
        """The next event of a session that fits, later than the last one that was given."""

        def look(message):
            if message.get("method") != "bb/events" or message["params"]["sessionId"] != session:
                return None
            events = message["params"]["events"]
            later = (event for event in events if event["seq"] > self.seen.get(session, 0) and fits(event))
            return next(later, None)

        found = self.wait(f"an event ({what})", look)
        self.seen[session] = found["seq"]
        return found

    def end_of_turn(self, session: str) -> dict:
        return self.event(session, "the end of a turn", lambda event: event["class"] == "run.finished")

    def permission(self, session: str) -> dict:
        return self.event(session, "a permission", lambda event: event["class"] == "permission.request")["permission"]

    def decide(self, session: str, permission: dict, decision: str) -> dict:
        params = {"sessionId": session, "requestId": permission["requestId"], "decision": decision, "digest": permission["digest"]}
        return self.ask("bb/approvePermission", params)

    def events(self, session: str) -> list[dict]:
        """Every event of a session, read back from the journal."""
        return self.ask("bb/events/read", {"sessionId": session, "fromSeq": 1})["events"]

    def everything(self) -> str:
        """All that came so far, as one text."""
        while not self.inbox.empty():
            if (message := self.inbox.get()) is not None:
                self.received.append(message)
        return json.dumps(self.received)

    def shut_down(self) -> int:
        self.ask("shutdown", {})
        self.notify("exit", {})
        return self.process.wait(PATIENCE)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass


def run(place: Place, *words: str, stdin: str = "") -> subprocess.CompletedProcess:
    """A command of the command line, in the workspace."""
    return subprocess.run(
        [*WINE, PROGRAM, *words], input=stdin, capture_output=True, text=True, timeout=PATIENCE, cwd=place.workspace,
        env=environment(), encoding="utf-8",
    )
