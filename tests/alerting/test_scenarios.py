"""From event to alert on a real store, scene by scene."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from tests.alerting.scenes import START, ForgetfulStage, RebuildingStage, Stage
from tests.conftest import watched
from watchbell.alerting import contact_links, entities
from watchbell.alerting.entities import Entity
from watchbell.alerting.model import Decision, short_id
from watchbell.store.client import Store

EVERY_HOUR = {
    "start_time": "2013-01-01 00:00:00",
    "end_time": "2013-01-02 00:00:00",
    "rrules": [{"rule_type": "Daily", "interval": 1}],
}


@pytest.fixture(params=[Stage, ForgetfulStage, RebuildingStage])
async def stage(store: Store, request: pytest.FixtureRequest) -> Stage:
    made: Stage = request.param(store)
    return made


async def decisions(stage: Stage, entity: str = "web", check: str = "http") -> list[Decision]:
    found = await stage.store.call("LRANGE", stage.own.decisions(entity, check), 0, -1)
    return [msgspec.json.decode(one, type=Decision) for one in found]


# --- states and notifications


async def test_one_failing_event_alerts_nobody_and_two_thirty_seconds_apart_do(
    stage: Stage,
) -> None:
    await stage.contact("alice", "email")
    await stage.send("critical")
    await stage.later(29).send("critical")
    assert await stage.alert_lines() == []
    await stage.later(1).send("critical")
    assert await stage.alert_lines() == ["alice problem web:http critical"]


async def test_the_documented_keys_tell_the_whole_story(stage: Stage) -> None:
    keys, call = stage.keys, stage.store.call
    await stage.send("ok", summary="fine")
    await stage.later(10).send("critical", summary="down", details="long", check_latency=0.5)
    await stage.later(30).send("critical", summary="still down")
    changed = START + 10
    current = await call("HGETALL", keys.current("web", "http"))
    assert {k.decode(): v.decode() for k, v in current.items()} == {
        "state": "critical",
        "last_change": str(changed),
        "last_update": str(START + 40),
        "summary": "still down",
    }
    assert await call("LRANGE", keys.states("web", "http"), 0, -1) == [
        str(START).encode(),
        str(changed).encode(),
    ]
    assert await call("GET", keys.state("web", "http", changed)) == b"critical"
    assert await call("GET", keys.summary("web", "http", changed)) == b"down"
    assert await call("GET", keys.details("web", "http", changed)) == b"long"
    assert await call("GET", keys.latency("web", "http", changed)) == b"0.5"
    assert await call("GET", keys.count("web", "http", changed)) == b"2"
    assert await call("ZRANGE", keys.failed_checks(), 0, -1) == [b"web:http"]
    assert await call("HGET", keys.checks_by_hash(), short_id("web:http")) == b"web:http"
    assert await call("GET", keys.last_problem("web", "http")) == str(START + 40).encode()
    assert await call("GET", keys.last_critical("web", "http")) == str(START + 40).encode()
    assert await call("LRANGE", keys.problems("web", "http"), 0, -1) == [str(START + 40).encode()]
    counters = await call("HGETALL", keys.counters())
    assert counters == {b"all": b"3", b"ok": b"1", b"failure": b"2"}
    assert await call("ZRANGE", keys.current_entities(), 0, -1) == [b"web"]
    archive = await call("LRANGE", keys.archive("2023111422"), 0, -1)
    assert len(archive) == 3
    assert b"still down" in archive[0]
    assert await call("SMEMBERS", keys.archives()) == {keys.archive("2023111422").encode()}


async def test_a_recovery_in_maintenance_is_told_after_it(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.fails()
    start, keys = stage.now, stage.keys
    await stage.store.call("ZADD", keys.scheduled_windows("web", "http"), 600, start)
    await stage.store.call("ZADD", keys.scheduled_times("web", "http"), start, start)
    await stage.alert_lines()
    await stage.later(60).send("ok")
    assert await stage.alert_lines() == []
    assert await stage.store.call("GET", keys.scheduled("web", "http")) == str(start).encode()
    await stage.later(540).send("ok")
    assert await stage.alert_lines() == ["alice recovery web:http ok"]
    assert await stage.store.call("EXISTS", keys.scheduled("web", "http")) == 0


async def test_an_acknowledgement_silences_until_it_ends_or_the_check_recovers(
    stage: Stage,
) -> None:
    await stage.contact("alice", "email", interval=1)
    await stage.fails()
    await stage.later(10).send("acknowledgement", duration=600, summary="on it")
    assert await stage.alert_lines() == [
        "alice problem web:http critical",
        "alice acknowledgement web:http acknowledgement",
    ]
    assert await stage.store.call("GET", stage.keys.unscheduled("web", "http"))
    await stage.later(500).send("critical")
    assert await stage.alert_lines() == []
    await stage.later(100).send("critical")
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    await stage.later(100).send("acknowledgement")
    await stage.later(10).send("ok")
    assert await stage.store.call("EXISTS", stage.keys.unscheduled("web", "http")) == 0
    windows = await stage.store.call(
        "ZRANGE", stage.keys.unscheduled_windows("web", "http"), 0, -1, "WITHSCORES"
    )
    assert sorted(float(length) for _, length in _pairs(windows)) == [10, 600]
    assert (await stage.alert_lines())[-1] == "alice recovery web:http ok"


def _pairs(answer: list[Any]) -> list[tuple[Any, Any]]:
    return (
        answer
        if answer and isinstance(answer[0], tuple | list)
        else list(zip(answer[::2], answer[1::2], strict=True))
    )


async def test_an_acknowledgement_of_a_failure_nobody_was_told_of_reaches_nobody(
    stage: Stage,
) -> None:
    await stage.contact("alice", "email")
    await stage.send("critical")
    await stage.later(5).send("acknowledgement")
    assert await stage.alert_lines() == []
    assert "severity" in (await decisions(stage))[0].contacts[0].reason


async def test_a_test_reaches_people_at_once_and_once_in_an_interval(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.send("test_notifications")
    await stage.later(60).send("test_notifications")
    assert await stage.alert_lines() == ["alice test web:http test_notifications"]


async def test_silence_becomes_unknown(stage: Stage) -> None:
    await stage.contact("alice", "email", rule={"unknown_media": ("email",)})
    await stage.send("ok", ttl=60)
    await stage.later(59).drain()
    current = await stage.store.call("HGET", stage.keys.current("web", "http"), "state")
    assert current == b"ok"
    done = await stage.later(1).drain()
    assert done.events == 1
    current = await stage.store.call("HGET", stage.keys.current("web", "http"), "state")
    assert current == b"unknown"
    assert (await stage.later(600).drain()).events == 0
    await stage.send("ok", ttl=60)
    await stage.send("ok", ttl=0)
    assert (await stage.later(600).drain()).events == 0


@pytest.mark.parametrize(
    ("seconds", "summary"),
    [
        (60, b"no report came; one was due a moment ago"),
        (61, b"no report came; one was due 1 second ago"),
        (3660, b"no report came; one was due 1 hour ago"),
    ],
)
async def test_silence_says_since_when_a_report_is_due(
    stage: Stage, seconds: int, summary: bytes
) -> None:
    await stage.send("ok", ttl=60)
    await stage.later(seconds).drain()
    current = stage.keys.current("web", "http")
    assert await stage.store.call("HGET", current, "summary") == summary


async def test_a_time_of_silence_that_is_none_stops_nothing(stage: Stage) -> None:
    await stage.store.call("ZADD", stage.own.silence(), "-inf", "web:http")
    await stage.send("ok", "web:smtp", ttl=60)
    assert (await stage.later(60).drain()).events == 1


async def test_delays_set_for_a_check_hold_for_it_alone(stage: Stage) -> None:
    await stage.contact("alice", "email")
    settings = msgspec.json.encode({"initial_failure_delay": 0})
    await stage.store.call("HSET", stage.own.check_settings(), "web:http", settings)
    await stage.send("critical")
    await stage.send("critical", "web:disk")
    assert await stage.alert_lines() == ["alice problem web:http critical"]


# --- contacts and rules


async def test_a_contact_reached_twice_is_told_once(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.send("ok")
    identifier = (await stage.store.call("HGET", stage.keys.entity_ids(), "web")).decode()
    for key in (
        stage.keys.entity_contacts(identifier),
        stage.keys.check_contacts(identifier, "http"),
    ):
        await stage.store.call("SADD", key, "alice")
    await stage.later(10).fails()
    assert await stage.alert_lines() == ["alice problem web:http critical"]


async def test_an_entity_that_is_in_no_index_keeps_its_id_and_contacts(
    stage: Stage,
) -> None:
    keys, call = stage.keys, stage.store.call
    await stage.contact("alice", "email", linked="17")
    await call("SET", keys.entity_id("web"), "17")
    await call("HSET", keys.entity("17"), "name", "web")

    await stage.fails()

    assert await stage.alert_lines() == ["alice problem web:http critical"]
    assert await call("GET", keys.entity_id("web")) == b"17"
    assert await call("HGETALL", keys.entity_ids()) == {b"web": b"17"}
    assert await call("HGETALL", keys.entity_names()) == {b"17": b"web"}


async def test_the_general_rule_means_media_too_that_a_contact_gets_later(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.fails()
    assert await stage.alert_lines() == ["alice problem web:http critical"]
    await stage.contact("alice", "email", "oncall")
    await stage.fails("web:smtp")
    assert await stage.alert_lines("oncall") == ["alice problem web:smtp critical"]


async def test_unknown_reaches_nobody_by_the_general_rule(stage: Stage) -> None:
    await stage.contact("alice", "email", "sms")
    await stage.fails(state="unknown")
    assert await stage.alert_lines() == []
    await stage.fails("web:disk", "warning")
    assert await stage.alert_lines("sms") == ["alice problem web:disk warning"]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"entities": ("web",), "critical_media": ("sms",)}, ["sms"]),
        ({"entities": ("db",), "critical_media": ("sms",)}, ["email", "sms"]),
        ({"regex_entities": ("^w", "b$"), "critical_media": ("sms",)}, ["sms"]),
        ({"regex_entities": ("^w", "x"), "critical_media": ("sms",)}, ["email", "sms"]),
        ({"tags": ("http", "web"), "critical_media": ("sms",)}, ["sms"]),
        ({"tags": ("http", "gold"), "critical_media": ("sms",)}, ["email", "sms"]),
        ({"regex_tags": ("^ht",), "critical_media": ("sms",)}, ["sms"]),
        ({"entities": ("web",), "tags": ("gold",), "critical_media": ("sms",)}, ["email", "sms"]),
        ({"entities": ("web",), "critical_blackhole": True, "critical_media": ("sms",)}, []),
        ({"entities": ("web",), "warning_blackhole": True, "critical_media": ("sms",)}, ["sms"]),
        ({"entities": ("web",), "critical_media": ("carrier_pigeon",)}, []),
        ({"time_restrictions": (EVERY_HOUR,), "critical_media": ("sms",)}, ["sms"]),
    ],
)
async def test_a_matching_specific_rule_wins_over_the_general_one(
    stage: Stage, rule: dict[str, Any], told: list[str]
) -> None:
    await stage.contact("alice", "email", "sms", rule=rule)
    await stage.fails()
    reached = [medium for medium in ("email", "sms") if await stage.alert_lines(medium)]
    assert reached == told


async def test_an_expression_that_would_take_for_ever_does_not(stage: Stage) -> None:
    slow = {"regex_entities": ("(a+)+$", "^(a|aa)+$"), "critical_media": ("sms",)}
    await stage.contact("alice", "email", "sms", rule=slow)
    await stage.fails("a" * 400 + "!:http")
    assert len(await stage.alert_lines("email")) == 1


@pytest.mark.parametrize(
    ("zone", "local", "reached"),
    [
        # The clocks of Rome went back at 03:00 on 2023-10-29, those of New York on 2023-11-05.
        ("Europe/Rome", 1698562800, True),  # 2023-10-29 08:00 in Rome, 07:00 UTC
        ("Europe/Rome", 1698562799, False),
        ("Europe/Rome", 1698476400, True),  # the day before 09:00, 07:00 UTC
        ("Europe/Rome", 1698472799, False),  # 07:59:59, 05:59:59 UTC
        ("America/New_York", 1699189200, True),  # 2023-11-05 08:00 in New York
        ("America/New_York", 1699189199, False),
        ("UTC", 1698566400, True),
        ("UTC", 1698566399, False),
        ("UTC", 1698602400, False),  # 18:00:00 is over
    ],
)
async def test_a_rule_keeps_to_the_hours_of_its_contact(
    store: Store, zone: str, local: int, reached: bool
) -> None:
    stage = Stage(store)
    hours = {
        "start_time": "2013-04-18 08:00:00",
        "end_time": "2013-04-18 18:00:00",
        "rrules": [{"rule_type": "Daily", "interval": 1}],
    }
    rule = {"entities": ("web",), "time_restrictions": (hours,), "critical_media": ("sms",)}
    await stage.contact("alice", "sms", zone=zone, rule=rule)
    await stage.rule("alice", id="alice-else", warning_media=("sms",))
    stage.now = local - 30
    await stage.fails()
    assert bool(await stage.alert_lines("sms")) is reached


# --- intervals and rollups


async def test_the_same_is_told_again_after_the_interval(stage: Stage) -> None:
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    first = stage.now
    assert len(await stage.alert_lines()) == 1
    stage.now = first + 899
    await stage.send("critical")
    assert await stage.alert_lines() == []
    assert (await decisions(stage))[0].contacts[0].media == {"email": f"INTERVAL:{first + 900}"}
    stage.now = first + 960
    await stage.send("critical")
    assert len(await stage.alert_lines()) == 1


async def test_another_state_is_told_within_the_interval(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.fails()
    await stage.later(10).fails(state="warning")
    assert await stage.alert_lines() == [
        "alice problem web:http critical",
        "alice problem web:http warning",
    ]


async def test_a_recovery_clears_the_interval(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.fails()
    await stage.later(10).send("ok")
    await stage.later(10).fails()
    assert await stage.alert_lines() == [
        "alice problem web:http critical",
        "alice recovery web:http ok",
        "alice problem web:http critical",
    ]


async def test_many_failures_become_one_summary_and_its_end_another(stage: Stage) -> None:
    await stage.contact("alice", "email", threshold=3)
    checks = [f"web:disk {n}" for n in range(5)]
    for check in checks:
        await stage.send("critical", check)
    stage.later(30)
    for check in checks:
        await stage.send("critical", check)
    alerts = await stage.alerts()
    assert [alert.rollup for alert in alerts] == [None, None, "problem"]
    assert sorted(alerts[2].rollup_alerts) == checks[:3]
    assert alerts[2].rollup_threshold == 3
    assert await stage.store.call("ZCARD", stage.keys.alerting_checks("alice", "email")) == 5
    await stage.later(100).send("ok", checks[0])
    await stage.later(1).send("ok", checks[1])
    assert await stage.alert_lines() == []  # still three, and a summary was sent a moment ago
    await stage.later(1).send("ok", checks[2])
    alerts = await stage.alerts()
    assert [alert.rollup for alert in alerts] == ["recovery"]
    assert sorted(alerts[0].rollup_alerts) == checks[3:]
    await stage.later(1).send("ok", checks[3])
    assert await stage.alert_lines() == ["alice recovery web:disk 3 ok"]


async def unlinked(stage: Stage) -> None:
    await contact_links.unlink(stage.store, "alice", "id-db")


async def taken_from_the_entity(stage: Stage) -> None:
    await entities.save(stage.store, Entity(id="id-db", name="db"))


async def renamed(stage: Stage) -> None:
    await entities.save(stage.store, Entity(id="id-db", name="db-1", contacts=("alice",)))


async def removed(stage: Stage) -> None:
    await entities.remove(stage.store, "id-db")


@pytest.mark.parametrize("lost", [unlinked, taken_from_the_entity, renamed, removed])
async def test_what_a_contact_is_told_of_no_longer_counts_in_no_summary(
    stage: Stage, lost: Callable[[Stage], Awaitable[None]]
) -> None:
    for name in ("db", "web"):
        entity = Entity(id=f"id-{name}", name=name, contacts=("alice",))
        await entities.save(stage.store, entity)
    await stage.contact("alice", "email", linked="id-web", threshold=2)
    await stage.fails("db:mysql")
    await stage.fails("web:http")
    assert (await stage.alert_lines())[-1] == "alice rollup-problem web:http critical"
    await lost(stage)
    alerted = stage.keys.alerting_checks("alice", "email")
    assert await stage.store.call("ZRANGE", alerted, 0, -1) == [b"web:http"]
    await stage.later(900).send("critical", "web:http")
    assert await stage.alert_lines() == ["alice rollup-recovery web:http critical"]


async def test_a_summary_is_repeated_after_the_interval(stage: Stage) -> None:
    await stage.contact("alice", "email", threshold=1, interval=300)
    await stage.fails()
    assert [alert.rollup for alert in await stage.alerts()] == ["problem"]
    await stage.later(100).send("critical", "web:disk")
    await stage.later(30).send("critical", "web:disk")
    assert await stage.alerts() == []
    await stage.later(300).send("critical")
    assert [alert.rollup for alert in await stage.alerts()] == ["problem"]


async def test_many_recoveries_at_once_are_few_messages(stage: Stage) -> None:
    await stage.contact("alice", "email", threshold=5)
    checks = [{"entity": "web", "check": f"disk {n}", "type": "service"} for n in range(100)]
    for wait, state in ((0, "critical"), (30, "critical"), (60, "ok")):
        stage.later(wait)
        await stage.push(*({**check, "state": state} for check in checks))
        await stage.drain()
    told = [f"{a.rollup or a.notification_type}" for a in await stage.alerts()]
    assert told == [*["problem"] * 5, "recovery", *["recovery"] * 4]
    assert await stage.store.call("EXISTS", stage.keys.alerting_checks("alice", "email")) == 0


async def test_pagerduty_is_never_rolled_up(stage: Stage) -> None:
    await stage.contact("alice", "pagerduty", threshold=1)
    await stage.fails()
    assert await stage.alert_lines("pagerduty") == ["alice problem web:http critical"]


async def test_an_alert_is_found_by_contact_medium_check_and_day(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.fails()
    (alert,) = await stage.alerts()
    keys, call = stage.keys, stage.store.call
    for index in (
        keys.alerts(),
        keys.alerts_by_contact("alice"),
        keys.alerts_by_medium("alice", "email"),
        keys.alerts_by_check("web", "http"),
        keys.alerts_by_date("20231114"),
    ):
        assert await call("ZRANGE", index, 0, -1) == [alert.id.encode()]
    record = await call("HGETALL", keys.alert(alert.id))
    assert record[b"check"] == b"web:http"
    assert record[b"address"] == b"alice@email"
    assert alert.event_hash == short_id("web:http")


async def test_a_check_called_like_the_state_of_another_is_told(stage: Stage) -> None:
    await stage.contact("alice", "email")
    await stage.fails("web:disk")
    await stage.fails("web:disk:critical", "warning")
    assert await stage.alert_lines() == [
        "alice problem web:disk critical",
        "alice problem web:disk:critical warning",
    ]
    drop = stage.keys.check_drop("alice", "email", "web", "load:critical")
    await stage.store.call("SET", drop, "d", "EX", 600)  # by an operator
    await stage.fails("web:load:critical")
    assert await stage.alert_lines() == []


# --- what can't be understood


async def test_what_is_no_event_is_kept_with_its_reason_and_stops_nothing(stage: Stage) -> None:
    bad = [b"\xff\xfe\0", b"[" * 100_000, b'{"type":"service"}', b"5", b"", b'{"a":1}']
    await stage.push(*bad, {"type": "service", "state": "ok", "entity": "web", "check": "http"})
    done = await stage.drain()
    assert (done.events, done.rejected) == (1, len(bad))
    raw = await stage.store.call("LRANGE", stage.keys.rejected("2023111422"), 0, -1)
    assert sorted(raw) == sorted(bad)
    reasons = await stage.store.call("LRANGE", stage.own.rejections("2023111422"), 0, -1)
    assert all(msgspec.json.decode(one)["reason"] for one in reasons)
    counters = await stage.store.call("HGETALL", stage.keys.counters())
    assert counters[b"invalid"] == str(len(bad)).encode()


async def test_a_noop_counts_for_nothing_and_leaves_nothing(stage: Stage) -> None:
    event = {"type": "service", "state": "ok", "entity": "web", "check": "http"}
    noop = b'{"type":"noop"}'
    await stage.push(noop, event, noop, b"5", {**event, "state": "critical"}, noop)
    done = await stage.drain()
    assert (done.events, done.rejected) == (2, 1)
    keys, call = stage.keys, stage.store.call
    counters = await call("HGETALL", keys.counters())
    assert counters == {b"all": b"3", b"ok": b"1", b"failure": b"1", b"invalid": b"1"}
    assert await call("LRANGE", keys.rejected("2023111422"), 0, -1) == [b"5"]
    assert noop not in await call("LRANGE", keys.archive("2023111422"), 0, -1)
    _, again = await call("LRANGE", keys.states("web", "http"), 0, -1)
    assert await call("GET", keys.count("web", "http", int(again))) == b"3"
    await stage.push(noop)
    assert (await stage.drain()).rejected == 0
    assert await call("HGET", keys.counters(), "all") == b"3"


async def test_a_key_of_a_wrong_type_stops_none_of_the_others(stage: Stage) -> None:
    broken = stage.keys.states("web", "http")
    await stage.store.call("SET", broken, "not a list")
    await stage.push(
        {"type": "service", "state": "ok", "entity": "web", "check": "http"},
        {"type": "service", "state": "ok", "entity": "web", "check": "disk"},
    )
    assert (await stage.drain()).events == 2
    assert await stage.store.call("HGET", stage.keys.current("web", "disk"), "state") == b"ok"
    await stage.store.call("DEL", broken)


async def test_a_contact_whose_rules_can_t_be_read_keeps_nobody_from_being_told(
    stage: Stage,
) -> None:
    for name in ("alice", "bob"):
        await stage.contact(name, "email")
    broken = stage.keys.rules("alice")
    await stage.store.call("SET", broken, "x")

    await stage.fails()

    assert await stage.alert_lines() == [
        "alice problem web:http critical",
        "bob problem web:http critical",
    ]
    await stage.store.call("DEL", broken)


async def test_announcements_of_events_are_cleared_away(stage: Stage) -> None:
    await stage.store.call("LPUSH", stage.keys.wakes(), "+")
    await stage.send("ok")
    assert await stage.store.call("EXISTS", stage.keys.wakes()) == 0


# --- every kind of store

everywhere = pytest.mark.parametrize(
    "topology", ["debian", "sentinel", "cluster"], indirect=True, scope="session"
)


@everywhere
async def test_alerting_works_on_every_kind_of_store(topology: Any) -> None:
    async for store in watched(f"{topology.url}?prefix={{bell}}:"):
        stage = Stage(store)
        await stage.contact("alice", "email", threshold=2)
        await stage.fails()
        await stage.later(5).fails("db:disk")
        await stage.later(5).send("acknowledgement")
        await stage.later(5).send("ok", "db:disk", ttl=60)
        await stage.later(60).drain()
        assert await stage.alert_lines() == [
            "alice problem web:http critical",
            "alice rollup-problem db:disk critical",
            "alice rollup-recovery web:http acknowledgement",
            "alice recovery db:disk ok",
        ]
