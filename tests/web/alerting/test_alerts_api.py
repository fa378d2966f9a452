"""Alerts over HTTP: found by whom, what and when, told with what became of them, sent again."""

from typing import Any

import msgspec
import pytest

from tests.web.site import Site
from watchbell.alerting import contacts
from watchbell.alerting.alert_writes import AlertWrites
from watchbell.alerting.effects import EFFECTS
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert, Contact
from watchbell.gateways import alert_log, outcomes
from watchbell.gateways.alert_log import AlertFilter, Place
from watchbell.gateways.lanes import Lanes
from watchbell.gateways.message import Message
from watchbell.gateways.outbox import Item, Outbox
from watchbell.gateways.samples import sample
from watchbell.store.client import Store
from watchbell.store.effects import flat, packed
from watchbell.web import audit

KEYS = Alerting()
NOW = 1_800_000_000


async def recorded(store: Store, *alerts: Alert, now: int = NOW) -> None:
    """As the notifier does it."""
    commands = AlertWrites("", 90).alerts(alerts, now)
    await EFFECTS.alone(store, [KEYS.alerts()], [packed(flat(commands))])


async def settled(store: Store, medium: str, outcome: outcomes.Outcome, alert: Alert) -> None:
    """As the gateway does it: the alert is taken, and what became of it written."""
    box = Outbox(store, medium)
    batch = await box.taker.take()
    while batch is not None:
        await box.admit(batch, NOW)
        batch = await box.taker.take()
    await outcomes.settle(store, medium, [outcome], NOW + 5, 0)
    assert alert.media == medium


async def delivered(store: Store, alert: Alert) -> None:
    message = Message(id=alert.id, address=alert.address, subject="Problem: x", text="long")
    done = outcomes.delivered(Item(alert=alert, since=NOW), message, "250 ok", NOW + 5)
    await settled(store, alert.media, done, alert)


async def given_up(store: Store, alert: Alert) -> None:
    item = Item(alert=alert, since=NOW, tries=3, error="550 no such user")
    await settled(store, alert.media, outcomes.given_up(item, None), alert)


async def ids(site: Site, query: str = "") -> list[str]:
    async with site.program("read") as reader:
        answer = await reader.get(f"/api/v1/alerts{query}")
    assert answer.status == 200, answer.text
    return [one["sent"]["id"] for one in answer.json()["items"]]


async def test_alerts_are_found_by_whom_what_how_and_when(site: Site, store: Store) -> None:
    await contacts.save(store, Contact(id="alice", first_name="Alice", last_name="Archer"))
    mail = sample("problem", id="a1")
    text = sample("recovery", id="a2", media="sms", address="+39055")
    bob = sample("test", id="a3", contact_id="bob", event_id="db-1:Disk: /")
    for number, alert in enumerate((mail, text, bob)):
        await recorded(store, alert, now=NOW + number)
    await delivered(store, mail)
    await given_up(store, bob)
    for query, found in (
        ("", ["a3", "a2", "a1"]),
        ("?contact=alice", ["a2", "a1"]),
        ("?contact=alice&medium=sms", ["a2"]),
        ("?medium=email", ["a3", "a1"]),
        ("?check=DB-1%3ADisk%3A%20/", ["a3"]),
        ("?check=db-1%3ADisk%3A%20/&contact=alice", []),
        ("?kind=recovery", ["a2"]),
        ("?outcome=delivered", ["a1"]),
        ("?outcome=failed", ["a3"]),
        ("?outcome=queued", ["a2"]),
        ("?outcome=underway", []),
        (f"?from={NOW + 1}&to={NOW + 1}", ["a2"]),
        (f"?to={NOW}", ["a1"]),
        (f"?from={NOW + 2}", ["a3"]),
        ("?contact=nobody", []),
    ):
        assert await ids(site, query) == found, query
    async with site.program("read") as reader:
        first = (await reader.get("/api/v1/alerts?outcome=delivered")).json()["items"][0]
    assert first == {
        "contact_name": "Alice Archer",
        "sent": {
            "id": "a1",
            "time": NOW,
            "outcome": "delivered",
            "can_retry": False,
            "contact": "alice",
            "media": "email",
            "address": "alice@example.com",
            "check": "web-1.example.com:HTTP",
            "type": "problem",
            "rollup": "",
            "state": "critical",
            "delivered_at": NOW + 5,
            "failed_at": None,
            "tries": 1,
            "answer": "250 ok",
            "error": "",
            "subject": "Problem: x",
        },
    }


async def test_pages_go_on_where_the_last_one_ended_whatever_came_meanwhile(
    site: Site, store: Store
) -> None:
    alerts = [sample("problem", id=f"a{number:02}") for number in range(25)]
    await recorded(store, *alerts[:20])
    await recorded(store, *alerts[20:], now=NOW - 1)
    seen: list[str] = []
    cursor: str | None = ""
    async with site.program("read") as reader:
        while cursor is not None:
            params = {"limit": "10", "cursor": cursor}
            page = (await reader.get("/api/v1/alerts", params=params)).json()
            seen += [one["sent"]["id"] for one in page["items"]]
            cursor = page["next"]
            await recorded(store, sample("problem", id=f"new-{cursor}"), now=NOW + 5)
    assert seen == [f"a{n:02}" for n in (*range(19, -1, -1), *range(24, 19, -1))]


