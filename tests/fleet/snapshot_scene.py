"""Servers with full samples, as snapshots need them."""

import zlib
from typing import Any

import msgspec

from tests.fleet.crew import NOW, join
from watchbell.fleet import presence, samples
from watchbell.fleet.model import Link, Quick, Server
from watchbell.fleet.samples import Machine
from watchbell.store.client import Store


def process(pid: int, **more: Any) -> dict[str, Any]:
    return {"pid": pid, "user": "root", "command": f"program {pid}", "started": 100, **more}


def packed(**more: Any) -> bytes:
    given = {"hostname": "x", "date": 1, "load": [1.5, 1, 0.5], **more}
    return zlib.compress(msgspec.msgpack.encode(given))


def quick(date: float, usage: float = 10) -> Quick:
    return Quick(date, 1.5, usage, 1e9, 2e9, 0, 0, 100, 200)


async def sampled(
    store: Store, hostname: str = "db-1", *, at: float = NOW, group: str = "", **more: Any
) -> Server:
    """A server that is connected and has sent everything."""
    server, _ = await join(store, hostname, groups=(group,) if group else ())
    link = Link(session=f"session of {hostname}", process="test", since=0)
    await presence.connect(store, server.id, link)
    await resample(store, server, at=at, **more)
    return server


async def resample(store: Store, server: Server, *, at: float = NOW, **more: Any) -> None:
    machine = Machine(server.id, server.hostname, at, packed(**more))
    values = {server.id: [quick(at - 1), quick(at)]}
    await samples.record(store, [], [machine], values)
