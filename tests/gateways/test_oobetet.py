"""The watcher from outside: when it is alarmed, whom it tells, that it hears what people hear."""

import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alerting.scenes import Stage
from tests.conftest import bare_environment, watchbell
from tests.gateways.post import Post, alert
from tests.gateways.rendering import renderer
from tests.gateways.xmpp import OPS, PASSWORD, Prosody, beside, person, prosody
from tests.servers import HOST, held_port
from tests.waiting import PATIENCE, eventually, wait_until
from watchbell.clock import SYSTEM, SetClock
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways import catalogue, oobetet
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.message_texts import open_texts
from watchbell.gateways.oobetet import Act, Alarm, Seen, Verdict
from watchbell.gateways.webhook import Settings as WebhookSettings
from watchbell.gateways.webhook import open_medium as open_webhook
from watchbell.gateways.webhook import signature
from watchbell.roles import oobetet as role
from watchbell.roles.role import Context
from watchbell.settings import Delivery as DeliverySettings
from watchbell.settings import Oobetet, Secret, Settings, Tables
from watchbell.store import url as store_url
from watchbell.store.client import Store

CHECK = "web:http"


@pytest.mark.parametrize(
    ("problem", "recovery", "verdict"),
    [
        (1_000, 1_000, Verdict.FINE),
        (700, 700, Verdict.FINE),
        (699, 1_000, Verdict.NO_PROBLEM),
        (1_000, 699, Verdict.NO_RECOVERY),
        (0, 0, Verdict.NOTHING),
    ],
)
def test_both_kinds_must_come_in_time(problem: int, recovery: int, verdict: Verdict) -> None:
    assert oobetet.judge(Seen(problem, recovery), 300, 1_000) is verdict


@pytest.mark.parametrize(
    ("verdict", "alarm", "act"),
    [
        (Verdict.FINE, Alarm(), Act.WAIT),
        (Verdict.FINE, Alarm(is_on=True, raised=999), Act.RESOLVE),
        (Verdict.FINE, Alarm(raised=999), Act.WAIT),
        (Verdict.NOTHING, Alarm(), Act.RAISE),
        (Verdict.NO_PROBLEM, Alarm(is_on=True, raised=946), Act.WAIT),
        (Verdict.NO_RECOVERY, Alarm(is_on=True, raised=945), Act.RAISE),
        (Verdict.NO_RECOVERY, Alarm(raised=946), Act.WAIT),
    ],
)
def test_the_alarm_is_repeated_and_taken_back(verdict: Verdict, alarm: Alarm, act: Act) -> None:
    assert oobetet.due(verdict, alarm, 1_000) is act


@given(st.lists(st.tuples(st.sampled_from(["problem", "recovery", None]), st.integers(1, 400))))
@settings(deadline=None)
def test_whatever_comes_the_alarm_is_on_while_something_is_late(
    course: list[tuple[str | None, int]],
) -> None:
    now, seen, alarm = 0, Seen(0, 0), Alarm()
    raised: list[int] = []
    for kind, pause in course:
        if kind is not None:
            setattr(seen, kind, now)
        now += pause
        act = oobetet.due(oobetet.judge(seen, 300, now), alarm, now)
        alarm = oobetet.after(act, alarm, now)
        raised += [now] if act is Act.RAISE else []
        late = now - min(seen.problem, seen.recovery) > 300
        assert late or not alarm.is_on
        assert alarm.is_on or not late or now - raised[-1] < 55
    assert all(later - sooner >= 55 for sooner, later in pairwise(raised))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('Problem: bell: ACKID 0a1b2c3d, "http" on web is Critical, refused', "problem"),
        ('Problem: "http" on web is Critical', "problem"),
        ('Recovery: "http" on web is OK', "recovery"),
        ('Recovery: "http" on web', "recovery"),
        ('Acknowledgement: "http" on web has been acknowledged', None),
        ('Problem summary: "http" on web', None),
        ('Problem: "http" on web-2 is Critical', None),
        ('Problem: "http" on web.example.com is Critical', None),
        ('Problem: "https" on web is Critical', None),
        ('Alice: Problem: "http" on web', None),
        ("", None),
    ],
)
def test_a_line_in_a_chat_is_known_for_what_it_is(text: str, kind: str | None) -> None:
    assert oobetet.in_chat(text, CHECK) == kind


