"""A mail server that keeps what it is sent, and treats each recipient as its address asks for.

`python -m tests.gateways.smtp --port 2525 --file mails` is the same in a process of its own.
"""

import argparse
import asyncio
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.servers import HOST, Certificates, held_port

# By the address before its first + or @: what becomes of one recipient, or of its mail.
REFUSED = {
    "nobody": "550 5.1.1 there is nobody of that name",
    "later": "451 4.7.1 greylisted, come back later",
    "busy": "421 4.3.2 too busy, closing",
}
CONTENT_REFUSED = {
    "spam": "554 5.7.1 this looks like spam",
    "full": "452 4.2.2 the mailbox is full",
}
HANGS, HANGS_UP, SLOW, VANISHES = "hang", "cut", "slow", "vanish"
SLOWLY = 0.2
"""Seconds before each answer about the recipient `slow`."""


@dataclass(frozen=True)
class Mail:
    sender: str
    recipients: tuple[str, ...]
    content: bytes
    encrypted: bool
    login: str
    options: tuple[str, ...]

    @property
    def message(self) -> EmailMessage:
        parsed = message_from_bytes(self.content, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    def part(self, kind: str) -> str:
        """Its text, `plain` or `html`, as a reader sees it."""
        body = self.message.get_body((kind,))
        assert body is not None
        text: str = body.get_content()
        return text.replace("\r\n", "\n")


@dataclass
class Sink:
    """Its `mails` are those that it said yes to, in their order."""

    port: int = 0
    file: Path | None = None
    mails: list[Mail] = field(default_factory=list)
    connections: int = 0
    """How many were made, ever."""
    commands: list[str] = field(default_factory=list)
    silent: bool = False
    """While set, new connections are taken, and nothing is said on them."""
    sender_answers: list[str] = field(default_factory=list)
    """What is answered to the next senders, in place of a welcome."""
    open: "set[_Connection]" = field(default_factory=set)

    def hang_up(self) -> None:
        """Cuts the connections that are open now."""
        for connection in self.open:
            connection.cut()

    def freeze(self) -> None:
        """Nothing is said any more on the connections that are open now."""
        for connection in self.open:
            connection.silent = True

    async def handle_MAIL(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.commands.append("MAIL")
        if self.sender_answers:
            return self.sender_answers.pop(0)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self,
        server: "_Connection",
        _: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        self.commands.append("RCPT")
        behaviour = _behaviour(address)
        await server.treat(behaviour, HANGS_UP)
        if behaviour in REFUSED:
            return REFUSED[behaviour]
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_RSET(self, *_: Any) -> str:  # noqa: N802
        self.commands.append("RSET")
        return "250 OK"

    async def handle_DATA(  # noqa: N802
        self, server: "_Connection", session: Session, envelope: Envelope
    ) -> str:
        self.commands.append("DATA")
        for behaviour in map(_behaviour, envelope.rcpt_tos):
            await server.treat(behaviour, VANISHES)
            if behaviour in CONTENT_REFUSED:
                return CONTENT_REFUSED[behaviour]
        assert isinstance(envelope.content, bytes)
        if self.file is None:
            self.mails.append(_mail(session, envelope, envelope.content))
        else:
            _append(self.file, envelope.content, envelope.rcpt_tos)
        return "250 OK, kept"


def _mail(session: Session, envelope: Envelope, content: bytes) -> Mail:
    return Mail(
        sender=envelope.mail_from or "",
        recipients=tuple(envelope.rcpt_tos),
        content=content,
        encrypted=session.ssl is not None,
        login=getattr(session.auth_data, "login", b"").decode(),
        options=tuple(envelope.mail_options),
    )


def _append(path: Path, content: bytes, recipients: list[str]) -> None:
    """Before the sender is told, so that no yes goes unrecorded."""
    found = re.search(rb"(?im)^message-id:\s*(\S+)", content)
    identifier = found[1].decode() if found else "-"
    lines = "".join(f"{identifier} {recipient}\n" for recipient in recipients)
    file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(file, lines.encode())
    os.close(file)


class _Connection(SMTP):
    def __init__(self, sink: Sink, **options: Any) -> None:
        super().__init__(sink, hostname="mail.example.com", **options)
        self._sink = sink
        self.silent = sink.silent

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self not in self._sink.open:  # STARTTLS comes here again
            self._sink.connections += 1
        self._sink.open.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._sink.open.discard(self)
        super().connection_lost(error)

    async def push(self, status: Any) -> None:
        if self.silent:
            await _for_ever()
        await super().push(status)

    def cut(self) -> None:
        assert self.transport is not None
        self.transport.close()

    async def treat(self, behaviour: str, cut: str) -> None:
        if behaviour == SLOW:
            await asyncio.sleep(SLOWLY)
        if behaviour == cut:
            self.cut()
        if behaviour in {HANGS, cut}:
            await _for_ever()


def _behaviour(address: str) -> str:
    return address.partition("@")[0].partition("+")[0]


async def _for_ever() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True)
class Terms:
    """What the server asks for."""

    certificates: Certificates | None = None
    implicit: bool = False
    """TLS from the first byte, in place of STARTTLS."""
    user: str = ""
    password: str = ""
    utf8: bool = True

    def context(self) -> ssl.SSLContext | None:
        if self.certificates is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificates.server, self.certificates.server_key)
        return context

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"enable_SMTPUTF8": self.utf8}
        if self.certificates is not None and not self.implicit:
            options |= {"tls_context": self.context(), "require_starttls": bool(self.user)}
        if self.user:
            options |= {"auth_required": True, "authenticator": self._admitted}
            options |= {"auth_require_tls": not self.implicit}
        return options

    def _admitted(self, *asked: Any) -> AuthResult:
        given = asked[-1]
        assert isinstance(given, LoginPassword)
        right = (given.login.decode(), given.password.decode()) == (self.user, self.password)
        return AuthResult(success=right, auth_data=given, handled=False)


@asynccontextmanager
async def serving(
    terms: Terms | None = None, port: int = 0, file: Path | None = None
) -> AsyncIterator[Sink]:
    """A server on the present loop."""
    terms = terms or Terms()
    sink = Sink(file=file)
    options = terms.options()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(sink, loop=loop, **options),
        HOST,
        port,
        ssl=terms.context() if terms.implicit else None,
    )
    sink.port = server.sockets[0].getsockname()[1]
    async with server:
        yield sink
        sink.hang_up()


@contextmanager
def process(file: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server in a process of its own, which appends to the file; yields its port."""
    with held_port() as hold:
        port: int = hold.getsockname()[1]
        command = [sys.executable, "-m", "tests.gateways.smtp"]
        command += ["--port", str(port), "--file", str(file), *options]
        ran = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert ran.stdout is not None
        try:
            assert ran.stdout.readline() == b"ready\n"
            yield port, ran
        finally:
            ran.kill()
            ran.wait()
            ran.stdout.close()


def received(file: Path) -> list[tuple[str, str]]:
    """Message-ID and recipient of each mail that was taken, in their order."""
    if not file.exists():
        return []
    lines = (line.split(" ", 1) for line in file.read_text().splitlines())
    return [(identifier, recipient) for identifier, recipient in lines]


async def _run(port: int, file: Path) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with serving(port=port, file=file):
        print("ready", flush=True)
        await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--file", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(_run(given.port, given.file))


if __name__ == "__main__":
    main()
