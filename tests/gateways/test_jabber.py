"""Jabber on a real server: what arrives, what is sure, a server that comes and goes, answers."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from slixmpp import JID

from tests.alerting.scenes import Stage
from tests.conftest import bare_environment, watchbell
from tests.gateways.post import alert
from tests.gateways.rendering import renderer
from tests.gateways.xmpp import OPS, PASSWORD, Prosody, beside, person, prosody
from tests.servers import HOST
from tests.waiting import PATIENCE, eventually
from watchbell.alerting import contacts
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import Alert, CheckEvent, Contact, Medium, short_id
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways.alert_messages import AlertRenderer
from watchbell.gateways.delivery import Delivery
from watchbell.gateways.jabber import LONGEST, Jabber, Settings, open_medium
from watchbell.gateways.xmpp import pause
from watchbell.settings import Delivery as DeliverySettings
from watchbell.settings import Secret
from watchbell.store.client import Store


@pytest.fixture(scope="module")
def running() -> Iterator[Prosody]:
    with prosody() as server:
        yield server


@pytest.fixture
def own() -> Iterator[Prosody]:
    """A server that a test may kill."""
    with prosody() as server:
        yield server


def chosen(server: Prosody, **other: Any) -> Settings:
    fields: dict[str, Any] = {
        "jid": "watchbell@example.com",
        "password": Secret(PASSWORD),
        "host": HOST,
        "port": server.port,
        "ca_file": str(server.ca),
        "rooms": (OPS,),
    }
    return Settings(**{**fields, **other})


def said(part: str, alert: Alert) -> str:  # noqa: ARG001
    return alert.summary or ""


@asynccontextmanager
async def jabber(server: Prosody, **other: Any) -> AsyncIterator[Jabber]:
    medium = Jabber("jabber", chosen(server, **other), lambda _: 0.05)
    try:
        yield medium
    finally:
        await medium.close()


@asynccontextmanager
async def attended(server: Prosody, store: Store, **other: Any) -> AsyncIterator[Jabber]:
    """The same, once it is connected and in its rooms."""
    async with jabber(server, **other) as medium, beside(lambda: medium.attend(store)):
        connection = await medium._connections.connection()
        for room in medium._rooms:
            await connection.enter(room)
        yield medium


async def sent(medium: Jabber, one: Alert) -> str:
    return await medium.send(AlertRenderer(said, medium.form)(one))


async def failure(medium: Jabber, one: Alert) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        await sent(medium, one)
    assert PASSWORD not in str(caught.value)
    assert len(str(caught.value)) <= 400
    return caught.value


# What arrives


@pytest.mark.parametrize("confirms", [True, False])
async def test_a_message_arrives_under_the_id_of_its_alert(confirms: bool) -> None:
    with prosody(confirms=confirms) as server:
        async with person(server, "alice") as alice, jabber(server) as medium:
            answer = await sent(medium, alert(1))
            await alice.hears("number 1")
    assert alice.ids == ["a1"]
    assert answer.startswith("acknowledged by" if confirms else "accepted by")


async def test_who_is_offline_gets_it_later(running: Prosody) -> None:
    async with jabber(running) as medium:
        await sent(medium, alert(1, "charlie@example.com"))
    async with person(running, "charlie", late=True) as charlie:
        await charlie.hears("number 1")


async def test_everybody_in_a_room_hears_it(running: Prosody) -> None:
    async with (
        person(running, "alice", OPS) as alice,
        person(running, "bob", OPS) as bob,
        jabber(running) as medium,
    ):
        answer = await sent(medium, alert(2, OPS))
        for one in (alice, bob):
            await one.hears("number 2")
    assert answer == f"repeated by the room {OPS}"
    assert [stanza["id"] for stanza in alice.stanzas if stanza["type"] == "groupchat"] == ["a2"]


async def test_a_room_that_nobody_made_is_made_and_open_to_others(running: Prosody) -> None:
    room = "new@conference.example.com"
    async with jabber(running, rooms=(room,)) as medium:
        await sent(medium, alert(1, room))
        async with person(running, "bob", room) as bob:
            await sent(medium, alert(2, room))
            await bob.hears("number 2")


async def test_what_xml_cant_carry_is_left_out_and_what_is_too_long_is_cut(
    running: Prosody,
) -> None:
    texts = ["nul \0 bell \a half \ud800 end", "<b>&amp; ☎ 日本\n\ttwo lines", "x" * 1_000_000]
    async with person(running, "bob") as bob, jabber(running) as medium:
        for number, text in enumerate(texts):
            one = alert(number, "bob@example.com", summary=text)
            await sent(medium, one)
        await bob.hears("xxx")
    assert bob.texts[:2] == ["nul  bell  half  end", "<b>&amp; ☎ 日本\n\ttwo lines"]
    assert len(bob.texts[2]) == LONGEST


async def test_many_at_once_all_arrive(running: Prosody) -> None:
    async with person(running, "alice") as alice, jabber(running) as medium:
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(sent(medium, alert(number)))
        await eventually(lambda: len(alice.ids) == 50)
    assert sorted(alice.ids) == sorted(f"a{number}" for number in range(50))


async def test_a_send_that_is_cancelled_spoils_nothing(running: Prosody) -> None:
    async with person(running, "alice") as alice, jabber(running) as medium:
        for number in range(20):
            task = asyncio.create_task(sent(medium, alert(number)))
            for _ in range(number * 5):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await sent(medium, alert(99))
        await alice.hears("number 99")


async def test_the_built_in_words_name_us_so_that_they_can_be_said_back(running: Prosody) -> None:
    medium = open_medium("jabber", chosen(running, alias="bell"))
    text = renderer(medium)(alert(1, event_hash="0a1b2c3d")).text
    assert text == 'Problem: bell: ACKID 0a1b2c3d, "HTTP" on web-1 is Critical, number 1'


def test_a_command_sends_one_and_says_what_was_answered(running: Prosody, tmp_path: Path) -> None:
    file = tmp_path / "watchbell.toml"
    file.write_text(f"""
