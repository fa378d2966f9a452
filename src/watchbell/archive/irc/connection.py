"""One connection to an IRC server: signing on, channels, and who is in them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Self

from msgspec import Struct

from watchbell import __version__, logs
from watchbell.archive.commands import Rank
from watchbell.archive.irc import lines
from watchbell.archive.irc.lines import Line, folded
from watchbell.archive.irc.members import Members
from watchbell.archive.irc.outbox import Outbox
from watchbell.settings import Secret

_LONGEST_LINE = 16_384
_AT_ONCE = 65_536
_SHORT_NICK = 9
"""Characters of a nick that every server allows."""
_REFUSED = {"432", "464", "465", "466"}
"""A bad nick, a wrong password, a ban."""
_NICK_TAKEN = {"433", "436", "437"}
_NOT_LET_IN = {"403", "405", "407", "437", "471", "473", "474", "475", "476", "477", "489"}


class IrcClosed(Exception):
    """The connection is over; the text says why."""


class Account(Struct, frozen=True, kw_only=True):
    host: str
    port: int
    nick: str
    channels: tuple[str, ...]
    """Each may be followed by a blank and its key."""
    trust: ssl.SSLContext | None = None
    """None: without TLS."""
    password: Secret
    patience: float = 60.0
    """Seconds that the server has to answer."""
    quiet: float = 120.0
    """Seconds of silence after which the server is asked for a sign of life."""
    rejoin: float = 30.0
    """Seconds between two attempts to enter a channel, or to get our nick back."""


class Said(Struct, frozen=True):
    """What somebody said in a channel."""

    channel: str
    nick: str
    text: str
    rank: Rank


class Connection:
    """Use as a context, which signs on; then `run`."""

    def __init__(self, account: Account, outbox: Outbox) -> None:
        self._account, self._outbox = account, outbox
        self.nick = account.nick
        self._wanted = {folded(one.split()[0]): one for one in account.channels}
        self._inside = set[str]()
        self._members = Members()
        self._prefix: int | None = None
        self._is_asked = False
        self._log = logs.get(role="irc", server=f"{account.host}:{account.port}")

    async def __aenter__(self) -> Self:
        """Connects and signs on. Raises IrcClosed."""
        account = self._account
        try:
            async with asyncio.timeout(account.patience):
                self._reader, self._writer = await asyncio.open_connection(
                    account.host, account.port, ssl=account.trust, limit=_AT_ONCE
                )
        except TimeoutError:
            raise IrcClosed(f"no connection within {account.patience:g} s") from None
        except (OSError, UnicodeError) as error:
            raise IrcClosed(_reason(error)) from error
        try:
            async with asyncio.timeout(account.patience):
                await self._sign_on()
        except TimeoutError:
            self._writer.close()
            raise IrcClosed(f"it did not let us in within {account.patience:g} s") from None
        except BaseException:
            self._writer.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(OSError, ssl.SSLError):
            if not self._writer.is_closing():
                self._writer.write(lines.command("QUIT", "going down"))
                async with asyncio.timeout(1):
                    await self._writer.drain()
        self._writer.close()
        with suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()

    @property
    def channels(self) -> frozenset[str]:
        """Those that we are in, folded."""
        return frozenset(self._inside)

    def knows(self, channel: str) -> bool:
        """Whether we are in a channel, or try to be."""
        return folded(channel) in self._wanted

    def say(self, to: str, text: str) -> bool:
        """False where too much is waiting for this target."""
        prefix = {} if self._prefix is None else {"prefix": self._prefix}
        return self._outbox.add(folded(to), lines.messages(to, text, **prefix))

    async def has_sent_all(self, to: str) -> None:
        """Waits until what was said to a target is sent."""
        await self._outbox.emptied(folded(to))

    async def run(self, hear: Callable[[Said], None]) -> str:
        """Passes on what people say until the connection is over. Returns why it is."""
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(self._send()), group.create_task(self._keep_inside())]
            try:
                async for line in self._lines(self._account.quiet):
                    if found := self._handle(line):
                        hear(found)
            except IrcClosed as error:
                return str(error)
            finally:
                for task in others:
                    task.cancel()
        return ""

    async def _sign_on(self) -> None:
        account = self._account
        if account.password:
            self._write("PASS", account.password.reveal())
        self._write("NICK", self.nick)
        self._write("USER", account.nick, "0", "*", f"Watchbell {__version__}")
        async for line in self._lines(account.patience):
            if line.command == "001":
                self.nick = line.word(0) or self.nick
                return
            if line.command in _NICK_TAKEN:
                self.nick = _other(self.nick, account.nick)
                self._write("NICK", self.nick)
            elif line.command in _REFUSED:
                raise IrcClosed(f"it refused us: {line.words[-1] if line.words else ''}")

    async def _lines(self, quiet: float) -> AsyncIterator[Line]:
        """Lines of the server; pings are answered here."""
        rest = b""
        while True:
            *whole, rest = (rest + await self._chunk(quiet)).split(b"\n")
            rest = rest[:_LONGEST_LINE]
            for line in filter(None, map(lines.read, whole)):
                if line.command == "PING":
                    self._write("PONG", line.word(0))
                elif line.command == "ERROR":
                    raise IrcClosed(f"the server ended it: {line.word(0)}")
                yield line

    async def _chunk(self, quiet: float) -> bytes:
        """After so many seconds of silence, asks the server for a sign of life."""
        try:
            async with asyncio.timeout(self._account.patience if self._is_asked else quiet):
                chunk = await self._reader.read(_AT_ONCE)
        except TimeoutError:
            if self._is_asked:
                raise IrcClosed("the server no longer answers") from None
            self._is_asked = True
            self._write("PING", "watchbell")
            return b""
        except (OSError, ssl.SSLError) as error:
            raise IrcClosed(_reason(error)) from error
        if not chunk:
            raise IrcClosed("the server closed the connection")
        self._is_asked = False
        return chunk

    def _handle(self, line: Line) -> Said | None:
        is_ours = folded(line.nick) == folded(self.nick)
        doubtful = self._members.note(line)
        if doubtful:
            self._write("NAMES", doubtful)
        match line.command:
            case "PRIVMSG" if not is_ours:
                return self._heard(line)
            case "JOIN" if is_ours:
                self._inside.add(folded(line.word(0)))
                self._prefix = len(line.source.encode())
            case "PART" if is_ours:
                self._left(line.word(0), "")
            case "KICK" if folded(line.word(1)) == folded(self.nick):
                self._left(line.word(0), f"kicked by {line.nick}: {line.word(2)}")
            case "NICK" if is_ours:
                self.nick = line.word(0)
            case code if code in _NOT_LET_IN and self.knows(line.word(1)):
                reason = line.words[-1]
                self._log.warning("can't enter a channel", channel=line.word(1), reason=reason)
        return None

    def _heard(self, line: Line) -> Said | None:
        channel, text = line.word(0), lines.without_formats(line.word(1))
        if folded(channel) not in self._inside or not self._members.has(channel, line.nick):
            return None
        return Said(channel, line.nick, text.strip(), self._members.rank(channel, line.nick))

    def _left(self, channel: str, why: str) -> None:
        self._inside.discard(folded(channel))
        self._members.leave(channel)
        self._log.warning("not in a channel any longer", channel=channel, reason=why)

    async def _send(self) -> None:
        while True:
            target, line = await self._outbox.next()
            self._writer.write(line)
            with suppress(OSError, ssl.SSLError):  # the reader finds out, too
                await self._writer.drain()
            self._outbox.sent(target)

    async def _keep_inside(self) -> None:
        while True:
            for name, channel in self._wanted.items():
                if name not in self._inside:
                    self._write("JOIN", *channel.split()[:2])
            if folded(self.nick) != folded(self._account.nick):
                self._write("NICK", self._account.nick)
            await asyncio.sleep(self._account.rejoin)

    def _write(self, *words: str) -> None:
        self._writer.write(lines.command(*words))


def _other(nick: str, wanted: str) -> str:
    """Another nick, no longer than the one we want or than the shortest limit of servers."""
    numbers = ["_", *map(str, range(2, 10_000))]
    longest = max(len(wanted), _SHORT_NICK)
    others = [wanted[: longest - len(number)] + number for number in numbers]
    return others[others.index(nick) + 1] if nick in others[:-1] else others[0]


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate can't be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak TLS as we do: {error.reason}"
    return str(error) or type(error).__name__
