"""Jabber: messages to people and rooms, and the commands that they send back."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct, field
from msgspec.structs import replace

from watchbell import ids, logs
from watchbell.actors import in_chat
from watchbell.alerting import validation
from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, DeliveryFailed, Refused, StoreUnavailable
from watchbell.gateways.chat import Chat, ContactFinder, Speaker
from watchbell.gateways.commands import addressed
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form, Message
from watchbell.gateways.message_texts import finished, one_line
from watchbell.http.client import trust
from watchbell.settings import Port, Secret
from watchbell.store.client import Store

if TYPE_CHECKING:
    from watchbell.gateways.xmpp_client import Account, Received
    from watchbell.gateways.xmpp_connection import Connection

STYLE = "chat"
LONGEST = 8_000
"""Characters of a message; servers close the connection over much longer ones."""
_UNANSWERED = 100
_STRANGERS = 1_000


class RoomSpeaker(Struct, frozen=True):
    """Somebody who gives a command in a room."""

    name: str
    room: str
    is_moderator: bool
    is_member: bool


class RoomReply(Struct, frozen=True):
    text: str
    is_private: bool


RoomCommands = Callable[[str, RoomSpeaker], Awaitable[RoomReply | None]]
"""Answers lines in rooms that begin with `!`; None for those that are no commands."""


class Settings(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    jid: str
    """The address of the gateway itself."""
    password: Secret = field(default_factory=Secret)
    host: str = ""
    """The server's host; empty for a lookup in DNS."""
    port: Port = 0
    tls: Literal["required", "direct", "none"] = "required"
    """`direct` for TLS from the first byte; `none` only for a server on this machine."""
    ca_file: str = ""
    """Certificates to trust besides the system's."""
    rooms: tuple[str, ...] = ()
    alias: str = "watchbell"
    """The gateway's nickname in rooms."""
    identifiers: tuple[str, ...] = ()
    """Other names to which the gateway answers."""
    commands: Literal["contacts", "anyone", "off"] = "contacts"
    """Who may give commands: contacts and people in the rooms, everybody, or nobody."""
    timezone: str = "UTC"
    """The time zone of people who have none of their own."""


def open_medium(name: str, settings: Settings) -> "Jabber":
    return Jabber(name, settings)


def account(settings: Settings, nick: str) -> "Account":
    """Our account on the server; BadSettings where an address is wrong."""
    from watchbell.gateways.xmpp_client import Account, address  # noqa: PLC0415 slow to import

    try:
        for one in (settings.jid, *settings.rooms):
            address(one)
    except DeliveryFailed as error:
        raise BadSettings(str(error)) from None
    secure = settings.tls != "none"
    return Account(
        jid=settings.jid,
        password=settings.password,
        host=settings.host,
        port=settings.port,
        trust=(trust(settings.ca_file) or ssl.create_default_context()) if secure else None,
        direct=settings.tls == "direct",
        nick=nick,
        timeout=settings.timeout,
    )


