"""A dashboard on loopback, and viewers of it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec.structs import replace
from websockets.asyncio.client import ClientConnection, connect

from tests.archive.crawling import OWN, SITE
from tests.waiting import eventually
from tests.web.site import chosen
from watchbell.clock import SYSTEM, Clock
from watchbell.settings import Settings
from watchbell.settings.sections import ArchiveDashboard
from watchbell.store.client import Store
from watchbell.web.archive.dashboard import origins
from watchbell.web.archive.dashboard.broadcaster import Broadcaster
from watchbell.web.archive.dashboard.serving import serving
from watchbell.web.archive.dashboard.stream_socket import VIEWERS
from watchbell.web.server import WebSockets

HOST = "127.0.0.1"
JOB = {"url": "https://example.com/", "started_at": "1790000000.250", "r2xx": "7", "note": "grüße"}


class Dashboard:
    def __init__(self, port: int, broadcaster: Broadcaster) -> None:
        self.port, self.broadcaster = port, broadcaster
        self.url = f"http://{HOST}:{port}"

    def viewer(self, **options: Any) -> connect:
        return connect(f"ws://{HOST}:{self.port}/stream", max_size=None, **options)

    async def viewed_by(self, count: int) -> None:
        await eventually(lambda: self.broadcaster.viewers == count, why=f"{count} viewers")


def settings_of(**fields: Any) -> Settings:
    plain = chosen(connections_per_address=0)
    return replace(plain, archive=replace(plain.archive, dashboard=ArchiveDashboard(**fields)))


@asynccontextmanager
async def served(
    store: Store, clock: Clock = SYSTEM, viewers: WebSockets = VIEWERS, **fields: Any
) -> AsyncIterator[Dashboard]:
    settings = settings_of(**fields)
    listed = settings.archive.dashboard.origins
    allowed = origins.allowed(listed, HOST, frozenset({4567, 4568}))
    async with (
        serving(settings, store, clock, allowed, viewers=viewers) as (port, broadcaster),
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(broadcaster.run())
        await subscribed(store)
        yield Dashboard(port, broadcaster)
        running.cancel()


async def subscribed(store: Store) -> None:
    async def is_heard() -> bool:
        return bool((await store.call("PUBSUB", "NUMSUB", OWN.entries()))[1])

    await eventually(is_heard, why="it subscribes")


def entry(number: int, **fields: Any) -> dict[str, Any]:
    url = f"https://example.com/{number}"
    return {"type": "download", "url": url, "index": number, **fields}


def batch(numbers: range, job: dict[str, str] | None = None, **fields: Any) -> bytes:
    entries = [entry(number, **fields) for number in numbers]
    return msgspec.json.encode({"ident": SITE, "job_data": job or JOB, "entries": entries})


async def publish(store: Store, body: bytes) -> None:
    await store.call("PUBLISH", OWN.entries(), body)


async def received(viewer: ClientConnection, count: int) -> list[dict[str, Any]]:
    found = []
    async with asyncio.timeout(120):
        for _ in range(count):
            message = await viewer.recv()
            assert isinstance(message, str)
            found.append(msgspec.json.decode(message))
    return found


def numbers_of(messages: list[dict[str, Any]]) -> list[int]:
    return [one["index"] for one in messages]


def small_socket(port: int) -> socket.socket:
    """A connection for whose bytes the system has little room."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    one.setblocking(True)
    one.connect((HOST, port))
    return one
