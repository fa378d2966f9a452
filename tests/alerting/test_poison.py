"""What nobody should push: rejected or handled, and neighbours notice nothing of it."""

import json
import random
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import servers
from tests.alerting.scenes import START, Stage
from tests.faults.alerting_scene import Crew, contents, is_drained
from tests.faults.alerting_worker import FileClock
from tests.waiting import eventually
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.keys import Alerting
from watchbell.store.client import Store

HOUR = "2023111422"
LEAST: dict[str, Any] = {"type": "service", "state": "critical", "entity": "foe", "check": "x"}
NEIGHBOURS = [("friend", "http"), ("friend", "http:80"), ("fr", "iend:http")]
RULE = {"id": "alice-rule", "entities": ("friend", "fr"), "critical_media": ("email",)}


def raw(**fields: Any) -> bytes:
    return json.dumps({**LEAST, **fields}).encode()


ODD_NAMES: list[Any] = ["a\nb", "\0", " ", "", 5, 5.5, True, None, [], {}, ["x"], "x" * 2_000]
ODD_TIMES: list[Any] = [-1, 1.5, "soon", "-1", 1 << 40, [], True, "1" * 30]
ODD_TEXTS: list[Any] = [5, [], {}, False]
ODD_TAGS: list[Any] = ["x", [5], {"a": "b"}, [None]]
ODD_STATES: list[Any] = ["up", "OK!", 0, [], "test"]

REJECTED: list[bytes] = [
    *(
        b"",
        b"\0",
        b"\n",
        b"{",
        b"}",
        b"[]",
        b"{}",
        b"null",
        b"true",
        b"0",
        b'""',
        b"\xef\xbb\xbf{}",
    ),
    *(raw()[:length] for length in range(1, len(raw()))),
    *(opening * 100_000 for opening in (b"[", b"{", b'{"a":', b'[{"a":')),
    b"[" * 50_000 + b"]" * 50_000,
    raw(tags=[[[["deep"]]]]),
    b'"' + b"x" * (9 << 20) + b'"',
    raw()[:-1] + b', "time": 1' + b"0" * 5_000 + b"}",
    raw()[:-1] + b', "duration": 1e999}',
    *(raw(entity=name) for name in ("a:b", *ODD_NAMES)),
    *(raw(check=name) for name in ODD_NAMES),
    *(raw(time=time) for time in ODD_TIMES),
    *(raw(state=state) for state in ODD_STATES),
    *(raw(summary=text) for text in ODD_TEXTS),
    *(raw(tags=tags) for tags in ODD_TAGS),
    # names that begin as keys of other families do
    *(raw(entity="check", check=f"{entity}:{name}") for entity, name in NEIGHBOURS),
    *(raw(entity=name) for name in ("contact", "Decisions", "entity_id", "{events}", "{foe}")),
    raw(type="noop"),
    raw(**{"": 1}),
    raw(__proto__={}),
]

HANDLED: list[bytes] = [
    *(
        raw(check=name)
        for name in (
            *("a:b", ":", "::", "http:states", "http:1700000000:state", "%s", "*", "?", "[a]"),
            *("/var/log", "../../etc", "a\\b", "'", '"', "`", "$(x)", "{x}", "}{", "--", " x "),
            *("日本", "🔔", "e\u0301", "\u202e", "\ufeff", "\U0010ffff", "x" * 1_000, "🔔" * 900),
        )
    ),
    *(raw(entity=name) for name in ("a/b", "*", "%d", "ÄÖ", "日本", "}foe{", "x" * 1_000, "-")),
    *(raw(entity=name) for name in ("all", "events", "notifications", "contacts", "checks")),
    raw(summary="x" * (1 << 20)),
    raw(details="\n" * 1_000_000 + "x", perfdata="=" * 100_000),
    raw(summary="a\0b\r\n\x1b[0m", details="\u2028"),
    raw(tags=["x" * 10_000, *map(str, range(1_000))]),
    raw(summary="\ud800", check="\udfff"),
    raw()[:-1] + b', "summary": "\xff\xfe\xc0\x80"}',
    raw(time=(1 << 33) - 1, duration=(1 << 33) - 1, ttl=(1 << 33) - 1),
    raw(initial_failure_delay=(1 << 33) - 1, repeat_failure_delay="8589934591"),
    raw(type="action", state="acknowledgement", duration=(1 << 33) - 1, acknowledgement_id=10**30),
    raw(type="action", state="critical"),
    raw(type="action", state="ok"),
    raw(type="service", state="acknowledgement"),
    raw(type="service", state="test_notifications"),
    raw(check_latency=-1e308),
    raw() + b"\n\n ",
]


ALERTS = ("email_notifications", "records of alerts")


def friendly(state: str) -> list[dict[str, Any]]:
    return [
        {"type": "service", "state": state, "entity": entity, "check": name}
        for entity, name in NEIGHBOURS
    ]


