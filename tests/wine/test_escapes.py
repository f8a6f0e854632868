"""Paths that try to leave the workspace in the ways that Windows offers, over the wire: each is refused or stays inside.

`BREADBOARD_ATTACK_SEED` chooses how the table is mixed; it is printed when something fails.
"""

import os
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from desk import UNDER_WINE, Model, Place, Server, run  # noqa: E402

SEED = os.environ.get("BREADBOARD_ATTACK_SEED", "1")
# Stands in every file outside, and in the name of one. No attempt mentions it.
CANARY = "numbat_of_another_house"
MINE = "mine"

# `{outside}` is the folder beside the workspace as a Windows path without its drive; `{ws}` that of the workspace.
TABLE = {
    "upwards": [
        "..\\outside\\secret", "../outside/secret", "..\\outside/secret", "src\\..\\..\\outside\\secret",
        "src/../../outside/secret", "src\\../..\\outside/secret", "./..\\.\\outside\\secret", ".. \\outside\\secret",
        "..\\.\\outside\\secret", "...\\outside\\secret", ". .\\outside\\secret", "src/./..\\..//outside\\\\secret",
        "..\\..\\{outside}\\secret", "src\\..\\..\\ws\\..\\outside\\secret", "..%5Coutside%5Csecret", "%2e%2e%2foutside%2fsecret",
    ],
    "absolute": [
        "C:\\{outside}\\secret", "c:/{outside}/secret", "C:{outside}\\secret", "\\{outside}\\secret", "/{outside}/secret",
        "Z:\\etc\\passwd", "z:/etc/passwd", "C:\\{ws}\\..\\outside\\secret", "C:/{ws}/../outside/secret", "src/C:\\{outside}\\secret",
        "C:\\\\{outside}\\\\secret", "./C:/{outside}/secret",
    ],
    "relative to a drive": [
        "C:outside\\secret", "C:..\\outside\\secret", "c:../outside/secret", "C:", "C:.", "C:..", "Z:", "Z:etc\\passwd", "D:secret",
        "src/C:secret", "C:own.txt",
    ],
    "shares and devices": [
        "\\\\?\\C:\\{outside}\\secret", "//?/C:/{outside}/secret", "\\\\.\\C:\\{outside}\\secret", "//./C:/{outside}/secret",
        "\\\\?\\UNC\\localhost\\c$\\{outside}\\secret", "\\\\localhost\\c$\\{outside}\\secret", "//localhost/c$/{outside}/secret",
        "\\\\?\\Z:\\etc\\passwd", "\\\\.\\unix\\etc\\passwd", "\\\\?\\unix\\etc\\passwd", "\\??\\C:\\{outside}\\secret",
        "\\\\.\\pipe\\x", "\\\\.\\PhysicalDrive0", "\\\\.\\NUL", "\\\\.\\CON", "\\\\?\\GLOBALROOT\\Device\\Null", "\\\\server\\share\\x",
        "src\\\\\\?\\C:\\{outside}\\secret",
    ],
    "names of devices": [
        "NUL", "nul", "NUL.txt", "nul.tar.gz", "CON", "con", "CON.txt", "src/CON", "src\\aux", "AUX.c", "PRN", "prn.log", "COM1",
        "com9.txt", "LPT1", "lpt3.", "COM\u00b2", "CONIN$", "conout$", "nul ", "nul .txt", "CON:", "src/nul/x", "nul\\..\\own.txt",
    ],
    "ends that are dropped": [
        "own.txt.", "own.txt ", "own.txt. .", "src./own.txt", "src /own.txt", "src.\\own.txt", ".git./config", ".git /config",
        ".env.", ".env ", "src/../own.txt.", "..\\outside.\\secret", "own.txt\u0000.md", "own.txt\n",
    ],
    "streams": [
        "own.txt:hidden", "own.txt::$DATA", "src::$INDEX_ALLOCATION/own.txt", "src:$I30:$INDEX_ALLOCATION\\own.txt", ".git::$INDEX_ALLOCATION",
        "own.txt:..\\outside\\secret", ":own.txt", "src/own.txt:x:$DATA", "..::$DATA\\outside\\secret", ".env::$DATA",
    ],
    "short names": [
        "GIT~1/config", "git~1\\config", "SECRET~1", "LONGNA~1/own.txt", "longna~1\\own.txt", "PROGRA~1", "..\\OUTSID~1\\secret", "ENV~1",
        "src/A~9.TXT", "OWN~1.TXT",
    ],
    # `leap` is a folder of the workspace that lies elsewhere.
    "junctions": [
        "leap/secret", "leap\\secret", "leap", "leap/", "leap/.", "./leap/secret", "leap/./secret", "leap//secret", "src/../leap/secret",
        "leap/sub/secret", "leap/sub", "leap/../leap/secret", "leap/../../outside/secret", "leap./secret", "leap /secret",
        "leap::$INDEX_ALLOCATION/secret", "leap:$I30:$INDEX_ALLOCATION\\secret", "C:/{ws}/leap/secret", "\\\\?\\C:\\{ws}\\leap\\secret",
        "file:///c%3A/{ws}/leap/secret", "leap/own.txt", "leap/new.txt",
    ],
    # These lead nowhere else, so that it is seen that what stays inside is answered.
    "inside": ["own.txt", "./own.txt", "src//own.txt", "src/./own.txt", "LongNamesInHere/own.txt"],
    "URIs": [
        "file:///c%3A/{outside}/secret", "file:///C:/{outside}/secret", "FILE:///c%3a/{outside}/secret", "file://localhost/c$/{outside}/secret",
        "file:C:/{outside}/secret", "file:///c%3A/{ws}/..%5Coutside%5Csecret", "file:///c%3A/{ws}/%2e%2e/outside/secret",
        "./file:///c%3A/{outside}/secret", "file:////?/C:/{outside}/secret", "http://localhost/secret", "file:///Z%3A/etc/passwd",
    ],
}


