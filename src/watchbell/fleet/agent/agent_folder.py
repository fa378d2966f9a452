"""The folder of an agent: its jobs, its token, and where it connects to."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell import ids
from watchbell.errors import Refused
from watchbell.fleet.agent.token_file import TokenFile


class Joined(Struct, frozen=True, kw_only=True):
    """The servers that an agent has joined."""

    urls: tuple[str, ...]
    ca: str = ""
    """A file with the certificates that are trusted; empty for those of the machine."""


class AgentFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.jobs = path / "jobs"
        self.spare = path / "spare"
        self.trash = path / "trash"
        self.kept = path / "kept"
        """Where processes of jobs wait for the next agent."""
        self.commands = path / "commands"
        """Of commands that run."""
        self.token = TokenFile(path / "token")
        self._id = path / "id"
        self._joined = path / "joined.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the folder, and keeps other agents from using it."""
        self.path.mkdir(0o711, parents=True, exist_ok=True)
        self.jobs.mkdir(0o711, exist_ok=True)
        self.kept.mkdir(0o700, exist_ok=True)
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused(f"another agent uses the folder {self.path}") from None
            yield
        finally:
            os.close(lock)

    def id(self) -> str:
        """Another one if the folder was lost, and with it what the agent knows of its jobs."""
        with suppress(FileNotFoundError):
            found = self._id.read_text().strip()
            if found:
                return found
        made = ids.token()
        fresh = self._id.with_name("id.new")
        fresh.write_text(made)
        fresh.replace(self._id)
        return made

    def joined(self) -> Joined | None:
        try:
            return msgspec.json.decode(self._joined.read_bytes(), type=Joined)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise Refused(f"{self._joined} can't be read: {error}; join again") from error

    def store_joined(self, joined: Joined) -> None:
        fresh = self._joined.with_name("joined.new")
        fresh.write_bytes(msgspec.json.encode(joined))
        fresh.replace(self._joined)
