"""Idents: the name of a crawl, made of its URL as ArchiveBot makes it."""

import re
from contextlib import suppress
from unicodedata import normalize as unicode_normalised
from urllib.parse import quote_from_bytes, unquote_to_bytes
from uuid import UUID, uuid5

from ada_url import idna_to_ascii

LENGTH = 25
_NAMESPACE = UUID("82244de1-c354-4c89-bf2b-f153ce23af43")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_IDENT = re.compile(r"[0-9a-z]{1,25}")
_URL = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_AUTHORITY = re.compile(r"(?:([^\[\]]*)@)?(.*?)(?::([^:@\[\]]*))?", re.DOTALL)
_PORTS = {"http": 80, "https": 443, "ftp": 21, "gopher": 70}
_SEGMENT = "-._~!$&'()*+,;=:@"
_PAIR = "-._~!$'()*+,=:@/?"
_FRAGMENT = f"{_SEGMENT}/?"
_ENCODED_PLUS = re.compile(r"%2b", re.IGNORECASE)


def ident_of(url: str) -> str:
    """The ident of a crawl of this URL: 25 characters, with leading zeros where base 36 gives
    fewer."""
    number = uuid5(_NAMESPACE, canonical(url)).int
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits.rjust(LENGTH, "0")


def is_ident(text: str) -> bool:
    return _IDENT.fullmatch(text) is not None


def spellings(ident: str) -> tuple[str, ...]:
    """The keys under which a crawl may be found: ours first, then as other programs write it,
    without leading zeros."""
    return tuple(dict.fromkeys((ident.rjust(LENGTH, "0"), ident, ident.lstrip("0") or "0")))


def canonical(url: str) -> str:
    """The URL in the spelling that idents are made of, as Ruby's Addressable has it. It is no
    check: text that is no URL stays what it is, more or less."""
    found = _URL.fullmatch(url.encode(errors="replace").decode().strip())
    assert found, "the expression matches everything"
    scheme, authority, path, query, fragment = found.groups()
    scheme = (scheme or "").lower()
    parts = [f"{scheme}:" if scheme else ""]
    if authority is not None:
        parts.append(f"//{_authority(authority, scheme)}")
    path = _without_dots("/".join(_encoded(part, _SEGMENT) for part in path.split("/")))
    parts.append(path or ("/" if authority else ""))
    if query:
        parts.append("?" + "&".join(map(_query_pair, query.split("&"))))
    if fragment:
        parts.append(f"#{_encoded(fragment, _FRAGMENT)}")
    return "".join(parts)


def _authority(text: str, scheme: str) -> str:
    found = _AUTHORITY.fullmatch(text)
    assert found, "the expression matches everything"
    user, host, port = found.groups()
    host = host.strip().lower()
    if not host.isascii():
        host = idna_to_ascii(host).decode() or host
    login = ":".join(_encoded(part, "-._~") for part in user.split(":", 1)) if user else ""
    is_usual = not port or (port.isdecimal() and int(port) == _PORTS.get(scheme))
    return (f"{login}@" if login else "") + host + ("" if is_usual else f":{port}")


def _encoded(text: str, safe: str) -> str:
    raw = unquote_to_bytes(text)
    with suppress(UnicodeDecodeError):
        raw = unicode_normalised("NFC", raw.decode()).encode()
    return quote_from_bytes(raw, safe)


def _query_pair(text: str) -> str:
    """An encoded plus stays encoded, because a plain one means a space."""
    return "%2B".join(_encoded(part, _PAIR) for part in _ENCODED_PLUS.split(text))


def _without_dots(path: str) -> str:
    if not path.startswith("/"):
        return path
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    ends_open = parts[-1] in {".", ".."}
    return "/" + "/".join(kept) + ("/" if ends_open and kept else "")
