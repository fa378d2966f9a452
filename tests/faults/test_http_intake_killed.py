"""Events by several senders while the web server is killed again and again."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import ClientConnectionError, ClientPayloadError, ClientSession, ClientTimeout

from tests import servers
from tests.conftest import bare_environment, watchbell
from tests.waiting import PATIENCE, eventually
from watchbell.actors import system
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.audit import Stamp
from watchbell.web.people.api_keys import ApiKeys

EVENTS, BATCH, SENDERS = 20_000, 400, 4
KILLED_AFTER = (0.15, 0.5, 0.85)
"""Shares of the batches that were answered, after each of which the server is killed."""
NDJSON = {"Content-Type": "application/x-ndjson"}


class Server:
    """`watchbell run web` on one port, killed and started again."""

    def __init__(self, store: Store, port: int) -> None:
        self._command = watchbell("run", "web", "--store", store.url.redacted())
        self._environment = bare_environment(
            WATCHBELL_WEB_PORT=str(port), WATCHBELL_WEB_INTAKE_RATE="0"
        )
        self.killed = 0
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.DEVNULL, stderr=sys.stderr
        )

    async def kill(self) -> None:
        """With SIGKILL, in the middle of whatever it does; the next one begins at once."""
        os.kill(self._process.pid, signal.SIGKILL)
        assert await asyncio.to_thread(self._process.wait) == -signal.SIGKILL
        self.killed += 1
        self._process = self._started()

    async def end(self) -> None:
        self._process.kill()
        await asyncio.to_thread(self._process.wait)


@asynccontextmanager
async def serving(store: Store, port: int) -> AsyncIterator[Server]:
    server = Server(store, port)
    try:
        yield server
    finally:
        await server.end()


def batch(number: int) -> bytes:
    """Events that no other batch has, each with its id."""
    return b"".join(
        b'{"type":"service","state":"ok","entity":"web-%d","check":"%d","id":"%d"}\n'
        % (number, one, number * BATCH + one)
        for one in range(BATCH)
    )


class Senders:
    """Each sends a batch until all of it is acknowledged, and then the next one."""

    def __init__(self, http: ClientSession, url: str) -> None:
        self._http, self._url = http, url
        self._left: Iterator[int] = iter(range(EVENTS // BATCH))
        self.answered = 0
        self.tries = 0

    def have_sent(self, share: float) -> bool:
        return self.answered * BATCH >= share * EVENTS

    async def run(self) -> None:
        for number in self._left:
            body = batch(number)

            async def is_acknowledged(body: bytes = body) -> bool:
                self.tries += 1
                try:
                    async with self._http.post(self._url, data=body, headers=NDJSON) as answer:
                        return answer.status == 202 and await self._is_whole(await answer.read())
                except (ClientConnectionError, ClientPayloadError):  # or half of an answer came
                    return False

            await eventually(is_acknowledged, 60)
            self.answered += 1

    async def _is_whole(self, body: bytes) -> bool:
        told = json.loads(body)
        assert (told["accepted"], told["rejected"]) == (BATCH, 0)
        return True


async def test_every_acknowledged_event_is_there_once_however_often_the_server_is_killed(
    store: Store,
) -> None:
    by = Stamp(system("tests"), int(SYSTEM.now()))
    secret, _ = await ApiKeys(store, SYSTEM).make("fire", ("intake",), by)
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        url = f"http://127.0.0.1:{port}/api/v1/check-events"
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            serving(store, port) as server,
            ClientSession(headers=headers, timeout=ClientTimeout(total=PATIENCE)) as http,
            asyncio.TaskGroup() as group,
        ):
            senders = Senders(http, url)
            for _ in range(SENDERS):
                group.create_task(senders.run())
            for share in KILLED_AFTER:
                await eventually(partial(senders.have_sent, share), 120)
                await server.kill()
    assert server.killed == len(KILLED_AFTER)
    assert senders.tries > EVENTS // BATCH + len(KILLED_AFTER)
    counted = await _counted(store)
    assert len(counted) == EVENTS
    assert set(counted.values()) == {1}


async def _counted(store: Store) -> Counter[bytes]:
    """How often each event waits to be processed: each differs from all others."""
    key, counted = Alerting(store.prefix).events(), Counter[bytes]()
    for first in range(0, await store.call("LLEN", key), 10_000):
        found = await store.call("LRANGE", key, first, first + 9_999)
        events = (json.loads(one) for one in found)
        counted.update(f"{one['entity']}:{one['check']}".encode() for one in events)
    return counted
