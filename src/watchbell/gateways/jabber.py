"""Jabber: alerts to people and to rooms, and an ear for what they answer."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from msgspec import field

from watchbell import ids, logs
from watchbell.actors import in_chat
from watchbell.alerting import validation
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, DeliveryFailed, Refused, StoreUnavailable
from watchbell.gateways.chat import Acquaintances, Chat, Speaker
from watchbell.gateways.commands import addressed
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form, Message
from watchbell.gateways.message_texts import finished, one_line
from watchbell.http.client import trust
from watchbell.settings import Port, Secret
from watchbell.store.client import Store

if TYPE_CHECKING:
    from watchbell.gateways.xmpp import Line
    from watchbell.gateways.xmpp_client import Account, Heard
    from watchbell.gateways.xmpp_connection import Connection

STYLE = "chat"
LONGEST = 8_000
"""Characters of a message; what is much longer makes a server hang up."""
_UNANSWERED = 100
_STRANGERS = 1_000


class Settings(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    jid: str
    """Our own address."""
    password: Secret = field(default_factory=Secret)
    host: str = ""
    """Where the server is; without it, where DNS says."""
    port: Port = 0
    tls: Literal["required", "direct", "none"] = "required"
    """`direct` where a port speaks nothing but TLS; `none` is for this machine alone."""
    ca_file: str = ""
    """Certificates to trust besides the system's."""
    rooms: tuple[str, ...] = ()
    alias: str = "watchbell"
    """What we are called in rooms."""
    identifiers: tuple[str, ...] = ()
    """Other names to which we answer."""
    commands: Literal["contacts", "anyone", "off"] = "contacts"
    """Who may command us: contacts and whoever is in our rooms, everybody, or nobody."""
    timezone: str = "UTC"
    """Of times as they are said and shown, for those who have none of their own."""


def open_medium(name: str, chosen: Settings) -> "Jabber":
    return Jabber(name, chosen)


def account(name: str, chosen: Settings, nick: str) -> "Account":
    """Who we are on the server; BadSettings where that can't be anybody."""
    from watchbell.gateways.xmpp_client import Account, address  # noqa: PLC0415 slow to import

    try:
        for one in (chosen.jid, *chosen.rooms):
            address(one)
    except DeliveryFailed as error:
        raise BadSettings(f"gateways.{name}: {error}") from None
    secure = chosen.tls != "none"
    return Account(
        jid=chosen.jid,
        password=chosen.password,
        host=chosen.host,
        port=chosen.port,
        trust=(trust(chosen.ca_file) or ssl.create_default_context()) if secure else None,
        direct=chosen.tls == "direct",
        nick=nick,
        timeout=chosen.timeout,
    )


class Jabber:
    def __init__(
        self, name: str, chosen: Settings, pause: Callable[[int], float] | None = None
    ) -> None:
        from watchbell.gateways import xmpp  # noqa: PLC0415 slow to import
        from watchbell.gateways.xmpp_client import address  # noqa: PLC0415

        self.name, self.limits, self._chosen = name, chosen, chosen
        self.form = Form(reply_prefix=f"{chosen.alias}: ")
        self._address = address
        own = account(name, chosen, chosen.alias)
        self._rooms = tuple(map(address, chosen.rooms))
        self._heard: asyncio.Queue[Heard] = asyncio.Queue(_UNANSWERED)
        self._line: Line = xmpp.Line(own, self._hear, pause or xmpp.pause)
        self._zone = _zone(name, chosen.timezone)
        self._acquaintances = Acquaintances(name, lambda text: address(text).partition("/")[0])
        self._refused: dict[str, None] = {}
        self._log = logs.get(medium=name)

    async def send(self, message: Message) -> str:
        to = self._address(message.address)
        return await self._sent(to, message.text, one_line(message.id))

    async def _sent(self, to: str, text: str, name: str) -> str:
        connection: Connection | None = None
        heard = 0
        text = finished(text, "text", LONGEST)
        try:
            async with asyncio.timeout(self.limits.timeout):
                connection = await self._line.connection()
                heard = connection.heard
                if to in self._rooms:
                    return await connection.say(to, text, name)
                return await connection.tell(to, text, name)
        except TimeoutError:
            if connection is not None and connection.heard > heard:
                raise DeliveryFailed(
                    f"{to} did not confirm it in {self.limits.timeout:g} s"
                ) from None
            if connection is not None:  # a connection that says nothing any more
                connection.drop()
            reason = f"the Jabber server did not answer within {self.limits.timeout:g} s"
            raise DeliveryFailed(reason, unreachable=True) from None

    async def attend(self, store: Store) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._line.keep(self._rooms))
            group.create_task(self._listen(store))

    async def close(self) -> None:
        await self._line.close()

    def _hear(self, heard: "Heard") -> None:
        if self._chosen.commands == "off" or heard.is_ours:
            return
        with suppress(asyncio.QueueFull):  # nobody reads so many answers
            self._heard.put_nowait(heard)

    async def _listen(self, store: Store) -> None:
        chat = Chat(store, self.name, (self._chosen.alias, *self._chosen.identifiers))
        while True:
            heard = await self._heard.get()
            try:
                answer = await self._answer(chat, store, heard)
            except StoreUnavailable as error:
                self._log.warning("a command can't be carried out", reason=str(error))
                answer = "The store is away just now; say it again in a moment."
            except Exception:  # noqa: BLE001 told here; the next one may be understood
                self._log.exception("failed over what was said", by=heard.sender)
                answer = "I failed over that; my log says why."
            if answer:
                await self._reply(heard, answer)

    async def _answer(self, chat: Chat, store: Store, heard: "Heard") -> str:
        """What is to be said to it, or nothing."""
        said = addressed(heard.text, (*chat.names, heard.to))
        if heard.is_public and (said is None or heard.is_late):
            return ""
        if not await chat.is_first(heard.sender, heard.id or heard.text):
            return ""
        if heard.is_late:
            return "I was away when you said that; say it again, if it still holds."
        now = int(SYSTEM.now())
        speaker = await self._speaker(store, heard, now)
        if speaker is None:
            return self._refusal(heard.bare)
        return await chat.answer(heard.text if said is None else said, speaker, now)

    async def _speaker(self, store: Store, heard: "Heard", now: int) -> Speaker | None:
        if heard.bare in self._rooms:
            return Speaker(in_chat(one_line(heard.nick, 100)), self._zone)
        contact = await self._acquaintances.find(store, heard.bare, now)
        if contact is not None:
            return Speaker.of(contact, self._zone)
        if self._chosen.commands == "anyone":
            return Speaker(in_chat(heard.bare), self._zone)
        return None

    def _refusal(self, stranger: str) -> str:
        if stranger in self._refused:
            return ""
        self._refused[stranger] = None
        if len(self._refused) > _STRANGERS:
            del self._refused[next(iter(self._refused))]
        return (
            "I'm sorry, I only listen to people whom I know: contacts with this address for "
            f"{self.name}, and whoever is in my rooms."
        )

    async def _reply(self, heard: "Heard", text: str) -> None:
        to = heard.bare if heard.is_public else heard.sender
        text = f"{heard.nick}: {text}" if heard.is_public else text
        try:
            await self._sent(to, text, ids.token())
        except DeliveryFailed as error:
            self._log.warning("an answer was not delivered", to=to, reason=str(error))


def _zone(name: str, zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(validation.zone_name("timezone", zone))
    except Refused as error:
        raise BadSettings(f"gateways.{name}: {error}") from None
