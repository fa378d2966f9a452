"""How the failure of a task reaches its role, the log, or both; and that a process always ends."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from tests import servers
from tests.families import keys
from tests.logged import logged
from tests.waiting import eventually
from tests.web.site import chosen
from watchbell.roles import presence
from watchbell.roles.role import Context, Role
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.store.enduring import enduring
from watchbell.store.keys import StoreKeys
from watchbell.web.live.background import Background
from watchbell.web.server import serving

SETTINGS = Settings(data=Path("/nonexistent"))


async def test_a_role_that_ignores_its_cancellation_does_not_keep_the_supervisor(
    store: Store,
) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def stubborn(_: Context) -> None:
        begun.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    role = Role("stubborn", "a role", stubborn, lambda _: 0.01)
    supervisor = Supervisor([role], SETTINGS, store)
    with logged() as lines:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(supervisor.run())
            await begun.wait()
            task.cancel()
        let_go.set()
    assert supervisor.stuck == ["stubborn"]
    (line,) = lines.all()
    assert line["event"] == "role did not end in time"
    assert "stubborn" in line["where"].splitlines()[1]


STUCK = """
import asyncio, sys
from pathlib import Path
from watchbell.roles.role import Role
from watchbell.roles.supervisor import Supervisor
from watchbell.settings import Settings
from watchbell.store import url
from watchbell.store.client import Store

begun = asyncio.Event()

async def stubborn(_):
    begun.set()
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("cancelled")

async def main():
    role = Role("stubborn", "a role", stubborn, lambda _: 0.01)
    settings, store = Settings(data=Path("/nonexistent")), Store(url.parse(sys.argv[1]))
    supervisor = Supervisor([role], settings, store)
    task = asyncio.create_task(supervisor.run())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    supervisor.exit_if_stuck()

asyncio.run(main())
"""


def test_a_process_ends_although_one_of_its_roles_does_not(server: servers.Single) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK, server.url], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("cancelled\n"), done.stderr
    assert done.returncode == 1


async def test_failures_of_callbacks_and_of_tasks_nobody_waits_for_are_logged(
    store: Store,
) -> None:
    def fails() -> None:
        raise ValueError("in a callback")

    async def leaves_a_task(_: Context) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(fails)
        stray: Any = loop.create_future()
        stray.set_exception(ValueError("in a task"))
        del stray
        await asyncio.Event().wait()

    with logged() as lines:
        async with asyncio.TaskGroup() as group:
            supervisor = Supervisor([Role("a", "b", leaves_a_task)], SETTINGS, store)
            task = group.create_task(supervisor.run())
            await eventually(lambda: len(lines.all()) == 2)
            task.cancel()
    asyncio.get_running_loop().set_exception_handler(None)
    said = [line["exception"] for line in lines.all()]
    assert any("in a callback" in one for one in said)
    assert any("in a task" in one for one in said)


async def test_a_reply_that_blames_a_key_fails_one_attempt_and_is_logged(store: Store) -> None:
    key, reasons = keys.text("a"), list[str]()
    await store.call("SET", key, "x")

    async def attempt() -> str:
        await store.call("LLEN", key)
        return "done"

    def failed(reason: str) -> None:
        reasons.append(reason)

    with logged() as lines:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(enduring(attempt, "cron", "count", failed, first_pause=0.01))
            await eventually(lambda: len(reasons) > 2)
            await store.call("DEL", key)
    assert task.result() == "done"
    assert "count: WRONGTYPE" in reasons[0]
    assert f"LLEN {key}" in reasons[0]
    assert len(lines.all()) == len(reasons)
    assert "Traceback" in lines.all()[0]["exception"]


async def test_what_no_key_is_to_blame_for_is_raised() -> None:
    async def attempt() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await enduring(attempt, "cron", "count")


async def test_a_key_of_a_wrong_type_does_not_end_the_report_of_a_process(store: Store) -> None:
    key = StoreKeys(store.prefix).processes()
    await store.call("SET", key, "x")
    with logged() as lines:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(presence.run(store, [], every=0.01))
            await eventually(lambda: lines.events("error"))
            await store.call("DEL", key)
            await eventually(lambda: store.call("HLEN", key))
            task.cancel()


async def test_a_loop_of_the_pages_that_fails_is_raised_in_their_role() -> None:
    async def fails() -> None:
        raise ValueError("wrong")

    async def goes_on() -> None:
        await asyncio.Event().wait()

    background = Background()
    async with background.running():
        background.begin(goes_on())
        background.begin(fails())
        with pytest.raises(ValueError, match="wrong"):
            await background.failed()


async def test_a_web_server_that_does_not_start_fails_its_role_alone() -> None:
    async def app(scope: Any, receive: Callable[[], Awaitable[Any]], _: Any) -> None:
        assert scope["type"] == "lifespan"
        await receive()
        raise ValueError("it can't start")

    with pytest.raises(ExceptionGroup) as failed:
        async with serving(app, chosen().web):
            await asyncio.Event().wait()
    assert failed.group_contains(RuntimeError, match="did not start")


async def test_a_gateway_that_fails_in_a_task_is_shown_as_failed_and_comes_back(
    store: Store,
) -> None:
    key = keys.text("a")
    await store.call("SET", key, "x")

    async def work() -> None:
        await store.call("LLEN", key)
        await asyncio.Event().wait()

    async def grouped(_: Context) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.Event().wait())
            group.create_task(work())

    supervisor = Supervisor([Role("a", "b", grouped)], SETTINGS, store, first_pause=0.01)
    (status,) = supervisor.statuses
    with logged() as lines:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(supervisor.run())
            await eventually(lambda: status.state == "failed" and "WRONGTYPE" in status.words)
            await store.call("DEL", key)
            await eventually(lambda: status.state == "running")
            task.cancel()
    assert "role failed" in lines.events("error")
    assert ResponseError.__name__ in lines.all()[0]["exception"]
