"""The embedded store's append-only files: finding and cutting off a torn end."""

import re
import shutil
import subprocess
from pathlib import Path

from watchbell.errors import EmbeddedFailed

_BAD_FORMAT = re.compile(r"Bad file format reading the append only file (\S+?):")
_TRUNCATED = re.compile(r"Truncating the AOF (\S+) at offset (\d+)")


def sizes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.glob("*.aof")}


def cut_by_server(log: str, before: dict[str, int]) -> str:
    """In words, what the server cut off by itself while it started; empty where nothing."""
    found = _TRUNCATED.search(log)
    if found is None:
        return ""
    torn = before.get(found[1], int(found[2])) - int(found[2])
    return _told(torn, found[1])


def damaged(log: str) -> str:
    """The file over which the server gave up; empty where it did not."""
    found = _BAD_FORMAT.search(log)
    return found[1] if found else ""


def cut(binary: Path, file: Path) -> str:
    """Cuts `file` after its last whole command, keeps the rest beside it, and says so."""
    checker = binary.name.replace("-server", "-check-aof")
    checked = subprocess.run(
        [checker, str(file)], executable=binary, capture_output=True, text=True, check=False
    )
    found = re.search(r"ok_up_to=(\d+)", checked.stdout)
    if found is None:
        raise EmbeddedFailed(f"{file} is damaged and can't be repaired: {checked.stdout.strip()}")
    good, size = int(found[1]), file.stat().st_size
    rest = file.with_name(file.name + ".torn")
    with file.open("r+b") as whole, rest.open("wb") as torn:
        whole.seek(good)
        shutil.copyfileobj(whole, torn)
        whole.truncate(good)
    return f"{_told(size - good, file.name)}; what was cut off is kept in {rest.name}"


def _told(torn: int, name: str) -> str:
    return f"the last write before a crash was torn: cut {torn} bytes off the end of {name}"