@pytest.mark.parametrize("kind", ["problem", "recovery"])
def test_the_built_in_words_are_known(kind: str) -> None:
    one = alert(1, event_id='web:a [b] + "c"', notification_type=kind, state="ok")
    text = open_texts("jabber", "chat", "", lambda _: "", print)("text", one)
    assert oobetet.in_chat(text, one.event_id) == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"alert": {"event_id": CHECK, "notification_type": "problem"}}, "problem"),
        ({"alert": {"event_id": CHECK, "notification_type": "recovery"}}, "recovery"),
        ({"alert": {"event_id": CHECK, "notification_type": "test"}}, None),
        ({"alert": {"event_id": "web:x", "notification_type": "problem"}}, None),
        (
            {"alert": {"event_id": CHECK, "notification_type": "problem", "rollup": "problem"}},
            None,
        ),
        ({"alert": 1}, None),
        ({}, None),
        ([], None),
    ],
)
def test_what_a_webhook_is_given_is_known_for_what_it_is(body: Any, kind: str | None) -> None:
    assert oobetet.in_webhook(msgspec.json.encode(body), CHECK) == kind


@given(st.binary() | st.text().map(str.encode))
@settings(deadline=None)
def test_any_bytes_are_an_alert_or_none(body: bytes) -> None:
    assert oobetet.in_webhook(body, CHECK) is None
    assert oobetet.in_webhook(b"[" * 100_000, CHECK) is None


def test_a_signature_is_ours_and_young() -> None:
    chosen = Oobetet(secret=Secret("s3cret"), max_latency=300)
    good = signature("s3cret", 1_000, b"{}")
    assert role.is_genuine(chosen, good, b"{}", 1_300)
    assert not role.is_genuine(chosen, good, b"{}", 1_301)
    assert not role.is_genuine(chosen, good, b"{ }", 1_000)
    assert not role.is_genuine(chosen, signature("other", 1_000, b"{}"), b"{}", 1_000)
    for bad in ("", "t=", "t=1e3,v1=x", "t=" + "9" * 5_000, "t=²,v1=x", "\ud800"):
        assert not role.is_genuine(chosen, bad, b"{}", 1_000)
    assert role.is_genuine(Oobetet(), "", b"{}", 1_000)


# At work


CHOSEN = {
    "check": CHECK,
    "alarm_medium": "jabber",
    "alarm_address": "alice@example.com",
}


async def test_the_alarm_goes_by_another_way_until_all_is_well_again() -> None:
    clock, post = SetClock(1_000), Post()
    watch = role.Watch(Oobetet(**CHOSEN), post, post.render_later, clock)  # type: ignore[arg-type]
    for seconds in (300, 1, 30, 25):
        clock.advance(seconds)
        await watch.look()
    assert [letter.address for letter in post.letters] == ["alice@example.com"] * 2
    assert post.letters[0].text == (
        "of web:http, neither a problem nor a recovery has come through for 5 minutes, 1 second"
    )
    watch.saw("problem")
    assert await watch.look() == "no recovery has come through"
    watch.saw("recovery")
    assert await watch.look() == "problems and recoveries come through"
    await watch.look()
    assert [letter.text for letter in post.letters[2:]] == [
        "of web:http, problems and recoveries come through again"
    ]
    assert len(set(post.ids)) == 3


async def test_an_alarm_that_fails_is_tried_again_the_next_time() -> None:
    clock, post = SetClock(1_000), Post()
    watch = role.Watch(Oobetet(**CHOSEN), post, post.render_later, clock)  # type: ignore[arg-type]
    post.refusals["alice@example.com"] = lambda: DeliveryFailed("no route")
    clock.advance(301)
    assert "can't be sent: no route" in await watch.look()
    post.refusals["alice@example.com"] = partial(int, "a bug")  # type: ignore[assignment]
    assert "sending the alarm failed" in await watch.look()
    post.refusals.clear()
    clock.advance(10)
    await watch.look()
    assert len(post.letters) == 1


@pytest.fixture(scope="module")
def xmpp() -> Iterator[Prosody]:
    with prosody() as running:
        yield running


