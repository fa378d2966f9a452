"""The cookies of one crawl: which servers set them, and which ones get them back (RFC 6265)."""

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Self

import msgspec
from msgspec import Struct

from watchbell.archive.fetching import http_dates
from watchbell.archive.fetching.model import FetchFailed
from watchbell.archive.fetching.target import Target, target

_MOST = 3_000
_MOST_OF_DOMAIN = 100
_LONGEST = 4_096
_LONGEST_HEADER = 8_192
_LONGEST_URL = 1 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DIGITS = re.compile(r"-?\d{1,15}", re.ASCII)


class Cookie(Struct, frozen=True, array_like=True):
    name: str
    value: str
    domain: str
    path: str
    is_for_host_only: bool
    is_secure: bool
    expires: float | None
    """In seconds since the epoch. None: with the crawl."""

    def goes_to(self, to: Target, now: float) -> bool:
        if self.is_for_host_only and to.host != self.domain:
            return False
        if self.is_secure and to.scheme != "https":
            return False
        path = to.path.partition("?")[0]
        is_below = path.startswith(self.path) and (
            self.path.endswith("/") or path[len(self.path) : len(self.path) + 1] in ("", "/")
        )
        return is_below and (self.expires is None or self.expires > now)


class Jar:
    """Bounded in all that servers control: what is too large is not stored, what is too much drives
    out the oldest."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self._count = 0
        self.is_changed = False
        """Whether it differs from what was packed last."""
        self._domains: dict[str, dict[tuple[str, str], Cookie]] = {}
        for cookie in cookies:
            self._add(cookie)
        self.is_changed = False

    @classmethod
    def restored(cls, packed: bytes) -> Self:
        """Of what `packed` gave, or of nothing."""
        return cls(msgspec.json.decode(packed, type=list[Cookie]) if packed else ())

    def packed(self) -> bytes:
        self.is_changed = False
        return msgspec.json.encode(list(self))

    def __iter__(self) -> Iterator[Cookie]:
        for cookies in self._domains.values():
            yield from cookies.values()

    def __len__(self) -> int:
        return self._count

    def store(self, url: str, headers: Iterable[str], now: float) -> None:
        """Takes the values of `Set-Cookie` headers of a response."""
        to = _parsed(url)
        if to is None or to.scheme == "ftp":
            return
        for header in headers:
            cookie = parse(header, to, now)
            if cookie is None:
                continue
            if cookie.expires is not None and cookie.expires <= now:
                self._remove(cookie)
            else:
                self._add(cookie)

    def header(self, url: str, now: float) -> str:
        """The value of the `Cookie` header of a request, empty if there is none to send."""
        to = _parsed(url) if self._count else None
        if to is None:
            return ""
        cookies = [
            cookie
            for domain in _domains_of(to.host)
            for cookie in self._domains.get(domain, {}).values()
            if cookie.goes_to(to, now)
        ]
        cookies.sort(key=lambda cookie: -len(cookie.path))
        header = ""
        for cookie in cookies:
            pair = f"{cookie.name}={cookie.value}" if cookie.name else cookie.value
            if len(header) + len(pair) + 2 <= _LONGEST_HEADER:
                header = f"{header}; {pair}" if header else pair
        return header

    def _add(self, cookie: Cookie) -> None:
        self.is_changed = True
        cookies = self._domains.setdefault(cookie.domain, {})
        key = (cookie.name, cookie.path)
        if key not in cookies:
            self._count += 1
        cookies[key] = cookie
        if len(cookies) > _MOST_OF_DOMAIN:
            self._remove(next(iter(cookies.values())))
        if self._count > _MOST:
            oldest = next(iter(self._domains.values()))
            self._remove(next(iter(oldest.values())))

    def _remove(self, cookie: Cookie) -> None:
        self.is_changed = True
        cookies = self._domains.get(cookie.domain, {})
        if cookies.pop((cookie.name, cookie.path), None):
            self._count -= 1
        if not cookies:
            self._domains.pop(cookie.domain, None)


def parse(header: str, to: Target, now: float) -> Cookie | None:
    """A cookie that a response from there may set, also one that has expired; otherwise None."""
    if len(header) > _LONGEST or _CONTROL.search(header.replace("\t", " ")):
        return None
    pair, *rest = header.split(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", pair
    attributes = dict(_attribute(text) for text in rest)
    domain = attributes.get("domain", "").removeprefix(".").lower()
    is_secure = "secure" in attributes
    path = attributes.get("path", "")
    if not (name.strip() or value.strip()) or not _may_set(to.host, domain):
        return None
    if is_secure and to.scheme != "https":
        return None
    return Cookie(
        name=name.strip(),
        value=value.strip(),
        domain=domain or to.host,
        path=path if path.startswith("/") else _default_path(to.path),
        is_for_host_only=not domain or _is_address(to.host),
        is_secure=is_secure,
        expires=_expiry(attributes, now),
    )


def _attribute(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip()


def _may_set(host: str, domain: str) -> bool:
    """Nobody sets cookies for a whole top-level domain, nor for another site."""
    if not domain or domain == host:
        return True
    return "." in domain.strip(".") and host.endswith(f".{domain}") and not _is_address(host)


def _expiry(attributes: dict[str, str], now: float) -> float | None:
    age = attributes.get("max-age", "")
    if _DIGITS.fullmatch(age):
        return now + int(age) if int(age) > 0 else 0.0
    return http_dates.parsed(attributes.get("expires", ""))


def _default_path(path: str) -> str:
    return path.partition("?")[0].rpartition("/")[0] or "/"


def _domains_of(host: str) -> list[str]:
    """The host, and every domain above it."""
    if _is_address(host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(len(labels))]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _parsed(url: str) -> Target | None:
    try:
        return target(url, _LONGEST_URL)
    except FetchFailed:
        return None
