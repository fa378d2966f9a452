"""Who would be called, and why the others would not: as the notifier decides, once it happens."""

from typing import Any

import pytest

from tests.alerting.scenes import START, Stage
from watchbell.alerting import check_settings, maintenance
from watchbell.alerting.decide.routing import OVERRIDDEN
from watchbell.alerting.explanations import decisions, explained
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.model import ContactDecision, Decision, State
from watchbell.alerting.who_is_called import Callees, callees
from watchbell.settings import Alerting as Settings
from watchbell.store.client import Store

HTTP = "web:http"
NIGHT = {
    "start_time": "2023-01-01 22:00:00",
    "end_time": "2023-01-02 06:00:00",
    "rrules": [{"rule_type": "Daily", "interval": 1}],
}


async def ask(stage: Stage, state: State = "critical", **more: Any) -> Callees:
    tags, at = more.pop("tags", None), more.pop("at", stage.now)
    return await callees(stage.store, HTTP, state, Settings(**more), at, tags)


async def dump(store: Store) -> dict[bytes, bytes]:
    _, names = await store.call("SCAN", 0, "COUNT", 10_000)
    return {name: await store.call("DUMP", name) for name in names}


def called(found: Callees) -> dict[str, list[str]]:
    return {
        one.contact: [medium.medium for medium in one.media if medium.is_called]
        for one in found.contacts
    }


