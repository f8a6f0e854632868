"""Every package that can be installed here is installed as its reader would, without Rust and on an empty machine, and answers.

Given the files of scripts/dist on a release server on loopback, when somebody installs by one line, then `ask` answers with a place.
`BB_SERVER` is the program, `BARE_ROOT` a folder with a Debian that has nothing but curl (run.sh makes it), `BB_STATIC` one that is
linked statically, where there is one.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
import unittest
from pathlib import Path

from release_server import ReleaseServer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import auditable  # noqa: E402
import crates  # noqa: E402
from targets import TARGETS  # noqa: E402

PROGRAM = Path(os.environ["BB_SERVER"])
BARE = os.environ.get("BARE_ROOT")
STATIC = os.environ.get("BB_STATIC")
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
QUESTION = "where is the retry delay computed?"
# From one line to an answer, in seconds.
SOON = 30


def workspace(folder: Path) -> Path:
    """A folder with one file that answers the question."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "retry.py").write_text("def retry_delay(attempt):\n    return min(2 ** attempt, 60)\n")
    return folder


def dist(out: Path, *more: str, programs: tuple[str, ...] = ()) -> str:
    programs = programs or (f"linux-x64={PROGRAM}",)
    words = [str(ROOT / "scripts/dist"), "--out", str(out), *more, *programs]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def every_file(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def running_in(root: Path) -> list[str]:
    """The command lines of the processes that have this root."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(place / "root") == str(root):
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.files = cls.place / "release"
        cls.files.mkdir()
        cls.server = ReleaseServer(cls.files)
        cls.addClassCleanup(cls.server.close)
        print(dist(cls.files, "--base-url", cls.server.url))

    def setUp(self):
        self.home = Path(tempfile.mkdtemp(dir=self.place))

    def run_bare(self, *words: str, path="/usr/bin:/bin", **more) -> subprocess.CompletedProcess:
        """Runs with nothing of this machine's environment."""
        environment = {"HOME": str(self.home), "PATH": path, **more.pop("env", {})}
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, **more)

    def install(self, **env: str) -> subprocess.CompletedProcess:
        return self.run_bare("sh", "-c", f"curl -fsSL {self.server.url}/install.sh | sh", env=env)

    def assert_answers(self, done: subprocess.CompletedProcess):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("retry.py", done.stdout)

    def test_the_same_program_and_commit_make_the_same_bytes(self):
        again = self.place / "again"
        dist(again, "--base-url", self.server.url)
        self.assertEqual(every_file(again), every_file(self.files))

    def test_the_sums_are_those_of_the_files(self):
        listed = dict(reversed(line.split("  ")) for line in (self.files / "SHA256SUMS").read_text().splitlines())
        found = every_file(self.files)
        del found["SHA256SUMS"]
        self.assertEqual(listed, found)

    def test_an_archive_has_program_completions_manual_and_legal_texts(self):
        with tarfile.open(self.files / "breadboard-ls-linux-x64.tar.gz") as tar:
            names = {member.name.removeprefix("breadboard-ls-linux-x64/") for member in tar.getmembers()}
            notice = tar.extractfile("breadboard-ls-linux-x64/THIRD-PARTY.txt").read().decode()
            page = tar.extractfile("breadboard-ls-linux-x64/share/man/breadboard-ls.1").read().decode()
        pages = {name for name in names if name.startswith("share/man/")}
        self.assertIn("share/man/breadboard-ls-ask.1", pages)
        self.assertEqual(
            names - pages,
            {
                "breadboard-ls",
                "CHANGELOG.md",
                "LICENSE-APACHE",
                "LICENSE-MIT",
                "README.md",
                "THIRD-PARTY.txt",
                "share/completions/_breadboard-ls",
                "share/completions/_breadboard-ls.ps1",
                "share/completions/breadboard-ls.bash",
                "share/completions/breadboard-ls.fish",
            },
        )
        # What is linked is named, what only builds or tests is not.
        self.assertRegex(notice, r"(?m)^tokio [\d.]+: MIT$")
        self.assertNotRegex(notice, r"(?m)^(criterion|proptest|serde_derive|clap_derive) ")
        self.assertIn(".TH breadboard\\-ls 1", page.replace("breadboard-ls", "breadboard\\-ls"))

    def test_the_bill_of_materials_names_each_crate_with_its_licence_and_sum(self):
        bill = json.loads((self.files / "breadboard-ls-linux-x64.cdx.json").read_text())
        self.assertEqual((bill["bomFormat"], bill["metadata"]["component"]["version"]), ("CycloneDX", VERSION))
        bare = [one["purl"] for one in bill["components"] if not (one.get("licenses") and one.get("hashes"))]
        self.assertEqual(bare, [])

    def test_one_line_installs_for_the_user_and_ask_answers(self):
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("is not on your PATH", done.stdout)
        program = self.home / ".local/bin/breadboard-ls"
        self.assertEqual(sorted(path.name for path in program.parent.iterdir()), ["breadboard-ls"])
        self.assert_answers(self.run_bare(str(program), "ask", QUESTION, cwd=workspace(self.home / "ws")))

    def test_an_archive_that_was_changed_is_refused_and_what_is_installed_stays(self):
        old = self.home / ".local/bin/breadboard-ls"
        old.parent.mkdir(parents=True)
        old.write_text("old")
        name = "/breadboard-ls-linux-x64.tar.gz"
        self.server.replaced[name] = b"x" + self.server.answer(name)[1:]
        self.addCleanup(self.server.replaced.clear)
        done = self.install()
        self.assertEqual((done.returncode, old.read_text()), (1, "old"))
        self.assertIn("is not what was released", done.stderr)

    def test_a_platform_without_a_program_is_said(self):
        bin = self.home / "bin"
        bin.mkdir()
        (bin / "uname").write_text('#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo riscv64\n')
        (bin / "uname").chmod(0o755)
        done = self.run_bare("sh", "-c", f"curl -fsSL {self.server.url}/install.sh | sh", path=f"{bin}:/usr/bin:/bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("riscv64; build from source", done.stderr)

    def test_npx_finds_the_package_of_the_platform_and_hands_on_arguments_and_exit_code(self):
        self.needs("npx")
        node = os.path.dirname(os.path.realpath(shutil.which("node")))
        settings = {"npm_config_registry": self.server.registry, "npm_config_cache": str(self.home / "cache"), "npm_config_audit": "false"}
        run = lambda *words: self.run_bare(  # noqa: E731
            "npx", "--yes", *words, env=settings, path=f"{node}:/usr/bin:/bin", cwd=workspace(self.home / "ws")
        )
        self.assert_answers(run("breadboard-ls", "ask", QUESTION))
        wrong = run("breadboard-ls", "--no-such-option")
        self.assertEqual(wrong.returncode, 2, wrong.stderr)
        left_out = run("--omit=optional", f"--cache={self.home}/other", "breadboard-ls", "--version")
        self.assertEqual(left_out.returncode, 1)
        self.assertIn("the package @breadboard-ls/linux-x64 is not installed", left_out.stderr)

    def test_a_bare_debian_gets_an_answer_by_one_line_soon(self):
        begun = time.monotonic()
        home = self.bare_home()
        self.assert_answers(
            self.in_bare_root(
                f"cd /{home} && export HOME=/{home} && curl -fsSL {self.server.url}/install.sh | sh && "
                f"~/.local/bin/breadboard-ls ask '{QUESTION}'"
            )
        )
        took = time.monotonic() - begun
        print(f"from one line to an answer on a bare Debian: {took:.1f} s")
        self.assertLess(took, SOON)

    def test_the_debian_package_installs_answers_and_goes(self):
        home = self.bare_home()
        package = f"breadboard-ls_{VERSION}_amd64.deb"
        shutil.copy(self.files / package, Path(BARE) / home / package)
        installed = self.in_bare_root(
            f"cd /{home} && dpkg -i {package} >/dev/null && breadboard-ls ask '{QUESTION}' && "
            "test -s /usr/share/man/man1/breadboard-ls.1.gz -o -e /etc/dpkg/dpkg.cfg.d/docker && "
            "test -s /usr/share/bash-completion/completions/breadboard-ls"
        )
        gone = self.in_bare_root("dpkg -r breadboard-ls >/dev/null && ! command -v breadboard-ls")
        self.assert_answers(installed)
        self.assertEqual(gone.returncode, 0, gone.stderr)

    def test_a_program_says_to_scanners_what_is_linked_into_it_and_runs_as_before(self):
        program = self.home / "breadboard-ls"
        shutil.copy(PROGRAM, program)
        packages = crates.linked(ROOT, TARGETS["linux-x64"].triples[0], with_own=True)
        auditable.put(auditable.listed(packages), program)
        told = program.read_bytes()
        found = {(one["name"], one["version"]): one for one in auditable.read(program)}
        self.assertEqual(set(found), {(one["name"], one["version"]) for one in packages})
        self.assertEqual([name for (name, _), one in found.items() if one.get("root")], ["breadboard-ls"])
        self.assertEqual(found["breadboard-core", VERSION]["source"], "local")
        self.assertEqual(self.run_bare(str(program), "--version").stdout, f"breadboard-ls {VERSION}\n")
        # Said once more it is the same.
        auditable.put(auditable.listed(packages), program)
        self.assertEqual(program.read_bytes(), told)

    @unittest.skipUnless(STATIC and BARE is not None, "BB_STATIC names no program that is linked statically")
    def test_a_static_program_answers_and_runs_an_agent_where_there_is_nothing_else(self):
        # Given a root with the program, a workspace and what the kernel has: no C library, no shell.
        root = Path(tempfile.mkdtemp(dir=self.place)).resolve()
        for name in ("dev", "home", "proc", "tmp"):
            (root / name).mkdir()
        workspace(root / "ws")
        shutil.copy(STATIC, root / "breadboard-ls")
        os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        inner = 'mount -t proc proc "$0/proc" && exec env -i HOME=/home "$(command -v chroot)" "$0" /breadboard-ls "$@"'
        words = ["unshare", "--mount", "sh", "-c", inner, str(root)]
        run = lambda *more: self.run_bare(*words, *more, path="/usr/sbin:/usr/bin:/sbin:/bin")  # noqa: E731
        self.assertEqual(run("--version").stdout, f"breadboard-ls {VERSION}\n")
        doctor = run("doctor")
        self.assertEqual(doctor.returncode, 0, doctor.stdout + doctor.stderr)
        self.assert_answers(run("ask", "--workspace", "/ws", QUESTION))
        # When an agent runs, and the whole is killed in the middle of its turn, then nothing of it is left.
        agent = """acp:/breadboard-ls simulate acp --script '[{"chunk": "the agent is up"}, {"wait": "for_ever"}]'"""
        asked = subprocess.Popen(
            [*words, "ask", "--workspace", "/ws", "--trust", "--json", "--engine", agent, "go"], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(asked.stdout.close)
        # Without its word the wait for it ends with the program.
        too_late = threading.Timer(60, asked.kill)
        self.addCleanup(too_late.cancel)
        too_late.start()
        said = ""
        while "the agent is up" not in said:
            self.assertTrue(line := asked.stdout.readline(), said)
            said += line
        self.assertGreaterEqual(len(running_in(root)), 2)
        asked.kill()
        asked.wait()
        until = time.monotonic() + 10
        while left := running_in(root):
            self.assertLess(time.monotonic(), until, left)
            time.sleep(0.05)

    def test_the_manifests_of_package_managers_fit_the_archives(self):
        every = tuple(f"{name}={PROGRAM}" for name in ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"))
        small = self.home / "small"
        small.write_bytes(b"#!/bin/sh\n")
        every = tuple(word.replace(str(PROGRAM), str(small)) for word in every)
        out = self.home / "all"
        dist(out, "--runs-here", str(PROGRAM), programs=every)
        scoop = json.loads((out / "breadboard-ls.json").read_text())["architecture"]["64bit"]
        self.assertEqual(scoop["hash"], hashlib.sha256((out / "breadboard-ls-win32-x64.zip").read_bytes()).hexdigest())
        formula = (out / "breadboard-ls.rb").read_text()
        for name in ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"):
            file = f"breadboard-ls-{name}.tar.gz"
            pair = re.search(rf'url "(\S+/{file})"\s+sha256 "(\w+)"', formula)
            self.assertEqual(pair[2], hashlib.sha256((out / file).read_bytes()).hexdigest(), name)
        mason = (out / "mason/package.yaml").read_text()
        self.assertEqual(
            re.findall(r"target: (\w+)\n +file: (\S+)\n +bin: (\S+)", mason),
            [(TARGETS[n].mason, TARGETS[n].archive, f"{TARGETS[n].folder}/{TARGETS[n].program}") for n in (w.split("=")[0] for w in every)],
        )
        for text in (formula, mason, (out / "install.sh").read_text()):
            self.assertNotRegex(text, r"@[A-Z]+(:[\w-]+)?@")
        if shutil.which("ruby"):
            subprocess.run(["ruby", "-c", str(out / "breadboard-ls.rb")], check=True, stdout=subprocess.DEVNULL)

    def test_cargo_binstall_is_told_of_archives_that_are_made(self):
        manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
        said = manifest["metadata"]["binstall"]
        for target in TARGETS.values():
            for triple in target.triples:
                one = {**said, **said["overrides"].get(triple, {})}
                url = one["pkg-url"].replace("{ repo }", manifest["repository"]).replace("{ version }", VERSION)
                self.assertEqual(url, f"{manifest['repository']}/releases/download/v{VERSION}/{target.archive}")
                self.assertEqual(one["bin-dir"].replace("{ bin }{ binary-ext }", target.program), f"{target.folder}/{target.program}")
                self.assertEqual(one["pkg-fmt"], "zip" if target.is_windows else "tgz")

    def needs(self, program: str):
        if shutil.which(program) is None:
            print(f"NOT RUN: {self._testMethodName}: {program} is not installed")
            self.skipTest(program)

    def bare_home(self) -> str:
        """An empty home with a workspace in the bare root, relative to it."""
        if BARE is None:
            print(f"NOT RUN: {self._testMethodName}: there is no bare Debian here")
            self.skipTest("no bare root")
        home = Path(tempfile.mkdtemp(dir=Path(BARE) / "root"))
        self.addCleanup(shutil.rmtree, home)
        return str(workspace(home).relative_to(BARE))

    def in_bare_root(self, script: str) -> subprocess.CompletedProcess:
        # With the processes that every Linux shows, in a view of the mounts that ends with it.
        inner = 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1"'
        return self.run_bare("unshare", "--mount", "sh", "-c", inner, BARE, script, path="/usr/sbin:/usr/bin:/sbin:/bin")


if __name__ == "__main__":
    unittest.main()
