"""States that are posted with a lifetime: held, shown, and told again while they are failures."""

import asyncio
import json
from typing import Any

import pytest

from tests.alerting.scenes import START, Stage
from tests.waiting import eventually
from tests.web.alerting.test_reports_by_http import ALARM, queued, report
from tests.web.site import BY, Site, Visitor, served
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import CheckEvent
from watchbell.clock import SYSTEM, SetClock
from watchbell.roles import broker
from watchbell.roles.role import Context
from watchbell.store.client import Store
from watchbell.web.alerting.intake import states
from watchbell.web.alerting.intake.states import (
    EVERY,
    FORGOTTEN,
    Fate,
    Held,
    States,
    fate,
    repeated,
)
from watchbell.web.keys import Web
from watchbell.web.ping_check import Ping

NOW = 1_700_000_000


def held(state: str = "critical", ttl: int | None = 300) -> Held:
    event = CheckEvent(type="service", state=state, entity="web-1", check="HTTP", ttl=ttl)  # type: ignore[arg-type]
    return Held(event, NOW)


@pytest.mark.parametrize(
    ("what", "state", "age", "expected"),
    [
        (held(), "critical", EVERY, Fate.REPEAT),
        (held(), "critical", EVERY - 1, Fate.LEAVE),
        (held(), "critical", 299, Fate.REPEAT),
        (held(), "critical", 300, Fate.DROP),
        (held(ttl=None), "critical", 1 << 30, Fate.REPEAT),
        (held("unknown"), "unknown", EVERY, Fate.REPEAT),
        (held(), "ok", EVERY, Fate.LEAVE),
        (held(), "warning", EVERY, Fate.LEAVE),
        (held("ok"), "ok", EVERY, Fate.LEAVE),
        (held("ok"), "ok", 300, Fate.DROP),
        (held(ttl=None), None, EVERY, Fate.LEAVE),
        (held(ttl=None), None, FORGOTTEN, Fate.DROP),
        (held("ok", None), "ok", FORGOTTEN, Fate.LEAVE),
    ],
)
def test_a_failure_is_repeated_while_it_holds(
    what: Held, state: str | None, age: int, expected: Fate
) -> None:
    assert fate(what, state, NOW + age) is expected


def test_a_lifetime_is_not_made_longer_by_repeating() -> None:
    assert repeated(held(ttl=300), NOW + 120).ttl == 180
    assert repeated(held(ttl=None), NOW + 120).ttl is None
    assert repeated(held(), NOW + 120).time == NOW + 120


async def shown(visitor: Visitor, path: str = "/state") -> dict[str, Any]:
    answer = await visitor.get(path)
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_what_is_held_is_shown_as_it_was_posted(site: Site, store: Store) -> None:
    body = report("a: b/c?", "critical", summary="503", ttl=60, tags=["shop"])
    async with site.program("intake") as program, site.program("read") as reader:
        assert await shown(reader) == {}
        for one in (body, ALARM, report(ttl=-1), report(ttl=-1, state="warning")):
            assert (await program.post("/state", json=one)).status == 202
        assert (await program.post("/state", json=report("d", "bad"))).status == 422
        assert (await program.get("/state")).status == 403
        found = await shown(reader)
    assert set(found) == {"web-1:a: b/c?", "i-1:cpu high", "web-1:HTTP"}
    assert found["web-1:a: b/c?"].pop("time") == pytest.approx(SYSTEM.now(), abs=60)
    assert found["web-1:a: b/c?"] == {
        "entity": "web-1",
        "check": "a: b/c?",
        "state": "critical",
        "summary": "503",
        "details": "",
        "tags": ["shop"],
        "ttl": 60,
    }
    assert (found["web-1:HTTP"]["state"], found["web-1:HTTP"]["ttl"]) == ("warning", -1)
    assert len(await queued(store)) == 4


async def test_many_come_page_by_page(site: Site, store: Store) -> None:
    fields: list[str | bytes] = []
    for number in range(2_000):
        event = CheckEvent(type="service", state="ok", entity="web", check=f"{number}")
        fields += [event.id, states.encoded(event, NOW)]
    await store.call("HSET", Web(store.prefix).states(), *fields, "web:broken", "{")
    path: str | None = "/state?limit=300"
    found: dict[str, Any] = {}
    pages = 0
    async with site.program("read") as reader:
        while path:
            answer = await reader.get(path)
            found |= answer.json()
            pages += 1
            link = answer.headers.get("Link", "")
            path = link.partition(">")[0].removeprefix("<") or None
            assert not link or link.endswith('>; rel="next"')
        for wrong in ("limit=0", "limit=10001", "cursor=x", "cursor=-1"):
            assert (await reader.get(f"/state?{wrong}")).status == 400
    assert len(found) == 2_000
    assert 2 < pages < 20


