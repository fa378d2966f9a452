"""The folder of a job that an agent has accepted: the order, the reports, the working directory."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
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

    def write(self, accepted: Accepted) -> Journal:
        """The journal of the job, which begins with the order. Raises OSError; then there is no
        such folder."""
        os.mkdir(self.path, 0o711)  # noqa: PTH102 quicker
        try:
            os.mkdir(self.work, 0o700)  # noqa: PTH102
            return Journal.begun(self.path, _encode(accepted))
        except OSError:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

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

    def remove(self) -> bool:
        """Whether it is gone. Of a job that has left files, `remove_all` has to be called: it may
        take a long time. The order goes first: without it, what is left is no job."""
        with suppress(OSError):
            os.unlink(self.path / FIRST)  # noqa: PTH108
            for name in os.listdir(self.path):  # noqa: PTH208 quicker
                if name != _WORK:
                    os.unlink(f"{self.path}/{name}")  # noqa: PTH108
            os.rmdir(self.work)  # noqa: PTH106
            os.rmdir(self.path)  # noqa: PTH106
            return True
        return False

    def remove_all(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def every(jobs: Path) -> Iterator[JobFolder]:
    for name in sorted(os.listdir(jobs)):  # noqa: PTH208 names, not paths
        yield JobFolder(jobs / name)
