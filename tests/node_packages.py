"""Packages from npm that only tests need: those of the lock file beside the pages."""

import fcntl
import tempfile
from pathlib import Path

from watchbell.web.ui import libraries

FOLDER = libraries.HERE / "node_modules"
_STAMP = FOLDER / ".watchbell-stamp"
_GUARD = Path(tempfile.gettempdir()) / "watchbell-node-packages.lock"


def installed() -> Path:
    """The folder of packages, installed first if the lock file has changed.

    Several test processes may ask at once; one installs, the others wait.
    """
    wanted = libraries.LOCK.read_bytes()
    with _GUARD.open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not _STAMP.is_file() or _STAMP.read_bytes() != wanted:
            libraries.npm(libraries.HERE, everything=True)
            _STAMP.write_bytes(wanted)
    return FOLDER
