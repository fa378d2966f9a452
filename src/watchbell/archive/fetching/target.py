"""What a URL makes us send, and where to. Pure."""

import re
from base64 import b64encode
from urllib.parse import unquote_to_bytes

import ada_url
from msgspec import Struct

from watchbell.archive.fetching.model import FetchFailed, Request

_PORTS = {"http:": 80, "https:": 443, "ftp:": 21}
_BAD_HEADER = re.compile(r"[\x00\r\n]")


class Target(Struct, frozen=True):
    scheme: str
    host: str
    """A name or an address, without brackets."""
    port: int
    path: str
    """With the query; for FTP still with percent signs."""
    user: str
    password: str
    netloc: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What requests over one connection have in common."""
        return self.scheme, self.host, self.port


def target(url: str, most: int) -> Target:
    """FetchFailed where we can't fetch from this URL."""
    if len(url) > most:
        raise FetchFailed(f"URL longer than {most:,} characters")
    try:
        parsed = ada_url.URL(url)
    except ValueError:
        raise FetchFailed("not a URL") from None
    protocol = parsed.protocol
    port = _PORTS.get(protocol)
    if not port:
        raise FetchFailed(f"scheme {protocol[:20]} is not fetched")
    return Target(
        scheme=protocol[:-1],
        host=parsed.hostname.strip("[]"),
        port=int(parsed.port or port),
        path=parsed.pathname + parsed.search,
        user=parsed.username,
        password=parsed.password,
        netloc=parsed.host,
    )


def request_bytes(to: Target, request: Request) -> bytes:
    lines = [f"{request.method} {to.path} HTTP/1.1", f"Host: {to.netloc}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    if to.user or to.password:
        pair = unquote_to_bytes(to.user) + b":" + unquote_to_bytes(to.password)
        lines.append(f"Authorization: Basic {b64encode(pair).decode()}")
    if request.cookie:
        lines.append(f"Cookie: {request.cookie}")
    if request.body or request.method == "POST":
        lines.append(f"Content-Length: {len(request.body)}")
    if any(map(_BAD_HEADER.search, lines)):
        raise FetchFailed("a header of the request has a line break")
    try:
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body
    except UnicodeEncodeError:
        raise FetchFailed("a header of the request is not Latin-1") from None
