"""What a pipeline keeps on its disk for a crawl that it works on."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell.archive.model import Crawl

_REMOVED = ".removed-"


class Undertaken(Struct, frozen=True, kw_only=True):
    """The crawl, as it was when the pipeline took it."""

    crawl: Crawl
    base: str
    """How the names of its files begin."""


class CrawlFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.frontier = path / "frontier.db"
        self.log = path / "crawl.log"
        self._undertaken = path / "crawl.json"

    @classmethod
    def begun(cls, path: Path, undertaken: Undertaken) -> "CrawlFolder":
        """A new folder. What an interrupted beginning has left is replaced."""
        folder = cls(path)
        folder.remove()
        path.mkdir(parents=True)
        new = path / "crawl.json.new"
        with new.open("wb") as file:
            file.write(msgspec.json.encode(undertaken))
            file.flush()
            os.fsync(file.fileno())
        new.replace(folder._undertaken)
        return folder

    def undertaken(self) -> Undertaken | None:
        """None if it was not begun properly, or is damaged."""
        try:
            return msgspec.json.decode(self._undertaken.read_bytes(), type=Undertaken)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None

    @property
    def has_content(self) -> bool:
        """Whether something was fetched, perhaps."""
        return self.frontier.exists()

    def remove(self) -> None:
        """All of it or, for whoever looks later, nothing."""
        if not self.path.exists():
            return
        removed = self.path.with_name(f"{_REMOVED}{self.path.name}")
        shutil.rmtree(removed, ignore_errors=True)
        self.path.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)


def every(crawls: Path) -> Iterator[CrawlFolder]:
    """The folders of all crawls that were not finished."""
    if crawls.is_dir():
        for path in sorted(crawls.iterdir()):
            if not path.name.startswith(_REMOVED):
                yield CrawlFolder(path)


def clear(crawls: Path) -> None:
    """Removes what interrupted removals have left."""
    for path in crawls.glob(f"{_REMOVED}*"):
        shutil.rmtree(path, ignore_errors=True)
