"""Jobs and instances for the tests of cron."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.waiting import eventually
from watchbell.cron import history, instance
from watchbell.cron.history import RunRecord
from watchbell.cron.instances import instances
from watchbell.cron.keys import Cron
from watchbell.cron.reading import Reading
from watchbell.settings import Cron as CronSettings
from watchbell.store.client import Store, patiently

NEVER = {"cronstring": "@never"}
EVERY_SECOND = {"second": "*"}
READING = Reading()
HEARTBEAT = 4
"""Seconds. A starved process may be late by half of it, and its runs are not taken for dead."""


def definition(
    cmd: str,
    when: dict[str, Any] | None = None,
    *,
    lock: bool | str = True,
    ttl: int = 10,
    **options: Any,
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "cron_args": NEVER if when is None else when,
        "job_args": {"cmd": cmd, "lock": lock, "ttl": ttl},
    }
    return said | ({"watchbell": options} if options else {})


async def put(store: Store, name: str, said: dict[str, Any]) -> None:
    """As any Redis client would."""
    await store.call("HSET", Cron(store.prefix).jobs(), name, json.dumps(said))


async def say(store: Store, action: Any, args: Any) -> int:
    message = json.dumps({"action": action, "args": args})
    heard: int = await store.call("PUBLISH", Cron(store.prefix).commands(), message)
    return heard


@asynccontextmanager
async def serving(store: Store, folder: Path, **settings: Any) -> AsyncIterator[asyncio.Task[None]]:
    """An instance in this process, ready when the body begins, stopped after it."""
    chosen = CronSettings(**{"heartbeat": HEARTBEAT, "stop_wait": 0, "kill_after": 1, **settings})
    before = len(await instances(store))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(instance.run(store, chosen, folder, lambda _: None))
        try:
            await eventually(lambda: _is_ready(store, before), why="an instance that is ready")
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _is_ready(store: Store, before: int) -> bool:
    return len(await instances(store)) > before


async def ended(store: Store, job: str, count: int = 1) -> list[RunRecord]:
    """The runs of a job, the oldest first, once there are so many."""

    async def enough() -> list[RunRecord]:
        # A store that takes a flood of output on a starved machine is busy for seconds.
        found = await patiently(lambda: history.ended(store, job, most=10_000))
        return found if len(found) >= count else []

    found = await eventually(enough, why=f"{count} runs of {job}")
    return found[::-1]


async def omitted(store: Store, job: str) -> list[int]:
    """The fires that were not run, of a job that has one every second or was skipped singly."""
    return [
        fire
        for one in await history.omissions(store, job, most=1000)
        for fire in range(one.first, one.last + 1)
    ]


async def now(store: Store) -> int:
    return int((await store.call("TIME"))[0])


def until(gate: Path) -> str:
    """The part of a command that waits until the gate is there."""
    return f"until test -e {gate}; do sleep 0.05; done"


async def running(store: Store, job: str, count: int = 1) -> list[RunRecord]:
    async def enough() -> list[RunRecord]:
        found = [seen for seen in await history.active(store) if seen.record.job_name == job]
        return found if len(found) >= count else []

    return await eventually(enough, why=f"{count} runs of {job} under way")
