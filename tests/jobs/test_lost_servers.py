"""Jobs of a server that is gone go to another one, wait for it, or end as lost."""

import json
from typing import Any

import pytest

from tests.jobs.dispatching import (
    FLEET,
    KEYS,
    Dispatching,
    a_job,
    field,
    join,
    launch,
    put_event,
    texts,
)
from watchbell.clock import SetClock
from watchbell.fleet.model import Server
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.model import Event
from watchbell.jobs.reaper import Reaper
from watchbell.settings import Jobs as JobSettings
from watchbell.store.client import Store

SETTINGS = JobSettings(down_after=15, lost_after=900)
ONE = Server(id="s1", hostname="one", groups=("main",), max_jobs=9)


class Watch:
    """A reaper whose clock is set by hand. The store's clock goes on; when a server was last seen
    is set by hand, too."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, SetClock(1_000_000)
        self.view = FleetView(store, SETTINGS.down_after, self.clock)
        self.reaper = Reaper(store, self.view, SETTINGS, self.clock)

    async def silent(self, server: str, seconds: float) -> None:
        time = await self.store.call("TIME")
        await self.store.call("ZADD", FLEET.seen(), int(time[0]) - seconds, server)

    async def reap(self, watched: float = 15) -> None:
        """After having looked at the servers for so many seconds."""
        await self.view.load()
        self.clock.advance(watched)
        await self.view.load()
        await self.reaper.reap()


async def prepared(store: Store, *sent: str, jobs: int = 4) -> Watch:
    """Jobs j0… on the server s1, of which some were sent to its agent."""
    await put_event(store, Event(id="e1", title="One"))
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(jobs)))
    await Dispatching(store).dispatch()
    for job in sent:
        await store.call("HSET", KEYS.job(job), "remote", "true", "_boot", '"b1"')
        await store.call(
            "LREM", FLEET.orders("s1"), 0, json.dumps({"launch": job}).replace(" ", "")
        )
    return Watch(store)


async def states(store: Store) -> dict[str, Any]:
    return {f"j{n}": await field(store, f"j{n}", "state") for n in range(4)}


async def test_jobs_that_were_not_sent_go_back_to_ready_in_their_order(store: Store) -> None:
    watch = await prepared(store, "j1")
    await watch.silent("s1", 20)
    await watch.reap()
    assert await texts(store, "LRANGE", KEYS.ready(), 0, -1) == ["j0", "j2", "j3"]
    assert await store.call("EXISTS", FLEET.orders("s1")) == 0
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j1"]
    assert await field(store, "j0", "server") is None
    await join(store, Server(id="s2", hostname="two", groups=("main",), max_jobs=9))
    await Dispatching(store).dispatch()
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s2")) == ["j0", "j2", "j3"]
    assert len(await texts(store, "SMEMBERS", KEYS.occupied("e1"))) == 4


async def test_a_sent_job_waits_for_its_agent_and_says_so_once(store: Store) -> None:
    watch = await prepared(store, "j1")
    await store.call("HSET", KEYS.job("j1"), "activity", '[{"epoch":1,"msg":"started"}]')
    await watch.silent("s1", 20)
    await watch.reap()
    await watch.reap()
    assert await field(store, "j1", "state") == "active"
    assert await field(store, "j1", "remote") is False
    lines = [line["msg"] for line in await field(store, "j1", "activity")]
    assert lines == ["started", "The server one can't be reached"]


async def test_a_sent_job_is_lost_with_its_server_and_may_be_retried(store: Store) -> None:
    watch = await prepared(store, "j0", "j1")
    wish = {"reason": "no longer needed", "retry_ok": False, "by": "Alice"}
    await store.call("HSET", KEYS.job("j1"), "_abort", json.dumps(wish))
    await watch.silent("s1", 901)
    await watch.reap()
    await watch.reap()
    assert sorted(await texts(store, "LRANGE", KEYS.finishing(), 0, -1)) == ["j0", "j1"]
    lost, aborted = await field(store, "j0", "_result"), await field(store, "j1", "_result")
    assert lost["description"] == "Aborted because the server one was lost"
    assert (lost["code"], lost["retry_ok"]) == ("abort", True)
    assert (aborted["description"], aborted["retry_ok"]) == ("no longer needed", False)


@pytest.mark.parametrize(("silent", "watched"), [(10, 15), (901, 14)])
async def test_a_server_that_was_seen_or_not_watched_long_enough_keeps_its_jobs(
    store: Store, silent: float, watched: float
) -> None:
    watch = await prepared(store, "j0", "j1")
    await watch.silent("s1", silent)
    await watch.reap(watched)
    assert set((await states(store)).values()) == {"active"}
    assert await field(store, "j0", "remote") is True


async def test_a_server_that_returns_at_the_last_moment_keeps_its_jobs(store: Store) -> None:
    watch = await prepared(store, "j0", "j1")
    await watch.silent("s1", 901)
    await watch.view.load()
    watch.clock.advance(15)
    await watch.view.load()
    await watch.silent("s1", 0)
    await watch.reaper.reap()
    assert set((await states(store)).values()) == {"active"}


async def test_no_step_of_the_clock_loses_jobs_of_a_server_that_sends_heartbeats(
    store: Store,
) -> None:
    watch = await prepared(store, "j0")
    for silent in (5_000, 4_990, 4_980):  # the store's clock was set on, and heartbeats go on
        await watch.silent("s1", silent)
        await watch.reap(watched=10)
    assert set((await states(store)).values()) == {"active"}


async def test_jobs_of_a_server_that_was_removed_end_as_lost(store: Store) -> None:
    watch = await prepared(store, "j0")
    await store.call("HDEL", FLEET.servers(), "s1")
    await store.call("ZREM", FLEET.seen(), "s1")
    await watch.reap()
    assert await texts(store, "LRANGE", KEYS.ready(), 0, -1) == ["j1", "j2", "j3"]
    result = await field(store, "j0", "_result")
    assert result["description"] == "Aborted because the server s1 was removed"


async def test_a_spoiled_key_of_one_server_keeps_no_other_from_being_handled(store: Store) -> None:
    watch = await prepared(store, "j0")
    await join(store, Server(id="s0", hostname="zero", groups=("other",)))
    await store.call("SET", KEYS.server_jobs("s0"), "x")
    for server in ("s0", "s1"):
        await watch.silent(server, 901)
    await watch.reap()
    assert await texts(store, "LRANGE", KEYS.finishing(), 0, -1) == ["j0"]
    await store.call("DEL", KEYS.server_jobs("s0"))
