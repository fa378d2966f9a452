"""The folder of a pipeline: who it is, and what it works on."""

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watchbell.errors import Refused
from watchbell.store import data_folder


class PipelineFolder:
    def __init__(self, data: Path) -> None:
        self._data = data
        self.path = path = data / "archive"
        self.crawls = path / "crawls"
        self.spools = path / "spools"
        self.browser = path / "browser"
        self.uploads = path / "uploads"
        self._id = path / "pipeline.id"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Raises Refused while another pipeline uses the folder."""
        data_folder.make(self._data)
        for folder in (self.path, self.crawls, self.spools):
            folder.mkdir(0o700, exist_ok=True)
        with (self.path / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused(
                    f"another pipeline uses {self.path}; give this one a folder of its own (--data)"
                ) from None
            yield

    def pipeline_id(self) -> str:
        """Stays the same over restarts, so that crawls are taken up again."""
        if not self._id.exists():
            new = self.path / "pipeline.id.new"
            new.write_text(f"pipeline:{secrets.token_hex(16)}\n")
            new.replace(self._id)
        return self.known_id()

    def known_id(self) -> str:
        """Empty if no pipeline has used the folder yet."""
        return self._id.read_text().strip() if self._id.exists() else ""
