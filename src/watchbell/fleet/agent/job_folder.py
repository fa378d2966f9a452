"""The folder of a job that an agent has accepted: the order, the reports, the working directory."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell.fleet.messages import Order

_ORDER = "order"
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

    def write(self, accepted: Accepted) -> None:
        """Raises OSError; then there is no such folder."""
        os.mkdir(self.path, 0o711)  # noqa: PTH102 quicker
        try:
            file = os.open(self.path / _ORDER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                content = _encode(accepted)
                if os.write(file, content) < len(content):
                    raise OSError(28, "no space left on device")
            finally:
                os.close(file)
            os.mkdir(self.work, 0o700)  # noqa: PTH102
        except OSError:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def read(self) -> Accepted | None:
        """None for one that was not written to its end: the server sends the order again."""
        try:
            return msgspec.msgpack.decode((self.path / _ORDER).read_bytes(), type=Accepted)
        except (OSError, msgspec.DecodeError):
            return None

    def remove(self) -> bool:
        """Whether it is gone. Of a job that has left files, `remove_all` has to be called: it may
        take a long time. The order goes first: without it, what is left is no job."""
        with suppress(OSError):
            os.unlink(self.path / _ORDER)  # noqa: PTH108
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