async def test_what_is_foreseen_is_what_happens(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", "sms")
    await stage.contact("bob", "email", rule={"tags": ("db",), "critical_media": ("email",)})
    await stage.contact("charlie", "email", rule={"entities": ("web",), "warning_media": ("sms",)})
    await stage.send("ok")
    before = await dump(store)
    found = await ask(stage.later(100))
    assert await dump(store) == before
    assert called(found) == {"alice": ["email", "sms"], "bob": ["email"], "charlie": []}
    assert found.told_at == stage.now + 30
    await stage.fails()
    assert stage.now == found.told_at
    for medium in ("email", "sms"):
        wanted = {name for name, media in called(found).items() if medium in media}
        assert {alert.contact_id for alert in await stage.alerts(medium)} == wanted


async def test_each_rule_and_medium_says_why(store: Store) -> None:
    stage = Stage(store)
    await stage.contact(
        "charlie", "email", "sms", rule={"entities": ("web",), "critical_media": ("sms", "jabber")}
    )
    await stage.rule("charlie", id="other", tags=("db", "web"))
    (charlie,) = (await ask(stage)).contacts
    rules = {rule.id: (rule.matches, rule.words) for rule in charlie.rules}
    assert rules == {
        "charlie-rule": (True, "matches"),
        "other": (False, "the event has no tag db"),
        "the general rule": (True, OVERRIDDEN),
    }
    assert {one.medium: (one.is_called, one.words) for one in charlie.media} == {
        "email": (False, "no matching rule names it for critical"),
        "sms": (True, "queued"),
    }
    assert (charlie.name, charlie.zone, charlie.reason) == ("Charlie", "UTC", "critical: sms")


async def test_tags_that_reports_may_have_can_be_tried(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("bob", "email", rule={"tags": ("db",), "critical_blackhole": True})
    found = await ask(stage, tags=["db"])
    assert found.tags == ["db", "http", "web"]
    assert called(found) == {"bob": []}
    assert found.contacts[0].reason == "a matching rule drops critical alerts"
    assert found.words == "nobody would be notified: rules or intervals exclude every contact"


async def test_the_tags_of_the_latest_report_decide_as_they_will_in_the_notifier(
    store: Store,
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", rule={"tags": ("db",), "critical_media": ("sms",)})
    await stage.contact("bob", "email", rule={"regex_tags": ("^pro",), "critical_blackhole": True})
    await stage.contact("charlie", "email", rule={"tags": ("dev",), "critical_blackhole": True})
    await stage.send("ok", tags=("db", "prod"))
    found = await ask(stage.later(60))
    assert found.tags == ["db", "http", "prod", "web"]
    assert called(found) == {"alice": [], "bob": [], "charlie": ["email"]}
    for _ in range(2):
        await stage.send("critical", tags=("db", "prod"))
        stage.later(30)
    assert await stage.alert_lines() == ["charlie problem web:http critical"]
    newest = explained((await decisions(store, HTTP, 1))[0], {})
    assert newest.tags == found.tags
    assert called(await ask(stage, tags=["dev"])) == {
        "alice": ["email"],
        "bob": ["email"],
        "charlie": [],
    }


async def published(store: Store) -> int:
    stats = await store.call("INFO", "commandstats")
    return int(stats.get("cmdstat_publish", {"calls": 0})["calls"])


async def test_tags_are_written_when_they_change_and_not_with_every_report(store: Store) -> None:
    stage, key = Stage(store), AlertingOwn(store.prefix).event_tags()
    await stage.send("ok", tags=("db", "prod"))
    assert await store.call("HGETALL", key) == {b"web:http": b'["db","prod"]'}
    before = await published(store)
    for _ in range(3):
        await stage.later(60).send("ok", tags=("db", "prod"))
    assert await published(store) == before
    await stage.send("ok", tags=("prod",))
    assert await store.call("HGETALL", key) == {b"web:http": b'["prod"]'}
    assert await published(store) == before + 1
    await stage.send("test_notifications", tags=("other",))
    assert await store.call("HGETALL", key) == {b"web:http": b'["prod"]'}
    await stage.send("ok")
    assert await store.call("EXISTS", key) == 0


async def test_tags_that_somebody_spoilt_are_written_anew(store: Store) -> None:
    stage, key = Stage(store), AlertingOwn(store.prefix).event_tags()
    await store.call("HSET", key, HTTP, b"\xff{")
    await stage.send("ok", tags=("db",))
    assert await store.call("HGET", key, HTTP) == b'["db"]'


async def test_another_time_may_be_somebody_elses(store: Store) -> None:
    stage = Stage(store)
    shift = {"entities": ("web",), "time_restrictions": (NIGHT,), "critical_media": ("email",)}
    await stage.contact("alice", "email", zone="Europe/Rome", rule=shift)
    await stage.rule("alice", id="never", critical_blackhole=True)
    midnight = START + 6_400
    assert called(await ask(stage, at=midnight)) == {"alice": ["email"]}
    by_day = await ask(stage, at=midnight + 43_200)
    assert called(by_day) == {"alice": []}
    assert by_day.contacts[0].rules[0].words == "it does not apply at this time"
    assert by_day.contacts[0].zone == "Europe/Rome"


async def test_what_holds_it_back_is_told_step_by_step(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.send("ok")
    await maintenance.create_scheduled(store, HTTP, START + 100, 3_600, "new disks", stage.now)
    found = await ask(stage.later(90))
    assert [
        (step.time - START, step.words, (step.until or START) - START) for step in found.held
    ] == [
        (90, "it has not failed for long enough", 120),
        (120, "the check is in scheduled maintenance", 3_700),
        (3_700, "no reason to hold it back", 0),
    ]
    assert found.told_at == START + 3_700
    assert called(found) == {"alice": ["email"]}


async def test_delays_are_those_of_the_check(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.send("ok", initial_failure_delay=600)
    assert (await ask(stage.later(10))).told_at == stage.now + 600
    await stage.send("ok")
    await check_settings.configure(store, HTTP, {"initial_failure_delay": 300})
    assert (await ask(stage)).told_at == stage.now + 300
    await check_settings.configure(store, HTTP, {"initial_failure_delay": None})
    assert (await ask(stage, initial_failure_delay=5)).told_at == stage.now + 5


async def test_who_was_told_is_not_told_again_within_the_interval(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", interval=900)
    await stage.fails()
    found = await ask(stage.later(70))
    (medium,) = found.contacts[0].media
    assert (medium.is_called, medium.words) == (False, "already notified within its interval")
    assert medium.until == stage.now - 70 + 900
    assert called(await ask(stage, at=medium.until)) == {"alice": ["email"]}


async def test_many_failures_would_be_told_as_one(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=2)
    await stage.fails("web:disk")
    (medium,) = (await ask(stage)).contacts[0].media
    assert (medium.is_called, medium.words) == (True, "queued as a summary of all failing checks")


@pytest.mark.parametrize(
    ("past", "words"),
    [
        ("ok", "nobody would be notified: it is ok, and nobody was notified of a problem"),
        ("critical", "1 contact would be notified"),
    ],
)
async def test_a_recovery_is_told_to_whom_the_failure_was(
    store: Store, past: str, words: str
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    await stage.send(past)
    await stage.later(40).send(past)
    assert (await ask(stage.later(10), "ok")).words == words


async def test_a_check_that_nobody_is_interested_in_calls_nobody(store: Store) -> None:
    found = await ask(Stage(store))
    assert found.words == "nobody would be notified: no contact is linked to this check"
    assert found.contacts == []


async def test_decisions_of_others_and_nonsense_are_no_reason_to_fail(store: Store) -> None:
    key = AlertingOwn(store.prefix).decisions("web", "http")
    for raw in ('{"verdict":"NEW","state":"ok","by":"processor","time":5}', b"\xff", "[]"):
        await store.call("LPUSH", key, raw)
    await store.call("EXPIRE", key, 100)
    (found,) = await decisions(store, HTTP, 10)
    assert explained(found, {}).reason == "NEW"


def test_a_medium_that_was_held_back_says_until_when() -> None:
    media = {"email": "INTERVAL:1700000900", "sms": "QUEUED", "x": "INTERVAL:soon"}
    contact = ContactDecision(contact="alice", reason="critical: email", media=media)
    decision = Decision(verdict="TOLD", state="critical", by="notifier", time=1, contacts=[contact])
    shown = explained(decision, {})
    assert (shown.outcome, shown.reason) == ("alerts queued", "")
    assert [(one.medium, one.words, one.until) for one in shown.contacts[0].media] == [
        ("email", "already notified within its interval", 1_700_000_900),
        ("sms", "queued", None),
        ("x", "already notified within its interval", None),
    ]