async def test_an_alarm_that_is_posted_once_is_told_when_it_lasts(store: Store) -> None:
    stage, clock = Stage(store), SetClock(START)
    await stage.contact("alice", "email")
    again = States(store)
    async with served(store, clock) as site, site.program("intake") as program:
        assert (await program.post("/state", json=ALARM)).status == 202
        told: dict[int, list[str]] = {}
        while stage.now < START + 50:
            await stage.drain()
            told[stage.now - START] = await stage.alert_lines()
            clock.set(stage.later(EVERY).now)
            await again.repeat(stage.now)
        assert (await program.post("/state", json={**ALARM, "NewStateValue": "OK"})).status == 202
        await stage.drain()
        recovered = await stage.alert_lines()
        assert await again.repeat(stage.later(60).now) == 0
    assert told == {0: [], 10: [], 20: [], 30: ["alice problem i-1:cpu high critical"], 40: []}
    assert recovered == ["alice recovery i-1:cpu high ok"]


async def test_a_lifetime_ends_in_unknown_although_it_was_repeated(store: Store) -> None:
    stage, clock = Stage(store), SetClock(START)
    again = States(store)
    async with served(store, clock) as site, site.program("intake") as program:
        await program.post("/state", json=report(state="critical", ttl=25))
    found = []
    for _ in range(6):
        await stage.drain()
        state = await store.call("HGET", stage.keys.current("web-1", "HTTP"), "state")
        found.append(state.decode())
        await again.repeat(stage.later(EVERY).now)
    assert found == ["critical", "critical", "critical", "unknown", "unknown", "unknown"]
    assert await store.call("EXISTS", Web(store.prefix).states()) == 0


async def test_what_was_posted_meanwhile_is_not_undone(store: Store) -> None:
    """A state that was read to be repeated, and replaced before it was pushed."""
    stage = Stage(store)
    async with served(store, SetClock(START)) as site, site.program("intake") as program:
        await program.post("/state", json=report(state="critical", ttl=-1))
        await stage.drain()
        again = States(store)
        key = Web(store.prefix).states()
        stale = await store.call("HGET", key, "web-1:HTTP")
        await program.post("/state", json=report(state="ok", ttl=-1))
        events = Alerting(store.prefix).events()
        words = again._arguments("web-1:HTTP", stale, "critical", START + EVERY)
        assert len(words) == 3
        assert await states._REPEAT(store, [key, events], words) == 0
    assert [event["state"] for event in await queued(store)] == ["ok"]


async def test_who_else_reports_is_believed_and_a_disabled_check_stays_so(store: Store) -> None:
    stage, again = Stage(store), States(store)
    async with served(store, SetClock(START)) as site, site.program("intake") as program:
        for check in ("HTTP", "SSH"):
            await program.post("/state", json=report(check, "critical", ttl=-1))
        await stage.drain()
    await stage.send("ok", "web-1:HTTP")
    await store.call("ZREM", stage.keys.current_checks("web-1"), "SSH")
    assert await again.repeat(stage.later(EVERY).now) == 0
    assert await queued(store) == []
    await again.repeat(stage.later(FORGOTTEN).now)
    left = await store.call("HKEYS", Web(store.prefix).states())
    assert left == [b"web-1:HTTP"]


async def test_the_broker_at_work_reports_again(store: Store) -> None:
    shown: list[str] = []
    stage = Stage(store)
    stage.now = int(SYSTEM.now()) - EVERY
    async with served(store, SetClock(stage.now)) as site:
        async with site.program("intake") as program:
            await program.post("/state", json=report(state="critical", ttl=-1))
        await stage.drain()
        context = Context(
            settings=site.services.settings, store=store, clock=SYSTEM, show_status=shown.append
        )
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(broker.run(context, every=0.05, lease=5.0)) for _ in range(2)]
        await eventually(lambda: "another broker is at work" in shown)
        await eventually(lambda: any("failures repeated" in words for words in shown))
        for worker in workers:
            worker.cancel()
    assert {event["state"] for event in await queued(store)} == {"critical"}


async def test_a_ping_that_tells_of_a_failure_is_told_at_once(site: Site, store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    ping = Ping("db-1", "backup", 3_600)
    secret, _ = await site.services.api_keys.make("backup", ("ping",), BY, ping=ping)
    async with site.stranger() as job:
        assert (await job.get(f"/ping/{secret}/1")).status == 200
        await stage.drain()
        assert await stage.alert_lines() == ["alice problem db-1:backup critical"]
        assert (await job.get(f"/ping/{secret}")).status == 200
        await stage.later(1).drain()
        assert await stage.alert_lines() == ["alice recovery db-1:backup ok"]


async def test_an_action_is_no_state(site: Site) -> None:
    body = {**report(), "type": "action", "state": "acknowledgement"}
    async with site.program("operate") as program:
        answer = await program.post("/state", data=json.dumps(body))
    assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "type")
