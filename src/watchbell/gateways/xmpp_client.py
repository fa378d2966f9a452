"""The Jabber library, wrapped: accounts, addresses, received messages, a client for one use."""

import logging
import ssl
from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from slixmpp import JID, ClientXMPP, InvalidJID

from watchbell import logs
from watchbell.errors import DeliveryFailed
from watchbell.gateways.message_texts import one_line
from watchbell.settings import Secret

PORT = 5222

# It logs passwords; failures are reported by us.
_library = logging.getLogger("slixmpp")
_library.addHandler(logging.NullHandler())
_library.setLevel(logging.CRITICAL)
_library.propagate = False


class Account(Struct, frozen=True, kw_only=True):
    jid: str
    password: Secret
    host: str = ""
    """The server's host; empty for a lookup in DNS."""
    port: int = 0
    trust: ssl.SSLContext | None = None
    """Which certificates to trust; None for a connection without TLS."""
    direct: bool = False
    """Whether TLS starts with the first byte."""
    nick: str = "watchbell"
    timeout: float = 10.0

    @property
    def address(self) -> tuple[str, int] | tuple[None, None]:
        if not self.host and not self.port:
            return None, None
        return self.host or JID(self.jid).domain, self.port or PORT

    def __str__(self) -> str:
        host, port = self.address
        return f"{JID(self.jid).domain} at {host}:{port}" if host else JID(self.jid).domain


Standing = Literal["guest", "member", "moderator"]


class Received(Struct, frozen=True, kw_only=True):
    id: str
    """The sender's id of the message; may be empty."""
    text: str
    sender: str
    """The full address; in a room, the room's with the nick."""
    to: str
    """Our nick in that room, or empty."""
    is_public: bool
    """Whether it was sent to everybody in a room."""
    is_late: bool
    """Whether it was sent while we were offline."""
    is_ours: bool
    """Whether a Watchbell sent it, this one or another."""
    standing: Standing = "guest"
    """Of the sender in that room."""

    @property
    def bare(self) -> str:
        return str(JID(self.sender).bare)

    @property
    def nick(self) -> str:
        return str(JID(self.sender).resource)


def address(text: str) -> str:
    """An address in its normal form."""
    try:
        found = JID(text.strip())
    except (InvalidJID, ValueError):
        found = None
    if found is None or not found.user or not found.domain:
        shown = one_line(text, 100)
        raise DeliveryFailed(
            f"{shown!r} is not a Jabber address; expected NAME@SERVER", permanent=True
        )
    return str(found)


class Client(ClientXMPP):
    """The library's client, kept from reconnecting by itself: it would then send what it could not
    send before, which others have sent again since."""

    def __init__(self, account: Account, on_give_up: Callable[[], None]) -> None:
        bare = account.trust is None
        allowed = ("unencrypted_plain", "unencrypted_scram") if bare else ()
        super().__init__(
            account.jid,
            account.password.reveal(),
            plugin_config={"feature_mechanisms": dict.fromkeys(allowed, True)},
            ssl_context=account.trust or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        )
        self._on_give_up = on_give_up
        self.received = 0
        self.enable_plaintext = bare
        self.enable_starttls = not bare and not account.direct
        # Without a configured address, DNS decides between the two.
        self.enable_direct_tls = account.direct or (not bare and not any(account.address))
        self.auto_subscribe = False  # others may see our presence; we don't ask for theirs
        self.register_plugin("xep_0045")
        self.register_plugin("xep_0198", {"window": 1 << 31, "allow_resume": False})
        self.register_plugin("xep_0199")
        self.register_plugin("xep_0359")

    @property
    def is_encrypted(self) -> bool:
        return (
            self.transport is not None and self.transport.get_extra_info("ssl_object") is not None
        )

    @property
    def confirms(self) -> bool:
        """Whether the server acknowledges stanzas."""
        return "stream_management" in self.features

    def data_received(self, data: bytes | str) -> None:
        self.received += 1
        super().data_received(data)

    def reschedule_connection_attempt(self) -> None:
        self._on_give_up()

    def reconnect(self, wait: float = 2.0, reason: str = "") -> None:  # noqa: ARG002
        self.abort()

    def exception(self, exception: Exception) -> None:
        logs.get().error("an error in a Jabber connection", exc_info=exception)

    def discard(self) -> None:
        self.cancel_connection_attempt()
        self.abort()
        for name in list(self.scheduled_events):
            self.cancel_schedule(name)
        if self._run_out_filters is not None:
            self._run_out_filters.cancel()
