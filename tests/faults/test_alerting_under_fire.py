"""Alerting while its processors and notifiers are killed, late, or given too much at once."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import families, servers
from tests.alerting.scenes import START, Stage
from tests.conftest import watched
from tests.faults.alerting_scene import (
    AT_ONCE,
    POINTS,
    Crew,
    Row,
    alice,
    contents,
    differences,
    drained,
    encoded,
    every,
    is_drained,
    processed,
    reach,
    wrong_histories,
)
from tests.faults.alerting_worker import FileClock
from tests.faults.invariants import check, in_one_list, paged_once, processed_once
from tests.waiting import eventually
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM
from watchbell.roles.alerting import report_silence
from watchbell.roles.role import Context
from watchbell.settings import Settings
from watchbell.store.client import Store

CHECKS = [(f"host-{n // 10}.example.com", f"Disk {n % 10}: /var") for n in range(100)]
MEDIA = ("email", "sms")
STATES = ("ok", "warning", "critical", "unknown")


def timeline(rounds: int, seed: int) -> list[list[Row]]:
    """So many rounds of five events for each check; every event can be told from all others."""
    chance = random.Random(seed)
    states = dict.fromkeys(CHECKS, "ok")
    number = 0
    made: list[list[Row]] = []
    for _ in range(rounds):
        events = []
        for at in [one for one in CHECKS for _ in range(5)]:
            if chance.random() < 0.4:
                states[at] = chance.choice(STATES)
            kind, state = "service", states[at]
            if chance.random() < 0.04:
                kind, state = "action", chance.choice(["acknowledgement", "test_notifications"])
            events.append({"type": kind, "state": state, "entity": at[0], "check": at[1]})
        made.append(_shuffled(events, chance))
        for event in made[-1]:
            number += 1
            event |= {"summary": f"event {number}", "time": START + number}
    return made


def _shuffled(events: list[Row], chance: random.Random) -> list[Row]:
    """In any order, except that the events of one check keep theirs."""
    turns = [(event["entity"], event["check"]) for event in events]
    chance.shuffle(turns)
    queues: dict[tuple[str, str], list[Row]] = {}
    for event in events:
        queues.setdefault((event["entity"], event["check"]), []).append(event)
    return [queues[turn].pop(0) for turn in turns]


async def people(store: Store) -> None:
    """Alice is told of everything twice, Bob of one host that is unwell."""
    stage = Stage(store)
    everything = {f"{state}_media": MEDIA for state in STATES if state != "ok"}
    await stage.contact("alice", *MEDIA, interval=180, rule={"id": "alice-general", **everything})
    await stage.contact("bob", "email", rule={"id": "bob-general"})
    await stage.rule("bob", id="bob-host", entities=(CHECKS[0][0],), critical_media=("email",))


async def undisturbed(store: Store, rounds: list[list[Row]]) -> dict[str, Any]:
    """What one processor and one notifier, whom nobody disturbs, make of it."""
    await people(store)
    stage = Stage(store)
    for events in rounds:
        await submit_raw(store, encoded(events))
        await stage.later(60).drain()
    expected = await contents(store)
    await store.call("FLUSHALL")
    return expected


async def alerts(store: Store) -> dict[str, list[Alert]]:
    keys = Alerting(store.prefix)
    found = {m: await store.call("LRANGE", keys.queue(m), 0, -1) for m in MEDIA}
    return {m: [msgspec.json.decode(one, type=Alert) for one in a] for m, a in found.items()}


async def settle(store: Store, events: list[Row]) -> None:
    """I1, I2, I6 and I7 for all that was pushed, in the order in which it was."""
    keys = Alerting(store.prefix)
    archives = await store.call("SMEMBERS", keys.archives())
    done = [one for key in archives for one in await store.call("LRANGE", key, 0, -1)]
    told = await alerts(store)
    known = [one.decode() for one in await store.call("ZRANGE", keys.alerts(), 0, -1)]
    check(
        processed_once(encoded(events), done),
        await wrong_histories(store, events),
        paged_once(
            (a.contact_id, a.media, a.event_id, a.notification_type, a.summary)
            for several in told.values()
            for a in several
        ),
        in_one_list(known, {medium: [a.id for a in several] for medium, several in told.items()}),
    )
    assert await is_drained(store)
    assert await store.call("EXISTS", keys.events(), keys.notifications()) == 0


@asynccontextmanager
async def crew(url: str, clock: str, seed: int, each: int) -> AsyncIterator[Crew]:
    hired = Crew(url, clock, random.Random(seed), each)
    try:
        yield hired
    finally:
        hired.dismiss()


async def fight(workers: Crew, store: Store, events: list[Row], strikes: int) -> None:
    """One round: somebody will die at a probe point, others where they are struck."""
    before = await processed(store)
    chance = random.Random(before)
    moments = sorted(before + chance.randint(1, len(events) * 9 // 10) for _ in range(strikes))
    workers.arm()
    await submit_raw(store, encoded(events))
    while not await is_drained(store):
        if moments and await processed(store) >= moments[0]:
            moments.pop(0)
            workers.strike()
        workers.muster()
        await asyncio.sleep(0.01)
    workers.muster()


@pytest.mark.parametrize(("each", "rounds", "strikes"), [(1, 9, 0), (2, 5, 2)])
async def test_nothing_is_lost_or_doubled_whoever_dies_and_wherever(
    folder: Path, each: int, rounds: int, strikes: int
) -> None:
    line = timeline(rounds, seed=each)
    clock = FileClock(folder / "clock")
    clock.set(START)
    deaths: Counter[str] = Counter()
    with servers.single(folder) as server:
        async for store in watched(server.url):
            expected = await undisturbed(store, line)
            await people(store)
            async with crew(server.url, str(clock.file), seed=each, each=each) as workers:
                for number, events in enumerate(line, 1):
                    clock.set(START + 60 * number)
                    await fight(workers, store, events, strikes)
                deaths = workers.deaths
            await settle(store, [event for events in line for event in events])
            check(differences(expected, await contents(store)))
    assert sum(deaths.values()) >= rounds * max(strikes, 2)
    if each == 1:
        assert deaths.keys() >= {point for some in POINTS.values() for point in some}


# --- row 21: too much at once


@asynccontextmanager
async def overheard(store: Store) -> AsyncIterator[list[str]]:
    """The keys of lists in the order in which something was pushed to them, whoever did it; it is
    there at the end, and no matter how late anybody looks."""
    pushes: list[str] = []
    ending = families.keys.queue("ending")
    await store.call("CONFIG", "SET", "notify-keyspace-events", "El")
    ear = store.pubsub()
    try:
        await ear.subscribe("__keyevent@0__:lpush", "__keyevent@0__:rpush")
        yield pushes
        await store.call("RPUSH", ending, "")
        while ending not in pushes[-1:]:
            heard = await ear.get_message(ignore_subscribe_messages=True, timeout=10)
            pushes += [heard["data"].decode()] if heard else []
    finally:
        await ear.aclose()
        await store.call("CONFIG", "SET", "notify-keyspace-events", "")


def batches(pushes: list[str]) -> int:
    """How many batches of events were processed: each goes to the archive at once."""
    return sum(key.startswith(Alerting().archive("")) for key in pushes)


async def test_a_burst_is_processed_whole_and_told_in_few_words(
    server: servers.Single, store: Store
) -> None:
    stage = Stage(store)
    new = {"entities": ("brand-new",), "critical_media": ("email",)}
    await stage.contact("alice", "email", rule=new)
    await stage.rule("alice", id="alice-general")
    many = {"regex_entities": ("^mass-",), "critical_media": ("email",)}
    await stage.contact("bob", "email", threshold=5, rule=many)
    await stage.rule("bob", id="bob-general")
    steady = [(f"host-{n % 500}", f"disk {n % 10}") for n in range(48_999)]
    mass = [(f"mass-{n % 100}", f"disk {n // 100}") for n in range(1_000)]
    burst = [
        *every("ok", steady[:9_000]),
        *every("critical", [*mass, ("brand-new", "x")], initial_failure_delay=0),
        *every("ok", steady[9_000:]),
    ]
    assert len(burst) == 50_000
    async with overheard(store) as pushes:
        workers = Crew(server.url, "-", random.Random(1))
        try:
            await submit_raw(store, encoded(burst))
            await reach(store, len(burst))
            await drained(store)
        finally:
            workers.dismiss()
    failed_at = pushes.index(stage.keys.states("brand-new", "x"))
    told_at = len(pushes) - 1 - pushes[::-1].index(stage.keys.queue("email"))
    # Nobody waits for the rest of the burst to be told of something new within it.
    assert batches(pushes[failed_at:told_at]) < batches(pushes[failed_at:]) / 2
    alerts = await stage.alerts()
    assert [a.event_id for a in alerts if a.contact_id == "alice"] == ["brand-new:x"]
    assert [a.rollup for a in alerts if a.contact_id == "bob"] == [*[None] * 4, "problem"]
    assert await store.call("ZCARD", stage.keys.failed_checks()) == 1_001
    assert await store.call("ZCARD", stage.keys.alerting_checks("bob", "email")) == 1_000
    assert await store.call("EXISTS", stage.keys.events(), stage.keys.notifications()) == 0
    assert int(await store.call("HGET", stage.keys.counters(), "all")) == len(burst)


# --- row 23: more than once, and in another order


async def test_what_comes_three_times_or_in_another_order_of_checks_changes_nothing(
    store: Store,
) -> None:
    chance = random.Random(23)
    lines = {
        one: [every(chance.choice(("ok", "warning", "critical")), [one])[0] for _ in range(20)]
        for one in CHECKS[:30]
    }
    expected = await outcome(store, [row for line in lines.values() for row in line])
    turns = [one for one in lines for _ in range(20)]
    chance.shuffle(turns)
    shuffled = [row for turn in turns for row in [lines[turn].pop(0)] * 3]
    check(differences(expected, await outcome(store, shuffled)))


async def outcome(store: Store, events: list[Row]) -> dict[str, Any]:
    """States, history, notifications and alerts; not how many events there were."""
    await alice(store)
    stage = Stage(store, **AT_ONCE)
    await submit_raw(store, encoded(events))
    await stage.drain()
    found = await contents(store)
    await store.call("FLUSHALL")
    counted = (stage.keys.counters(), stage.keys.archive("2023111422"))
    return {key: value for key, value in found.items() if key not in counted}


async def test_a_report_that_comes_late_counts_from_when_it_comes(store: Store) -> None:
    """An event has no number: `time` is for people to read, and order is that of arrival."""
    await alice(store)
    stage = Stage(store, **AT_ONCE)
    await stage.send("ok")
    await stage.later(10).send("critical", time=START - 300)
    await stage.later(10).send("ok")
    await stage.later(10).send("critical", time=START - 300)
    assert [line.split()[1] for line in await stage.alert_lines()] == [
        "problem",
        "recovery",
        "problem",
    ]
    times = await store.call("LRANGE", stage.keys.states("web", "http"), 0, -1)
    assert [int(time) for time in times] == [START, START + 10, START + 20, START + 30]


# --- late


async def test_what_waited_long_is_told_as_if_it_had_come_one_by_one(store: Store) -> None:
    """Many changes of one check fall into the second in which a backlog is processed."""
    await alice(store)
    stage = Stage(store, **AT_ONCE)
    states = ("ok", "critical", "ok", "warning", "critical", "critical", "ok")
    await submit_raw(store, encoded(row for one in states for row in every(one, [("web", "http")])))
    await stage.drain()
    alerts = await stage.alerts()
    assert [alert.state for alert in alerts] == ["critical", "ok", "warning", "critical", "ok"]
    assert {alert.state_duration for alert in alerts} == {0}
    assert await store.call("EXISTS", stage.keys.alerting_checks("alice", "email")) == 0
    await stage.later(10).send("ok")
    assert await stage.alert_lines() == []


async def test_nobody_is_called_silent_while_reports_wait_unread(store: Store) -> None:
    keys, own = Alerting(), AlertingOwn()
    await store.call("ZADD", own.silence(), 1, "web:http")
    await submit_raw(store, encoded(every("ok", [("web", "http")])))
    looks: list[str] = []
    context = Context(Settings(data=Path()), store, SYSTEM, looks.append)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(report_silence(context))
        await eventually(lambda: len(looks) >= 2)
        assert await store.call("LLEN", keys.events()) == 1
        await store.call("DEL", keys.events())
        await eventually(lambda: store.call("LLEN", keys.events()))
        task.cancel()
    assert await store.call("ZCARD", own.silence()) == 0
