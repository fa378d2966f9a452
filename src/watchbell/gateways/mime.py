"""Mails in bytes: checked addresses, safe headers, encoded parts."""

import binascii
import hashlib
import re
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime, formataddr
from typing import NamedTuple

from watchbell.errors import DeliveryFailed
from watchbell.gateways.message import Message
from watchbell.gateways.message_texts import one_line

_MOST = 100
"""Recipients of one mail."""
_LOCAL = re.compile(r'[^\s@<>()\[\],;:\\"]+')
_DOMAIN = re.compile(r"(?!.*\.\.)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_TOKEN = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_CONTROL = re.compile(r"[\0-\x1f\x7f]+")


_NAMED = re.compile(r'\s*"?([^"<>]*?)"?\s*<([^<>]*)>\s*')


class Mailbox(NamedTuple):
    name: str
    address: str


class Recipients(NamedTuple):
    good: list[str]
    bad: dict[str, str]
    """Invalid addresses, with reasons."""


def recipients(text: str) -> Recipients:
    """The addresses of a comma-separated list; DeliveryFailed if none of them is valid."""
    good: dict[str, None] = {}
    bad: dict[str, str] = {}
    for one in filter(None, (part.strip() for part in text[:50_000].split(","))):
        try:
            good[address(one)] = None
        except ValueError as error:
            bad[one_line(one, 100)] = str(error)
    if len(good) > _MOST:
        raise DeliveryFailed(f"more than {_MOST} recipients", permanent=True)
    if not good:
        reasons = "; ".join(f"{one!r} is not a mail address: {why}" for one, why in bad.items())
        raise DeliveryFailed(one_line(reasons) or "the address is empty", permanent=True)
    return Recipients(list(good), bad)


def address(text: str) -> str:
    """The address with its domain in ASCII; ValueError says what is wrong."""
    local, at, domain = text.rpartition("@")
    if not at:
        raise ValueError("it has no @")
    if not _LOCAL.fullmatch(local) or not local.isprintable():
        raise ValueError("the part before the @ has invalid characters")
    try:
        domain = domain if domain.isascii() else domain.encode("idna").decode()
    except UnicodeError:
        domain = ""
    if not _DOMAIN.fullmatch(domain):
        raise ValueError("the part after the @ is not a domain")
    if len(local.encode()) > 64 or len(domain) > 253:
        raise ValueError("it is too long")
    return f"{local}@{domain}"


def mailbox(text: str) -> Mailbox:
    """Parses `alice@example.com` or `Alice <alice@example.com>`; ValueError says what is wrong."""
    found = _NAMED.fullmatch(text)
    return (
        Mailbox(one_line(found[1], 100), address(found[2])) if found else Mailbox("", address(text))
    )


def composed(
    message: Message, to: list[str], sender: Mailbox, reply_to: str, now: float, boundary: str
) -> bytes:
    """The mail in bytes that every server accepts; only addresses may need SMTPUTF8."""
    host = sender.address.rpartition("@")[2]
    lines = [
        f"Date: {format_datetime(datetime.fromtimestamp(int(now), UTC))}",
        f"From: {_written(sender)}",
        *([f"Reply-To: {reply_to}"] if reply_to else []),
        f"To: {_to(message.recipient, to)}",
        *_about(message, host),
        "MIME-Version: 1.0",
    ]
    if message.html:
        # ASCII with character references survives servers and clients that guess the encoding.
        html = message.html.encode("ascii", "xmlcharrefreplace").decode()
        lines += [
            f'Content-Type: multipart/alternative; boundary="{boundary}"',
            *("", f"--{boundary}", *_part("plain", message.text)),
            *(f"--{boundary}", *_part("html", html)),
            *(f"--{boundary}--", ""),
        ]
    else:
        lines += _part("plain", message.text)
    return "\r\n".join(lines).encode("utf-8", "replace")


def _about(message: Message, host: str) -> list[str]:
    return [
        _header("Subject", message.subject),
        f"Message-ID: <{_token(message.id)}@{host}>",
        *_thread(message, host),
        "Auto-Submitted: auto-generated",
        "X-Auto-Response-Suppress: All",
        f"List-Id: Watchbell <alerts.{host.strip('[]')}>",
        *(["Importance: high", "X-Priority: 1"] if message.is_urgent else []),
        *(_header(name, value) for name, value in message.headers.items()),
    ]


def _thread(message: Message, host: str) -> list[str]:
    """Makes the mail a reply to one that was never sent, as all mails of its thread are."""
    if message.thread is None:
        return []
    parent = f"<{_token(message.thread.name)}@{host}>"
    return [
        f"In-Reply-To: {parent}",
        f"References: {parent}",
        _header("Thread-Topic", message.thread.title),
    ]


def _token(identifier: str) -> str:
    if _TOKEN.fullmatch(identifier):
        return identifier
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:32]


def _to(name: str, to: list[str]) -> str:
    if len(to) > 1:
        return ",\r\n ".join(to)
    return _written(Mailbox(one_line(name, 60), to[0]))


def _written(box: Mailbox) -> str:
    return formataddr(box) if box.address.isascii() else box.address


def _header(name: str, value: str) -> str:
    value = one_line(value, 500)
    if value.isascii() and "=?" not in value:
        return f"{name}: {_CONTROL.sub(' ', value)}"
    return f"{name}: {Header(value, 'utf-8', header_name=name).encode(linesep=chr(13) + chr(10))}"


def _part(subtype: str, text: str) -> list[str]:
    lines = text.split("\n")
    content = "\r\n".join(lines)
    plain = content.isascii() and max(map(len, lines)) <= 998
    if not plain:
        raw = content.encode("utf-8", "replace")
        content = binascii.b2a_qp(raw, istext=True, header=False).decode("ascii")
    return [
        f"Content-Type: text/{subtype}; charset={'us-ascii' if plain else 'utf-8'}",
        f"Content-Transfer-Encoding: {'7bit' if plain else 'quoted-printable'}",
        "",
        content,
    ]
