"""The file systems of the machine, and how full they are.

Those of other machines are left out: asking for one whose server is gone would stop the agent.
"""

import os
import re

from watchbell.fleet.agent.machine.files import PROC, read
from watchbell.fleet.machine_sample import MOST_MOUNTS, Mount

_REMOTE = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "ncpfs",
        "ceph",
        "glusterfs",
        "lustre",
        "afs",
        "beegfs",
    )
)
_NOT_FOR_DATA = frozenset(
    ("squashfs", "iso9660", "efivarfs", "ramfs", "devtmpfs", "nsfs", "autofs")
)
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_NO_NAME = re.compile(r"\W+")
_MOST_READ = 1_000
_ROOT = "root"


def mounts(proc: str = PROC) -> dict[str, Mount]:
    """By name. Of several mounts of one device, the first is shown."""
    found: dict[str, Mount] = {}
    devices: set[int] = set()
    for line in read(f"{proc}/self/mounts").split(b"\n")[:_MOST_READ]:
        words = [_unescaped(word) for word in line.split()]
        if len(words) < 4 or len(found) >= MOST_MOUNTS:
            continue
        source, path, kind, options = words[:4]
        if _is_left_out(kind, path):
            continue
        mount = _measured(source, path, kind, options, devices)
        if mount is not None:
            found[_name(path)] = mount  # one over another hides it
    return found


def _is_left_out(kind: str, path: str) -> bool:
    if kind in _REMOTE or kind in _NOT_FOR_DATA or kind.startswith("fuse."):
        return True
    # Each container has such a mount; all of them show the disk below.
    return kind == "overlay" and path != "/"


def _measured(source: str, path: str, kind: str, options: str, seen: set[int]) -> Mount | None:
    try:
        about = os.stat(path)  # noqa: PTH116
        if not os.path.isdir(path):  # noqa: PTH112
            return None
        figures = os.statvfs(path)
    except OSError:
        return None
    if not figures.f_blocks or (source.startswith("/") and about.st_dev in seen):
        return None
    seen.add(about.st_dev)
    used = (figures.f_blocks - figures.f_bfree) * figures.f_frsize
    available = figures.f_bavail * figures.f_frsize
    return Mount(
        mount=path[:1_000],
        fs=source[:1_000],
        type=kind[:256],
        size=figures.f_blocks * figures.f_frsize,
        used=used,
        available=available,
        use=round(used / (used + available) * 100, 2) if used + available else 0.0,
        rw="rw" in options.split(","),
    )


def _name(path: str) -> str:
    return _NO_NAME.sub("_", path.strip("/"))[:1_000] or _ROOT


def _unescaped(word: bytes) -> str:
    plain = _ESCAPED.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), word)
    return plain.decode(errors="replace")
