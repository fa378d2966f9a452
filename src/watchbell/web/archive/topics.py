"""The topic of the archive: how many crawls run and wait, and a number that grows with changes."""

from contextlib import aclosing
from typing import Any

from watchbell.archive import status
from watchbell.archive.keys import Crawls
from watchbell.store.client import Store
from watchbell.store.live import listen
from watchbell.web.live.background import Background
from watchbell.web.live.topics import Topic


class ArchiveTopics:
    topics: tuple[Topic, ...] = ("archive",)

    def __init__(self, store: Store, background: Background) -> None:
        self._store, self._background = store, background
        self._is_listening = self._is_wanted = False
        self._changed = 0

    async def look(self) -> dict[Topic, dict[str, Any]]:
        self._is_wanted = True
        if not self._is_listening:
            self._is_listening = True
            self._background.begin(self._listen())
        found = await status.counts(self._store)
        waiting = found.pending + found.pending_ao + found.pending_large + found.pending_other
        ended = found.completed + found.aborted + found.failed
        return {
            "archive": {
                "running": found.working,
                "queued": waiting,
                "ended": ended,
                "changed": self._changed,
            }
        }

    def rest(self) -> None:
        self._is_wanted = False

    async def _listen(self) -> None:
        try:
            channel = Crawls(self._store.prefix).news()
            async with aclosing(listen(self._store, channel, quiet=5.0)) as messages:
                async for _ in messages:
                    self._changed += 1
                    if not self._is_wanted:
                        return
        finally:
            self._is_listening = False
