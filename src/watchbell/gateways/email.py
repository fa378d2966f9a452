"""Mail by SMTP, over connections that are kept open for a while."""

import asyncio
import base64
import errno
import os
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
"""Seconds that an unused connection is kept, between checks for such, and for QUIT."""
_CLOSING, _TOO_BIG = 421, 552
_LONGEST, _LONGEST_ANSWER = 300, 1_000
"""Characters that are kept of one reply of the server, and of all together."""


class Settings(SendLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    host: Annotated[str, Meta(pattern=r"^[^\s/@]+$")] = "localhost"
    port: Port = 0
    """0 for the default: 25, with `starttls` 587, with `tls` 465."""
    tls: Literal["auto", "none", "starttls", "tls"] = "auto"
    """`auto` is STARTTLS where the server offers it; `tls` is TLS from the first byte."""
    verify: bool = True
    """Whether to verify the server's certificate; `auto` never does on this machine."""
    ca_file: str = ""
    """Certificates to trust instead of the system's."""
    user: str = ""
    password: Secret = field(default_factory=Secret)
    from_address: str = ""
    """The sender, `ADDRESS` or `NAME <ADDRESS>`; empty for watchbell@ this machine's name."""
    reply_to: str = ""
    hello: Annotated[str, Meta(pattern=r"^[!-~]*$")] = ""
    """The host name sent in EHLO; empty for this machine's."""


def open_medium(_: str, settings: Settings) -> "Email":
    return Email(settings)


class Stage(StrEnum):
    """How far the exchange about a mail has come."""

    CONNECTING = "the connection"
    SENDER = "the sender"
    RECIPIENTS = "the recipients"
    CONTENT = "the mail"


class Email:
    form = Form(parts=("subject", "text", "html", "thread"))

    def __init__(self, settings: Settings) -> None:
        self.limits: SendLimits = settings
        host = settings.hello if settings.hello and settings.from_address else _own_name()
        sender = settings.from_address or f"Watchbell <watchbell@{host}>"
        self._sender = _checked("from_address", sender)
        self._reply_to = settings.reply_to and _checked("reply_to", settings.reply_to).address
        self._pool = Pool(settings, settings.hello or host)

    async def send(self, message: Message) -> str:
        good, bad = mime.recipients(message.address)
        content = mime.composed(
            message, good, self._sender, self._reply_to, SYSTEM.now(), f"=_{token()}"
        )
        attempt = Attempt(self._pool, Envelope(self._sender.address, good, content))
        try:
            async with asyncio.timeout(self.limits.timeout):
                answer = await attempt.send()
        except TimeoutError:
            reply = f"did not answer about {attempt.stage} within {self.limits.timeout:g} s"
            raise self._pool.failure(reply, unreachable=attempt.stage is Stage.CONNECTING) from None
        refused = {**bad, **attempt.refused}
        reasons = (f"refused: {one} ({why})" for one, why in refused.items())
        return one_line("; ".join([answer, *reasons]), _LONGEST_ANSWER)

    async def attend(self, store: Store) -> None:  # noqa: ARG002
        while True:
            await asyncio.sleep(_LOOK)
            await self._pool.close_unused(SYSTEM.monotonic() - _IDLE)

    async def close(self) -> None:
        await self._pool.close_unused(SYSTEM.monotonic())


class Envelope(NamedTuple):
    sender: str
    recipients: list[str]
    content: bytes


class Kept(NamedTuple):
    smtp: SMTP
    since: float
    needs_reset: bool
    """A mail was refused on it, so it has to be reset first."""


class Attempt:
    """One attempt to send a mail."""

    def __init__(self, pool: "Pool", envelope: Envelope) -> None:
        self._pool, self._envelope = pool, envelope
        self.stage = Stage.CONNECTING
        self.refused: dict[str, str] = {}
        """Recipients that the server refused, with its reasons."""

    async def send(self) -> str:
        """The server's reply when it accepted the mail."""
        try:
            smtp = await self._resumed() or await self._fresh()
            return await self._given_to(smtp)
        except SMTPServerDisconnected:
            raise self._pool.failure(f"closed the connection over {self.stage}") from None
        except SMTPResponseException as error:
            permanent, unreachable = verdict(self.stage, error.code)
            reply = f"refuses {self.stage}: {error.code} {error.message}"
            raise self._pool.failure(reply, permanent=permanent, unreachable=unreachable) from None

    async def _resumed(self) -> SMTP | None:
        """A kept connection on which the server accepted the sender."""
        while (kept := self._pool.kept()) is not None:
            if await self._serves(kept):
                return kept.smtp
        return None

    async def _serves(self, kept: Kept) -> bool:
        """A connection that has died since its last use is not a failure of this mail."""
        try:
            async with asyncio.timeout(self._pool.patience):
                if kept.needs_reset:
                    await kept.smtp.rset()
                await self._offer(kept.smtp)
        except BaseException as error:
            kept.smtp.close()
            if isinstance(error, TimeoutError):
                self._pool.drop()  # the others have been unused for longer
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
            reply = await smtp.data(self._envelope.content)
        except (SMTPResponseException, DeliveryFailed):
            self._pool.keep(smtp, needs_reset=True)
            raise
        except BaseException:
            smtp.close()
            raise
        self._pool.keep(smtp)
        return self._pool.shown(f"{reply.code} {reply.message}")

    async def _offer(self, smtp: SMTP) -> None:
        self.stage = Stage.SENDER
        envelope = self._envelope
        options = [f"SIZE={len(envelope.content)}"] if smtp.supports_extension("size") else []
        if not envelope.content.isascii():  # only addresses can be outside ASCII
            if not smtp.supports_extension("smtputf8"):
                raise self._pool.failure("accepts only ASCII addresses", permanent=True)
            options += ["SMTPUTF8", "BODY=8BITMIME"]
        await smtp.mail(envelope.sender, options=options, encoding="utf-8")

    async def _address(self, smtp: SMTP) -> None:
        """Sends the recipients; one that is accepted is enough."""
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
            reasons = "; ".join(f"{one}: {why}" for one, why in self.refused.items())
            raise self._pool.failure(f"refuses {reasons}", permanent=min(codes) >= 500)


def verdict(stage: Stage, code: int) -> tuple[bool, bool]:
    """Whether a refusal is permanent, and whether it concerns the server rather than the mail."""
    is_permanent = code >= 500
    if code == _CLOSING or stage is Stage.CONNECTING:
        return False, True
    if stage is Stage.SENDER and code != _TOO_BIG:  # it would refuse every mail of ours
        return False, is_permanent
    return is_permanent, False


class Pool:
    """The connections to the server that are not in use."""

    def __init__(self, settings: Settings, hello: str) -> None:
        self._settings, self._hello = settings, hello
        self._port = settings.port or _PORTS[settings.tls]
        self._is_local = _is_loopback(settings.host)
        self._context = _context(settings, is_local=self._is_local)
        self._password = settings.password.reveal()
        if bool(settings.user) != bool(self._password):
            raise BadSettings("user and password go together; one of them is missing")
        self._secrets = _spellings(settings.user, self._password)
        self._kept: list[Kept] = []
        self.server = f"{settings.host}:{self._port}"
        self.patience = settings.timeout / 4
        """Seconds in which a kept connection has to answer."""

    def kept(self) -> Kept | None:
        """The open connection that was used last, if there is one."""
        while self._kept:
            if (kept := self._kept.pop()).smtp.is_connected:
                return kept
        return None

    def keep(self, smtp: SMTP, *, needs_reset: bool = False) -> None:
        if smtp.is_connected:
            self._kept.append(Kept(smtp, SYSTEM.monotonic(), needs_reset))

    def drop(self) -> None:
        while (kept := self.kept()) is not None:
            kept.smtp.close()

    async def close_unused(self, used_before: float) -> None:
        """Closes the connections that have not been used since then."""
        for kept in [kept for kept in self._kept if kept.since <= used_before]:
            if kept in self._kept:  # it may have been taken while another was closed
                self._kept.remove(kept)
                await self._quit(kept.smtp)

    async def _quit(self, smtp: SMTP) -> None:
        try:
            async with asyncio.timeout(_GOODBYE):
                await smtp.quit()
        except (SMTPException, TimeoutError):
            pass
        finally:
            smtp.close()

    async def connected(self) -> SMTP:
        settings = self._settings
        smtp = SMTP(
            hostname=settings.host,
            port=self._port,
            local_hostname=self._hello,
            timeout=None,
            use_tls=settings.tls == "tls",
            start_tls=_STARTTLS[settings.tls],
            tls_context=self._context,
        )
        try:
            await self._greet(smtp)
        except SMTPAuthenticationError as error:
            reply = f"refuses the login of {settings.user}: {error.code} {error.message}"
            raise self.failure(reply, unreachable=True) from None
        except SMTPResponseException as error:
            reply = f"answers {error.code} {error.message}"
            raise self.failure(reply, unreachable=True) from None
        except (SMTPException, OSError, UnicodeError) as error:
            raise self.failure(_reason(error.__cause__ or error), unreachable=True) from None
        return smtp

    async def _greet(self, smtp: SMTP) -> None:
        try:
            await smtp.connect()
            if self._password:
                self._check_privacy(smtp)
                await smtp.login(self._settings.user, self._password)
            if smtp.is_ehlo_or_helo_needed:
                await smtp.ehlo()
        except BaseException:
            smtp.close()
            raise

    def _check_privacy(self, smtp: SMTP) -> None:
        """An attacker in between could hide that the server supports TLS."""
        is_private = smtp.get_transport_info("sslcontext") is not None or self._is_local
        if not is_private and self._settings.tls != "none":
            raise SMTPException(
                "it does not offer TLS, and the password is not sent unencrypted; "
                "tls = 'none' would allow that"
            )

    def failure(
        self, reply: str, *, permanent: bool = False, unreachable: bool = False
    ) -> DeliveryFailed:
        reasons = self.shown(f"{self.server} {reply}")
        return DeliveryFailed(reasons, permanent=permanent, unreachable=unreachable)

    def shown(self, reply: str) -> str:
        for secret in self._secrets:
            reply = reply.replace(secret, "***")
        return one_line(reply, _LONGEST)


def _reason(error: BaseException) -> str:
    """Why a server can't be used. asyncio joins the errors of several addresses into one text."""
    if f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return "refuses the connection"
    code = error.errno if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else 0
    return f"can't be used: {os.strerror(code) if code and code > 0 else error}"


def _spellings(user: str, password: str) -> list[str]:
    """The password in each form in which a server may repeat it."""
    spoken = (password, f"\0{user}\0{password}")
    return [password, *(base64.b64encode(one.encode()).decode() for one in spoken)] * bool(password)


def _context(settings: Settings, *, is_local: bool) -> ssl.SSLContext | None:
    if settings.tls == "none":
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca_file or None)
    except OSError as error:
        raise BadSettings(f"ca_file can't be used: {error}") from None
    # A mail server on this machine usually has a self-signed certificate, and there is no network
    # in between.
    if not settings.verify or (settings.tls == "auto" and is_local):
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


def _checked(setting: str, value: str) -> mime.Mailbox:
    try:
        return mime.mailbox(value)
    except ValueError as error:
        raise BadSettings(f"{setting} is {value!r}: {error}") from None
