"""The role of the archive on IRC, where the settings name a server."""

import asyncio
import ssl
from contextlib import suppress
from functools import partial

from watchbell import logs
from watchbell.archive import chat
from watchbell.archive.chat import Person
from watchbell.archive.commands import Rank
from watchbell.archive.irc import lines
from watchbell.archive.irc.bot import IrcBot
from watchbell.archive.irc.connection import Account, Said
from watchbell.archive.keys import Crawls
from watchbell.errors import BadSettings, LockLost, Refused
from watchbell.http.client import trust
from watchbell.roles.role import Context, Role, Several
from watchbell.settings import Settings
from watchbell.settings.sections import ArchiveIrc
from watchbell.store.client import patiently
from watchbell.store.enduring import enduring
from watchbell.store.lock import locked

_LEASE = 15.0
_LOOK_AGAIN = 2.0
_PORT, _TLS_PORT = 6667, 6697


def roles(settings: Settings) -> list[Role]:
    chosen = settings.archive.irc
    if not chosen.server:
        return []
    account = account_of(chosen)
    return [Role("irc", "obeys commands for the archive on IRC", partial(_run, account))]


def account_of(chosen: ArchiveIrc) -> Account:
    """Raises BadSettings."""
    host, port = _address(chosen)
    if not lines.is_nick(chosen.nick):
        raise BadSettings(f"archive.irc.nick: {chosen.nick!r} is no nickname")
    if not chosen.channels:
        raise BadSettings("archive.irc.channels: at least one is needed, such as #archive")
    for channel in chosen.channels:
        name, *key = channel.split()
        if not lines.is_channel(name) or len(key) > 1:
            expected = "expected #NAME, or #NAME KEY"
            raise BadSettings(f"archive.irc.channels: {channel!r} is no channel; {expected}")
    secure = (trust(chosen.ca_file) or ssl.create_default_context()) if chosen.tls else None
    return Account(
        host=host,
        port=port,
        nick=chosen.nick,
        channels=chosen.channels,
        trust=secure,
        password=chosen.password,
    )


def _address(chosen: ArchiveIrc) -> tuple[str, int]:
    """Of `HOST`, `HOST:PORT` or `[IPV6]:PORT`."""
    text = chosen.server.strip()
    host, mark, port = text, "", ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        _, mark, port = rest.partition(":")
    elif text.count(":") == 1:
        host, mark, port = text.partition(":")
    usual = _TLS_PORT if chosen.tls else _PORT
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536
    if not host or (mark and not is_port):
        raise BadSettings(f"archive.irc.server: expected HOST or HOST:PORT, not {chosen.server!r}")
    return host, int(port) if mark else usual


async def _run(account: Account, context: Context) -> None:
    if account.password:
        logs.hide(account.password.reveal())
    while True:
        await enduring(
            lambda: patiently(lambda: _attempt(account, context)), "irc", "answer on IRC"
        )
        await asyncio.sleep(_LOOK_AGAIN)


async def _attempt(account: Account, context: Context) -> None:
    """Any number of processes may run the role; one of them is connected."""
    store = context.store

    async def answer(said: Said) -> list[str]:
        person = Person(
            name=said.nick,
            place=said.channel,
            is_op=said.rank is Rank.OP,
            is_voiced=said.rank >= Rank.VOICE,
        )
        settings = context.settings.archive
        return await chat.answer(store, settings, said.text, person, context.clock.now())

    with suppress(Refused, LockLost):
        async with locked(store, Crawls(store.prefix).irc(), _LEASE):
            await IrcBot(store, account, context.clock, answer, context.show_status).run()
    context.show_status("another process is connected")


ROLES = Several("irc", "obeys commands for the archive on IRC", roles)
