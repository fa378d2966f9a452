"""The web server killed while reports come in: what was answered is there, once."""

import asyncio
import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientConnectionError, ClientPayloadError, ClientSession

from tests import servers
from tests.conftest import bare_environment, watchbell
from tests.waiting import eventually
from watchbell.actors import system
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.audit import Stamp
from watchbell.web.people.api_keys import ApiKeys

BATCHES, SIZE = 30, 200


class Keeper:
    """Starts the server again whenever it ended, each time with the next fault."""

    def __init__(self, store: Store, port: int, faults: list[str]) -> None:
        self._store, self._port, self._faults = store, port, faults
        self.killed = 0

    async def run(self) -> None:
        for fault in itertools.chain(self._faults, itertools.repeat("")):
            process = await asyncio.create_subprocess_exec(
                *watchbell("run", "web", "--store", self._store.url.redacted()),
                env=bare_environment(WATCHBELL_WEB_PORT=str(self._port), WATCHBELL_FAULT=fault),
                stdout=subprocess.DEVNULL,
                stderr=sys.stderr,
            )
            try:
                await process.wait()
                self.killed += 1
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


@asynccontextmanager
async def kept(keeper: Keeper) -> AsyncIterator[None]:
    task = asyncio.create_task(keeper.run())
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def posted(http: ClientSession, url: str, batch: int) -> None:
    """Sends a batch until it is answered, always with the same ids."""
    body = "".join(
        json.dumps(
            {
                "type": "service",
                "state": "ok",
                "entity": f"web-{batch}",
                "check": f"check {number}",
                "id": f"{batch}-{number}",
            }
        )
        + "\n"
        for number in range(SIZE)
    )

    async def is_answered() -> bool:
        try:
            headers = {"Content-Type": "application/x-ndjson"}
            async with http.post(url, data=body, headers=headers) as answer:
                assert answer.status == 202, await answer.text()
                return bool((await answer.json())["accepted"] == SIZE)
        except (ClientConnectionError, ClientPayloadError):  # or half of an answer came
            return False

    await eventually(is_answered, 60)


async def test_every_event_that_was_answered_is_there_once(store: Store) -> None:
    by = Stamp(system("tests"), int(SYSTEM.now()))
    secret, _ = await ApiKeys(store, SYSTEM).make("fire", ("intake",), by)
    hold = servers.held_port()
    port = hold.getsockname()[1]
    faults = ["intake.before_write:4", "intake.after_write:4", "intake.after_write:1"]
    keeper = Keeper(store, port, faults)
    url = f"http://127.0.0.1:{port}/api/v1/check-events"
    async with kept(keeper), ClientSession(headers={"Authorization": f"Bearer {secret}"}) as http:
        left = iter(range(BATCHES))

        async def sender() -> None:
            for batch in left:
                await posted(http, url, batch)

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(sender())
    hold.close()
    assert keeper.killed == len(faults)
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    events = [json.loads(one) for one in found]
    counted = Counter((event["entity"], event["check"]) for event in events)
    assert len(counted) == BATCHES * SIZE
    assert set(counted.values()) == {1}