async def test_an_alert_that_is_kept_no_longer_does_not_end_the_list(store: Store) -> None:
    await recorded(store, *(sample("problem", id=f"a{n}") for n in range(5)))
    await store.call("DEL", KEYS.alert("a3"))
    found, place = await alert_log.find(store, AlertFilter(), None, 2)
    assert [one.id for one in found] == ["a4", "a2"]
    assert place == Place("a2", NOW)
    await store.call("ZREM", KEYS.alerts(), "a2")
    found, place = await alert_log.find(store, AlertFilter(), Place("gone", NOW + 1), 9)
    assert ([one.id for one in found], place) == (["a4", "a1", "a0"], None)


async def test_one_alert_is_shown_with_its_text_and_the_servers_answer(
    site: Site, store: Store
) -> None:
    good, bad = sample("problem", id="good"), sample("problem", id="bad", address="x@example.com")
    await recorded(store, good, bad)
    await delivered(store, good)
    await given_up(store, bad)
    async with site.program("read") as reader:
        one = (await reader.get("/api/v1/alert?id=good")).json()["message"]
        other = (await reader.get("/api/v1/alert?id=bad")).json()
        none = await reader.get("/api/v1/alert?id=nothing")
    assert (one["body"], one["sent"]["answer"]) == ("long", "250 ok")
    assert other["contact_name"] == ""
    assert other["message"]["summary"] == "connection refused"
    assert "192.0.2.17" in other["message"]["details"]
    assert (other["message"]["sent"]["error"], other["message"]["sent"]["can_retry"]) == (
        "550 no such user",
        True,
    )
    assert none.status == 404


async def test_what_was_given_up_is_sent_again_item_by_item(site: Site, store: Store) -> None:
    good, bad = sample("problem", id="good"), sample("problem", id="bad", address="x@example.com")
    await recorded(store, good, bad)
    await delivered(store, good)
    await given_up(store, bad)
    body = {"ids": ["bad", "good", "nothing", "bad"]}
    async with site.somebody("operator") as operator, site.somebody("viewer") as viewer:
        assert (await viewer.post("/api/v1/alerts/retry", json=body)).status == 403
        answers = (await operator.post("/api/v1/alerts/retry", json=body)).json()
        again = (await operator.post("/api/v1/alerts/retry", json={"ids": ["bad"]})).json()
        shown = (await operator.get("/api/v1/alert?id=bad")).json()["message"]["sent"]
        none = await operator.post("/api/v1/alerts/retry", json={"ids": []})
    assert [(one["id"], one["status"]) for one in answers] == [
        ("bad", "again"),
        ("good", "refused"),
        ("nothing", "refused"),
    ]
    assert again[0]["reason"] == "no alert bad was given up"
    assert (shown["outcome"], shown["can_retry"]) == ("underway", False)
    assert none.status == 400
    [claim], _ = await Lanes(store, "email").claim(10, 10)
    assert [item.id for item in claim.items] == ["bad"]
    logged = [one.entry for one in await audit.read(store, "", 9)]
    assert [(one.subject, one.details) for one in logged if one.action == "alert.retry"] == [
        ("bad", "alice by email")
    ]


@pytest.mark.parametrize(
    "query",
    ["cursor=x", "cursor=%3Aa", "cursor=9999999999999999%3Aa", "kind=x", "outcome=x", "from=-1"],
)
async def test_a_query_that_makes_no_sense_is_refused(site: Site, query: str) -> None:
    async with site.program("read") as reader:
        answer = await reader.get(f"/api/v1/alerts?{query}")
    assert answer.status == 400
    assert answer.json()["errors"]


async def test_a_check_has_two_names(site: Site) -> None:
    async with site.program("read") as reader:
        answer = await reader.get("/api/v1/alerts?check=web-1")
    assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "check")


async def test_whatever_others_wrote_is_shown(site: Site, store: Store) -> None:
    fields: list[Any] = ["media", b"\xff", "check", b"\xfe", "type", "?", "tries", "many"]
    await store.call("HSET", KEYS.alert("odd"), *fields, "delivered_at", "soon")
    await store.call("EXPIRE", KEYS.alert("odd"), 100)
    await store.call("ZADD", KEYS.alerts(), 5, "odd", 6, b"\xff")
    async with site.program("read") as reader:
        listed = (await reader.get("/api/v1/alerts")).json()["items"]
        shown = await reader.get("/api/v1/alert?id=odd")
    assert [one["sent"]["id"] for one in listed] == ["odd"]
    assert shown.status == 200
    assert msgspec.json.decode(shown.body)["message"]["sent"]["tries"] is None
