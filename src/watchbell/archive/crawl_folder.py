"""What a pipeline keeps on its disk for a crawl that it works on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from watchbell.archive.model import Crawl


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
        if path.exists():
            shutil.rmtree(path)
        path.mkdir(parents=True)
        folder = cls(path)
        new = path / "crawl.json.new"
        new.write_bytes(msgspec.json.encode(undertaken))
        new.replace(folder._undertaken)
        return folder

    def undertaken(self) -> Undertaken | None:
        """None if it was not begun properly, or is damaged."""
        try:
            return msgspec.json.decode(self._undertaken.read_bytes(), type=Undertaken)
        except (OSError, msgspec.MsgspecError):
            return None

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def every(crawls: Path) -> Iterator[CrawlFolder]:
    """The folders of all crawls that were not finished."""
    if crawls.is_dir():
        for path in sorted(crawls.iterdir()):
            yield CrawlFolder(path)
