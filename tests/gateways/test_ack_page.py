"""Links in messages: who may use them, what they show, and what pressing the button does."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest
from aiohttp import ClientSession

from tests.alerting.scenes import Stage
from tests.gateways.post import alert
from watchbell.alerting import contacts, maintenance
from watchbell.alerting.reports import Change, outage_began
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.gateways import ack_page, links
from watchbell.gateways.links import LASTS, Offer, Signer
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.alerting.ack_links import LinkUses
from watchbell.web.limits import BY_ACK_LINK

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
    with pytest.raises(Refused, match="not valid"):
        Signer(b"another").offer(token, now=0)
    for at in range(len(token) - 1):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        with pytest.raises(Refused):
            Signer(b"secret").offer(changed, now=0)


def test_a_token_ends() -> None:
    signer = Signer(b"secret")
    with pytest.raises(Refused, match="expired after a week"):
        signer.offer(signer.token(OFFER), now=2_000_000_001)


async def test_only_a_problem_of_one_check_has_a_link(store: Store) -> None:
    link = await links.open_links(store, "https://watch.example.com/", SYSTEM)
    assert link(alert(1)).startswith("https://watch.example.com/ack/")
    assert link(alert(1, notification_type="recovery")) == ""
    assert link(alert(1, rollup="problem")) == ""
    none = await links.open_links(store, "", SYSTEM)
    assert none(alert(1)) == ""


def serving(store: Store) -> AbstractAsyncContextManager[int]:
    return ack_page.serving(store, SYSTEM, 0, LinkUses(store))


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
        serving(store) as port,
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
    async with serving(store) as port:
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
    async with serving(store) as port:
        url = f"http://127.0.0.1:{port}{path}" if path else await link_to(store, port)
        async with client.post(url, data=form) as answer:
            assert answer.status == 410
            assert "can't be used" in (await answer.text()).replace("&#39;", "'")
    assert await store.call("LLEN", stage.keys.events()) == 0


async def test_a_check_that_is_well_needs_no_acknowledgement(
    store: Store, client: ClientSession
) -> None:
    await Stage(store).contact("alice", "email")
    async with (
        serving(store) as port,
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
    async with serving(store) as port:
        link = await link_to(store, port)
        async with client.get(link) as answer:
            shown = await answer.text()
        async with client.post(link, data={"for": "2 hours"}) as answer:
            answered = await answer.text()
    for page in (shown, answered):
        assert "It is in scheduled maintenance" in page
        assert "<button>" not in page
    assert await store.call("LLEN", stage.keys.events()) == 0


async def sent_link(stage: Stage, port: int) -> str:
    """The link of the problem that was just queued."""
    link = await links.open_links(stage.store, f"http://127.0.0.1:{port}", SYSTEM)
    (found,) = filter(None, [link(alert) for alert in await stage.alerts()])
    return found


async def pressed(client: ClientSession, link: str) -> tuple[int, str]:
    async with client.post(link, data={"for": "2 hours", "summary": "on it"}) as answer:
        return answer.status, await answer.text()


async def audited(store: Store, count: int = 1) -> list[tuple[str, str, str, str, str]]:
    return [
        (e.who, e.action, e.subject, e.details, e.address)
        for e in (one.entry for one in await audit.read(store, "", count))
    ]


async def outage(stage: Stage, state: str = "critical") -> None:
    await stage.later(1_000).send(state, "web-1:HTTP", initial_failure_delay=0)


async def test_a_link_of_an_earlier_outage_says_so_and_does_nothing(
    store: Store, client: ClientSession
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    async with serving(store) as port:
        await outage(stage)
        old = await sent_link(stage, port)
        await stage.send("ok", "web-1:HTTP")  # in the same second, and so is the next failure
        await stage.send("critical", "web-1:HTTP", initial_failure_delay=0)
        new = await sent_link(stage, port)
        async with client.get(old) as answer:
            shown = answer.status, await answer.text()
        for status, page in (shown, await pressed(client, old)):
            assert status == 410
            assert "This link is from an earlier outage" in page
            assert "<button>" not in page
        assert await store.call("LLEN", stage.keys.events()) == 0
        assert await audited(store) == [
            (
                *("Alice (link)", "acknowledgement.refused", "web-1:HTTP"),
                *(ack_page.Idle.EARLIER.value, "127.0.0.1"),
            )
        ]
        assert (await pressed(client, new))[0] == 200
    assert await store.call("LLEN", stage.keys.events()) == 1


async def test_a_link_holds_for_its_outage_whatever_states_follow(
    store: Store, client: ClientSession
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    async with serving(store) as port:
        await outage(stage, "warning")
        link = await sent_link(stage, port)
        await outage(stage, "critical")
        await outage(stage, "unknown")
        assert (await pressed(client, link))[0] == 200
    assert await store.call("LLEN", stage.keys.events()) == 1
    assert await audited(store) == [
        ("Alice (link)", "check.acknowledge", "web-1:HTTP", "2 hours: on it", "127.0.0.1")
    ]


async def test_a_link_of_a_removed_contact_says_so_and_does_nothing(
    store: Store, client: ClientSession
) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email")
    async with serving(store) as port:
        await outage(stage)
        link = await sent_link(stage, port)
        await contacts.remove(store, "alice")
        status, page = await pressed(client, link)
    assert (status, "has been removed" in page) == (410, True)
    assert await store.call("LLEN", stage.keys.events()) == 0
    assert await audited(store) == [
        (
            *("alice (link)", "acknowledgement.refused", "web-1:HTTP"),
            *(ack_page.Idle.REMOVED.value, "127.0.0.1"),
        )
    ]


async def test_refused_links_are_in_the_audit_log_and_limited(
    store: Store, client: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BY_ACK_LINK, "most", 2)
    await failing(store)
    async with serving(store) as port:
        forged = f"http://127.0.0.1:{port}/ack/nonsense"
        assert [(await pressed(client, forged))[0] for _ in range(3)] == [410, 410, 429]
        async with client.get(await link_to(store, port)) as answer:
            assert answer.status == 200
    assert [one[:3] for one in await audited(store, 9)] == [("", "acknowledgement.refused", "")] * 2


@pytest.mark.parametrize(
    ("states", "began"),
    [
        ("", None),
        ("o", None),
        ("c", None),  # what was before is not known
        ("oc", 1),
        ("ocwc", 1),
        ("ocwoc", 4),
        ("oco", None),
    ],
)
def test_an_outage_begins_where_the_check_was_ok_last(states: str, began: int | None) -> None:
    names = {"o": "ok", "w": "warning", "c": "critical"}
    changes = [Change(at, names[letter]) for at, letter in enumerate(states)]
    found = outage_began(changes)
    assert (found.timestamp if found else None) == began


def test_a_link_without_a_number_goes_by_its_time() -> None:
    """Links of earlier versions, and of alerts that other programs made."""
    offer = Offer("web-1:HTTP", "alice", ends=LASTS + 1_000)
    assert offer.is_from_before(Change(1_001, "critical", count=1))
    assert not offer.is_from_before(Change(1_000, "critical", count=1))
    numbered = Offer("web-1:HTTP", "alice", ends=LASTS, count=5)
    assert not numbered.is_from_before(Change(1_001, "critical", count=5))
    assert numbered.is_from_before(Change(1_001, "critical", count=6))
