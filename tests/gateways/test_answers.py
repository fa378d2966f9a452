"""Links in messages: who may use them, what they show, and what pressing the button does."""

import re
from collections.abc import AsyncIterator

import msgspec
import pytest
from aiohttp import ClientSession

from tests.alerting.scenes import Stage
from tests.gateways.post import alert
from watchbell.alerting import maintenance
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.gateways import answers, links
from watchbell.gateways.links import LASTS, Offer, Signer
from watchbell.store.client import Store

OFFER = Offer("web-1:HTTP", "alice", ends=2_000_000_000)


@pytest.fixture
async def client() -> AsyncIterator[ClientSession]:
    async with ClientSession() as session:
        yield session


def test_a_token_gives_back_what_was_offered() -> None:
    signer = Signer(b"secret")
    assert signer.offer(signer.token(OFFER), now=1_999_999_999) == OFFER


@pytest.mark.parametrize("token", ["", "a", "%", "AAAA", "A" * 400, "Ünicode"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(Refused):
        Signer(b"secret").offer(token, now=0)


def test_a_token_that_was_changed_or_signed_by_another_is_refused() -> None:
    token = Signer(b"secret").token(OFFER)
    with pytest.raises(Refused, match="not one of ours"):
        Signer(b"another").offer(token, now=0)
    for at in range(len(token) - 1):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        with pytest.raises(Refused):
            Signer(b"secret").offer(changed, now=0)


def test_a_token_ends() -> None:
    signer = Signer(b"secret")
    with pytest.raises(Refused, match="is over"):
        signer.offer(signer.token(OFFER), now=2_000_000_001)


async def test_only_a_problem_of_one_check_has_a_link(store: Store) -> None:
    link = await links.open_links(store, "https://watch.example.com/", SYSTEM)
    assert link(alert(1)).startswith("https://watch.example.com/ack/")
    assert link(alert(1, notification_type="recovery")) == ""
    assert link(alert(1, rollup="problem")) == ""
    none = await links.open_links(store, "", SYSTEM)
    assert none(alert(1)) == ""


async def failing(store: Store) -> Stage:
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    await stage.contact("alice", "email")
    await stage.send("critical", "web-1:HTTP", summary="<b>down</b>")
    return stage


async def link_to(store: Store, port: int) -> str:
    offer = Offer("web-1:HTTP", "alice", int(SYSTEM.now()) + LASTS)
    return f"http://127.0.0.1:{port}/ack/{(await links.signer(store)).token(offer)}"


async def test_opening_a_link_shows_the_check_and_changes_nothing(
    store: Store, client: ClientSession
) -> None:
    stage = await failing(store)
    async with (
        answers.serving(store, SYSTEM, 0) as port,
        client.get(await link_to(store, port)) as answer,
    ):
        page = await answer.text()
        assert answer.status == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "HTTP on web-1" in page
    assert "It is critical." in page
    assert "&lt;b&gt;down" in page
    assert "<button>Acknowledge</button>" in page
    assert await store.call("LLEN", stage.keys.events()) == 0


async def test_the_button_acknowledges_in_the_name_of_the_contact(
    store: Store, client: ClientSession
) -> None:
    stage = await failing(store)
    async with answers.serving(store, SYSTEM, 0) as port:
        form = {"for": "2 hours", "summary": "on it"}
        async with client.post(await link_to(store, port), data=form) as answer:
            page = await answer.text()
    assert re.search("<h1>Acknowledged</h1>", page)
    (raw,) = await store.call("LRANGE", stage.keys.events(), 0, -1)
    event = msgspec.json.decode(raw)
    assert (event["type"], event["state"]) == ("action", "acknowledgement")
    assert (event["entity"], event["check"]) == ("web-1", "HTTP")
    assert (event["duration"], event["summary"]) == (7_200, "Alice: on it")


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/ack/nonsense", {"for": "2 hours"}),
        ("", {"for": "2 centuries"}),
        ("", {}),
    ],
)
async def test_a_bad_answer_is_refused_and_changes_nothing(
    store: Store, client: ClientSession, path: str, form: dict[str, str]
) -> None:
    stage = await failing(store)
    async with answers.serving(store, SYSTEM, 0) as port:
        url = f"http://127.0.0.1:{port}{path}" if path else await link_to(store, port)
        async with client.post(url, data=form) as answer:
            assert answer.status == 410
            assert "can't be used" in (await answer.text()).replace("&#39;", "'")
    assert await store.call("LLEN", stage.keys.events()) == 0


async def test_a_check_that_is_well_needs_no_acknowledgement(
    store: Store, client: ClientSession
) -> None:
    async with (
        answers.serving(store, SYSTEM, 0) as port,
        client.get(await link_to(store, port)) as answer,
    ):
        page = await answer.text()
    assert "Nothing to acknowledge" in page
    assert "<button>" not in page


async def test_what_is_in_scheduled_maintenance_can_t_be_acknowledged(
    store: Store, client: ClientSession
) -> None:
    stage = await failing(store)
    await maintenance.create_scheduled(store, "web-1:HTTP", stage.now, 3600, "", stage.now)
    async with answers.serving(store, SYSTEM, 0) as port:
        link = await link_to(store, port)
        async with client.get(link) as answer:
            shown = await answer.text()
        async with client.post(link, data={"for": "2 hours"}) as answer:
            answered = await answer.text()
    for page in (shown, answered):
        assert "It is in scheduled maintenance" in page
        assert "<button>" not in page
    assert await store.call("LLEN", stage.keys.events()) == 0
