"""Replies that mean "not now": one error whatever the cause, one log line per outage."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager
from pathlib import Path

import pytest
import redis

from tests import servers
from tests.families import keys
from tests.logged import logged
from tests.servers.process import Server
from tests.servers.refusal import SNAPSHOTS, calls, misconf
from tests.waiting import eventually, wait_until
from watchbell.errors import StoreNotReady, StoreUnavailable
from watchbell.store import health
from watchbell.store import url as store_url
from watchbell.store.client import NOT_NOW, Store, patiently
from watchbell.store.live import Gap, Message, listen
from watchbell.store.outage import Outage, attached
from watchbell.store.script import RAISE_NOT_NOW, Script

CHANNEL = "test:channel"
SET = Script("return redis.call('SET', KEYS[1], 'x')")
TRIES = Script(
    RAISE_NOT_NOW
    + """
local answer = redis.pcall('SET', KEYS[1], 'x')
if type(answer) == 'table' and answer.err then raise_not_now(answer) end
return answer
"""
)


@contextmanager
def no_memory(server: Server) -> Iterator[None]:
    server.call("CONFIG", "SET", "maxmemory", 1)
    yield
    server.call("CONFIG", "SET", "maxmemory", 0)


@contextmanager
def no_replica(server: Server) -> Iterator[None]:
    server.call("CONFIG", "SET", "min-replicas-to-write", 1)
    yield
    server.call("CONFIG", "SET", "min-replicas-to-write", 0)


@contextmanager
def a_replica(server: Server) -> Iterator[None]:
    server.call("REPLICAOF", servers.HOST, 1)
    yield
    server.call("REPLICAOF", "NO", "ONE")


@contextmanager
def a_busy_script(server: Server) -> Iterator[None]:
    server.call("CONFIG", "SET", "busy-reply-threshold", 1)
    with server.client() as client:
        pool = client.connection_pool
        connection = pool.get_connection()
        connection.send_command("EVAL", "while true do end", 0)

        def is_busy() -> bool:
            try:
                server.call("GET", "a")
            except redis.ResponseError as error:
                return "BUSY" in str(error)
            return False

        wait_until(is_busy)
        yield
        server.call("SCRIPT", "KILL")
        pool.release(connection)
    server.call("CONFIG", "SET", "busy-reply-threshold", 5000)


Refusing = Callable[[Server], AbstractContextManager[None]]
REFUSALS = [no_memory, no_replica, a_replica, a_busy_script, misconf]


@pytest.mark.parametrize("refusing", REFUSALS)
async def test_a_refusal_is_told_as_such_by_commands_scripts_and_the_probe(
    folder: Path, refusing: Refusing
) -> None:
    with servers.single(folder, [SNAPSHOTS]) as single:
        async with Store(store_url.parse(single.url)) as store:
            await health.check_writable(store)
            with refusing(single.server):
                with pytest.raises(StoreNotReady):
                    await store.call("SET", keys.text("a"), "x")
                for script in (SET, TRIES):
                    with pytest.raises(StoreNotReady):
                        await script(store, [keys.text("a")])
                with pytest.raises(StoreNotReady):
                    await health.check_writable(store)
            await health.check_writable(store)
            assert await store.call("KEYS", "*") == []


@pytest.mark.parametrize("code", NOT_NOW)
@pytest.mark.parametrize(
    "text", ["{} not now", "ERR Error running script (call to f_1): @user_script:1: -{} not now"]
)
async def test_every_code_is_known_also_within_the_error_of_a_script(
    store: Store, code: str, text: str
) -> None:
    error = Script(f"return redis.error_reply('{text.format(code)}')")
    with pytest.raises(StoreNotReady):
        await error(store, [])


async def test_a_key_of_a_wrong_type_is_no_refusal_even_if_its_text_names_one(store: Store) -> None:
    with pytest.raises(redis.ResponseError):
        await Script("return redis.error_reply('WRONGTYPE of MISCONF: OOM')")(store, [])


async def test_a_store_that_refuses_a_ping_still_publishes(folder: Path) -> None:
    with servers.single(folder, [SNAPSHOTS]) as single:
        server = single.server
        async with (
            Store(store_url.parse(single.url)) as store,
            aclosing(listen(store, CHANNEL, quiet=1.0)) as messages,
        ):
            assert isinstance(await anext(messages), Gap)
            with misconf(server):
                with pytest.raises(StoreNotReady, match="MISCONF"):
                    await store.call("PING")
                async with asyncio.TaskGroup() as group:
                    heard = group.create_task(anext(messages))
                    before = calls(server)["ping"]
                    await eventually(lambda: calls(server)["ping"] > before, why="a ping refused")
                    assert not heard.done()
                    await store.call("PUBLISH", CHANNEL, "there")
                assert heard.result() == Message(CHANNEL, b"there")


async def test_an_outage_is_logged_once_by_all_loops_of_a_role() -> None:
    gone, tries = True, 0

    async def attempt() -> None:
        nonlocal tries
        tries += 1
        if gone:
            raise StoreUnavailable("gone")

    with logged() as lines, attached(Outage("cron")):
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(patiently(attempt))
            await eventually(lambda: tries > 20)
            gone = False
    assert lines.events("warning") == ["waiting for the store"]
    assert lines.events("info") == ["the store is back"]
