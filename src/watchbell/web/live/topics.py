"""Topics: the current figures of each domain, read once a second for all readers."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Literal, Protocol, get_args

import msgspec

from watchbell import logs
from watchbell.errors import StoreUnavailable
from watchbell.web.live.background import Background
from watchbell.web.live.events import Event, Source

SECONDS = 1.0

Topic = Literal[
    "checks", "alerts", "cron", "jobs", "servers", "archive", "queues", "maintenance", "gateways"
]
TOPICS: tuple[Topic, ...] = get_args(Topic)


class TopicSource(Protocol):
    """Gives the data of some topics."""

    @property
    def topics(self) -> tuple[Topic, ...]: ...

    async def look(self) -> Mapping[Topic, Mapping[str, Any]]:
        """The data of each topic that is known now."""
        ...

    def rest(self) -> None:
        """Nobody reads any more: drop what the last look left."""


class Topics:
    """Runs while there are readers; each is sent what has changed of its topics."""

    def __init__(self, background: Background, *sources: TopicSource) -> None:
        self._background, self._sources = background, sources
        self._wanted: list[Collection[Topic]] = []
        self._latest: dict[Topic, bytes] = {}
        self._beat, self._hurry = asyncio.Event(), asyncio.Event()
        self._is_running = False

    async def changes(self, topics: Collection[Topic]) -> Source:
        seen: dict[Topic, bytes] = {}
        with self._reading(topics):
            while True:
                beat = self._beat
                for topic in topics:
                    data = self._latest.get(topic)
                    if data is not None and seen.get(topic) != data:
                        seen[topic] = data
                        yield Event("", topic, data)
                await beat.wait()

    @contextmanager
    def _reading(self, topics: Collection[Topic]) -> Iterator[None]:
        self._wanted.append(topics)
        if not self._is_running:
            self._is_running = True
            self._background.begin(self._run())
        elif not self._latest.keys() >= set(topics):
            self._hurry.set()
        try:
            yield
        finally:
            self._wanted.remove(topics)

    async def _run(self) -> None:
        try:
            while self._wanted:
                wanted = set[Topic]().union(*self._wanted)
                for source in self._sources:
                    if wanted & set(source.topics):
                        await self._look(source)
                with suppress(TimeoutError):
                    async with asyncio.timeout(SECONDS):
                        await self._hurry.wait()
                self._hurry.clear()
        finally:
            self._latest, self._is_running = {}, False
            for source in self._sources:
                source.rest()

    async def _look(self, source: TopicSource) -> None:
        try:
            found = await source.look()
        except StoreUnavailable:
            return  # reported by everybody else who needs it; the next look may find it back
        except Exception:  # noqa: BLE001 one look stops none of the others
            logs.get(role="web").exception("looking at topics failed", topics=source.topics)
            return
        if found:
            self._latest |= {topic: msgspec.json.encode(data) for topic, data in found.items()}
            beat, self._beat = self._beat, asyncio.Event()
            beat.set()
