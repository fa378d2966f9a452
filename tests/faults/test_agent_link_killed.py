"""The web server dies at each point of a conversation with an agent: no report is lost, none counts
twice, and each job is sent."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests import servers
from tests.conftest import bare_environment, watchbell
from tests.fleet.crew import INFO, NOW
from tests.jobs.assigned import BOOT, FLEET, JOBS, assign, field
from tests.waiting import eventually
from watchbell.clock import SYSTEM
from watchbell.fleet import tokens
from watchbell.fleet.messages import (
    Acks,
    Body,
    Changes,
    Hello,
    KnownJob,
    Launch,
    Output,
    Report,
    Reports,
    Result,
    Started,
    ToAgent,
    Welcome,
    encode,
    to_agent,
)
from watchbell.store.client import Store

JOB_IDS = ["j1", "j2", "j3"]
BODIES: list[Body] = [
    Started(at=NOW, pid=1),
    Output(at=NOW, offset=0, line=0, text=b"one\n"),
    Changes(at=NOW, values={"data": {"steps": [1]}}, activity=("first",)),
    Output(at=NOW, offset=4, line=1, text=b"two\n"),
    Changes(at=NOW, values={"data": {"steps": [2]}, "push": {"tags": ["x"]}}),
    Result(at=NOW, code=0, size=8, lines=2),
]
POINTS = ["jobs.ordered", "jobs.reported", "jobs.acknowledging", "jobs.reported:5"]


class Journal:
    """What an agent keeps: its token, its jobs, and which reports are acknowledged."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.reports: dict[str, int] = {}
        """Of each job: the last acknowledged report."""
        self.launches: list[str] = []

    @property
    def is_done(self) -> bool:
        return set(self.reports) == set(JOB_IDS) and set(self.reports.values()) == {len(BODIES)}

    def hello(self) -> Hello:
        known = tuple(KnownJob(id_, len(BODIES)) for id_ in self.reports)
        return Hello(hostname="db-1", info=INFO, boot=BOOT, jobs=known)

    def take(self, message: ToAgent) -> None:
        match message:
            case Welcome():
                self.token = message.token or self.token
                assert message.drop == ()
                self.reports |= message.acknowledged
            case Launch():
                for order in message.orders:
                    self.launches.append(order.job["id"])
                    self.reports.setdefault(order.job["id"], 0)
            case Acks():
                assert message.drop == ()
                self.reports |= message.acknowledged

    async def converse(self, link: ClientConnection) -> None:
        """Sends the next report of each job, until all are acknowledged."""
        await link.send(encode(self.hello()))
        while not self.is_done:
            self.take(to_agent.decode(await link.recv(decode=False)))
            due = [
                Report(id_, n + 1, BODIES[n]) for id_, n in self.reports.items() if n < len(BODIES)
            ]
            if due:
                await link.send(encode(Reports(reports=tuple(due))))


def started(store: Store, port: int, fault: str) -> subprocess.Popen[bytes]:
    environment = bare_environment(WATCHBELL_WEB_PORT=str(port), WATCHBELL_FAULT=fault)
    command = watchbell("run", "web", "--store", store.url.redacted())
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=sys.stderr)


@asynccontextmanager
async def web(store: Store, port: int, fault: str = "") -> AsyncIterator[subprocess.Popen[bytes]]:
    process = started(store, port, fault)
    try:
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


async def conversation(journal: Journal, port: int) -> None:
    """One after the other, until all is said."""
    url = f"ws://127.0.0.1:{port}/api/agent/v1/link"

    async def is_done() -> bool:
        headers = {"Authorization": f"Bearer {journal.token}"}
        with suppress(OSError, ConnectionClosed, InvalidHandshake):
            async with connect(url, additional_headers=headers) as link:
                await journal.converse(link)
        return journal.is_done

    await eventually(is_done)


@pytest.mark.parametrize("point", POINTS)
async def test_each_report_counts_once_wherever_the_server_dies(store: Store, point: str) -> None:
    text, _ = await tokens.create_join(store, "alice", int(SYSTEM.now()))
    journal = Journal(text)
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        async with asyncio.TaskGroup() as group:
            group.create_task(conversation(journal, port))
            async with web(store, port, point) as first:
                server = await eventually(lambda: _server(store))
                for id_ in JOB_IDS:
                    await assign(store, server, id_)
                assert await asyncio.to_thread(first.wait) == -signal.SIGKILL
            async with web(store, port):
                await eventually(lambda: journal.is_done)
    assert set(journal.launches) == set(JOB_IDS)
    for id_ in JOB_IDS:
        assert await field(store, id_, "data") == {"steps": [1, 2]}
        assert await field(store, id_, "tags") == ["x"]
        assert [one["msg"] for one in await field(store, id_, "activity")] == ["first"]
        assert await store.call("XLEN", JOBS.log(id_)) == 2
    finished: list[Any] = await store.call("LRANGE", JOBS.finishing(), 0, -1)
    assert sorted(finished) == [id_.encode() for id_ in JOB_IDS]
    assert await store.call("LLEN", FLEET.orders(server)) == 0


async def test_a_job_that_was_lost_ends_once_although_the_server_dies_in_between(
    store: Store,
) -> None:
    """It dies when it has written what became of the jobs, and before it welcomes the agent."""
    text, _ = await tokens.create_join(store, "alice", int(SYSTEM.now()))
    journal = Journal(text)
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        async with web(store, port), asyncio.TaskGroup() as group:
            group.create_task(conversation(journal, port))
            server = await eventually(lambda: _server(store))
            for id_ in JOB_IDS:
                await assign(store, server, id_)
        await store.call("DEL", JOBS.finishing())
        await assign(store, server, "lost", remote=True)
        await store.call("HSET", JOBS.job("lost"), "_boot", msgspec.json.encode("before"))
        async with web(store, port, "jobs.reconciled") as first, asyncio.TaskGroup() as group:
            again = Journal(journal.token)
            again.reports = {}
            task = group.create_task(conversation(again, port))
            assert await asyncio.to_thread(first.wait) == -signal.SIGKILL
            task.cancel()
        async with web(store, port), asyncio.TaskGroup() as group:
            task = group.create_task(conversation(again, port))
            await eventually(lambda: store.call("HEXISTS", FLEET.links(), server))
            task.cancel()
    assert await store.call("LRANGE", JOBS.finishing(), 0, -1) == [b"lost"]
    assert (await field(store, "lost", "_result"))["retry_ok"] is True


async def _server(store: Store) -> str:
    known = await store.call("HKEYS", FLEET.servers())
    return known[0].decode() if known else ""
