"""Commands are carried out on a real store, and answered in a few lines."""

from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from tests.alerting.scenes import START, Stage
from watchbell import __version__
from watchbell.actors import in_chat
from watchbell.alerting import contacts, maintenance
from watchbell.alerting.decide.acknowledgement import Refusal
from watchbell.alerting.model import CheckEvent, Contact, Medium, short_id
from watchbell.errors import DeliveryFailed
from watchbell.gateways.chat import Chat, ContactFinder, Speaker
from watchbell.gateways.commands import FORMS
from watchbell.store.client import Store

ALICE = Speaker(in_chat("Alice"), ZoneInfo("Europe/Rome"))


class Scene(Stage):
    """web:http fails, web:ping and db:mysql are well; Alice is told by email."""

    async def made(self) -> "Scene":
        await self.contact("alice", "email")
        for name in ("web:ping", "db:mysql"):
            await self.send("ok", name, summary="all well")
        await self.fails("web:http")
        await self.store.call("DEL", self.keys.queue("email"))
        return self

    async def asked(self, line: str, speaker: Speaker = ALICE) -> str:
        return await Chat(self.store, "jabber", ("watchbell", "wb")).answer(line, speaker, self.now)

    async def events(self) -> list[dict[str, Any]]:
        """What was put on `events` since the last look, which is processed then."""
        found = await self.store.call("LRANGE", self.keys.events(), 0, -1)
        await self.drain()
        events = [msgspec.json.decode(one, type=CheckEvent) for one in reversed(found)]
        return [
            {
                name: getattr(one, name)
                for name in ("type", "state", "id", "summary", "duration", "acknowledgement_id")
                if getattr(one, name) is not None
            }
            for one in events
        ]


@pytest.fixture
async def scene(store: Store) -> Scene:
    return await Scene(store).made()


async def test_a_failure_is_acknowledged_by_its_id(scene: Scene) -> None:
    ack = short_id("web:http")
    answer = await scene.asked(f"ACKID {ack.upper()} on it duration: 2 hours")
    assert answer == "web:http is acknowledged for 2 hours."
    assert await scene.events() == [
        {
            "type": "action",
            "state": "acknowledgement",
            "id": "web:http",
            "summary": "Alice: on it",
            "duration": 7200,
            "acknowledgement_id": ack,
        }
    ]
    [window] = await maintenance.windows(scene.store, "web:http", "unscheduled")
    assert (window.duration, window.summary) == (7200, "Alice: on it")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("ACKID 00000000 on it", "I can't: no check has the id 00000000"),
        ("ack entities db", "I can't: none of these checks is failing"),
        ("ack entities nothing", "I can't: no check has a name like that"),
        ("status entities nothing", "I can't: no check has a name like that"),
        ("find checks on nothing", "I can't: no check has a name like that"),
        ("find entities nothing", "No entity has a name like that."),
        ("maint entities nothing", "I can't: no check has a name like that"),
        ("test notifications for nothing", "I can't: there is no entity nothing"),
        ("tell me about nothing", "I can't: there is no entity nothing"),
        ("tell me about web:nothing", "I can't: there is no check web:nothing"),
        ("identify", f"I am Watchbell {__version__}, and answer to watchbell or wb."),
        ("mumble", 'I don\'t understand that. Say "help" to see what I understand.'),
    ],
)
async def test_what_can_t_be_done_is_told_and_nothing_is_done(
    scene: Scene, line: str, answer: str
) -> None:
    assert await scene.asked(line) == answer
    assert await scene.events() == []


async def test_an_expression_that_is_none_is_told(scene: Scene) -> None:
    assert "is no regular expression" in await scene.asked("status entities /we(b/")
    assert "is no regular expression" in await scene.asked("find entities /we(b/")


async def test_what_is_well_again_can_t_be_acknowledged(scene: Scene) -> None:
    await scene.later(10).send("ok")
    answer = await scene.asked(f"ACKID {short_id('web:http')} on it")
    assert answer == "I can't: web:http: it is not failing; there is nothing to acknowledge"


