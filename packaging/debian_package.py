"""The Debian package.

Owns its control file and where things go. `dpkg-deb` writes it, because a hand-made one would be ours to keep right.
"""

import gzip
import os
import re
import subprocess
import tempfile
from pathlib import Path

from archive import Entry
from targets import Target

CONTROL = """\
Package: breadboard-ls
Version: {version}
Architecture: {architecture}
Maintainer: The BreadBoard authors <maintainers@breadboard-ls.invalid>
Installed-Size: {size}
{depends}Recommends: git
Section: devel
Priority: optional
Homepage: https://github.com/breadboard-ls/breadboard-ls
Description: language server for coding agents
 One server between every editor and every agent engine: sessions, streaming,
 approvals, edits and history, over the Language Server Protocol.
"""


def c_library(program: bytes) -> str | None:
    """The version of glibc that a program needs: the highest that it names. `None` when it is linked statically."""
    named = {tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(\d+\.\d+)", program)}
    if not named:
        return None
    # Relative relocations are packed (`build.rs`), which that version reads.
    if b"GLIBC_ABI_DT_RELR" in program:
        named.add((2, 36))
    return ".".join(map(str, max(named)))


def build(target: Target, program: bytes, documents: dict[str, bytes], version: str, made: int, out: Path) -> Path:
    """Writes the package. `documents` are the manual page, the completions and the legal texts, by where they go."""
    library = c_library(program)
    files = [Entry("usr/bin/breadboard-ls", program, True)]
    for place, data in documents.items():
        packed = gzip.compress(data, 9, mtime=made) if "/man/" in place else data
        files.append(Entry(place + (".gz" if "/man/" in place else ""), packed))
    size = sum(len(file.data) for file in files) // 1024 + 1
    depends = f"Depends: libc6 (>= {library}), libgcc-s1\n" if library else ""
    control = CONTROL.format(version=version, architecture=target.debian, size=size, depends=depends)
    path = out / f"breadboard-ls_{version}_{target.debian}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for file in [*files, Entry("DEBIAN/control", control.encode())]:
            at = root / file.place
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(file.data)
            at.chmod(file.mode)
        for at in [root, *root.rglob("*")]:
            if at.is_dir():
                at.chmod(0o755)
            os.utime(at, (made, made))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(path)],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(made)},
        )
    return path