class Jabber:
    def __init__(
        self, name: str, settings: Settings, pause: Callable[[int], float] | None = None
    ) -> None:
        from watchbell.gateways import xmpp  # noqa: PLC0415 slow to import
        from watchbell.gateways.xmpp_client import address  # noqa: PLC0415

        self.name, self.limits, self._settings = name, settings, settings
        self.form = Form(reply_prefix=f"{settings.alias}: ")
        self._address = address
        own = account(settings, settings.alias)
        self._rooms = tuple(map(address, settings.rooms))
        self._messages: asyncio.Queue[Received] = asyncio.Queue(_UNANSWERED)
        self._connections = xmpp.Reconnecting(own, self._receive, pause or xmpp.pause)
        self._zone = _zone(settings.timezone)
        self._contacts = ContactFinder(name, lambda text: address(text).partition("/")[0])
        self._refused: dict[str, None] = {}
        self.room_commands: RoomCommands | None = None
        """Set by whoever has commands for rooms besides ours."""
        self._log = logs.get(medium=name)

    async def send(self, message: Message) -> str:
        to = self._address(message.address)
        return await self._sent(to, message.text, one_line(message.id))

    async def _sent(self, to: str, text: str, name: str) -> str:
        connection: Connection | None = None
        received = 0
        text = finished(text, "text", LONGEST)
        try:
            async with asyncio.timeout(self.limits.timeout):
                connection = await self._connections.connection()
                received = connection.received
                if to in self._rooms:
                    return await connection.send_to_room(to, text, name)
                return await connection.send_to_person(to, text, name)
        except TimeoutError:
            if connection is not None and connection.received > received:
                raise DeliveryFailed(
                    f"{to} did not confirm it in {self.limits.timeout:g} s"
                ) from None
            if connection is not None:  # a connection that no longer answers
                connection.drop()
            reason = f"the Jabber server did not answer within {self.limits.timeout:g} s"
            raise DeliveryFailed(reason, unreachable=True) from None

    async def attend(self, store: Store) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._connections.keep(self._rooms))
            group.create_task(self._listen(store))

    def places(self) -> tuple[str, ...]:
        """The rooms, in which something may be announced."""
        return self._rooms

    async def announce(self, place: str, text: str) -> bool:
        """False if it could not be delivered now."""
        try:
            await self._sent(place, text, ids.token())
        except DeliveryFailed as error:
            self._log.warning("an announcement was not delivered", to=place, reason=str(error))
            return False
        return True

    async def close(self) -> None:
        await self._connections.close()

    def _receive(self, message: "Received") -> None:
        if self._settings.commands == "off" or message.is_ours:
            return
        with suppress(asyncio.QueueFull):  # nobody would read so many answers
            self._messages.put_nowait(message)

    async def _listen(self, store: Store) -> None:
        chat = Chat(store, self.name, (self._settings.alias, *self._settings.identifiers))
        while True:
            message = await self._messages.get()
            try:
                if await self._has_answered_room(chat, message):
                    continue
                answer = await self._answer(chat, store, message)
            except StoreUnavailable as error:
                self._log.warning("a command could not be carried out", reason=str(error))
                answer = "I can't reach the store right now. Please try again in a moment."
            except Exception:  # noqa: BLE001 logged; the next command may work
                self._log.exception("a command failed", by=message.sender)
                answer = "That failed; see my log for the reason."
            if answer:
                await self._reply(message, answer)

    async def _has_answered_room(self, chat: Chat, message: "Received") -> bool:
        """Whether the message was for `room_commands`."""
        is_meant = message.is_public and message.text.startswith("!") and not message.is_late
        if not is_meant or self.room_commands is None or message.bare not in self._rooms:
            return False
        if not await chat.is_first(message.sender, message.id or message.text):
            return True
        speaker = RoomSpeaker(
            name=one_line(message.nick, 100),
            room=message.bare,
            is_moderator=message.standing == "moderator",
            is_member=message.standing != "guest",
        )
        reply = await self.room_commands(message.text, speaker)
        if reply is not None:
            heard = replace(message, is_public=not reply.is_private)
            await self._reply(heard, reply.text)
        return True

    async def _answer(self, chat: Chat, store: Store, message: "Received") -> str:
        """The answer to a message, or nothing."""
        command = addressed(message.text, (*chat.names, message.to))
        if message.is_public and (command is None or message.is_late):
            return ""
        if not await chat.is_first(message.sender, message.id or message.text):
            return ""
        if message.is_late:
            return "I was offline when you sent that. Please send it again if you still want it."
        now = int(SYSTEM.now())
        speaker = await self._speaker(store, message, now)
        if speaker is None:
            return self._refusal(message.bare)
        return await chat.answer(message.text if command is None else command, speaker, now)

    async def _speaker(self, store: Store, message: "Received", now: int) -> Speaker | None:
        if message.bare in self._rooms:
            return Speaker(in_chat(one_line(message.nick, 100)), self._zone)
        contact = await self._contacts.find(store, message.bare, now)
        if contact is not None:
            return Speaker.of(contact, self._zone)
        if self._settings.commands == "anyone":
            return Speaker(in_chat(message.bare), self._zone)
        return None

    def _refusal(self, stranger: str) -> str:
        if stranger in self._refused:
            return ""
        self._refused[stranger] = None
        if len(self._refused) > _STRANGERS:
            del self._refused[next(iter(self._refused))]
        return (
            "I'm sorry, I only take commands from contacts with this address for "
            f"{self.name}, and from people in my rooms."
        )

    async def _reply(self, message: "Received", text: str) -> None:
        to = message.bare if message.is_public else message.sender
        text = f"{message.nick}: {text}" if message.is_public else text
        try:
            await self._sent(to, text, ids.token())
        except DeliveryFailed as error:
            self._log.warning("an answer was not delivered", to=to, reason=str(error))


def _zone(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(validation.zone_name("timezone", zone))
    except Refused as error:
        raise BadSettings(str(error)) from None