async def test_what_is_in_scheduled_maintenance_can_t_be_acknowledged(scene: Scene) -> None:
    await scene.asked("maint checks http on web")
    answer = await scene.asked(f"ACKID {short_id('web:http')} on it")
    assert answer == f"I can't: web:http: {Refusal.SCHEDULED.value}"
    assert (
        await scene.asked("ack entities web")
        == "I can't: all that fail are in scheduled maintenance; nobody is notified anyway"
    )
    assert await scene.events() == []


async def test_many_failures_are_acknowledged_at_once(scene: Scene) -> None:
    await scene.fails("web:smtp")
    answer = await scene.asked("ack entities /^w/")
    assert answer == "2 checks acknowledged for 1 hour:\nweb:http\nweb:smtp"
    events = await scene.events()
    assert [(one["id"], one["summary"], one["duration"]) for one in events] == [
        ("web:http", "Alice: Set via chatbot", 3600),
        ("web:smtp", "Alice: Set via chatbot", 3600),
    ]


async def test_single_checks_are_acknowledged_by_expression(scene: Scene) -> None:
    await scene.fails("web:smtp")
    await scene.asked("ack checks /^h/ on /web/ known duration: 1 day")
    [event] = await scene.events()
    assert (event["id"], event["summary"], event["duration"]) == ("web:http", "Alice: known", 86400)


async def test_maintenance_is_planned(scene: Scene) -> None:
    line = "maint entities /db|web/ new disks start-in: 1 hour duration: 2 hours"
    answer = await scene.asked(line)
    assert answer.splitlines() == [
        "maintenance from 2023-11-15 00:13 CET, for 2 hours, of 3 checks:",
        "db:mysql",
        "web:http",
        "web:ping",
    ]
    for check in ("db:mysql", "web:http", "web:ping"):
        [window] = await maintenance.windows(scene.store, check, "scheduled")
        assert (window.start, window.duration) == (scene.now + 3600, 7200)
        assert window.summary == "Alice: new disks"


async def test_maintenance_of_single_checks_begins_at_once(scene: Scene) -> None:
    answer = await scene.asked("maint checks http on web")
    assert answer.startswith("maintenance from now, for 1 hour, of 1 check:")
    assert not await maintenance.windows(scene.store, "web:ping", "scheduled")


async def test_failing_checks_are_shown_first(scene: Scene) -> None:
    answer = await scene.asked("status entities /./")
    assert answer.splitlines() == [
        "3 checks, 1 failing:",
        "web:http is Critical for 30 seconds",
        "db:mysql is OK for 30 seconds, all well",
        "web:ping is OK for 30 seconds, all well",
    ]
    assert await scene.asked("status checks ping on web") == (
        "1 check, none failing:\nweb:ping is OK for 30 seconds, all well"
    )


async def test_entities_and_checks_are_found(scene: Scene) -> None:
    assert await scene.asked("find entities matching /^[dw]/") == "2 entities:\ndb\nweb"
    assert await scene.asked("find checks on web") == "2 checks:\nweb:http\nweb:ping"
    assert await scene.asked("find checks matching /[gp]$/ on entities matching /w/") == (
        "2 checks:\nweb:http\nweb:ping"
    )
    assert await scene.asked("find checks matching /^h/ on entities matching /w/") == (
        "1 check:\nweb:http"
    )


async def test_a_long_list_is_cut(scene: Scene) -> None:
    for number in range(40):
        await scene.send("ok", f"host-{number:02}:ping")
    for line in ("find entities host-*", "find checks on host-*", "status entities host-*"):
        lines = (await scene.asked(line)).splitlines()
        assert len(lines) == 32
        assert lines[-1] == "and 10 more"


async def test_a_test_is_sent(scene: Scene) -> None:
    answer = await scene.asked("test notifications for web:http")
    assert answer == "A test of the notifications of web:http is on its way."
    [event] = await scene.events()
    assert (event["type"], event["state"], event["id"]) == (
        "action",
        "test_notifications",
        "web:http",
    )
    assert await scene.alert_lines() == ["alice test web:http test_notifications"]


