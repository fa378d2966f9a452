"""Checks for the tests of the web, and how their lists and streams are read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientResponse

from tests.alerting.scenes import Stage
from tests.web.site import Visitor
from watchbell.alerting import entities
from watchbell.alerting.entities import Entity
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

CHECKS = {
    "web-1:HTTP": "critical",
    "web-1:Disk /": "ok",
    "web-2:HTTP": "ok",
    "db-1:Load": "warning",
    "db-1:NTP:drift": "unknown",
    "<b>bold</b>:ünïcode & more": "ok",
}


async def filled(store: Store) -> Stage:
    """Six checks, two of them of an entity with a tag."""
    stage = Stage(store, initial_failure_delay=0)
    stage.now = int(SYSTEM.now()) - 100
    for name, state in CHECKS.items():
        await stage.later(1).send(state, name, summary=f"{state} since a while")
    ids = {name: id_ for id_, name in (await entities.names(store)).items()}
    await entities.save(store, Entity(id=ids["db-1"], name="db-1", tags=("database", "eu")))
    stage.now = int(SYSTEM.now()) - 50  # what follows has happened by the clock of the pages, too
    return stage


@asynccontextmanager
async def streamed(visitor: Visitor, path: str) -> AsyncIterator["Stream"]:
    async with visitor.http.get(visitor.site.url + path) as answer:
        assert answer.status == 200, await answer.text()
        yield Stream(answer)


class Stream:
    def __init__(self, answer: ClientResponse) -> None:
        self._answer, self.id = answer, ""

    async def next(self) -> tuple[str, Any]:
        """The next event: its name and its data."""
        name = ""
        async with asyncio.timeout(30):
            async for raw in self._answer.content:
                field, _, value = raw.decode().rstrip("\n").partition(": ")
                if field == "id":
                    self.id = value
                elif field == "event":
                    name = value
                elif field == "data":
                    return name, msgspec.json.decode(value)
        raise AssertionError("the stream has ended")

    async def changed(self, name: str) -> dict[str, Any]:
        """The next row of this check that is told."""
        while True:
            _, data = await self.next()
            for row in data["rows"]:
                if row["id"] == name:
                    return dict(row)

    async def until(self, topic: str, **wanted: Any) -> dict[str, Any]:
        while True:
            name, data = await self.next()
            if name == topic and wanted.items() <= data.items():
                return dict(data)


async def names(visitor: Visitor, query: str = "") -> list[str]:
    answer = await visitor.get(f"/api/v1/checks?{query}")
    assert answer.status == 200, answer.text
    return [row["id"] for row in answer.json()["items"]]


async def they_are(found: Awaitable[list[str]], wanted: list[str]) -> bool:
    return await found == wanted
