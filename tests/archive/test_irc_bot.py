"""The archive on IRC: answers in the channel or privately, and announcements."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from tests.archive.crawling import OTHER, PIPELINE, ident_of, running
from tests.archive.ircd import CHANNEL, Ngircd, Person, ngircd, person
from tests.archive.test_irc_server import FAST
from tests.archive.test_pipelines import ROOM, record
from tests.waiting import eventually
from watchbell.archive import announcements, finishing, pipelines
from watchbell.archive.announcer import Announcer
from watchbell.archive.irc.bot import IrcBot
from watchbell.archive.irc.connection import Account, Said
from watchbell.archive.keys import Archive
from watchbell.archive.model import Ending
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound, StoreUnavailable
from watchbell.store.client import Store


@pytest.fixture(scope="module")
def ircd() -> Iterator[Ngircd]:
    with ngircd() as running:
        yield running


async def answer(said: Said) -> Sequence[str]:
    match said.text:
        case "!none":
            return []
        case "!lost":
            raise NotFound("there is no crawl lost")
        case "!away":
            raise StoreUnavailable("gone")
        case "!broken":
            raise KeyError("broken")
    return [f"{said.rank.name} {said.channel} {said.text}", "second line"]


@asynccontextmanager
async def bot(store: Store, account: Account) -> AsyncIterator[IrcBot]:
    one = IrcBot(store, account, SYSTEM, answer, lambda _: None, FAST)
    task = asyncio.create_task(one.run())
    try:
        await eventually(one.places)
        yield one
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def alice(ircd: Ngircd, store: Store) -> AsyncIterator[Person]:
    """Operator of a channel in which the bot is."""
    async with person(ircd, "alice") as somebody, bot(store, ircd.account()):
        yield somebody


async def test_answers_are_addressed(alice: Person) -> None:
    alice.says("hello")
    alice.says("!none")
    alice.says("!Status abc", to="#ARCHIVE")
    assert await alice.hears("alice: OP #archive") == "alice: OP #archive !Status abc"
    await alice.hears("alice: second line")
    assert len(alice.texts()) == 2


@pytest.mark.parametrize("command", ["!pending", "!help"])
async def test_long_lists_are_sent_privately(alice: Person, command: str) -> None:
    alice.says(command)
    assert await alice.hears(command, to="alice") == f"OP #archive {command}"
    assert alice.texts() == []


async def test_a_command_that_fails_does_not_stop_the_bot(alice: Person) -> None:
    alice.says("!lost")
    await alice.hears("alice: there is no crawl lost")
    alice.says("!away")
    await alice.hears("can't reach the store")
    alice.says("!broken")
    await alice.hears("see my log")


async def test_whatever_people_say_the_bot_goes_on(alice: Person) -> None:
    for word in (b"!\xff\xfe", b"!" + b"x" * 480, b"!\x02\x03\x0f", b"!archive <", b"! ", b"!\x01"):
        alice.sends_raw(b"PRIVMSG #archive :" + word)
    for number in range(300):
        alice.sends_raw(b"PRIVMSG #archive :!flood %d" % number)
    alice.sends("MODE", CHANNEL, "+o")

    async def is_answered() -> bool:
        alice.says("!still there")
        return any("!still there" in text for text in alice.texts())

    await eventually(is_answered)


async def test_ended_crawls_are_announced_where_they_were_started(
    store: Store, alice: Person
) -> None:
    for number, place in enumerate(["#elsewhere", CHANNEL, "command line"]):
        owned = await running(store, ident_of(number), started_in=place)
        await finishing.finish(store, owned, Ending(finished_at=SYSTEM.now()))
    text = await alice.hears("bob:")
    assert ident_of(1) in text
    assert "completed. Downloaded 0 B" in text

    async def are_left() -> bool:
        left = await announcements.ended(store)
        return [one.started_in for one in left] == ["#elsewhere", "command line"]

    await eventually(are_left)
    assert len(alice.texts()) == 1


async def test_what_ended_while_nobody_was_connected_is_announced_later(
    ircd: Ngircd, store: Store
) -> None:
    key = Archive(store.prefix).finish_notifications()
    old, new = SYSTEM.now() - 200_000, SYSTEM.now() - 60
    for number, at in enumerate([old, new]):
        notice = {"url": f"https://{number}.example.com/", "started_in": CHANNEL}
        await store.call("RPUSH", key, msgspec.json.encode({**notice, "finished_at": at}))
    await store.call("RPUSH", key, "no JSON")
    async with person(ircd, "alice") as alice, bot(store, ircd.account()):
        await alice.hears("https://1.example.com/")
        await eventually(lambda: _count(store, key, 1))
        assert len(alice.texts()) == 1
    await store.call("DEL", key)


async def _count(store: Store, key: str, wanted: int) -> bool:
    found: int = await store.call("LLEN", key)
    return found == wanted


class Room:
    """A place that notes what is announced."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def places(self) -> Sequence[str]:
        return [CHANNEL]

    async def announce(self, place: str, text: str) -> bool:
        assert place == CHANNEL
        self.texts.append(text)
        return True


async def test_pipelines_that_come_and_go_are_announced(store: Store) -> None:
    await pipelines.report(store, record(PIPELINE, "first"), ROOM)
    room = Room()
    announcer = Announcer(store, room, SYSTEM)
    await announcer.look()
    assert room.texts == []
    await pipelines.report(store, record(OTHER, "second"), ROOM)
    await pipelines.say_goodbye(store, PIPELINE)
    for _ in range(2):
        await announcer.look()
    assert room.texts == [
        f"Pipeline second ({OTHER}) is here.",
        f"Pipeline first ({PIPELINE}) is gone.",
    ]
