"""One Jabber connection, from opening to its end: sends with confirmation, and receives."""

import asyncio
import os
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from xml.etree import ElementTree as ET

from slixmpp import JID
from slixmpp.exceptions import XMPPError
from slixmpp.plugins.xep_0004 import Form
from slixmpp.plugins.xep_0198.stanza import RequestAck

from watchbell import logs
from watchbell.errors import DeliveryFailed
from watchbell.gateways.message_texts import one_line
from watchbell.gateways.xmpp_client import Account, Client, Received, Standing

_NICKS = 3
_MEMBERS = ("owner", "admin", "member")
_HEARD = ("chat", "normal", "groupchat")
_NEW = "made"
_BY_A_PROGRAM = "{urn:watchbell:said}by-a-program"
"""Marks our messages, so that two gateways never answer each other."""
_LONGEST_REASON = 300
_MEANINGS = {
    "forbidden": "we are not allowed to do that",
    "gone": "the address is no longer in use",
    "item-not-found": "there is no such address",
    "not-acceptable": "we are not in the room",
    "not-authorized": "a password is required",
    "registration-required": "only members may enter",
    "remote-server-not-found": "the server of the address can't be found",
    "service-unavailable": "nobody accepts messages at this address",
}


class Connection:
    def __init__(self, account: Account, receive: Callable[[Received], None]) -> None:
        self._account, self._receive = account, receive
        self._waiting: dict[tuple[str, ...], asyncio.Future[str]] = {}
        self._nicks: dict[str, str] = {}
        self._standings: dict[str, Standing] = {}
        """By the address of somebody in a room; guests are left out."""
        self._entering: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._why = ""
        self.ended = asyncio.Event()
        self._client = Client(account, lambda: self._end("it can't be reached"))
        for event, handle in {
            "connection_failed": self._on_refused,
            "ssl_invalid_chain": lambda error: self._end(_reason(error)),
            "failed_auth": self._on_refused_password,
            "failed_all_auth": self._on_no_way_in,
            "stream_negotiated": self._on_opened,
            "stream_error": self._on_stream_error,
            "disconnected": lambda why: self._end(_reason(why) or "the connection was closed"),
            "stanza_acked": self._on_accepted,
            "message": self._on_message,
            "message_error": self._on_message_error,
            "groupchat_presence": self._on_presence,
            "presence_error": self._on_presence_error,
        }.items():
            self._client.add_event_handler(event, handle)

    async def open(self) -> None:
        """Raises DeliveryFailed where it can't be opened; it can't be used after that."""
        try:
            with self._awaited("open") as opened:
                attempt = self._client.connect(*self._account.address)
                attempt.add_done_callback(self._on_attempted)
                async with asyncio.timeout(self._account.timeout):
                    await opened
        except TimeoutError:
            self._end(f"it does not answer within {self._account.timeout:g} s")
            raise self.loss() from None
        except BaseException:
            self._end("the attempt was broken off")
            raise
        self._client.send_presence()

    async def send_to_person(self, to: str, text: str, name: str) -> str:
        """Sends a message with the id `name`; returns once the server has accepted it."""
        key = ("sent", JID(to).bare, name)
        with self._awaited(*key) as outcome:
            self._send(to, text, name, "chat")
            # The server answers in order, so an answer means that it has accepted the message.
            self._ask(lambda _: self._settle(key, f"accepted by {self._account}"))
            return await outcome

    async def send_to_room(self, room: str, text: str, name: str) -> str:
        """The same for a room, which confirms a message by repeating it to everybody."""
        try:
            return await self._said(room, text, name)
        except _NotInside:  # the room has forgotten us, perhaps because it was made anew
            return await self._said(room, text, name)

    async def _said(self, room: str, text: str, name: str) -> str:
        await self.enter(room)
        with self._awaited("sent", room, name) as outcome:
            self._send(room, text, name, "groupchat")
            self._ask()  # distinguishes a silent room from a silent server
            return await outcome

    async def enter(self, room: str) -> None:
        async with self._entering[room]:
            for number in range(1, _NICKS + 1):
                if room in self._nicks:
                    return
                nick = self._account.nick + (f"-{number}" if number > 1 else "")
                with suppress(_NickTaken):
                    await self._enter(room, nick)
        if room not in self._nicks:
            raise DeliveryFailed(f"the nick {self._account.nick} is taken in the room {room}")

    async def _enter(self, room: str, nick: str) -> None:
        with self._awaited("enter", room) as entered:
            rooms = self._client.plugin["xep_0045"]
            rooms.make_join_stanza(JID(room), nick, maxstanzas=0).send()
            self._ask()
            try:
                async with asyncio.timeout(self._account.timeout):
                    if await entered == _NEW:
                        await self._unlock(room)
            except TimeoutError:
                raise DeliveryFailed(f"the room {room} does not answer") from None

    async def _unlock(self, room: str) -> None:
        """A room that we have just created lets nobody in until it is configured."""
        form = Form()  # type: ignore[no-untyped-call]
        with suppress(XMPPError):  # then it has the server's defaults
            await self._client.plugin["xep_0045"].set_room_config(
                JID(room), form, timeout=self._account.timeout
            )

    async def ping(self) -> None:
        """Ends the connection and raises DeliveryFailed where the server does not answer."""
        try:
            with self._awaited("ping") as answered:
                self._ping(lambda _: self._settle(("ping",), ""))
                async with asyncio.timeout(self._account.timeout):
                    await answered
        except TimeoutError:
            self._end("it no longer answers")
            raise self.loss() from None

    @property
    def received(self) -> int:
        """Counts what comes from the server."""
        return self._client.received

    def drop(self) -> None:
        self._end("it no longer answers")

    def loss(self) -> DeliveryFailed:
        reason = f"the Jabber server {self._account} can't be used: {self._why}"
        reason = reason.replace(self._account.password.reveal() or reason, "***")
        return DeliveryFailed(one_line(reason, _LONGEST_REASON), unreachable=True)

    async def close(self) -> None:
        if not self.ended.is_set():
            await self._client.disconnect(wait=1.0)
        self._end("it was closed")

    def _send(self, to: str, text: str, name: str, kind: Any) -> None:
        stanza = self._client.make_message(mto=JID(to), mbody=text, mtype=kind)
        stanza["id"] = stanza["origin_id"]["id"] = name
        stanza.append(ET.Element(_BY_A_PROGRAM))
        stanza.send()

    def _ask(self, on_answer: Callable[[Any], object] | None = None) -> None:
        """Asks the server for an acknowledgement (`_on_accepted`), or for any answer."""
        if self._client.confirms:
            self._client.send(RequestAck(self._client))
        else:
            self._ping(on_answer)

    def _ping(self, on_answer: Callable[[Any], object] | None) -> None:
        """An error is an answer, too."""
        ping = self._client.plugin["xep_0199"].send_ping(
            JID(self._client.boundjid.domain), timeout=self._account.timeout, callback=on_answer
        )
        ping.add_done_callback(lambda done: done.cancelled() or done.exception())

    @contextmanager
    def _awaited(self, *key: str) -> Iterator[asyncio.Future[str]]:
        if self.ended.is_set():
            raise self.loss()
        if key in self._waiting:
            raise DeliveryFailed("it is being sent already")
        outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[key] = outcome
        try:
            yield outcome
        finally:
            del self._waiting[key]
            if outcome.done() and not outcome.cancelled():
                outcome.exception()  # else it would be logged as never retrieved

    def _settle(self, key: tuple[str, ...], result: str | DeliveryFailed) -> bool:
        """Whether somebody was waiting for the result."""
        outcome = self._waiting.get(key)
        if outcome is None or outcome.done():
            return False
        if isinstance(result, DeliveryFailed):
            outcome.set_exception(result)
        else:
            outcome.set_result(result)
        return True

    def _end(self, reason: str) -> None:
        if self.ended.is_set():
            return
        self._why = self._why or reason
        self.ended.set()
        for key in list(self._waiting):
            self._settle(key, self.loss())
        self._client.discard()

    def _on_attempted(self, attempt: asyncio.Future[Any]) -> None:
        if not attempt.cancelled() and (error := attempt.exception()) is not None:
            self._end(_reason(error))

    def _on_refused(self, error: OSError | str) -> None:
        self._why = _reason(error)

    def _on_refused_password(self, failure: Any) -> None:
        self._why = f"it refuses our name and password: {failure['text'] or failure['condition']}"

    def _on_no_way_in(self, _: object) -> None:
        clear = self._account.trust is not None and not self._client.is_encrypted
        self._end("it offers no TLS" if clear else "it offers no login method that we know")

    def _on_stream_error(self, error: Any) -> None:
        self._why = f"it reported {error['condition']} {error['text']}".strip()

    def _on_opened(self, _: object) -> None:
        if self._account.trust is not None and not self._client.is_encrypted:
            self._end("it offers no TLS")
        elif not self._client.bound:
            self._end("it requires TLS")
        else:
            self._why = ""
            self._settle(("open",), "")

    def _on_accepted(self, stanza: Any) -> None:
        if stanza.name == "message" and stanza["type"] == "chat":
            key = ("sent", stanza["to"].bare, stanza["id"])
            self._settle(key, f"acknowledged by {self._account}")

    def _on_message(self, stanza: Any) -> None:
        sender, kind = stanza["from"], stanza["type"]
        if kind == "groupchat" and sender.resource == self._nicks.get(sender.bare):
            for name in (stanza["id"], stanza["origin_id"]["id"]):
                self._settle(("sent", sender.bare, name), f"repeated by the room {sender.bare}")
        elif sender.user and (sender.resource or kind != "groupchat") and kind in _HEARD:
            self._receive(
                Received(
                    id=stanza["id"],
                    text=stanza["body"],
                    sender=str(sender),
                    to=self._nicks.get(sender.bare, ""),
                    is_public=kind == "groupchat",
                    is_late=stanza.get_plugin("delay", check=True) is not None,
                    is_ours=stanza.xml.find(_BY_A_PROGRAM) is not None,
                    standing=self._standings.get(str(sender), "guest"),
                )
            )

    def _on_message_error(self, stanza: Any) -> None:
        sender, error = stanza["from"].bare, stanza["error"]
        failure: DeliveryFailed = _refusal(sender, error)
        if error["condition"] == "not-acceptable":
            self._nicks.pop(sender, None)
            failure = _NotInside(str(failure), permanent=True)
        if not self._settle(("sent", sender, stanza["id"]), failure):
            logs.get().warning("refused after acceptance", id=stanza["id"], reason=str(failure))

    def _on_presence(self, stanza: Any) -> None:
        room, nick = stanza["from"].bare, stanza["from"].resource
        self._note_standing(stanza)
        if 110 not in stanza["muc"]["status_codes"]:  # somebody else's
            return
        if stanza["type"] == "unavailable":
            self._nicks.pop(room, None)
        else:
            self._nicks[room] = nick
            made = 201 in stanza["muc"]["status_codes"]
            self._settle(("enter", room), _NEW if made else "entered")

    def _note_standing(self, stanza: Any) -> None:
        person, place = str(stanza["from"]), stanza["muc"]
        self._standings.pop(person, None)
        if stanza["type"] == "unavailable":
            return
        if place["role"] == "moderator":
            self._standings[person] = "moderator"
        elif place["affiliation"] in _MEMBERS:
            self._standings[person] = "member"

    def _on_presence_error(self, stanza: Any) -> None:
        room, error = stanza["from"].bare, stanza["error"]
        failure = _refusal(room, error)
        if error["condition"] == "conflict":
            failure = _NickTaken(str(failure))
        elif error["condition"] == "item-not-found":  # as of a room that is just being made
            failure = DeliveryFailed(str(failure))
        self._settle(("enter", room), failure)


class _NickTaken(DeliveryFailed):
    """Somebody in the room has our name."""


class _NotInside(DeliveryFailed):
    """The room does not know us, though we had entered it."""


def _reason(reason: object) -> str:
    """The reason why a connection ended, for people."""
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate can't be trusted: {reason.verify_message}"
    if isinstance(reason, ssl.SSLError):
        return f"it does not speak TLS as we do: {reason.reason}"
    if isinstance(reason, OSError) and (reason.errno or 0) > 0:
        return os.strerror(reason.errno or 0)
    return str(reason or "")


def _refusal(sender: str, error: Any) -> DeliveryFailed:
    condition = error["condition"]
    meaning = _MEANINGS.get(condition)
    words = " ".join(filter(None, [f"{meaning}:" if meaning else "", condition, error["text"]]))
    permanent = error["type"] != "wait"
    return DeliveryFailed(one_line(f"{sender}: {words}", _LONGEST_REASON), permanent=permanent)
