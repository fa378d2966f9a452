"""The topics of jobs and servers: counts, and a number that grows with every change."""

from contextlib import aclosing
from typing import Any

from watchbell.fleet.keys import Fleet
from watchbell.jobs.figures import figures
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store
from watchbell.store.live import listen
from watchbell.web.live.background import Background
from watchbell.web.live.topics import Topic


class JobTopics:
    topics: tuple[Topic, ...] = ("jobs", "servers")

    def __init__(self, store: Store, background: Background, down_after: float) -> None:
        self._store, self._background, self._down_after = store, background, down_after
        self._is_listening = self._is_wanted = False
        self._jobs = self._servers = 0

    async def look(self) -> dict[Topic, dict[str, Any]]:
        self._is_wanted = True
        if not self._is_listening:
            self._is_listening = True
            self._background.begin(self._listen())
        found = await figures(self._store, self._down_after)
        return {
            "jobs": {
                "active": found.active,
                "queued": found.waiting,
                "delayed": found.delayed,
                "finished": found.kept,
                "last": found.last,
                "changed": self._jobs,
            },
            "servers": {
                "all": found.servers,
                "online": found.online,
                "down": max(found.servers - found.online, 0),
                "changed": self._servers,
            },
        }

    def rest(self) -> None:
        self._is_wanted = False

    async def _listen(self) -> None:
        keys, fleet = Jobs(self._store.prefix), Fleet(self._store.prefix)
        channels = keys.news(), keys.changes(), fleet.changes()
        try:
            async with aclosing(listen(self._store, *channels, quiet=5.0)) as messages:
                async for item in messages:
                    is_fleet = getattr(item, "channel", "") == fleet.changes()
                    self._servers += is_fleet
                    self._jobs += not is_fleet
                    if not self._is_wanted:
                        return
        finally:
            self._is_listening = False
