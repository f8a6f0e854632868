"""The npm packages: `breadboard-ls`, which starts the server, and one for each platform, which has it.

Owns their manifests. A platform's package is optional for the first one, so npm installs the one that fits and runs no script.
"""

import json
from pathlib import Path

from archive import Entry, tar_gz
from targets import Target

HOME = "https://github.com/breadboard-ls/breadboard-ls"


def _manifest(version: str, own: dict) -> dict:
    return {
        **own,
        "version": version,
        "license": "MIT OR Apache-2.0",
        "repository": {"type": "git", "url": f"git+{HOME}.git"},
        "homepage": HOME,
    }


def _pack(manifest: dict, files: list[Entry], made: int) -> bytes:
    text = json.dumps(manifest, indent=2) + "\n"
    entries = [Entry("package.json", text.encode()), *files]
    return tar_gz([Entry(f"package/{one.place}", one.data, one.is_program) for one in entries], made)


def file_name(name: str, version: str) -> str:
    """As `npm pack` names it."""
    return f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"


def platform(target: Target, program: bytes, legal: list[Entry], version: str, made: int) -> bytes:
    """The package with the program for a platform. No `libc` in it: Alpine would refuse a program that runs there."""
    system, processor = target.node
    manifest = _manifest(
        version,
        {
            "name": target.npm,
            "description": f"The program of breadboard-ls for {target.name}.",
            "os": [system],
            "cpu": [processor],
            "preferUnplugged": True,
        },
    )
    return _pack(manifest, [Entry(f"bin/{target.program}", program, True), *legal], made)


def launcher(folder: Path, targets: list[Target], legal: list[Entry], version: str, made: int) -> bytes:
    """The package that people name."""
    manifest = _manifest(
        version,
        {
            "name": "breadboard-ls",
            "description": "The language server for coding agents: one server between every editor and every agent engine.",
            "keywords": ["lsp", "acp", "agent", "editor", "language-server"],
            "bin": {"breadboard-ls": "launch.cjs"},
            "engines": {"node": ">=18"},
            "optionalDependencies": {target.npm: version for target in targets},
        },
    )
    files = [
        Entry("launch.cjs", (folder / "launch.cjs").read_bytes(), True),
        Entry("README.md", (folder / "README.md").read_bytes()),
        *legal,
    ]
    return _pack(manifest, files, made)