def configured(xmpp: Prosody | None = None, **chosen: Any) -> Settings:
    jabber = {
        "jid": "watchbell@example.com",
        "password": PASSWORD,
        "host": HOST,
        "port": xmpp.port if xmpp else 1,
        "ca_file": str(xmpp.ca) if xmpp else "",
    }
    tables = {"jabber": jabber, "webhook": {}}
    return Settings(
        data=Path("/nonexistent"),
        gateways=Tables(tables),
        oobetet=Oobetet(**{**CHOSEN, **chosen}),
    )


def at_work(chosen: Settings, clock: SetClock, said: list[str]) -> Any:
    """The role, looking all the time; it is given a store that can't be asked."""
    media = {one.name: one for one in catalogue.configured(chosen)}
    nobody = Store(store_url.parse("redis://127.0.0.1:1"))
    return partial(role.run, media, Context(chosen, nobody, clock, said.append), 0.01)


async def test_it_hears_in_a_room_what_people_hear(xmpp: Prosody) -> None:
    clock = SetClock(1_000)
    said: list[str] = []
    async with (
        person(xmpp, "alice") as alice,
        person(xmpp, "bob", OPS) as bob,
        beside(at_work(configured(xmpp, room=OPS), clock, said)),
    ):
        await eventually(lambda: "oobetet" in bob.present)
        clock.advance(301)
        await alice.hears("neither a problem nor a recovery has come through for 5 minutes")
        bob.says(OPS, 'Problem: bell: ACKID 0a1b2c3d, "http" on web is Critical')
        await eventually(lambda: said[-1] == "no recovery has come through")
        bob.says(OPS, 'Recovery: "http" on web is OK')
        await alice.hears("problems and recoveries come through again")
    assert len(alice.texts) == 2


async def test_it_is_given_what_webhooks_are_given_end_to_end(store: Store) -> None:
    """From events over the processor, the notifier and the gateway to its port."""
    hold = held_port()
    port = hold.getsockname()[1]
    clock = SetClock(1_000)
    said: list[str] = []
    stage = Stage(store)
    await stage.contact("alice", "webhook")
    await store.call("HSET", stage.keys.media("alice"), "webhook", "default")
    limits = WebhookSettings(urls=(Secret(f"http://{HOST}:{port}/"),), secret=Secret("s3cret"))
    webhook = open_webhook("webhook", limits)
    delivery = Delivery(
        store,
        "webhook",
        webhook,
        renderer(webhook).message,
        DeliverySettings(),
        SYSTEM,
        lambda _: None,
    )
    chosen = configured(port=port, secret=Secret("s3cret"))
    async with beside(at_work(chosen, clock, said)), beside(delivery.run):
        await eventually(lambda: said)
        clock.advance(400)
        await eventually(lambda: said[-1].startswith("neither a problem nor a recovery"))
        await stage.fails(CHECK)
        await eventually(lambda: said[-1].startswith("no recovery"))
        await stage.later(60).send("ok", CHECK)
        await eventually(lambda: said[-1].startswith("problems and recoveries come through"))
    await webhook.close()
    hold.close()


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"check": "web", "room": OPS}, "expected ENTITY:CHECK"),
        ({}, "either room or port"),
        ({"room": OPS, "port": 80}, "either room or port"),
        ({"room": "ops"}, "expected ROOM@SERVER"),
        ({"room": OPS, "medium": "webhook"}, "expected one of kind jabber"),
        ({"room": OPS, "medium": "nothing"}, "expected one of kind jabber"),
        ({"port": 80, "alarm_medium": "nothing"}, r"a medium \(jabber, webhook\)"),
        ({"port": 80, "alarm_address": ""}, "and an address"),
    ],
)
def test_bad_settings_stop_the_start(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSettings, match=words):
        role.watching(configured(**chosen))


def test_without_a_check_there_is_nothing_to_watch() -> None:
    assert role.watching(configured(check="")) == []


def test_it_runs_where_there_is_no_store(tmp_path: Path) -> None:
    hold = held_port()
    (tmp_path / "watchbell.toml").write_text(f"""
[oobetet]
check = "{CHECK}"
port = {hold.getsockname()[1]}
alarm_medium = "webhook"
alarm_address = "http://127.0.0.1/"
[gateways.webhook]
""")
    command = watchbell("run", "oobetet", "--config", str(tmp_path / "watchbell.toml"))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log, env=bare_environment())
    try:
        wait_until(lambda: '"running"' in (tmp_path / "log").read_text(), 20)
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        hold.close()
    assert '"stopped"' in (tmp_path / "log").read_text()
