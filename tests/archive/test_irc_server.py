"""The IRC client on a real server: signing on, ranks, answers, and servers that die."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.archive.ircd import CHANNEL, PASSWORD, Ngircd, ngircd, person
from tests.waiting import eventually
from watchbell.archive.commands import Rank
from watchbell.archive.irc.client import IrcClient
from watchbell.archive.irc.connection import Account, Connection, IrcClosed, Said
from watchbell.archive.irc.outbox import Outbox, Pace
from watchbell.clock import SYSTEM
from watchbell.settings import Secret

FAST = Pace(burst=1_000, every=0)


@pytest.fixture(scope="module")
def server() -> Iterator[Ngircd]:
    with ngircd() as running:
        yield running


class Client:
    """A client that notes what it hears and shows."""

    def __init__(self, account: Account, pause: Callable[[int], float]) -> None:
        self.said: list[Said] = []
        self.shown: list[str] = []
        self.irc = IrcClient(
            account, SYSTEM, self.said.append, self.shown.append, FAST, pause=pause
        )

    async def inside(self, *channels: str) -> Connection:
        wanted = frozenset(channels or (CHANNEL,))

        def found() -> Connection | None:
            link = self.irc.connection
            return link if link and link.channels >= wanted else None

        link = await eventually(found, why=f"in {wanted}: {self.shown}")
        assert link is not None
        return link

    async def hears(self, text: str) -> Said:
        def found() -> Said | None:
            return next((one for one in self.said if one.text == text), None)

        said = await eventually(found, why=f"{text} among {self.said}")
        assert said is not None
        return said


@asynccontextmanager
async def client(
    account: Account, pause: Callable[[int], float] = lambda _: 0.01
) -> AsyncIterator[Client]:
    one = Client(account, pause)
    task = asyncio.create_task(one.irc.run())
    try:
        yield one
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("options", [{}, {"tls": True}, {"password": PASSWORD}])
async def test_people_are_heard_and_answered(options: dict[str, Any]) -> None:
    with ngircd(**options) as server:
        async with client(server.account()) as bot, person(server, "alice") as alice:
            link = await bot.inside()
            await alice.sees("watchbell")
            alice.says("!status")
            said = await bot.hears("!status")
            assert (said.channel, said.nick) == (CHANNEL, "alice")
            assert link.say(CHANNEL, "alice: Ünïcode\r\nQUIT :no")
            assert await alice.hears("alice:") == "alice: Ünïcode  QUIT :no"
            await link.has_sent_all(CHANNEL)


async def test_a_certificate_of_somebody_else_is_not_trusted() -> None:
    with ngircd(tls=True) as server:
        account = server.account(trust=ssl.create_default_context())
        with pytest.raises(IrcClosed, match="can't be trusted"):
            async with Connection(account, Outbox(SYSTEM, FAST)):
                pass


async def test_a_wrong_password_is_reported() -> None:
    with ngircd(password=PASSWORD) as server:
        account = server.account(password=Secret("wrong"))
        async with client(account) as bot:
            await eventually(lambda: len(bot.shown) > 1)
            assert bot.irc.connection is None
            assert "not connected" in bot.shown[0]


async def test_ranks_are_those_of_the_channel(server: Ngircd) -> None:
    async with (
        person(server, "alice") as alice,
        person(server, "bob") as bob,
        client(server.account()) as bot,
    ):
        await bot.inside()
        bob.says("one")
        assert (await bot.hears("one")).rank is Rank.ALL
        alice.says("two")
        assert (await bot.hears("two")).rank is Rank.OP  # came first
        alice.sends("MODE", CHANNEL, "+v", "bob")
        await bob.gets("MODE", "+v")
        bob.says("three")
        assert (await bot.hears("three")).rank is Rank.VOICE
        alice.sends("MODE", CHANNEL, "+o", "bob")
        alice.sends("MODE", CHANNEL, "-o", "bob")
        await bob.gets("MODE", "-o")

        async def has_voice() -> bool:
            bot.said.clear()
            bob.says("four")
            return (await bot.hears("four")).rank is Rank.VOICE

        await eventually(has_voice)
        bob.sends("NICK", "robert")
        await bob.gets("NICK", "robert")
        bob.says("five")
        said = await bot.hears("five")
        assert (said.nick, said.rank) == ("robert", Rank.VOICE)


async def test_only_people_in_the_channels_are_heard(server: Ngircd) -> None:
    async with client(server.account()) as bot, person(server, "alice") as alice:
        await bot.inside()
        async with person(server, "bob", channel="") as bob:
            bob.says("!status from outside")
            bob.says("!status in private", to="watchbell")
            alice.says("!status in private", to="watchbell")
            alice.sends("NOTICE", CHANNEL, "!notice")
            alice.sends("PRIVMSG", CHANNEL, "\x01ACTION waves\x01")
            alice.says("last")
            await bot.hears("last")
        texts = [said.text for said in bot.said]
        assert "!notice" not in texts
        assert not any("private" in text for text in texts)


async def test_a_nick_that_is_taken_is_tried_again(server: Ngircd) -> None:
    async with (
        person(server, "watchbell", channel="") as thief,
        client(server.account()) as bot,
    ):
        link = await bot.inside()
        assert link.nick == "watchbel_"
        async with client(server.account()) as other:
            assert (await other.inside()).nick == "watchbel2"
        thief.sends("NICK", "somebody")
        await eventually(lambda: link.nick == "watchbell")


async def test_who_is_kicked_comes_back(server: Ngircd) -> None:
    async with person(server, "alice") as alice, client(server.account()) as bot:
        await bot.inside()
        alice.sends("KICK", CHANNEL, "watchbell", "out")

        def came() -> int:
            joins = [line for line in alice.got if line.command == "JOIN"]
            return sum(line.nick == "watchbell" for line in joins)

        await eventually(lambda: came() == 2)
        await bot.inside()


async def test_a_channel_that_is_closed_does_not_end_the_others(server: Ngircd) -> None:
    async with person(server, "alice", channel="#closed") as alice:
        alice.sends("MODE", "#closed", "+k", "key")
        await alice.gets("MODE", "+k")
        async with client(server.account(channels=("#closed", CHANNEL))) as bot:
            link = await bot.inside()
            assert link.channels == {CHANNEL}
        async with client(server.account(channels=("#closed key", CHANNEL))) as bot:
            await bot.inside("#closed", CHANNEL)


async def test_a_server_that_dies_is_connected_to_again() -> None:
    with ngircd() as server:
        async with client(server.account()) as bot:
            for _ in range(3):
                await bot.inside()
                server.kill()
                await eventually(lambda: bot.irc.connection is None)
                server.start()
            await bot.inside()
            async with person(server, "alice") as alice:
                alice.says("still there?")
                await bot.hears("still there?")


async def test_a_server_that_hangs_is_left() -> None:
    with ngircd() as server:
        async with client(server.account(quiet=0.2, patience=0.5)) as bot:
            await bot.inside()
            server.suspend()
            await eventually(lambda: any("no longer answers" in text for text in bot.shown))


async def test_a_quiet_server_is_not_left(server: Ngircd) -> None:
    async with client(server.account(quiet=0.01, patience=60)) as bot:
        link = await bot.inside()
        async with person(server, "alice") as alice:
            for number in range(20):
                alice.says(f"word {number}")
                await bot.hears(f"word {number}")
        assert bot.irc.connection is link


async def test_whatever_a_server_sends_the_client_goes_on() -> None:
    """A server of our own that sends junk, and ends after each."""
    junk: list[bytes] = [
        b"",
        b"\xff\xfe\r\n",
        b":\r\n" * 10,
        b"x" * 200_000 + b"\r\n",
        b"ERROR\r\n",
    ]
    junk += [b":s 001\r\n:s 366\r\n:s MODE\r\nPING\r\nKICK\r\nJOIN\r\n:watchbell JOIN\r\n"]
    served = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readline()
        if served < len(junk):
            writer.write(junk[served])
        served += 1
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    account = Account(
        host="127.0.0.1", port=port, nick="watchbell", channels=("#a",), password=Secret()
    )
    async with server, client(account):
        await eventually(lambda: served > len(junk))


@pytest.mark.parametrize("burst", [1, 5])
async def test_lines_are_sent_no_faster_than_allowed(burst: int) -> None:
    outbox = Outbox(SYSTEM, Pace(burst=burst, every=0.05))
    outbox.add("a", [b"line"] * 3 * burst)
    begun = SYSTEM.monotonic()
    for _ in range(3 * burst):
        target, _line = await outbox.next()
        outbox.sent(target)
    assert SYSTEM.monotonic() - begun >= (3 * burst - 1 - burst) * 0.05


async def test_targets_take_turns_and_are_bounded() -> None:
    outbox = Outbox(SYSTEM, FAST)
    assert outbox.add("alice", [b"1", b"2", b"3"])
    assert outbox.add("bob", [b"4"])
    assert not outbox.add("charlie", [b"x"] * 400)
    order: list[bytes] = []
    for _ in range(4):
        target, line = await outbox.next()
        outbox.sent(target)
        order.append(line)
    assert order == [b"1", b"4", b"2", b"3"]
    await outbox.emptied("alice")