async def visit(stage: Stage, foes: list[bytes]) -> int:
    """Neighbours report, with all of these among them; how many of these were rejected."""
    await stage.contact("alice", "email", rule=RULE)
    await stage.rule("alice", id="alice-general")
    rejected = 0
    for state in ("ok", "critical", "critical", "ok"):
        friends = [json.dumps(event).encode() for event in friendly(state)]
        among = sorted(range(len(friends)), key=lambda n: (n * 7919) % 13)
        pushed = list(foes)
        for at in among:
            pushed.insert(len(pushed) * (at + 1) // (len(friends) + 1), friends[at])
        await submit_raw(stage.store, pushed)
        done = await stage.later(30).drain()
        assert done.events + done.rejected == len(pushed)
        rejected += done.rejected
    return rejected


def of_neighbours(found: dict[str, Any]) -> dict[str, Any]:
    """The keys of each neighbour, and what shared keys hold of them."""
    keys = Alerting()
    ids = {f"{entity}:{name}".encode() for entity, name in NEIGHBOURS}
    whole = {*ALERTS, *(keys.current(*one) for one in NEIGHBOURS)}
    kept: dict[str, Any] = {}
    for key, value in found.items():
        if key in whole or key.startswith(("friend:", "fr:")) or key.endswith((":friend", ":fr")):
            kept[key] = value
        elif ":" not in key and isinstance(value, dict):
            kept[key] = {k: v for k, v in value.items() if k in ids or k in (b"friend", b"fr")}
        elif ":" not in key and isinstance(value, list):
            kept[key] = [one for one in value if one in ids]
    return {key: value for key, value in kept.items() if value}


async def neighbours(store: Store, foes: list[bytes]) -> tuple[dict[str, Any], int]:
    stage = Stage(store)
    rejected = await visit(stage, foes)
    found = of_neighbours(await contents(store))
    await store.call("FLUSHALL")
    return found, rejected


async def test_what_is_no_event_is_rejected_and_neighbours_notice_nothing(store: Store) -> None:
    alone, _ = await neighbours(store, [])
    assert len(alone["email_notifications"]) == 2 * 3
    among, rejected = await neighbours(store, REJECTED)
    assert rejected == 4 * len(REJECTED)
    assert among == alone


async def test_odd_events_are_handled_and_neighbours_notice_nothing(store: Store) -> None:
    alone, _ = await neighbours(store, [])
    among, rejected = await neighbours(store, HANDLED)
    assert rejected == 0
    assert among == alone


async def test_ten_thousand_random_strings_stop_nothing(store: Store) -> None:
    chance = random.Random(19)
    whole = [*REJECTED[:200], *HANDLED]
    strings = [chance.randbytes(chance.randrange(200)) for _ in range(6_000)]
    strings += [chance.choice(whole)[: chance.randrange(300)] for _ in range(2_500)]
    strings += [mutated(chance.choice(HANDLED[:60]), chance) for _ in range(1_500)]
    alone, _ = await neighbours(store, [])
    stage = Stage(store)
    quarters = [strings[at::4] for at in range(4)]
    await stage.contact("alice", "email", rule=RULE)
    await stage.rule("alice", id="alice-general")
    for state, quarter in zip(("ok", "critical", "critical", "ok"), quarters, strict=True):
        friends = [json.dumps(event).encode() for event in friendly(state)]
        half = len(quarter) // 2
        await submit_raw(store, [*quarter[:half], *friends, *quarter[half:]])
        done = await stage.later(30).drain()
        assert done.events + done.rejected == len(quarter) + len(friends)
    assert of_neighbours(await contents(store)) == alone
    await store.call("FLUSHALL")


def mutated(item: bytes, chance: random.Random) -> bytes:
    changed = bytearray(item)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["ok", "critical", "service", "action", "friend", "http", "a:b", "1e5"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    [
        *LEAST,
        "time",
        "summary",
        "tags",
        "duration",
        "ttl",
        "initial_failure_delay",
        "check_latency",
        "?",
    ]
)
NEARLY = st.dictionaries(FIELDS, VALUES, max_size=3).map(
    lambda fields: json.dumps({**LEAST, **fields}).encode(errors="surrogatepass")
)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(foes=st.lists(NEARLY | st.binary(max_size=50), max_size=40))
async def test_whatever_is_nearly_an_event_is_counted_once(store: Store, foes: list[bytes]) -> None:
    stage = Stage(store)
    friends = [json.dumps(event).encode() for event in friendly("ok")]
    await submit_raw(store, [*friends[:1], *foes, *friends[1:]])
    done = await stage.drain()
    assert done.events + done.rejected == len(foes) + len(friends)
    raws = await store.call("LLEN", stage.keys.rejected(HOUR))
    assert raws == await store.call("LLEN", stage.own.rejections(HOUR)) == done.rejected
    assert await store.call("HGET", stage.keys.current("friend", "http"), "state")
    assert await is_drained(store)
    await store.call("FLUSHALL")


async def test_what_others_wrote_into_our_keys_stops_nothing(store: Store) -> None:
    stage = Stage(store, initial_failure_delay=0)
    keys, own, call = stage.keys, stage.own, store.call
    await stage.contact("alice", "email", threshold=1)
    at = ("foe", "x")
    for key in (keys.scheduled_windows(*at), keys.unscheduled_windows(*at)):
        await call("ZADD", key, "1e300", 5, "inf", "x", "-inf", "\xff", 1, "1e30")
    await call("SET", keys.unscheduled(*at), "1e300", "EX", 600)
    await call("HSET", keys.current(*at), "state", "\xff", "last_change", "1e300")
    await call("HSET", own.check_settings(), "foe:x", '{"ttl": 1e30, "initial_failure_delay": -5}')
    await call("HSET", own.check_settings(), "foe:y", json.dumps({"ttl": 10**30}))
    await call("HSET", keys.counters(), "all", "9" * 30)
    await call("SET", keys.last_problem(*at), "never")
    await call("ZADD", keys.alerting_checks("alice", "email"), 1, "no colon", 2, "\xff:\xff")
    deep = '{"x":' + "[" * 100_000
    await call("RPUSH", keys.notifications(), "{", "[]", '{"event_id": 5}', b"\xff", deep)
    for name in ("foe:x", "foe:y", "friend:http"):
        await stage.send("critical", name)
    await call("HSET", keys.current(*at), "last_change", "never")
    await stage.later(5_000).send("critical", "friend:http")
    assert any("friend:http" in line for line in await stage.alert_lines())
    assert await call("LLEN", own.parked()) == 5
    await call("FLUSHALL")


@pytest.mark.parametrize(
    "family",
    [
        *("counters", "failed_checks", "all_checks", "current_entities", "checks_by_hash"),
        *("entity_ids", "alerts", "archives", "wakes"),
    ],
)
async def test_a_shared_key_of_a_wrong_type_stops_nothing(store: Store, family: str) -> None:
    stage = Stage(store, initial_failure_delay=0)
    await stage.contact("alice", "email")
    await store.call("SETEX", getattr(stage.keys, family)(), 600, "not of this type")
    await stage.send("critical")
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    await store.call("FLUSHALL")


async def test_an_event_that_kills_who_looks_at_it_kills_three_and_is_rejected(
    server: servers.Single, store: Store, folder: Path
) -> None:
    stage = Stage(store)
    friends = [{**event, "check": f"x {n}"} for n in range(30) for event in friendly("critical")]
    items = [json.dumps(event).encode() for event in friends]
    deadly = raw(summary="this is deadly")
    items.insert(20, deadly)
    workers = await outlive(server.url, store, folder, items)
    assert workers.deaths == {"what it held": 3}
    assert await store.call("LRANGE", stage.keys.rejected(HOUR), 0, -1) == [deadly]
    (told,) = await store.call("LRANGE", stage.own.rejections(HOUR), 0, -1)
    assert msgspec.json.decode(told)["reason"] == "3 processors died with it in hand"
    assert await store.call("EXISTS", stage.keys.current("foe", "x")) == 0
    for event in friends:
        key = stage.keys.current(event["entity"], event["check"])
        assert await store.call("HGET", key, "state") == b"critical"


async def test_a_notification_that_kills_who_looks_at_it_kills_three_and_is_parked(
    server: servers.Single, store: Store, folder: Path
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", linked="ALL")
    made = [
        {
            "event_id": f"web:{n}",
            "state": "critical",
            "type": "problem",
            "severity": "critical",
            "summary": "this is deadly" if n == 7 else "",
        }
        for n in range(20)
    ]
    for one in made:
        await store.call("RPUSH", stage.keys.notifications(), json.dumps(one))
    workers = await outlive(server.url, store, folder, [])
    assert workers.deaths == {"what it held": 3}
    (parked,) = await store.call("LRANGE", stage.own.parked(), 0, -1)
    assert msgspec.json.decode(parked)["reason"] == "3 notifiers died with it in hand"
    told = [alert.event_id for alert in await stage.alerts()]
    assert told == [f"web:{n}" for n in range(20) if n != 7]


async def outlive(url: str, store: Store, folder: Path, items: list[bytes]) -> Crew:
    """The crew that has done all the work, as often as somebody of it died."""
    clock = FileClock(folder / "clock")
    clock.set(START)
    workers = Crew(url, str(clock.file), random.Random(1))
    try:
        await submit_raw(store, items)

        async def is_done() -> bool:
            workers.muster()
            return await is_drained(store)

        await eventually(is_done, 60)
    finally:
        workers.dismiss()
    assert {worker.returncode for _, worker in workers.posts} == {-signal.SIGKILL}
    return workers