async def test_what_is_known_of_a_check_is_told(scene: Scene) -> None:
    await scene.send("acknowledgement", summary="Bob: on it")
    scene.later(60)
    answer = (await scene.asked("tell me about web:http")).splitlines()
    assert answer[:4] == [
        "web:http is Critical for 1 minute, 30 seconds (acknowledged)",
        "Acknowledged until 2023-11-15 03:13 CET: Bob: on it.",
        "Last problem sent 2023-11-14 23:13 CET.",
        "Last acknowledgement sent 2023-11-14 23:13 CET.",
    ]
    assert "Notified: Alice." in answer
    assert any(line.startswith("Decided 2023-11-14 23:13 CET: ") for line in answer)
    assert answer[-1] == f"To acknowledge it: ACKID {short_id('web:http')} <comment>"


async def test_what_is_known_of_an_entity_is_told(scene: Scene) -> None:
    answer = (await scene.asked("tell me about Web")).splitlines()
    assert answer[0] == "2 checks, 1 failing:"
    assert answer[-1] == "Notified: Alice."


async def test_help_tells_every_command(scene: Scene) -> None:
    answer = await scene.asked("help")
    assert all(form.usage in answer for form in FORMS)


async def test_names_and_summaries_of_strangers_stay_on_their_lines(scene: Scene) -> None:
    await scene.send("critical", "web:evil", summary="one\ntwo\u202e three" + "x" * 10_000)
    answer = await scene.asked("status checks evil on web")
    assert len(answer.splitlines()) == 2
    assert "one two three" in answer
    assert len(answer) < 500


async def test_whatever_is_in_the_store_can_be_told(scene: Scene) -> None:
    own, keys = scene.own, scene.keys
    await scene.store.call("LPUSH", own.decisions("web", "http"), b"\xff{", b"[]", b'{"by": 1}')
    await scene.store.call("HSET", keys.current("web", "http"), "last_change", "never")
    await scene.store.call("ZADD", keys.all_checks(), 1, b"\xff\xfe:\xff")
    assert "web:http is Critical" in await scene.asked("tell me about web:http")
    assert "web:http" in await scene.asked("find checks on /./")
    await scene.store.call("ZREM", keys.all_checks(), b"\xff\xfe:\xff")


async def test_a_contact_speaks_in_a_zone_of_its_own() -> None:
    alice = Contact(id="1", first_name="Alice", last_name="Adams", timezone="Asia/Tokyo")
    bob = Contact(id="2", first_name="Bob", timezone="Nowhere/Land")
    assert Speaker.of(alice, ZoneInfo("UTC")) == Speaker(
        in_chat("Alice Adams"), ZoneInfo("Asia/Tokyo")
    )
    assert Speaker.of(bob, ZoneInfo("UTC")) == Speaker(in_chat("Bob"), ZoneInfo("UTC"))


async def test_of_several_gateways_one_answers(store: Store) -> None:
    one, other = (Chat(store, "jabber", ("watchbell",)) for _ in range(2))
    assert await one.is_first("alice@example.com", "m1")
    assert not await other.is_first("alice@example.com", "m1")
    assert await other.is_first("alice@example.com", "m2")
    assert await other.is_first("bob@example.com", "m1")
    assert await Chat(store, "irc", ()).is_first("alice@example.com", "m1")
    assert await one.is_first("\ud800", "")


async def test_contacts_are_known_by_their_addresses(store: Store) -> None:
    def plain(address: str) -> str:
        if "@" not in address:
            raise DeliveryFailed("no address", permanent=True)
        return address.lower()

    async def save(name: str, **media: str) -> None:
        made = {medium: Medium(address=address) for medium, address in media.items()}
        await contacts.save(store, Contact(id=name, first_name=name, media=made))

    known = ContactFinder("jabber", plain)
    await save("alice", jabber="Alice@example.com", email="a@example.com")
    await save("bob", jabber="bob")
    found = await known.find(store, "alice@example.com", START)
    assert found is not None
    assert found.id == "alice"
    assert await known.find(store, "a@example.com", START) is None
    await save("charlie", jabber="charlie@example.com")
    assert await known.find(store, "charlie@example.com", START + 29) is None
    assert await known.find(store, "charlie@example.com", START + 30) is not None
