"""Gateways over the API: how they fare, what they gave up, and trying them out."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from tests.gateways.http_sink import Reply, Sink, running
from tests.gateways.post import hush
from tests.gateways.rendering import renderer
from tests.waiting import eventually
from tests.web.site import Site, Visitor, chosen, serving_services
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert
from watchbell.clock import SYSTEM
from watchbell.gateways import catalogue, message_texts, overview
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.samples import sample
from watchbell.settings import Delivery as DeliverySettings
from watchbell.settings import Tables
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.audit import read as audit_read
from watchbell.web.system.gateway_routes import TESTS
from watchbell.web.system.gateway_routes import Kind as PreviewKind

PATH = "/api/v1/gateways"
MEDIA: dict[str, dict[str, Any]] = {
    "hook": {
        "kind": "webhook",
        "allow_networks": ["127.0.0.0/8"],
        "secret": "keep this to yourself",
        "timeout": 5,
    },
    "email": {"host": "mail.example.com"},
}


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with running() as sink:
        yield sink


@pytest.fixture
async def house(store: Store) -> AsyncIterator[Site]:
    """A site whose settings name two media."""
    settings = replace(chosen(), gateways=Tables(MEDIA))
    services = await open_services(settings, store, SYSTEM)
    async with serving_services(services) as site:
        yield site


@asynccontextmanager
async def gateway(site: Site) -> AsyncIterator[None]:
    """The gateway of `hook` at work."""
    hook = {one.name: one for one in catalogue.configured(site.services.settings)}["hook"]
    medium = hook.open()
    delivery = Delivery(
        site.store, "hook", medium, renderer(medium).message, DeliverySettings(), SYSTEM, hush
    )
    task = asyncio.create_task(delivery.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await medium.close()


async def push(store: Store, *items: Alert | bytes) -> None:
    raw = [one if isinstance(one, bytes) else msgspec.json.encode(one) for one in items]
    await store.call("RPUSH", Alerting(store.prefix).queue("hook"), *raw)


def alerts(sink: Sink, count: int) -> list[Alert]:
    return [
        sample("problem", id=f"a{n}", media="hook", address=f"{sink.url}/hook", event_id=f"web:{n}")
        for n in range(count)
    ]


async def given_up(
    site: Site, sink: Sink, count: int, others: tuple[bytes, ...] = (b"\xff nonsense",)
) -> None:
    """Alerts that the server did not want, and others that are no alerts."""
    sink.reply("/hook", Reply(400, "not this"))
    async with gateway(site):
        await push(site.store, *others, *alerts(sink, count))

        async def all_failed() -> bool:
            (medium_status,) = await overview.statuses(site.store, ["hook"])
            return medium_status.failed == count + len(others)

        await eventually(all_failed)
    await site.store.call("DEL", Alerting(site.store.prefix).events())


async def failed(visitor: Visitor, **query: Any) -> dict[str, Any]:
    answer = await visitor.get(f"{PATH}/failed", params={"medium": "hook", **query})
    assert answer.status == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_each_medium_is_told_with_how_it_fares(house: Site, sink: Sink) -> None:
    await push(house.store, *alerts(sink, 3))
    async with house.somebody("viewer") as bob, gateway(house):

        async def delivered() -> Any:
            email, hook = (await bob.get(PATH)).json()
            return hook["delivered"] == 3 and (email, hook)

        email, hook = await eventually(delivered)
    assert (hook["name"], hook["kind"], hook["is_alive"]) == ("hook", "webhook", True)
    assert (hook["queued"], hook["on_its_way"], hook["failed"]) == (0, 0, 0)
    assert hook["last_answer"].startswith("200")
    assert (email["kind"], email["is_alive"], email["seen"]) == ("email", False, None)


async def test_settings_are_for_administrators_and_never_have_secrets(house: Site) -> None:
    async with house.somebody("operator") as bob, house.somebody("administrator") as alice:
        email, hook = (await alice.get(PATH)).json()
        assert [one["settings"] for one in (await bob.get(PATH)).json()] == [[], []]
    assert email["settings"] == [{"name": "host", "value": "mail.example.com"}]
    shown = {one["name"]: one["value"] for one in hook["settings"]}
    assert shown["secret"] == "***"
    assert shown["allow_networks"] == "127.0.0.0/8"
    assert "concurrency" not in shown


async def test_what_was_given_up_comes_in_pages(house: Site, sink: Sink) -> None:
    await given_up(house, sink, 5)
    async with house.somebody("viewer") as bob:
        seen = [*(page := await failed(bob, limit=2))["items"]]
        while page["next"]:
            seen += (page := await failed(bob, limit=2, cursor=page["next"]))["items"]
        wrong = await bob.get(f"{PATH}/failed?medium=hook&cursor=x")
        unknown = await bob.get(f"{PATH}/failed?medium=pigeon")
    assert sorted(one["check"] for one in seen) == ["", *(f"web:{n}" for n in range(5))]
    assert len({one["id"] for one in seen}) == 6
    (none,) = [one for one in seen if not one["check"]]
    assert "nonsense" in none["raw"]
    assert none["error"].startswith("this is no alert")
    assert all("400 not this" in one["error"] for one in seen if one["check"])
    assert (wrong.status, unknown.status) == (400, 404)


async def test_pages_go_on_after_one_that_is_gone(house: Site, sink: Sink) -> None:
    await given_up(house, sink, 4, others=())
    async with house.somebody("operator") as alice:
        first = await failed(alice, limit=2)
        body = {"medium": "hook", "ids": [first["items"][1]["id"]]}
        assert (await alice.post(f"{PATH}/retry", json=body)).status == 200
        rest = await failed(alice, limit=10, cursor=first["next"])
        now = await failed(alice)
    # Those of the same second may come twice, and none is left out.
    kept = {one["id"] for one in now["items"]} - {first["items"][0]["id"]}
    assert kept <= {one["id"] for one in rest["items"]}


async def test_they_are_sent_again_one_by_one_or_all(house: Site, sink: Sink) -> None:
    await given_up(house, sink, 4)
    sink.reply("/hook", Reply(200, "fine"))
    async with house.somebody("operator") as alice:
        body = {"medium": "hook", "ids": ["a1", "a3", "nobody"]}
        some = (await alice.post(f"{PATH}/retry", json=body)).json()
        again = (await alice.post(f"{PATH}/retry", json=body)).json()
        rest = (await alice.post(f"{PATH}/retry", json={"medium": "hook", "all": True})).json()
        left = (await failed(alice))["items"]
    assert some["count"] == 2
    assert [one["status"] for one in some["items"]] == ["again", "again", "unknown"]
    assert [one["status"] for one in again["items"]] == ["unknown"] * 3
    assert (rest["count"], rest["items"]) == (2, [])
    assert [one["check"] for one in left] == [""]
    sink.received.clear()
    async with gateway(house):
        await eventually(lambda: len(sink.received) == 4)
    logged = [one.entry for one in await audit_read(house.store, "", 3)]
    assert {(one.action, one.subject) for one in logged} == {("gateway.retry", "hook")}
    assert logged[0].details == "2 alerts"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"medium": "hook"}, 422),
        ({"medium": "hook", "ids": ["a"], "all": True}, 422),
        ({"medium": "pigeon", "all": True}, 404),
        ({"medium": "hook", "ids": ["a"] * 1_001}, 400),
        ({"all": True}, 400),
    ],
)
async def test_a_retry_of_nothing_is_refused(house: Site, body: Any, status: int) -> None:
    async with house.somebody("operator") as alice, house.somebody("viewer") as bob:
        assert (await alice.post(f"{PATH}/retry", json=body)).status == status
        assert (await bob.post(f"{PATH}/retry", json=body)).status == 403


async def test_an_administrator_sends_a_real_test_message(house: Site, sink: Sink) -> None:
    body = {"medium": "hook", "address": f"{sink.url}/hook"}
    async with house.somebody("administrator") as alice, house.somebody("editor") as bob:
        answer = await alice.post(f"{PATH}/test", json=body)
        assert (await bob.post(f"{PATH}/test", json=body)).status == 403
        sink.reply("/hook", Reply(400, "no keep this to yourself please"))
        refused = await alice.post(f"{PATH}/test", json=body)
        private = await alice.post(f"{PATH}/test", json={**body, "address": "http://10.0.0.1/"})
    assert answer.json()["answer"].startswith("200")
    assert b"test" in sink.received[0].body
    assert (refused.status, refused.json()["errors"][0]["field"]) == (422, "address")
    assert "400 no" in refused.json()["detail"]
    assert "is not on the public Internet" in private.json()["detail"]
    (entry, *_) = [one.entry for one in await audit_read(house.store, "", 1)]
    assert (entry.action, entry.subject) == ("gateway.test", "hook")


async def test_tests_are_not_sent_too_often(house: Site) -> None:
    async with house.somebody("administrator", "alice") as alice:
        for _ in range(TESTS.most):
            assert await TESTS.spend(house.store, "alice") == 0
        answer = await alice.post(f"{PATH}/test", json={"medium": "hook", "address": "x"})
    assert answer.status == 429
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_message_is_previewed(house: Site, tmp_path: Path) -> None:
    (tmp_path / "email").mkdir()
    (tmp_path / "email" / "problem.subject.j2").write_text("{{ nothing.at.all }}")
    delivery = replace(house.services.settings.delivery, templates=str(tmp_path))
    settings = replace(house.services.settings, delivery=delivery)
    services = await open_services(settings, house.store, SYSTEM)
    async with serving_services(services) as site, site.somebody("viewer") as bob:
        shown = (await bob.get(f"{PATH}/preview?medium=email&kind=problem")).json()
        short = (await bob.get(f"{PATH}/preview?medium=sms&kind=recovery")).json()
        unknown = await bob.get(f"{PATH}/preview?medium=pigeon")
        odd = await bob.get(f"{PATH}/preview?medium=email&kind=odd")
    parts = {one["part"]: one for one in shown["parts"]}
    assert list(parts) == list(message_texts.PARTS)
    assert "<html" in parts["html"]["text"]
    assert parts["subject"]["file"].endswith("problem.subject.j2")
    assert "problem.subject.j2" in parts["subject"]["wrong"]
    assert parts["subject"]["text"]
    assert short["parts"][1]["text"]
    assert (unknown.status, odd.status) == (404, 400)


def test_all_kinds_of_messages_can_be_previewed() -> None:
    kinds: Sequence[str] = get_args(get_args(PreviewKind)[0])
    assert tuple(kinds) == message_texts.KINDS


async def test_without_any_medium_the_list_is_empty(site: Site) -> None:
    async with site.somebody("viewer") as bob, site.program("intake") as program:
        assert (await bob.get(PATH)).json() == []
        assert (await program.get(PATH)).status == 403
