"""The lookout: calm words on a healthy store, a warning when it could lose data, and its end."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests import servers
from tests.waiting import eventually
from watchbell import logs
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM, Clock, SetClock
from watchbell.roles import store_monitor
from watchbell.roles.role import Context
from watchbell.settings import Settings
from watchbell.settings import Store as StoreSettings
from watchbell.store import url as store_url
from watchbell.store.client import Store

FORGETS = "the store forgets keys when memory runs short (maxmemory-policy allkeys-lru)"


def context(store: Store, words: list[str], clock: Clock = SYSTEM, url: str = "x") -> Context:
    data = Path("/nonexistent/data") if url else Path("/")
    return Context(Settings(data=data, store=StoreSettings(url=url)), store, clock, words.append)


@asynccontextmanager
async def watching(store: Store, words: list[str], clock: Clock = SYSTEM) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(store_monitor.run(context(store, words, clock), every=0.01))
        yield
        task.cancel()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.configure("info", "json", stream)
    yield stream
    logs.configure("error", "json")


def lines(logged: io.StringIO) -> list[dict[str, str]]:
    return [json.loads(line) for line in logged.getvalue().splitlines()]


@pytest.fixture
def policy(server: servers.Single) -> Iterator[servers.Server]:
    yield server.server
    server.server.call("CONFIG", "SET", "maxmemory-policy", "noeviction")


async def test_a_healthy_store_is_told_in_calm_words(any_store: Store) -> None:
    words: list[str] = []
    async with watching(any_store, words):
        await eventually(lambda: len(words) > 2)
    assert words[0].endswith(" MiB used, no key is evicted")


async def test_a_store_that_begins_to_evict_is_told_once_and_then_that_it_is_well_again(
    store: Store, policy: servers.Server, logged: io.StringIO
) -> None:
    words: list[str] = []
    async with watching(store, words):
        await eventually(lambda: words)
        policy.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        await eventually(lambda: words.count(FORGETS) > 3)
        policy.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        await eventually(lambda: words[-1] != FORGETS)
    warning, info = lines(logged)
    assert (warning["level"], warning["event"]) == ("warning", FORGETS)
    assert warning["advice"] == "set maxmemory-policy to noeviction"
    assert (info["level"], info["event"], info["subject"]) == ("info", "well again", "eviction")
    assert warning["role"] == info["role"] == "lookout"


async def test_another_policy_is_told_anew(
    store: Store, policy: servers.Server, logged: io.StringIO
) -> None:
    words: list[str] = []
    async with watching(store, words):
        for name in ("allkeys-lru", "allkeys-lfu"):
            policy.call("CONFIG", "SET", "maxmemory-policy", name)
            told = f"the store forgets keys when memory runs short (maxmemory-policy {name})"
            await eventually(partial(words.__contains__, told))
    assert [line["level"] for line in lines(logged)] == ["warning", "warning"]


async def test_a_store_that_is_away_is_told_of_and_known_again_when_it_comes_back(
    folder: Path, logged: io.StringIO
) -> None:
    words: list[str] = []
    clock = SetClock(SYSTEM.now())
    with servers.Server(folder / "forgetful", ['save ""', "appendonly no"]) as server:
        async with (
            Store(store_url.parse(server.url)) as store,
            watching(store, words, clock),
        ):
            await eventually(lambda: words)
            clock.advance(60)
            before = len(words)
            await eventually(lambda: len(words) > before + 2)
            await asyncio.to_thread(server.kill)
            away = f"the store at {server.url} can't be used: "
            await eventually(lambda: words[-1].startswith(away))
            await asyncio.to_thread(server.start)
            await eventually(lambda: "store lost: it was emptied" in words[-1])
            assert await store.call("LLEN", Alerting().events()) == 1
    told = [(line["level"], line["event"]) for line in lines(logged)]
    assert {level for level, event in told if event.startswith(away)} == {"warning"}
    assert [level for level, event in told if event.startswith("store lost: ")] == ["error"]
    assert ("info", "well again") in told


async def test_a_clock_that_is_off_is_found(store: Store) -> None:
    for skew, sign in ((100, "-"), (-100, "+")):
        off = SetClock(SYSTEM.now() + skew)
        found = await store_monitor.look(context(store, [], off))
        (clock,) = [finding for finding in found if finding.subject == "clock"]
        assert clock.level == "warning"
        assert f"the clock of {store.url.redacted()} is {sign}" in clock.text


async def test_a_clock_that_is_right_is_not_worth_a_word(store: Store) -> None:
    assert [f for f in await store_monitor.look(context(store, [])) if f.level != "ok"] == []


async def test_the_disk_is_looked_at_where_the_store_is_ours(store: Store) -> None:
    found = await store_monitor.look(context(store, [], url=""))
    assert {finding.subject for finding in found} >= {"version", "memory", "persistence"}


@pytest.mark.parametrize(
    ("free", "says"),
    [
        (0, "only 0 MiB are left on the disk of the data folder"),
        ((256 << 20) - 1, "only 255 MiB are left on the disk of the data folder"),
        (256 << 20, None),
        (1 << 50, None),
    ],
)
def test_a_disk_that_is_nearly_full_is_a_warning(free: int, says: str | None) -> None:
    assert [f.text for f in store_monitor.disk(free)] == ([says] if says else [])
