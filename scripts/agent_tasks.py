#!/usr/bin/env python3
"""Twenty small tasks for the built-in agent, in three languages, each decided by a test that it never sees.

    scripts/agent_tasks.py                                    with a model that plays the solutions, on this machine
    scripts/agent_tasks.py --model NAME [--provider P] [--url U]   with a real one
    scripts/agent_tasks.py --opencode PROVIDER/MODEL          the same tasks with opencode, where it is installed

BB_SERVER names the program [default: target/debug/breadboard-ls]. Prints a row a task and a last line; the exit code is 0 when all
are solved. A task is given to `breadboard-ls ask` in a folder of its own, with edits allowed; then its test is put beside the files
and run.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASKS = ROOT / "tests" / "tasks" / "tasks.json"
SECONDS = 600


class Played(BaseHTTPRequestHandler):
    """A model that reads the files of the task and makes the edits of its solution, one a reply."""

    task = None
    step = 0
    tokens = (900, 60)

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        steps = [("read_file", {"path": path}) for path in Played.task["files"]]
        steps += [("edit_file", dict(edit, reason="as asked")) for edit in Played.task["solution"]]
        events = []
        if Played.step < len(steps):
            name, arguments = steps[Played.step]
            call = {"index": 0, "id": f"call_{Played.step}", "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)}}
            events.append({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
        else:
            events.append({"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]})
        Played.step += 1
        read, written = Played.tokens
        events.append({"choices": [], "usage": {"prompt_tokens": read, "completion_tokens": written}})
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def ask(folder, state, prompt, options):
    server = os.environ.get("BB_SERVER", str(ROOT / "target" / "debug" / "breadboard-ls"))
    line = [server, "ask", "--workspace", folder, "--state-dir", state, "--trust", "--allow", "edits", "--json", *options, prompt]
    environment = dict(os.environ, NO_PROXY="127.0.0.1,localhost")
    return subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, env=environment, stdin=subprocess.DEVNULL)


def counted(out):
    """Replies of the model and tokens, as the last event of the turn has them."""
    steps, tokens = 1, 0
    for line in out.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        for event in (message.get("params") or {}).get("events", []):
            payload = event.get("payload", {})
            if event.get("type") == "session.state":
                steps = max(steps, payload.get("state", {}).get("current_step", 0))
            if event.get("type") == "assistant.message_final":
                tokens = payload.get("metadata", {}).get("tokens_used", 0)
    return steps, tokens


def run(task, how):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        for path, text in task["files"].items():
            place = pathlib.Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        began = time.monotonic()
        try:
            done = how(folder, state, task)
        except subprocess.TimeoutExpired:
            return False, SECONDS, (0, 0), "took too long"
        took = time.monotonic() - began
        test = task["test"]
        pathlib.Path(folder, test["path"]).write_text(test["text"])
        decided = subprocess.run(test["run"], shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
        why = "" if decided.returncode == 0 else (done.stderr.strip() or decided.stderr.strip() or decided.stdout.strip())
        return decided.returncode == 0, took, counted(done.stdout), why.splitlines()[-1:] and why.splitlines()[-1][:70]


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    words.add_argument("--model")
    words.add_argument("--provider")
    words.add_argument("--url")
    words.add_argument("--opencode", metavar="PROVIDER/MODEL")
    words.add_argument("--only", help="tasks whose name has this in it")
    words = words.parse_args()
    missing = [name for name in ("python3", "node", "rustc") if not shutil.which(name)]
    if missing:
        print(f"not run: {', '.join(missing)} decide the tasks and are not here; install them")
        sys.exit(77)
    tasks = [task for task in json.loads(TASKS.read_text()) if not words.only or words.only in task["name"]]
    if words.opencode:
        if not shutil.which("opencode"):
            sys.exit("opencode is not installed here; install it, or leave --opencode out.")

        def how(folder, _state, task):
            line = ["opencode", "run", "--model", words.opencode, task["prompt"]]
            return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    elif words.model:
        options = ["--model", words.model]
        options += ["--model-provider", words.provider] if words.provider else []
        options += ["--model-url", words.url] if words.url else []

        def how(folder, state, task):
            return ask(folder, state, task["prompt"], options)
    else:
        played = ThreadingHTTPServer(("127.0.0.1", 0), Played)
        threading.Thread(target=played.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{played.server_address[1]}/v1"
        options = ["--model", "played", "--model-provider", "openai", "--model-url", url]

        def how(folder, state, task):
            Played.task, Played.step = task, 0
            return ask(folder, state, task["prompt"], options)

    solved, seconds, tokens = 0, 0.0, 0
    print(f"{'task':24} {'language':11} {'kind':9} {'':6} {'s':>6} {'steps':>6} {'tokens':>8}")
    for task in tasks:
        good, took, (steps, used), why = run(task, how)
        solved, seconds, tokens = solved + good, seconds + took, tokens + used
        word = "solved" if good else "failed"
        print(f"{task['name']:24} {task['language']:11} {task['kind']:9} {word:6} {took:6.1f} {steps:6} {used:8} {why or ''}", flush=True)
    print(f"{solved} of {len(tasks)} solved in {seconds:.0f} s with {tokens} tokens")
    sys.exit(0 if solved == len(tasks) else 1)


main()