def attempts(place: Place) -> list[str]:
    """Every spelling, in further cases, mixed by the seed."""
    mixer = random.Random(SEED)
    names = {name: place.windows(name)[3:] for name in ("outside", "ws")}
    found = []
    for kind in TABLE.values():
        for text in kind:
            for name, value in names.items():
                text = text.replace("{" + name + "}", value if "\\" in text else value.replace("\\", "/"))
            found.append(text)
            found.append("".join(mixer.choice((c.upper(), c.lower())) if c.isascii() else c for c in text))
    mixer.shuffle(found)
    return found


class Escapes(unittest.TestCase):
    def setUp(self):
        self.place = place = Place()
        self.addCleanup(place.remove)
        outside = place.outer / "outside"
        outside.mkdir()
        for name in ("secret", "own.txt", f"{CANARY}.txt"):
            (outside / name).write_text(CANARY)
        for name in ("own.txt", "src/own.txt", "LongNamesInHere/own.txt", ".git/config"):
            place.write(name, f"{MINE}\n".encode())
        self.leap = None
        if place.can_lead_out():
            files = {name: CANARY for name in ("secret", "own.txt", "sub/secret", f"{CANARY}.txt")}
            self.leap = place.lead_out("leap", files)
            self.addCleanup(place.take_back, self.leap)

    def outside(self) -> dict[str, bytes]:
        """All files of the outer folder but those of the workspace and the state, and those of the folder that lies elsewhere."""
        kept = (self.place.workspace, self.place.outer / "state")
        files = [one for one in self.place.outer.rglob("*") if one.is_file() and not any(k in one.parents for k in kept)]
        if self.leap:
            files += [one for one in self.leap.rglob("*") if one.is_file()]
        return {str(one): one.read_bytes() for one in files}

    def server(self, options: dict | None = None) -> Server:
        server = Server(self.place, options)
        self.addCleanup(server.kill)
        return server

    def requests(self, session: str, path: str) -> list[tuple[str, dict]]:
        whose = {"sessionId": session}
        encoded = "".join(f"%{byte:02x}" for byte in path.encode())
        inner = {"v": 1, "kind": "req", "id": "1", "method": "bb.readFileSnippet", "params": {**whose, "path": path}}
        return [
            ("bb/readFileSnippet", {**whose, "path": path}),
            ("bb/listFiles", {**whose, "path": path, "gitignore": False}),
            ("bb/openDiff", {**whose, "filePath": path, "beforeRef": "git:HEAD", "afterRef": "disk"}),
            ("bb/openDiff", {**whose, "filePath": "own.txt", "beforeRef": f"git:HEAD:{path}", "afterRef": "disk"}),
            ("bb/textDocument", {"uri": f"bb-diff:/{session}/~/disk/{encoded}"}),
            ("bb/downloadArtifact", {**whose, "artifactPath": path}),
            ("bb/createSpec/importMarkdown", {"uri": f"{self.place.uri('src')}/{encoded}.md"}),
            ("bb/rpc", inner),
        ]

    def test_every_way_out_is_refused_or_stays_inside(self):
        server = self.server()
        session, before = server.session(), self.outside()
        paths, mixer = attempts(self.place), random.Random(f"{SEED} requests")
        tried = read = 0
        for path in paths:
            # The two that read by the path alone always, and one of the others.
            first, second, *others = self.requests(session, path)
            for method, params in (first, second, mixer.choice(others)):
                answer = server.answer(server.request(method, params))
                tried += 1
                self.assertTrue("result" in answer or "error" in answer, (SEED, method, path))
                if method == "bb/readFileSnippet" and "result" in answer:
                    self.assertEqual(answer["result"]["content"], f"{MINE}\n", (SEED, path))
                    read += 1
        self.assertGreaterEqual(tried, 200)
        self.assertEqual(read, 2 * len(TABLE["inside"]), "each in two spellings, and nothing else")
        self.assertNotIn(CANARY, server.everything())
        self.assertEqual(self.outside(), before, f"seed {SEED}")
        # No device kept a thread of the server, and what is inside is still answered.
        inside = server.ask("bb/readFileSnippet", {"sessionId": session, "path": "src/own.txt"})
        self.assertEqual(inside["content"], f"{MINE}\n")
        self.assertEqual(server.shut_down(), 0)
        state = self.place.outer / "state"
        kept = [str(one) for one in state.rglob("*") if one.is_file() and CANARY.encode() in one.read_bytes()]
        self.assertEqual(kept, [], f"seed {SEED}")
        print(f"{tried} requests with {len(paths)} spellings, {read} of them read a file of the workspace (seed {SEED})")

    def test_a_folder_that_lies_elsewhere_is_named_and_nobody_looks_into_it(self):
        if not self.leap:
            self.skipTest("only root can mount the volume that Wine takes for a junction")
        done = run(self.place, "ask", "--state-dir", self.place.windows("state"), f"where is {CANARY}?")
        self.assertNotIn("leap/", done.stdout + done.stderr)
        own = run(self.place, "ask", "--state-dir", self.place.windows("state"), f"where is {MINE}?")
        self.assertIn("own.txt", own.stdout)
        self.assertNotIn("leap/", own.stdout + own.stderr)
        server = self.server()
        session = server.session()
        listed = server.ask("bb/listFiles", {"sessionId": session, "path": "", "gitignore": False})["entries"]
        self.assertIn("leap", [entry["path"] for entry in listed])
        refusals = {path: server.refused("bb/readFileSnippet", {"sessionId": session, "path": path}) for path in ("leap/secret", "leap/none")}
        if not UNDER_WINE:
            codes = {error["data"]["code"] for error in refusals.values()}
            self.assertEqual(codes, {"path_outside_workspace"}, refusals)
        # Nothing is told apart of what is there and what is not.
        told = {path: error["message"].replace(path, "…") for path, error in refusals.items()}
        self.assertEqual(len(set(told.values())), 1, told)
        self.assertEqual(server.shut_down(), 0)

    def test_a_model_that_may_write_without_asking_writes_nothing_outside(self):
        paths = [path for path in attempts(self.place) if not any(path.lower() == one.lower() for one in TABLE["inside"])][:60]
        steps = []
        for path in paths:
            steps.append(("propose_patch", {"file_path": path, "rationale": "x", "new_content": "evil\n"}))
            steps.append(("read_file", {"path": path}))
        model = Model(*steps, "done")
        self.addCleanup(model.stop)
        options = {**model.options(), "approvals": {"mode": "edits"}, "budget": {"steps": 0}}
        server = self.server(options)
        session, before = server.session(), self.outside()
        names = {str(one.relative_to(self.place.workspace)) for one in self.place.workspace.rglob("*")}
        server.prompt(session, "write them all")
        # Names that begin with a dot are asked about; whoever uses this allows all of them.
        ends = ("permission.request", "run.finished")
        while (event := server.event(session, "an ask or the end", lambda one: one["class"] in ends))["class"] == ends[0]:
            server.decide(session, event["permission"], "allow_once")
        self.assertEqual(len(model.asked), len(steps) + 1, "every call had its answer")
        told = [one for one in model.asked[-1]["messages"] if one["role"] == "tool"]
        self.assertNotIn(CANARY, str(told) + server.everything())
        self.assertEqual(self.outside(), before, f"seed {SEED}")
        now = {str(one.relative_to(self.place.workspace)) for one in self.place.workspace.rglob("*")}
        # What is encoded is a name like any other, of a file in the workspace.
        self.assertEqual({one for one in now - names if "%" not in one}, set(), f"seed {SEED}")
        self.assertEqual(names - now, set(), f"seed {SEED}")
        self.assertEqual(server.shut_down(), 0)


if __name__ == "__main__":
    unittest.main()
