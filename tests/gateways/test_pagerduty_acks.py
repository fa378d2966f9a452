"""Acknowledgements on PagerDuty: heard once, by one process, of those who may give them."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alerting.scenes import Stage
from tests.gateways.http_media import opened
from tests.gateways.http_sink import Reply, Sink, running
from tests.waiting import eventually
from watchbell.alerting import contact_links, contacts, maintenance
from watchbell.alerting.model import Contact
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.gateways.over_http import Reach
from watchbell.gateways.pagerduty import dedup_key
from watchbell.gateways.pagerduty_acks import Account, Acknowledgements, account_of, acknowledged
from watchbell.gateways.pagerduty_keys import PagerDutyKeys, PagerDutyOwn
from watchbell.store.client import Store
from watchbell.store.lock import locked

TOKEN = "y_NbAkKc66ryYTWUXYEu"
V1, V2 = "/api/v1/incidents", "/incidents"


def incident(
    key: str, at: str = "2026-03-05T13:10:00Z", name: str = "Alice Archer", **fields: Any
) -> dict[str, Any]:
    """As the present API shows it."""
    who = {"id": "PXPGF42", "type": "user_reference", "summary": name}
    found = {"id": f"Q-{key}", "incident_key": key, "status": "acknowledged"}
    return {**found, "acknowledgements": [{"at": at, "acknowledger": who}], **fields}


def old_incident(key: str) -> dict[str, Any]:
    who = {"id": "PXPGF42", "type": "user", "name": "Bob Baker", "email": "bob@example.com"}
    given = [{"at": "2026-03-05T13:10:00Z", "object": who}]
    return {"id": "P1", "incident_key": key, "status": "acknowledged", "acknowledgers": given}


def page(*incidents: dict[str, Any], **fields: Any) -> Reply:
    return Reply(200, json.dumps({"incidents": list(incidents), "more": False, **fields}))


class Scene:
    def __init__(self, store: Store, sink: Sink) -> None:
        self.store, self.sink = store, sink
        self.stage = Stage(store)
        self.stage.now = int(SYSTEM.now()) - 600  # so that all of its future has come
        self.acks = Acknowledgements(
            "pagerduty", Reach(timeout=20), 0.02, sink.url, sink.url, dedup_key
        )

    async def contact(self, name: str, linked: str = "ALL", **pagerduty: str) -> None:
        person = Contact(id=name, first_name=name.title(), pagerduty=pagerduty)
        await contacts.save(self.store, person)
        await contact_links.link(self.store, name, linked)

    async def look(self) -> int:
        return await self.acks.look(self.store)

    async def events(self) -> list[dict[str, Any]]:
        found = await self.store.call("LRANGE", self.stage.keys.events(), 0, -1)
        return [json.loads(one) for one in found]


@asynccontextmanager
async def set_up(store: Store) -> AsyncIterator[Scene]:
    async with running() as sink:
        scene = Scene(store, sink)
        try:
            yield scene
        finally:
            await scene.acks.client.close()


async def test_an_acknowledgement_is_passed_on(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page(incident("db:disk"), incident("web:http")))
        assert await scene.look() == 1
        (event,) = await scene.events()
        assert event["type"] == "action"
        assert event["state"] == "acknowledgement"
        assert (event["entity"], event["check"]) == ("web", "http")
        assert event["summary"] == "Acknowledged on PagerDuty by Alice Archer"
        assert event["duration"] == 4 * 3600
        (asked,) = scene.sink.received
        assert asked.headers["authorization"] == f"Token token={TOKEN}"
        assert asked.query["statuses[]"] == "acknowledged"
        await scene.stage.drain()
        ttl = await store.call("TTL", scene.stage.keys.unscheduled("web", "http"))
        assert 13_700 < ttl <= 14_400


async def test_the_same_acknowledgement_is_never_passed_on_again(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page(incident("web:http")))
        assert [await scene.look() for _ in range(3)] == [1, 0, 0]
        await scene.stage.drain()
        assert await scene.look() == 0
        now = scene.stage.later(1).now
        assert await maintenance.end_unscheduled(store, "web:http", now, now)
        assert await scene.look() == 0
        assert await scene.events() == []
        scene.sink.reply(V2, page(incident("web:http", at="2026-03-05T19:00:00Z")))
        assert await scene.look() == 1


async def test_an_acknowledgement_is_forgotten_some_time(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page(incident("web:http")))
        await scene.look()
        key = PagerDutyOwn(store.prefix).acks("web", "http")
        assert await store.call("SMEMBERS", key) == {b"Q-web:http 2026-03-05T13:10:00Z"}
        assert await store.call("TTL", key) > 29 * 86_400


async def test_a_check_that_several_acknowledged_is_acknowledged_once(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.contact("bob", subdomain="example", username="bob", password="hush")
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page(incident("web:http", at="2026-03-05T13:09:00Z")))
        scene.sink.reply(V1, page(old_incident("web:http")))
        assert await scene.look() == 1
        (event,) = await scene.events()
        assert event["summary"].endswith("by Bob Baker")
        assert await scene.look() == 0


async def test_a_name_and_password_ask_the_subdomain(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("bob", subdomain="example", username="bob", password="hush")
        await scene.stage.fails("web:http")
        scene.sink.reply(V1, page(old_incident("web:http"), more=None, total=1))
        assert await scene.look() == 1
        (asked,) = scene.sink.received
        assert asked.query["status"] == "acknowledged"
        pair = asked.headers["authorization"].removeprefix("Basic ")
        assert base64.b64decode(pair) == b"bob:hush"


async def test_an_account_is_asked_once_for_all_of_its_checks(store: Store) -> None:
    async with set_up(store) as scene:
        for name in ("alice", "bob"):
            await scene.contact(name, token=TOKEN)
        for number in range(40):
            await scene.stage.send("critical", f"web:check {number}")
        found = [incident(f"web:check {number}") for number in range(40)]
        first, last = page(*found[:20], more=True), page(*found[20:])
        scene.sink.reply(V2, first, last)
        assert await scene.look() == 40
        assert [got.query["offset"] for got in scene.sink.received] == ["0", "100"]


async def test_pages_of_the_old_api_are_counted(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("bob", subdomain="example", username="bob", password="hush")
        await scene.stage.fails("web:http")
        empty = page(total=150, more=None)
        scene.sink.reply(V1, empty, page(old_incident("web:http"), total=150, more=None))
        assert await scene.look() == 1
        assert len(scene.sink.received) == 2


async def test_nobody_is_asked_about_what_needs_no_acknowledgement(store: Store) -> None:
    async with set_up(store) as scene:
        stage = scene.stage
        await scene.contact("alice", token=TOKEN)
        await scene.contact("bob")
        await stage.send("ok", "web:fine")
        await stage.fails("web:acknowledged")
        await stage.send("acknowledgement", "web:acknowledged")
        await stage.fails("web:planned")
        await maintenance.create_scheduled(store, "web:planned", stage.now, 3_600, "", stage.now)
        await stage.fails("web:over")
        await stage.send("ok", "web:over")
        names = ("fine", "acknowledged", "planned", "over")
        scene.sink.reply(V2, page(*(incident(f"web:{name}") for name in names)))
        assert await scene.look() == 0
        assert scene.sink.received == []


async def test_what_recovered_or_was_acknowledged_meanwhile_is_left(store: Store) -> None:
    async with set_up(store) as scene:
        stage = scene.stage
        await scene.contact("alice", token=TOKEN)
        for name in ("recovered", "known", "planned"):
            await stage.fails(f"web:{name}")

        async def meanwhile() -> None:
            now = stage.now
            await stage.send("ok", "web:recovered")
            await stage.send("acknowledgement", "web:known")
            await maintenance.create_scheduled(store, "web:planned", now, 3_600, "", now)

        scene.sink.meanwhile = meanwhile
        names = ("recovered", "known", "planned")
        scene.sink.reply(V2, page(*(incident(f"web:{name}") for name in names)))
        assert await scene.look() == 0
        assert len(scene.sink.received) == 1


async def test_an_account_acknowledges_only_what_its_owner_is_told_of(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.stage.fails("web:http")
        await scene.stage.fails("db:disk")
        entity = await store.call("HGET", scene.stage.keys.entity_ids(), "web")
        await scene.contact("alice", linked=entity.decode(), token=TOKEN)
        scene.sink.reply(V2, page(incident("web:http"), incident("db:disk")))
        assert await scene.look() == 1
        assert [event["entity"] for event in await scene.events()] == ["web"]


async def test_what_we_acknowledged_there_is_not_heard_back(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        service = {"at": "2026-03-05T13:10:00Z", "acknowledger": {"type": "service_reference"}}
        scene.sink.reply(V2, page(incident("web:http", acknowledgements=[service])))
        assert await scene.look() == 0


async def test_a_long_name_is_found_again(store: Store) -> None:
    async with set_up(store) as scene:
        name = "web:" + "x" * 400
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails(name)
        scene.sink.reply(V2, page(incident(dedup_key(name))))
        assert await scene.look() == 1
        assert (await scene.events())[0]["check"] == "x" * 400


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500, "oh"),
        Reply(401, f"bad token {TOKEN}"),
        Reply(200, "<html>"),
        Reply(200, '{"incidents":{}}'),
        Reply(200, "[" * 100_000),
    ],
)
async def test_an_account_that_fails_is_left_alone_for_a_while(store: Store, reply: Reply) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.contact("bob", subdomain="example", username="bob", password="hush")
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, reply)
        scene.sink.reply(V1, page(old_incident("web:http")))
        assert await scene.look() == 1
        await scene.look()
        assert [got.path for got in scene.sink.received].count(V2) == 1


async def test_a_credential_may_be_kept_elsewhere(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("PD_PASSWORD", "hush")
    async with set_up(store) as scene:
        await scene.contact("alice", token=f"file:{tmp_path}/token")
        await scene.contact("bob", subdomain="ex", username="bob", password="env:PD_PASSWORD")
        await scene.contact("charlie", token=f"file:{tmp_path}/missing")
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page())
        scene.sink.reply(V1, page(old_incident("web:http")))
        assert await scene.look() == 1
        asked = {got.path: got.headers["authorization"] for got in scene.sink.received}
        assert asked[V2] == f"Token token={TOKEN}"
        assert base64.b64decode(asked[V1].removeprefix("Basic ")) == b"bob:hush"


@pytest.mark.parametrize(
    ("fields", "account"),
    [
        ({}, None),
        ({"subdomain": "a"}, None),
        ({"subdomain": "a", "username": "b"}, None),
        ({"token": "t", "subdomain": "a"}, Account(token="t")),
        (
            {"subdomain": "Ex-1.eu", "username": "b", "password": "c"},
            Account(subdomain="ex-1.eu", username="b", password="c"),
        ),
    ],
)
def test_credentials_are_an_account(fields: dict[str, str], account: Account | None) -> None:
    assert account_of(fields) == account


@pytest.mark.parametrize(
    "subdomain",
    ["evil.example.com/", "a.b", "-a", "a@evil.example.com", "a#", "a\r\n", "x" * 64, "a%2f"],
)
def test_a_password_goes_to_nobody_else(subdomain: str) -> None:
    with pytest.raises(Refused, match=r"pagerduty\.subdomain"):
        account_of({"subdomain": subdomain, "username": "b", "password": "c"})


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "tökén", "a\0", "x" * 300])
def test_a_token_is_nothing_but_a_token(token: str) -> None:
    with pytest.raises(Refused, match=r"pagerduty\.token"):
        account_of({"token": token})


def test_an_account_does_not_show_its_secrets() -> None:
    shown = repr([Account(token="hush"), Account(subdomain="a", username="b", password="hush")])
    assert "hush" not in shown


FIELDS = st.sampled_from(
    [
        *("acknowledgements", "acknowledgers", "acknowledger", "object", "type", "at"),
        *("incident_key", "status", "id", "summary"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(FIELDS, JSON, max_size=5) | JSON, max_size=3))
def test_no_answer_is_too_odd(incidents: list[Any]) -> None:
    for one in acknowledged(incidents):
        assert one.by.isprintable()


def test_the_latest_of_several_is_named() -> None:
    one, other = incident("k", name="Alice"), incident("k", "2026-03-05T14:00:00Z", "Bob")
    both = {**one, "acknowledgements": one["acknowledgements"] + other["acknowledgements"]}
    (found,) = acknowledged([both])
    assert (found.by, found.at) == ("Bob", "2026-03-05T14:00:00Z")


@asynccontextmanager
async def attending(store: Store, url: str, **fields: Any) -> AsyncIterator[None]:
    medium = opened("pagerduty", api_url=url, account_url=url, **fields)
    task = asyncio.get_running_loop().create_task(medium.attend(store))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await medium.close()


async def test_the_medium_looks_by_itself(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page(incident("web:http")))
        async with attending(store, scene.sink.url, poll=0.01):
            assert await eventually(scene.events)
            await eventually(lambda: len(scene.sink.received) > 3)
        assert len(await scene.events()) == 1


async def test_one_process_looks_and_another_takes_over(store: Store) -> None:
    async with set_up(store) as scene:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page(incident("web:http")))
        key = PagerDutyKeys(store.prefix).acks_running()
        async with attending(store, scene.sink.url, poll=0.01):
            await eventually(lambda: scene.sink.received)
            with pytest.raises(Refused):
                async with locked(store, key, 5):
                    pass
        async with locked(store, key, 5), attending(store, scene.sink.url, poll=0.01):
            count, tried = len(scene.sink.received), await scripts_run(store)
            await eventually(partial(has_grown, store, tried + 5))
            assert len(scene.sink.received) == count
        async with attending(store, scene.sink.url, poll=0.01):
            await eventually(lambda: len(scene.sink.received) > count)


async def scripts_run(store: Store) -> int:
    stats = await store.call("INFO", "commandstats")
    return int(stats["cmdstat_evalsha"]["calls"])


async def has_grown(store: Store, count: int) -> bool:
    return await scripts_run(store) > count


async def test_looking_can_be_turned_off(store: Store) -> None:
    async with set_up(store) as scene, running() as other:
        await scene.contact("alice", token=TOKEN)
        await scene.stage.fails("web:http")
        scene.sink.reply(V2, page())
        off = attending(store, other.url, poll=0)
        async with off, attending(store, scene.sink.url, poll=0.01):
            await eventually(lambda: len(scene.sink.received) > 3)
        assert other.received == []
