"""The folder of a job that an agent has accepted: the order, the reports, the working directory."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell.fleet.agent.journal import FIRST, JobState, Journal, head_of
from watchbell.fleet.messages import Order

_WORK = "work"
_SCRIPT = "script"
_LOG = "log"
_encode = msgspec.msgpack.Encoder().encode


class Accepted(Struct, frozen=True, kw_only=True):
    """An order, and what applied when it came."""

    order: Order
    at: float
    log_limit: int
    file_limit: int
    kill_after: float

    @property
    def id(self) -> str:
        return str(self.order.job["id"])


class JobFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / _WORK
        self.script = path / _SCRIPT
        self.log = path / _LOG
        """Where the job may write a log of its own, which is uploaded when it ends."""

    def begin(self, accepted: Accepted) -> Journal:
        """The journal of the job, which begins with the order. Raises OSError."""
        return Journal.begun(self.path, _encode(accepted))

    def read(self) -> Accepted | None:
        """None for one that was not written to its end: the server sends the order again."""
        head = head_of(self.path)
        try:
            return msgspec.msgpack.decode(head, type=Accepted) if head else None
        except msgspec.DecodeError:
            return None

    def restart_journal(self, accepted: Accepted) -> Journal:
        """In place of one that is damaged. The job may have been started."""
        for path in self.path.glob("reports.*"):
            path.unlink()
        journal = Journal.begun(self.path, _encode(accepted))
        journal.append([], accepted.id, JobState(is_starting=True))
        return journal


def make(path: Path) -> None:
    """An empty folder of a job. Raises OSError; then there is none."""
    os.mkdir(path, 0o711)  # noqa: PTH102 quicker
    try:
        os.mkdir(path / _WORK, 0o700)  # noqa: PTH102
        for name in (FIRST, _SCRIPT):
            os.close(os.open(path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise


def every(jobs: Path) -> Iterator[JobFolder]:
    for name in sorted(os.listdir(jobs)):  # noqa: PTH208 names, not paths
        yield JobFolder(jobs / name)
