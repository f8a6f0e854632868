"""Archives whose bytes depend on nothing but what is in them.

Owns order, times, owners and modes of what is packed. Knows no platform.
"""

import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file of an archive: its place there, its bytes, and whether it is a program."""

    place: str
    data: bytes
    is_program: bool = False

    @property
    def mode(self) -> int:
        return 0o755 if self.is_program else 0o644


def _sorted(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.place)


def tar_gz(entries: list[Entry], made: int) -> bytes:
    """A gzipped tar of them; `made` is the time of each file, in seconds since 1970."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for entry in _sorted(entries):
            info = tarfile.TarInfo(entry.place)
            info.size, info.mode, info.mtime = len(entry.data), entry.mode, made
            tar.addfile(info, io.BytesIO(entry.data))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=made) as out:
        out.write(plain.getvalue())
    return packed.getvalue()


def zipped(entries: list[Entry], made: int) -> bytes:
    """A zip of them."""
    packed = io.BytesIO()
    # The format knows no time before 1980.
    when = max(time.gmtime(made)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for entry in _sorted(entries):
            info = zipfile.ZipInfo(entry.place, when)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = (0o100000 | entry.mode) << 16
            out.writestr(info, entry.data)
    return packed.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(folder: Path, name: str, data: bytes) -> Path:
    """Writes a file of the release."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
