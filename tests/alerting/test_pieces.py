"""However a batch is cut into pieces, what comes of it is the same."""

import random
from typing import Any

import pytest

from tests.alerting.scenes import START, Stage
from tests.faults.alerting_scene import contents, differences, encoded
from tests.faults.invariants import check
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.maintenance import create_scheduled
from watchbell.alerting.processor import step as process
from watchbell.store.client import Store

CHECKS = [(f"host-{n // 4}", f"disk {n % 4}") for n in range(12)]
STATES = ("ok", "ok", "ok", "warning", "critical", "unknown")


def events(seed: int) -> list[dict[str, Any]]:
    """Most of them say that all is well, in changing words, and some of what is optional."""
    chance = random.Random(seed)
    rows = []
    for number in range(150):
        entity, name = chance.choice(CHECKS)
        row: dict[str, Any] = {"entity": entity, "check": name, "time": START + number}
        row |= {"type": "service", "state": chance.choice(STATES)}
        if chance.random() < 0.05:
            row |= {"type": "action", "state": chance.choice(["acknowledgement", "ok"])}
        for field, values in (
            ("summary", ["fine", "still fine", None]),
            ("details", ["more", None]),
            ("ttl", [60, 0, None]),
            ("initial_failure_delay", [0, 30]),
            ("repeat_failure_delay", [0, 60]),
        ):
            if (value := chance.choice(values)) is not None:
                row[field] = value
        rows.append(row)
    return rows


async def outcome(store: Store, seed: int, piece: int) -> dict[str, Any]:
    stage = Stage(store)
    stage._processor.piece = stage._notifier.piece = piece
    media = {f"{state}_media": ("email", "sms") for state in ("warning", "critical", "unknown")}
    await stage.contact("alice", "email", "sms", threshold=3, rule={"id": "general", **media})
    for round_ in range(3):
        await submit_raw(store, encoded(events(10 * seed + round_)))
        await stage.later(45).drain()
    found = await contents(store)
    for entity, name in CHECKS:
        for family in (stage.own.decisions, stage.keys.states):
            found[family(entity, name)] = await store.call("LRANGE", family(entity, name), 0, -1)
        for time in found[stage.keys.states(entity, name)]:
            key = stage.keys.count(entity, name, int(time))
            found[key] = await store.call("GET", key)
    await store.call("FLUSHALL")
    return found


@pytest.mark.parametrize("seed", range(3))
async def test_pieces_of_any_size_lead_to_the_same(store: Store, seed: int) -> None:
    expected = await outcome(store, seed, 1_000)
    assert expected["records of alerts"]
    for piece in (1, 2, 7):
        check(differences(expected, await outcome(store, seed, piece)))


async def test_what_a_quiet_check_just_said_is_known_when_it_is_looked_at_in_depth(
    store: Store,
) -> None:
    """The look at the third report comes before the second one is in the store."""
    stage = Stage(store)
    stage._processor.piece = 1
    await stage.send("ok", summary="fine")
    told = {"entity": "web", "check": "http", "type": "service", "state": "ok"}
    promise = {**told, "summary": "still fine", "details": "more", "ttl": 60}
    test = {**told, "type": "action", "state": "test_notifications"}
    await submit_raw(store, encoded([promise, test, {**told, "summary": "fine"}]))
    await stage.later(10).drain()
    current = await store.call("HGETALL", stage.keys.current("web", "http"))
    assert current[b"summary"] == b"fine"
    assert b"details" not in current
    assert await store.call("EXISTS", stage.own.silence()) == 0


async def fail(stage: Stage, *names: str) -> None:
    """All at once, up to the notifications, which wait."""
    told = {"type": "service", "state": "critical", "initial_failure_delay": 0}
    rows = (dict(zip(("entity", "check"), name.split(":"), strict=True)) for name in names)
    await submit_raw(stage.store, encoded([{**row, **told} for row in rows]))
    assert await process(stage._processor, stage.now) is not None


async def test_what_became_of_some_checks_meanwhile_counts_for_them_alone(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=2)
    await fail(stage, "web:http", "web:ssh", "web:dns")
    await create_scheduled(store, "web:http", stage.now, 3_600, "new disks", stage.now)
    await stage.send("ok", "web:ssh")
    assert await stage.alert_lines() == [
        "alice problem web:http critical",
        "alice problem web:ssh critical",
        "alice problem web:dns critical",
        "alice recovery web:ssh ok",
    ]


async def test_each_notification_of_a_piece_reaches_those_who_ask_for_it(store: Store) -> None:
    stage = Stage(store)
    await fail(stage, "web:http", "web:ssh", "db:disk", "app:log")
    for name, entity, check_name in (
        ("alice", "web", None),
        ("bob", "web", "ssh"),
        ("charlie", "db", None),
    ):
        entity_id = (await store.call("GET", stage.keys.entity_id(entity))).decode()
        await stage.contact(name, "email", linked=entity_id, check=check_name)
    # As older installations have it, with the entity's own key alone.
    await store.call("HDEL", stage.keys.entity_ids(), "db")
    await stage.drain()
    assert await stage.alert_lines() == [
        "alice problem web:http critical",
        "alice problem web:ssh critical",
        "bob problem web:ssh critical",
        "charlie problem db:disk critical",
    ]
