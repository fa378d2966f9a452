"""The data folder: for its owner alone, because it holds passwords, sessions and output of jobs."""

import os
import stat
from pathlib import Path

from watchbell import logs
from watchbell.errors import EmbeddedFailed

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OURS = ("store.lock", "store-*.mark", "cron")
"""Files by which a data folder is recognised."""


def make(folder: Path) -> None:
    """Creates the folder if missing, and makes it private."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    make_private(folder)


def make_private(folder: Path) -> None:
    """Narrows a folder that others may read, if there is one; EmbeddedFailed where it can't.

    A folder that holds other files is refused and not narrowed: it might be /tmp or a home.
    """
    try:
        found = folder.stat()
    except OSError:
        return  # nothing is there to be read
    if not found.st_mode & _OTHERS:
        return
    try:
        if found.st_uid != os.geteuid() or not _is_ours(folder):
            raise EmbeddedFailed(_refusal(folder, found))
        folder.chmod(0o700)
    except OSError as error:
        raise unwritable(folder, error) from error
    logs.get().warning(
        "others could read the data folder: it is the owner's alone now",
        folder=str(folder),
        mode_before=_mode(found),
    )


def unwritable(folder: Path, error: OSError) -> EmbeddedFailed:
    return EmbeddedFailed(f"the data folder {folder} can't be written: {error.strerror or error}")


def _is_ours(folder: Path) -> bool:
    is_empty = next(folder.iterdir(), None) is None
    return is_empty or any(next(folder.glob(name), None) for name in _OURS)


def _refusal(folder: Path, found: os.stat_result) -> str:
    whose = "belongs to another user" if found.st_uid != os.geteuid() else "holds other files"
    return (
        f"the data folder {folder} {whose} and is open to others (mode {_mode(found)}); choose a "
        f"folder of its own with --data, or run `chmod go= {folder}` if only its owner uses it"
    )


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):o}"
