"""Mail by SMTP, over a few connections that are kept open."""

import asyncio
import base64
import re
import socket
import ssl
from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated, Literal, NamedTuple

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)
from msgspec import Meta, field

from watchbell.clock import SYSTEM
from watchbell.errors import BadSettings, DeliveryFailed
from watchbell.gateways import mime
from watchbell.gateways.medium import SendLimits
from watchbell.gateways.message import Form, Message
from watchbell.gateways.message_texts import one_line
from watchbell.ids import token
from watchbell.settings import Port, Secret
from watchbell.store.client import Store

STYLE = "mail"

_PORTS = {"none": 25, "auto": 25, "starttls": 587, "tls": 465}
_STARTTLS = {"none": False, "auto": None, "starttls": True, "tls": False}
_IDLE, _LOOK, _GOODBYE = 30.0, 10.0, 2.0
"""Seconds for which an unused connection is kept, between looks at them, to say good-bye."""
_CLOSING, _TOO_BIG = 421, 552
_LONGEST, _LONGEST_ANSWER = 300, 1_000
"""Characters that are told of what a server says to one thing, and to all."""


class Settings(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    host: Annotated[str, Meta(pattern=r"^[^\s/@]+$")] = "localhost"
    port: Port = 0
    """0 for the usual one: 25, with `starttls` 587, with `tls` 465."""
    tls: Literal["auto", "none", "starttls", "tls"] = "auto"
    """`auto` is STARTTLS where the server offers it; `tls` is TLS from the first byte."""
    verify: bool = True
    """Whether the server's certificate has to be right; with `auto`, not on this very machine."""
    ca_file: str = ""
    """Certificates to trust in place of the system's."""
    user: str = ""
    password: Secret = field(default_factory=Secret)
    from_address: str = ""
    """Who sends, `ADDRESS` or `NAME <ADDRESS>`; empty for watchbell@ this machine's name."""
    reply_to: str = ""
    hello: Annotated[str, Meta(pattern=r"^[!-~]*$")] = ""
    """The name by which we greet the server; empty for this machine's."""


def open_medium(name: str, chosen: Settings) -> "Email":
    return Email(name, chosen)


class Stage(StrEnum):
    """How far a mail came, as what the server is doing with it."""

    CONNECTING = "the connection"
    SENDER = "the sender"
    RECIPIENTS = "the recipients"
    CONTENT = "the mail"


class Email:
    form = Form(parts=("subject", "text", "html"))

    def __init__(self, name: str, chosen: Settings) -> None:
        self.limits: SendLimits = chosen
        host = chosen.hello if chosen.hello and chosen.from_address else _own_name()
        sender = chosen.from_address or f"Watchbell <watchbell@{host}>"
        self._sender = _checked(name, "from_address", sender)
        self._reply_to = chosen.reply_to and _checked(name, "reply_to", chosen.reply_to).address
        self._pool = Pool(name, chosen, chosen.hello or host)

    async def send(self, message: Message) -> str:
        good, bad = mime.recipients(message.address)
        content = mime.composed(
            message, good, self._sender, self._reply_to, SYSTEM.now(), f"=_{token()}"
        )
        attempt = Attempt(self._pool, Envelope(self._sender.address, good, content))
        try:
            async with asyncio.timeout(self.limits.timeout):
                answer = await attempt.hand_over()
        except TimeoutError:
            said = f"gave no answer about {attempt.stage} within {self.limits.timeout:g} s"
            raise self._pool.failure(said, unreachable=attempt.stage is Stage.CONNECTING) from None
        refused = {**bad, **attempt.refused}
        told = (f"refused: {one} ({why})" for one, why in refused.items())
        return one_line("; ".join([answer, *told]), _LONGEST_ANSWER)

    async def attend(self, store: Store) -> None:  # noqa: ARG002
        while True:
            await asyncio.sleep(_LOOK)
            await self._pool.part(SYSTEM.monotonic() - _IDLE)

    async def close(self) -> None:
        await self._pool.part(SYSTEM.monotonic())


class Envelope(NamedTuple):
    sender: str
    recipients: list[str]
    content: bytes


class Kept(NamedTuple):
    smtp: SMTP
    since: float
    soiled: bool
    """It holds what is left of a mail that was refused."""


class Attempt:
    """One mail on its way."""

    def __init__(self, pool: "Pool", envelope: Envelope) -> None:
        self._pool, self._envelope = pool, envelope
        self.stage = Stage.CONNECTING
        self.refused: dict[str, str] = {}
        """Recipients that the server did not take, and what it said."""

    async def hand_over(self) -> str:
        """What the server said when it took the mail."""
        try:
            smtp = await self._resumed() or await self._fresh()
            return await self._given_to(smtp)
        except SMTPServerDisconnected:
            raise self._pool.failure(f"hung up over {self.stage}") from None
        except SMTPResponseException as error:
            permanent, unreachable = verdict(self.stage, error.code)
            said = f"refuses {self.stage}: {error.code} {error.message}"
            raise self._pool.failure(said, permanent=permanent, unreachable=unreachable) from None

    async def _resumed(self) -> SMTP | None:
        """A kept connection that has taken the sender."""
        while (kept := self._pool.kept()) is not None:
            if await self._serves(kept):
                return kept.smtp
        return None

    async def _serves(self, kept: Kept) -> bool:
        """That a connection has died since it was used is no failure of this mail."""
        try:
            async with asyncio.timeout(self._pool.patience):
                if kept.soiled:
                    await kept.smtp.rset()
                await self._offer(kept.smtp)
        except BaseException as error:
            kept.smtp.close()
            if isinstance(error, TimeoutError):
                self._pool.drop()  # the others were quiet for longer
            is_refusal = isinstance(error, SMTPSenderRefused) and error.code != _CLOSING
            if is_refusal or not isinstance(error, SMTPException | TimeoutError):
                raise
            return False
        return True

    async def _fresh(self) -> SMTP:
        self.stage = Stage.CONNECTING
        smtp = await self._pool.connected()
        try:
            await self._offer(smtp)
        except BaseException:
            smtp.close()
            raise
        return smtp

    async def _given_to(self, smtp: SMTP) -> str:
        try:
            self.stage = Stage.RECIPIENTS
            await self._address(smtp)
            self.stage = Stage.CONTENT
            said = await smtp.data(self._envelope.content)
        except (SMTPResponseException, DeliveryFailed):
            self._pool.keep(smtp, soiled=True)
            raise
        except BaseException:
            smtp.close()
            raise
        self._pool.keep(smtp)
        return self._pool.shown(f"{said.code} {said.message}")

    async def _offer(self, smtp: SMTP) -> None:
        self.stage = Stage.SENDER
        envelope = self._envelope
        options = [f"SIZE={len(envelope.content)}"] if smtp.supports_extension("size") else []
        if not envelope.content.isascii():  # which is so for the sake of an address only
            if not smtp.supports_extension("smtputf8"):
                raise self._pool.failure("takes only addresses in ASCII", permanent=True)
            options += ["SMTPUTF8", "BODY=8BITMIME"]
        await smtp.mail(envelope.sender, options=options, encoding="utf-8")

    async def _address(self, smtp: SMTP) -> None:
        """Names the recipients; one that is taken is enough."""
        codes = []
        for recipient in self._envelope.recipients:
            try:
                await smtp.rcpt(recipient, encoding="utf-8")
            except SMTPRecipientRefused as error:
                if error.code == _CLOSING:
                    raise
                codes.append(error.code)
                self.refused[recipient] = self._pool.shown(f"{error.code} {error.message}")
        if len(codes) == len(self._envelope.recipients):
            told = "; ".join(f"{one}: {why}" for one, why in self.refused.items())
            raise self._pool.failure(f"refuses {told}", permanent=min(codes) >= 500)


def verdict(stage: Stage, code: int) -> tuple[bool, bool]:
    """Whether a refusal is for good, and whether it tells of the server and not of the mail."""
    lasting = code >= 500
    if code == _CLOSING or stage is Stage.CONNECTING:
        return False, True
    if stage is Stage.SENDER and code != _TOO_BIG:  # it would refuse every mail of ours
        return False, lasting
    return lasting, False


class Pool:
    """Connections to the server: those that are used belong to their users, the others wait."""

    def __init__(self, name: str, chosen: Settings, hello: str) -> None:
        self._chosen, self._hello = chosen, hello
        self._port = chosen.port or _PORTS[chosen.tls]
        self._is_near = _is_loopback(chosen.host)
        self._context = _context(name, chosen, is_near=self._is_near)
        self._password = chosen.password.reveal()
        if bool(chosen.user) != bool(self._password):
            raise BadSettings(f"gateways.{name}: user and password go together; one is missing")
        self._secrets = _spellings(chosen.user, self._password)
        self._kept: list[Kept] = []
        self.server = f"{chosen.host}:{self._port}"
        self.patience = chosen.timeout / 4
        """Seconds that a kept connection has to show that it lives."""

    def kept(self) -> Kept | None:
        """The one that was used last, if there is any that is open."""
        while self._kept:
            if (kept := self._kept.pop()).smtp.is_connected:
                return kept
        return None

    def keep(self, smtp: SMTP, *, soiled: bool = False) -> None:
        if smtp.is_connected:
            self._kept.append(Kept(smtp, SYSTEM.monotonic(), soiled))

    def drop(self) -> None:
        while (kept := self.kept()) is not None:
            kept.smtp.close()

    async def part(self, used_before: float) -> None:
        """Says good-bye over the connections that were not used since."""
        for kept in [kept for kept in self._kept if kept.since <= used_before]:
            if kept in self._kept:  # nobody took it while another was seen off
                self._kept.remove(kept)
                await self._see_off(kept.smtp)

    async def _see_off(self, smtp: SMTP) -> None:
        try:
            async with asyncio.timeout(_GOODBYE):
                await smtp.quit()
        except (SMTPException, TimeoutError):
            pass
        finally:
            smtp.close()

    async def connected(self) -> SMTP:
        chosen = self._chosen
        smtp = SMTP(
            hostname=chosen.host,
            port=self._port,
            local_hostname=self._hello,
            timeout=None,
            use_tls=chosen.tls == "tls",
            start_tls=_STARTTLS[chosen.tls],
            tls_context=self._context,
        )
        try:
            await self._greet(smtp)
        except SMTPAuthenticationError as error:
            said = f"refuses the login of {chosen.user}: {error.code} {error.message}"
            raise self.failure(said, unreachable=True) from None
        except SMTPResponseException as error:
            said = f"answers {error.code} {error.message}"
            raise self.failure(said, unreachable=True) from None
        except (SMTPException, OSError, UnicodeError) as error:
            said = f"can't be used: {error.__cause__ or error}"
            raise self.failure(said, unreachable=True) from None
        return smtp

    async def _greet(self, smtp: SMTP) -> None:
        try:
            await smtp.connect()
            if self._password:
                self._check_privacy(smtp)
                await smtp.login(self._chosen.user, self._password)
            if smtp.is_ehlo_or_helo_needed:
                await smtp.ehlo()
        except BaseException:
            smtp.close()
            raise

    def _check_privacy(self, smtp: SMTP) -> None:
        """Whoever stands between could hide from us that the server knows TLS."""
        is_private = smtp.get_transport_info("sslcontext") is not None or self._is_near
        if not is_private and self._chosen.tls != "none":
            raise SMTPException(
                "it offers no TLS, and the password is not sent in the clear; "
                "tls = 'none' would allow that"
            )

    def failure(
        self, said: str, *, permanent: bool = False, unreachable: bool = False
    ) -> DeliveryFailed:
        told = self.shown(f"{self.server} {said}")
        return DeliveryFailed(told, permanent=permanent, unreachable=unreachable)

    def shown(self, said: str) -> str:
        for secret in self._secrets:
            said = said.replace(secret, "***")
        return one_line(said, _LONGEST)


def _spellings(user: str, password: str) -> list[str]:
    """The password as it is, and as it goes to the server, which may repeat it."""
    spoken = (password, f"\0{user}\0{password}")
    return [password, *(base64.b64encode(one.encode()).decode() for one in spoken)] * bool(password)


def _context(name: str, chosen: Settings, *, is_near: bool) -> ssl.SSLContext | None:
    if chosen.tls == "none":
        return None
    try:
        context = ssl.create_default_context(cafile=chosen.ca_file or None)
    except OSError as error:
        raise BadSettings(f"gateways.{name}: ca_file can't be used: {error}") from None
    # A mail server on this machine mostly has a certificate that it made itself, and nobody
    # stands between.
    if not chosen.verify or (chosen.tls == "auto" and is_near):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_name() -> str:
    name = socket.gethostname()
    name = name if "." in name else socket.getfqdn()
    return re.sub("[^A-Za-z0-9.-]", "-", name).strip(".-") or "localhost"


def _checked(name: str, setting: str, value: str) -> mime.Mailbox:
    try:
        return mime.mailbox(value)
    except ValueError as error:
        raise BadSettings(f"gateways.{name}: {setting} is {value!r}: {error}") from None