[gateways.jabber]
jid = "watchbell@example.com"
password = "env:JABBER_PASSWORD"
host = "{HOST}"
port = {running.port}
ca_file = "{running.ca}"
""")
    command = watchbell("gateways", "test", "jabber", "charlie@example.com", "--config", str(file))
    environment = bare_environment(JABBER_PASSWORD=PASSWORD)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the server answered: acknowledged by example.com" in done.stdout


# What can't be delivered


@pytest.mark.parametrize(
    "address",
    ["", "alice", "example.com", "@example.com", "a b@example.com", "alice@\0", "x" * 9999],
)
async def test_what_is_no_address_is_refused_for_good(running: Prosody, address: str) -> None:
    async with jabber(running) as medium:
        refused = await failure(medium, alert(1, address))
    assert refused.permanent
    assert "not a Jabber address" in str(refused)


async def test_nobody_at_an_address_is_for_good(running: Prosody) -> None:
    async with jabber(running) as medium:
        refused = await failure(medium, alert(1, "nobody@example.com"))
    assert refused.permanent
    assert "nobody accepts messages at this address" in str(refused)


async def test_a_room_for_members_alone_is_for_good(running: Prosody) -> None:
    room = "board@conference.example.com"
    async with person(running, "alice", room) as alice, jabber(running, rooms=(room,)) as medium:
        rooms = alice.client.plugin["xep_0045"]
        form = await rooms.get_room_config(JID(room))
        form.set_values(  # type: ignore[no-untyped-call]
            {"muc#roomconfig_membersonly": True}
        )
        await rooms.set_room_config(JID(room), form)
        refused = await failure(medium, alert(1, room))
    assert refused.permanent
    assert "only members may enter" in str(refused)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"password": Secret("wrong")}, "refuses our name and password"),
        ({"ca_file": ""}, "certificate can't be trusted"),
        ({"tls": "none"}, "it requires TLS"),
        ({"host": "no-such-host.invalid"}, "example.com"),
        ({"jid": "watchbell@example.net"}, "host-unknown"),
    ],
)
async def test_a_server_that_is_of_no_use_says_why(
    running: Prosody, other: dict[str, Any], words: str
) -> None:
    async with jabber(running, **other) as medium:
        refused = await failure(medium, alert(1))
    assert refused.unreachable
    assert words in str(refused)


async def test_without_tls_no_password_is_given_away() -> None:
    with prosody(tls="none") as server:
        async with jabber(server) as medium:
            refused = await failure(medium, alert(1))
            assert refused.unreachable
        assert "Auth" not in server.log.read_text()
        assert "offers no TLS" in str(refused)
        async with person(server, "alice", trust=None) as alice, jabber(server, tls="none") as bare:
            await sent(bare, alert(2))
            await alice.hears("number 2")
        assert "Authenticated as watchbell" in server.log.read_text()


async def test_tls_from_the_first_byte_on() -> None:
    with prosody(tls="direct") as server:
        async with jabber(server, tls="direct") as medium:
            assert await sent(medium, alert(1))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"jid": "nobody"}, "not a Jabber address"),
        ({"rooms": ("ops",)}, "not a Jabber address"),
        ({"ca_file": "/no/such/file"}, "/no/such/file"),
        ({"timezone": "Europe/Roma"}, "Europe/Rome"),
    ],
)
def test_bad_settings_stop_the_start(running: Prosody, other: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSettings, match=words):
        open_medium("jabber", chosen(running, **other))


# A server that comes and goes


async def test_a_server_that_is_away_fails_at_once_and_is_found_again(
    own: Prosody, store: Store
) -> None:
    async with jabber(own) as medium:
        await sent(medium, alert(1))
        async with beside(lambda: medium.attend(store)):
            own.kill()
            await eventually(lambda: refused(medium))
            own.start()
            await eventually(lambda: works(medium))
            async with person(own, "bob", OPS) as bob:
                assert await sent(medium, alert(3, OPS)) == f"repeated by the room {OPS}"
                await bob.hears("number 3")


@contextmanager
def hasty(medium: Jabber) -> Iterator[None]:
    """It waits for no answer longer than a second."""
    usual, medium.limits = medium.limits, replace(medium.limits, timeout=1.0)
    yield
    medium.limits = usual


async def refused(medium: Jabber) -> bool:
    error = await failure(medium, alert(2))
    assert error.unreachable
    assert not error.permanent
    return "refused" in str(error)


async def works(medium: Jabber) -> bool:
    try:
        return bool(await sent(medium, alert(2)))
    except DeliveryFailed:
        return False


async def test_rooms_are_entered_again_after_a_restart(own: Prosody, store: Store) -> None:
    async with attended(own, store):
        own.stop()
        own.start()
        async with person(own, "bob", OPS) as bob:
            await eventually(lambda: "watchbell" in bob.present, 20)
            bob.says(OPS, "watchbell: identify")
            await bob.hears("Bob:", "I am Watchbell")


async def test_a_server_that_says_nothing_is_not_taken_for_one_that_took_it(own: Prosody) -> None:
    async with jabber(own) as medium:
        await sent(medium, alert(1))
        own.pause()
        with hasty(medium):
            error = await failure(medium, alert(2))
        assert error.unreachable
        assert "did not answer" in str(error)
        own.resume()
        await eventually(lambda: works(medium))


@pytest.mark.parametrize("confirms", [True, False])
async def test_a_room_that_says_nothing_is_no_server_that_says_nothing(confirms: bool) -> None:
    nowhere = "bob@example.com"  # who is no room, and does not answer like one
    with prosody(confirms=confirms) as server:
        async with (
            person(server, "bob"),
            jabber(server, rooms=(nowhere,)) as medium,
        ):
            await sent(medium, alert(1))
            connection = await medium._connections.connection()
            with hasty(medium):
                error = await failure(medium, alert(2, nowhere))
            assert not error.unreachable
            assert not error.permanent
            await sent(medium, alert(3))
            assert await medium._connections.connection() is connection


async def test_a_connection_that_no_longer_answers_is_given_up(own: Prosody) -> None:
    async with person(own, "alice", timeout=2.0) as alice:
        await alice.link.ping()
        own.pause()
        with pytest.raises(DeliveryFailed, match="it no longer answers"):
            await alice.link.ping()
        assert alice.link.ended.is_set()
        own.resume()


async def test_what_was_confirmed_before_a_kill_is_there_after_it(own: Prosody) -> None:
    done: set[str] = set()
    reasons: list[DeliveryFailed] = []

    async def each(medium: Jabber, one: Alert) -> None:
        while one.id not in done:
            try:
                await sent(medium, one)
            except DeliveryFailed as error:
                reasons.append(error)
                await asyncio.sleep(0.02)
            else:
                done.add(one.id)

    async with jabber(own) as medium, asyncio.TaskGroup() as group:
        medium.limits = replace(
            medium.limits, timeout=PATIENCE
        )  # a busy server is not a silent one
        for number in range(200):
            group.create_task(each(medium, alert(number)))
        await eventually(lambda: len(done) > 20)
        own.kill()
        before = len(done)
        own.start()
    assert before < 200
    assert reasons
    assert all(one.unreachable for one in reasons), reasons
    async with person(own, "alice", late=True) as alice:
        await eventually(lambda: len(set(alice.ids)) == 200)


async def test_the_outbox_keeps_what_a_server_that_is_away_can_t_take(
    own: Prosody, store: Store
) -> None:
    queue = Alerting(store.prefix).queue("jabber")
    async with jabber(own) as medium:
        delivery = Delivery(
            store,
            "jabber",
            medium,
            renderer(medium).message,
            DeliverySettings(),
            SYSTEM,
            lambda _: None,
        )
        own.kill()
        items = [msgspec.json.encode(alert(number)) for number in range(20)]
        await store.call("RPUSH", queue, *items)
        async with beside(delivery.run):
            await eventually(lambda: delivery.tally.failed > 0)
            own.start()
            async with person(own, "alice", late=True) as alice:
                await eventually(lambda: len(set(alice.ids)) == 20, 30)
            await eventually(lambda: delivery.tally.delivered == 20)


async def test_who_was_thrown_out_of_a_room_comes_in_again(running: Prosody) -> None:
    room = "rough@conference.example.com"
    async with person(running, "alice", room) as alice, jabber(running, rooms=(room,)) as medium:
        await sent(medium, alert(1, room))
        await alice.client.plugin["xep_0045"].set_role(JID(room), "watchbell", "none")
        await sent(medium, alert(2, room))
        await alice.hears("number 2")


async def test_a_room_that_has_forgotten_us_is_entered_again(running: Prosody) -> None:
    async with person(running, "bob", OPS) as bob, jabber(running) as medium:
        connection = await medium._connections.connection()
        connection._nicks[OPS] = "watchbell"  # as before its server was restarted
        await sent(medium, alert(1, OPS))
        await bob.hears("number 1")


async def test_somebody_else_may_have_our_name(running: Prosody, store: Store) -> None:
    room = "namesakes@conference.example.com"
    async with (
        person(running, "charlie", room, nick="watchbell"),
        attended(running, store, rooms=(room,)),
        person(running, "alice", room) as alice,
    ):
        alice.says(room, "watchbell-2: identify")
        await alice.hears("Alice:", "I am Watchbell")


def test_a_server_is_not_asked_too_often() -> None:
    assert [pause(tries) for tries in (1, 9, 10, 59, 60, 1_000)] == [2, 2, 10, 10, 60, 60]


# Commands


@pytest.fixture
async def stage(store: Store) -> Stage:
    """Alice is a contact, and web:http fails."""
    stage = Stage(store)
    stage.now = int(SYSTEM.now()) - 60
    person = Contact(
        id="alice",
        first_name="Alice",
        last_name="Adams",
        media={"jabber": Medium(address="Alice@Example.com")},
    )
    await contacts.save(store, person)
    await stage.fails()
    await store.call("DEL", stage.keys.queue("jabber"))
    return stage


async def events(store: Store) -> list[CheckEvent]:
    found = await store.call("LRANGE", Alerting(store.prefix).events(), 0, -1)
    return [msgspec.json.decode(one, type=CheckEvent) for one in found]


async def test_a_contact_acknowledges_by_an_answer(
    running: Prosody, store: Store, stage: Stage
) -> None:
    async with (
        attended(running, store),
        person(running, "alice") as alice,
    ):
        ack = short_id("web:http")
        alice.says("watchbell@example.com", f"ACKID {ack} looking into it duration: 2 hours")
        await alice.hears("web:http is acknowledged for 2 hours")
    [event] = await events(store)
    assert (event.state, event.id, event.duration) == ("acknowledgement", "web:http", 7200)
    assert event.summary == "Alice Adams: looking into it"
    assert event.acknowledgement_id == ack
    await stage.later(1).drain()


async def test_in_a_room_whoever_names_us_is_answered_and_nobody_else(
    running: Prosody, store: Store, stage: Stage
) -> None:
    other = {"alias": "bell", "identifiers": ("watch",)}
    async with (
        attended(running, store, **other),
        person(running, "bob", OPS) as bob,
    ):
        bob.says(OPS, "bell: identify")
        await bob.hears("Bob:", "answer to bell or watch")
        bob.says(OPS, "help")
        bob.says(OPS, "belly: help")
        bob.says(OPS, "@watch ack entities web")
        await bob.hears("Bob: 1 check acknowledged for 1 hour", "web:http")
    assert not [text for text in bob.texts if "I understand:" in text]
    assert [one.summary for one in await events(store)] == ["Bob: Set via chatbot"]
    await stage.drain()


async def test_an_occupant_of_a_room_may_ask_in_private(running: Prosody, store: Store) -> None:
    async with (
        attended(running, store) as medium,
        person(running, "bob", OPS) as bob,
    ):
        await sent(medium, alert(1, OPS))
        bob.client.send_message(mto=JID(f"{OPS}/watchbell"), mbody="identify", mtype="chat")
        await bob.hears("I am Watchbell")
    assert bob.stanzas[-1]["type"] == "chat"


async def test_of_two_gateways_one_answers(running: Prosody, store: Store) -> None:
    async with (
        attended(running, store),
        attended(running, store),
        person(running, "bob", OPS) as bob,
    ):
        for number in range(5):
            bob.says(OPS, f"watchbell: tell me about nothing-{number}")
            await bob.hears("Bob:", f"no entity nothing-{number}")
        await bob.link.ping()
    assert len([text for text in bob.texts if "no entity" in text]) == 5


async def test_a_stranger_is_refused_once(running: Prosody, store: Store) -> None:
    async with (
        attended(running, store) as medium,
        person(running, "bob") as bob,
    ):
        for _ in range(3):
            bob.says("watchbell@example.com", "ack entities /./")
        await bob.hears("I only take commands from contacts")
        await sent(medium, alert(1, "bob@example.com"))
        await bob.hears("number 1")
    assert len([text for text in bob.texts if "only take commands" in text]) == 1


async def test_anyone_may_be_allowed(running: Prosody, store: Store) -> None:
    async with (
        attended(running, store, commands="anyone"),
        person(running, "bob") as bob,
    ):
        bob.says("watchbell@example.com", "watchbell: identify")
        await bob.hears("I am Watchbell")


async def test_another_watchbell_is_not_answered(running: Prosody, store: Store) -> None:
    async with (
        attended(running, store, commands="anyone"),
        person(running, "bob") as bob,
    ):
        await bob.link.send_to_person("watchbell@example.com", "help", "said by a program")
        bob.says("watchbell@example.com", "identify")
        await bob.hears("I am Watchbell")
    assert not [text for text in bob.texts if "I understand" in text]


async def test_nobody_is_answered_where_commands_are_off(running: Prosody, store: Store) -> None:
    async with (
        attended(running, store, commands="off") as medium,
        person(running, "bob", OPS) as bob,
    ):
        bob.says(OPS, "watchbell: identify")
        bob.says("watchbell@example.com", "identify")
        await sent(medium, alert(1, "bob@example.com"))
        await bob.hears("number 1")
    assert not [text for text in bob.texts if "I am Watchbell" in text]


@pytest.mark.usefixtures("stage")
async def test_what_was_said_while_we_were_away_is_not_done(running: Prosody, store: Store) -> None:
    async with person(running, "alice") as alice:
        alice.says("watchbell@example.com", "ack entities web")
        await alice.link.ping()
        async with jabber(running) as medium, beside(lambda: medium.attend(store)):
            await alice.hears("I was offline when you sent that")
    assert not await events(store)
