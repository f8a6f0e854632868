"""What of other people's code is in the program: each crate, its licence, and the text of it.

Owns the two files that say so: a notice for people, and a bill of materials (CycloneDX 1.5) for programs. Reads the lock file and
the sources that cargo has unpacked; builds nothing.
"""

import json
import subprocess
import tomllib
from pathlib import Path

# Beginnings of the names of files that carry a licence or a notice.
LEGAL = ("license", "licence", "copying", "notice", "unlicense", "copyright")


def linked(root: Path, triple: str, with_own: bool = False) -> list[dict]:
    """The packages that are linked into the program for a platform, by name and version; our own only where that is wanted."""
    said = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    metadata = json.loads(said)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    own = set(metadata["workspace_members"])
    seen: set[str] = set()
    waiting = [metadata["resolve"]["root"]]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        for dependency in nodes[at]["deps"]:
            # `None` is an ordinary dependency; the others are for building and for tests.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    packages = [package for package in metadata["packages"] if package["id"] in (seen if with_own else seen - own)]
    # What makes code while ours is compiled is not in the program.
    packages = [p for p in packages if not any("proc-macro" in target["kind"] for target in p["targets"])]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def _texts(package: dict) -> list[str]:
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(LEGAL))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def notice(packages: list[dict]) -> str:
    """The notice: a list, then each text once, with who gave it."""
    lines = ["breadboard-ls contains code of these packages, each under its own licence.", ""]
    by_text: dict[str, list[str]] = {}
    for package in packages:
        label = f"{package['name']} {package['version']}"
        lines.append(f"{label}: {package['license'] or 'see its text below'}")
        for text in _texts(package):
            by_text.setdefault(text, []).append(label)
    for text, labels in by_text.items():
        lines += ["", "-" * 78, ", ".join(labels), "", text]
    return "\n".join(lines) + "\n"


def bill_of_materials(root: Path, packages: list[dict], version: str) -> str:
    """The same as CycloneDX, with the checksum of each package as the registry has it."""
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    components = []
    for package in packages:
        name, number = package["name"], package["version"]
        component = {
            "type": "library",
            "bom-ref": f"pkg:cargo/{name}@{number}",
            "name": name,
            "version": number,
            "purl": f"pkg:cargo/{name}@{number}",
        }
        if package["license"]:
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if sums.get((name, number)):
            component["hashes"] = [{"alg": "SHA-256", "content": sums[(name, number)]}]
        components.append(component)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "breadboard-ls",
                "name": "breadboard-ls",
                "version": version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            }
        },
        "components": components,
    }
    return json.dumps(bill, indent=2) + "\n"
