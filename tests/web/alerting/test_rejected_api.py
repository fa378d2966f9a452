"""Rejected events over the API: each with its reason, its bytes, and nothing that harms."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alerting.scenes import Stage
from tests.web.site import Site, Visitor
from watchbell.alerting import rejected
from watchbell.alerting.hours import hour, hours_back, start_of
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.rejected import Place
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.web.alerting.rejected_routes import escaped

PATH = "/api/v1/rejected"
GOOD = {"type": "service", "state": "ok", "entity": "web-1", "check": "HTTP"}


@pytest.fixture
def stage(store: Store) -> Stage:
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    return stage


async def push(stage: Stage, *items: bytes | dict[str, Any], hours_ago: int = 0) -> None:
    present = stage.now
    stage.now -= hours_ago * 3_600
    for item in items:
        await stage.push(item)
        await stage.drain()
    stage.now = present


async def listed(visitor: Visitor, **query: Any) -> dict[str, Any]:
    answer = await visitor.get(PATH, params=query)
    assert answer.status == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_each_is_told_with_its_reason_the_newest_first(site: Site, stage: Stage) -> None:
    raw = b'{"state": "\xff\x00<script>"}\n\x1b[31m'
    await push(stage, b"nonsense", hours_ago=3)
    await push(stage, {**GOOD, "state": "bad"}, GOOD, raw)
    async with site.program("read") as program:
        third, second, first = (await listed(program))["items"]
    assert first["time"] == stage.now - 3 * 3_600
    assert first["text"] == "nonsense"
    assert first["reason"].startswith("not JSON")
    assert "expected one of ok, warning" in second["reason"]
    assert third["size"] == len(raw)
    assert third["text"] == '{"state": "\ufffd\\x00<script>"}\n\\x1b[31m'


async def test_pages_go_on_where_they_were_although_more_comes(site: Site, stage: Stage) -> None:
    for ago in (5, 2, 0):
        await push(stage, *(f"{ago} {n}".encode() for n in range(4)), hours_ago=ago)
    seen = []
    async with site.program("read") as program:
        page = await listed(program, limit=3)
        while True:
            seen += [one["text"] for one in page["items"]]
            await push(stage, b"more")
            if page["next"] is None:
                break
            page = await listed(program, limit=3, cursor=page["next"])
    assert seen == [f"{ago} {n}" for ago in (0, 2, 5) for n in (3, 2, 1, 0)]


async def test_one_is_shown_whole_with_its_bytes(site: Site, stage: Stage) -> None:
    long = json.dumps({**GOOD, "details": "ü" * 200_000, "x": 1}).encode()
    await push(stage, b"\x00\xff" * 900, long)
    async with site.program("read") as program:
        second, first = (await listed(program))["items"]
        one = (await program.get(f"{PATH}/event", params={"id": first["id"]})).json()
        other = (await program.get(f"{PATH}/event", params={"id": second["id"]})).json()
    assert base64.b64decode(one["bytes"]) == b"\x00\xff" * 900
    assert (one["is_whole"], one["reason"]) == (True, first["reason"])
    assert one["reason_now"] == one["reason"]
    assert other["size"] == len(long)
    assert other["is_whole"] is False
    assert base64.b64decode(other["bytes"]) == long[: 256 << 10]
    assert other["reason_now"] == "unknown fields: 'x'"


async def test_what_would_be_taken_now_says_so(site: Site, stage: Stage, store: Store) -> None:
    """As after processors died with it."""
    keys, own = Alerting(store.prefix), AlertingOwn(store.prefix)
    body = json.dumps(GOOD)
    told = json.dumps({"time": stage.now, "reason": "3 processors died", "event": body})
    await store.call("LPUSH", keys.rejected(hour(stage.now)), body)
    await store.call("LPUSH", own.rejections(hour(stage.now)), told)
    for key in (keys.rejected(hour(stage.now)), own.rejections(hour(stage.now))):
        await store.call("EXPIRE", key, 60)
    async with site.program("read") as program:
        (shown,) = (await listed(program))["items"]
        one = (await program.get(f"{PATH}/event", params={"id": shown["id"]})).json()
    assert (one["reason"], one["reason_now"]) == ("3 processors died", "")


async def test_without_its_bytes_the_beginning_that_was_noted_is_shown(
    site: Site, stage: Stage, store: Store
) -> None:
    await push(stage, b"first", b"second")
    key = Alerting(store.prefix).rejected(hour(stage.now))
    await store.call("LSET", key, 0, "of somebody else")
    async with site.program("read") as program:
        second, first = (await listed(program))["items"]
        one = (await program.get(f"{PATH}/event", params={"id": second["id"]})).json()
    assert (first["size"], second["size"]) == (5, None)
    assert (second["text"], one["size"], one["is_whole"]) == ("second", None, False)
    assert base64.b64decode(one["bytes"]) == b"second"


@pytest.mark.parametrize("id_", ["x", "2023111422-0", "2023111422-1", "2023111422-999999999999"])
async def test_what_is_not_there_is_not_found(site: Site, id_: str) -> None:
    async with site.program("read") as program:
        assert (await program.get(f"{PATH}/event", params={"id": id_})).status == 404
        assert (await program.get(PATH, params={"cursor": "x"})).status == 400


async def test_they_are_counted_by_hour_and_by_reason(site: Site, stage: Stage) -> None:
    await push(stage, *({**GOOD, "state": name} for name in ("bad", "it's", '"')))
    await push(stage, {**GOOD, "ttl": 1 << 40}, {**GOOD, "ttl": "x"}, hours_ago=30)
    async with site.program("read") as program:
        told = (await program.get(f"{PATH}/counts")).json()
    assert (told["total"], told["counted"]) == (5, 5)
    assert [one["count"] for one in told["hours"]] == [3, 2]
    assert told["hours"][0]["start"] == stage.now // 3_600 * 3_600
    reasons = {one["reason"]: one["count"] for one in told["reasons"]}
    expected = "state is …; expected one of ok, warning, critical, unknown, acknowledgement, "
    assert reasons[expected + "test_notifications"] == 3
    assert set(reasons.values()) == {3, 1}


async def test_a_corrected_one_is_taken_as_any_event(site: Site, stage: Stage) -> None:
    await push(stage, {**GOOD, "state": "okay"})
    async with site.somebody("operator") as alice, site.somebody("viewer") as bob:
        (one,) = (await listed(alice))["items"]
        fixed = {**json.loads(one["text"]), "state": "ok"}
        assert (await bob.post("/api/v1/check-events", json=fixed)).status == 403
        assert (await alice.post("/api/v1/check-events", json=fixed)).status == 202
    assert (await stage.drain()).events == 1


async def test_nothing_rejected_is_an_empty_list(site: Site) -> None:
    async with site.program("read") as program:
        assert await listed(program) == {"items": [], "next": None}
        counts = (await program.get(f"{PATH}/counts")).json()
    assert counts == {"total": 0, "hours": [], "reasons": [], "counted": 0}


async def test_an_intake_key_looks_at_nothing(site: Site) -> None:
    async with site.program("intake") as program:
        for path in (PATH, f"{PATH}/counts", f"{PATH}/event?id=x"):
            assert (await program.get(path)).status == 403


@given(st.text())
def test_escapes_leave_nothing_that_acts(text: str) -> None:
    shown = escaped(text)
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert len(shown) >= len(text)


def test_a_place_is_found_by_its_id() -> None:
    assert rejected.place(Place("2023111422", 7).id) == Place("2023111422", 7)
    for name in hours_back(1_700_000_000, 30):
        assert hour(start_of(name)) == name
