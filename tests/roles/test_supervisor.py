"""The supervisor: roles come back by themselves, say why they were gone, and end in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests import servers
from tests.logged import logged
from tests.servers.refusal import SNAPSHOTS, calls, misconf
from tests.waiting import eventually
from watchbell.clock import SetClock
from watchbell.errors import StoreUnavailable
from watchbell.roles.role import Context, Role
from watchbell.roles.supervisor import STEADY, Status, Supervisor
from watchbell.settings import Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store

SETTINGS = Settings(data=Path("/nonexistent"))
NOWHERE = "redis://127.0.0.1:1"

Run = Callable[[Context], Awaitable[None]]


async def for_ever(context: Context) -> None:
    context.show_status("at work")
    await asyncio.Event().wait()


@asynccontextmanager
async def supervised(
    *runs: Run,
    store: Store | None = None,
    on_change: Callable[[], None] = lambda: None,
    first_pause: float = 0.001,
    longest_pause: float = 0.004,
    clock: SetClock | None = None,
) -> AsyncIterator[list[Status]]:
    """The statuses of roles that run while the body does."""
    roles = [Role(f"role-{number}", "a role", run) for number, run in enumerate(runs)]
    async with Store(store_url.parse(NOWHERE)) as nowhere:
        supervisor = Supervisor(
            roles,
            SETTINGS,
            store or nowhere,
            on_change=on_change,
            first_pause=first_pause,
            longest_pause=longest_pause,
            clock=clock or SetClock(1_700_000_000),
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(supervisor.run())
            yield supervisor.statuses
            task.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait([task])
    assert task.cancelled()


async def shows(status: Status, state: str, words: str = "") -> None:
    await eventually(
        lambda: status.state == state and words in status.words, why=f"{state} {words}: {status}"
    )


async def test_a_role_is_starting_until_the_supervisor_runs() -> None:
    async with Store(store_url.parse(NOWHERE)) as store:
        supervisor = Supervisor([Role("a", "b", for_ever)], SETTINGS, store)
        assert [status.state for status in supervisor.statuses] == ["starting"]


async def test_a_role_that_fails_is_started_again_and_says_why() -> None:
    starts = 0

    async def fails_twice(context: Context) -> None:
        nonlocal starts
        starts += 1
        if starts < 3:
            raise ValueError(f"wrong number {starts}")
        await for_ever(context)

    seen: list[tuple[str, str]] = []
    statuses: list[Status] = []
    async with supervised(
        fails_twice, on_change=lambda: seen.extend((s.state, s.words) for s in statuses)
    ) as given:
        statuses += given
        await shows(given[0], "running", "at work")
        assert given[0].failures == 2
    assert starts == 3
    assert seen == [
        ("running", ""),
        ("failed", "ValueError: wrong number 1; again in 0.001 s"),
        ("running", ""),
        ("failed", "ValueError: wrong number 2; again in 0.002 s"),
        ("running", ""),
        ("running", "at work"),
        ("stopped", ""),
    ]


async def test_the_default_pauses_are_told_in_seconds() -> None:
    async def fails(_: Context) -> None:
        raise ValueError("wrong")

    async with supervised(fails, first_pause=30, longest_pause=60) as (status,):
        await shows(status, "failed", "ValueError: wrong; again in 30 s")


async def test_the_pauses_double_up_to_the_longest() -> None:
    words: list[str] = []

    async def fails(_: Context) -> None:
        raise ValueError("wrong")

    statuses: list[Status] = []
    async with supervised(
        fails,
        first_pause=0.01,
        longest_pause=0.03,
        on_change=lambda: words.extend(s.words for s in statuses if s.state == "failed"),
    ) as given:
        statuses += given
        await eventually(lambda: len(words) == 4)
    assert [text.rpartition("in ")[2] for text in words] == ["0.01 s", "0.02 s", "0.03 s", "0.03 s"]


async def test_a_role_that_ran_for_long_fails_as_for_the_first_time() -> None:
    clock = SetClock(0)
    pauses: list[str] = []
    runs = 0

    async def fails(_: Context) -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            clock.advance(STEADY + 1)
        raise ValueError("wrong")

    statuses: list[Status] = []
    async with supervised(
        fails,
        first_pause=0.01,
        longest_pause=60,
        clock=clock,
        on_change=lambda: pauses.extend(s.words for s in statuses if s.state == "failed"),
    ) as given:
        statuses += given
        await eventually(lambda: len(pauses) == 3)
    assert [words.rpartition("in ")[2] for words in pauses] == ["0.01 s", "0.02 s", "0.01 s"]


async def test_a_role_that_returns_has_failed() -> None:
    async def returns(_: Context) -> None:
        return

    async with supervised(returns, first_pause=60) as (status,):
        await shows(status, "failed", "it ended by itself; again in 60 s")


async def test_a_role_that_was_cancelled_from_within_is_started_again() -> None:
    starts = 0

    async def cancels_itself(context: Context) -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            gone = asyncio.get_running_loop().create_future()
            gone.cancel()
            await gone
        await for_ever(context)

    async with supervised(cancels_itself, first_pause=0.1) as (status,):
        await shows(status, "failed", "CancelledError; again")
        await shows(status, "running", "at work")
        assert status.failures == 1


async def test_what_a_task_group_gathered_is_told_by_its_causes() -> None:
    async def fails() -> None:
        raise ValueError("wrong")

    async def grouped(_: Context) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    async with supervised(grouped, first_pause=60) as (status,):
        await shows(status, "failed", "ValueError: wrong; again")


async def test_one_roles_failure_does_not_touch_another() -> None:
    starts = 0
    ended = False

    async def steady(context: Context) -> None:
        nonlocal starts, ended
        starts += 1
        try:
            await for_ever(context)
        finally:
            ended = True

    async def fails(_: Context) -> None:
        raise ValueError("wrong")

    async with supervised(steady, fails) as (one, other):
        await eventually(lambda: other.failures > 10)
        assert (one.state, one.words, one.failures) == ("running", "at work", 0)
        assert not ended
    assert starts == 1
    assert ended


async def test_what_a_role_says_is_on_its_status_until_it_says_something_else() -> None:
    changes = 0
    go_on = asyncio.Event()

    async def talks(context: Context) -> None:
        context.show_status("one")
        context.show_status("one")
        await go_on.wait()
        context.show_status("two")
        await asyncio.Event().wait()

    def changed() -> None:
        nonlocal changes
        changes += 1

    async with supervised(talks, on_change=changed) as (status,):
        await shows(status, "running", "one")
        assert changes == 2
        go_on.set()
        await shows(status, "running", "two")
        assert status.since == 1_700_000_000


async def test_a_role_ends_in_its_own_order_before_the_supervisor_does() -> None:
    order: list[str] = []

    async def hands_back(context: Context) -> None:
        try:
            await for_ever(context)
        finally:
            for step in ("stops taking", "hands back"):
                await asyncio.sleep(0)
                order.append(step)

    async with supervised(hands_back, hands_back) as (one, other):
        await shows(one, "running", "at work")
        await shows(other, "running", "at work")
    assert sorted(order) == ["hands back", "hands back", "stops taking", "stops taking"]
    assert (one.state, other.state) == ("stopped", "stopped")


async def returns_when_stopped(context: Context) -> None:
    try:
        await for_ever(context)
    except asyncio.CancelledError:
        return


async def fails_when_stopped(context: Context) -> None:
    try:
        await for_ever(context)
    finally:
        raise ValueError("wrong")


async def loses_its_store_when_stopped(context: Context) -> None:
    try:
        await for_ever(context)
    finally:
        raise StoreUnavailable("gone")


@pytest.mark.parametrize(
    "run", [returns_when_stopped, fails_when_stopped, loses_its_store_when_stopped]
)
async def test_a_stop_is_a_stop_whatever_the_role_makes_of_it(run: Run) -> None:
    async with asyncio.timeout(60):
        async with supervised(run) as (status,):
            await shows(status, "running", "at work")
        assert (status.state, status.failures) == ("stopped", 0)


async def test_a_role_that_is_waiting_or_pausing_can_be_stopped() -> None:
    async def fails(_: Context) -> None:
        raise ValueError("wrong")

    async def unstored(context: Context) -> None:
        await context.store.call("PING")

    async with supervised(fails, unstored, first_pause=60) as (one, other):
        await shows(one, "failed")
        await shows(other, "waiting", f"the store at {NOWHERE} can't be used: Connection refused")
    assert (one.state, other.state) == ("stopped", "stopped")


async def in_a_group(context: Context) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(for_ever(context))
        group.create_task(alone(context))


async def alone(context: Context) -> None:
    while True:
        await context.store.call("INCR", "test:text:beats")
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("run", [alone, in_a_group])
async def test_a_role_whose_store_goes_away_waits_and_comes_back(folder: Path, run: Run) -> None:
    with servers.single(folder) as single:

        async def beats(after: int) -> bool:
            return int(single.server.call("GET", "test:text:beats") or 0) > after

        async with (
            Store(store_url.parse(single.url)) as store,
            supervised(run, store=store) as (status,),
        ):
            await eventually(lambda: beats(5))
            single.server.stop()
            await shows(status, "waiting", f"the store at {single.url} can't be used")
            single.server.start()
            before = int(single.server.call("GET", "test:text:beats"))
            await eventually(lambda: beats(before + 5))
            assert (status.state, status.failures) == ("running", 0)


async def test_a_store_that_answers_but_does_not_serve_is_not_asked_all_the_time(
    store: Store,
) -> None:
    starts: list[float] = []

    async def refused(_: Context) -> None:
        starts.append(asyncio.get_running_loop().time())
        raise StoreUnavailable("NOREPLICAS Not enough good replicas to write.")

    async with supervised(refused, store=store):
        await eventually(lambda: len(starts) == 4)
    spans = [after - before for before, after in pairwise(starts)]
    assert all(span >= least for span, least in zip(spans, (0.05, 0.1, 0.2), strict=True)), spans


async def test_a_role_whose_writes_are_refused_waits_until_one_succeeds(folder: Path) -> None:
    starts = 0

    async def writes(context: Context) -> None:
        nonlocal starts
        starts += 1
        await alone(context)

    with servers.single(folder, [SNAPSHOTS]) as single, logged() as lines:
        async with (
            Store(store_url.parse(single.url)) as store,
            supervised(writes, store=store) as (status,),
        ):
            await eventually(lambda: single.server.call("GET", "test:text:beats"))
            with misconf(single.server):
                await shows(status, "waiting", "MISCONF")
                before = calls(single.server)["setrange"]
                await eventually(lambda: calls(single.server)["setrange"] > before + 5)
                assert (status.state, starts) == ("waiting", 1)
            await eventually(lambda: "the store is back" in lines.events("info"))
            assert (status.state, starts, status.failures) == ("running", 2, 0)
    assert lines.events() == ["waiting for the store", "the store is back"]


async def test_a_store_that_refuses_the_question_is_there(server: servers.Single) -> None:
    server.server.call("ACL", "SETUSER", "alice", "on", ">pw", "~*", "+@all", "-ping")
    starts = 0

    async def unstored_once(context: Context) -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            raise StoreUnavailable("gone for a moment")
        await for_ever(context)

    url = server.url.replace("redis://", "redis://alice:pw@")
    async with (
        Store(store_url.parse(url)) as store,
        supervised(unstored_once, store=store) as (status,),
    ):
        await shows(status, "running", "at work")
    server.server.call("ACL", "DELUSER", "alice")
