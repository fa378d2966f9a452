"""The exchange of one HTTP request, with limits on everything a server controls."""

import asyncio
import io
import socket
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct
from msgspec.structs import replace
from yarl import URL

from watchbell.clock import SYSTEM
from watchbell.errors import DeliveryFailed
from watchbell.http.answer import Answer, one_line
from watchbell.http.client import AGENT, Client, Request, basic
from watchbell.http.networks import Networks

_REDIRECTS = 3
_MOVED = (301, 302, 303, 307, 308)
_LONGEST_URL = 4_096
_LONG_TOKEN = 16
_LARGE = 1 << 20
_RESOLVERS = 32
"""Threads that resolve names."""
_ENCODED = ("gzip", "x-gzip", "deflate")


class Unanswered(aiohttp.ClientError):
    """The connection was closed before there was an answer."""


class Forbidden(OSError):
    """An untrusted URL leads to an address that is not allowed. Its text says why."""


class Hop(Struct, frozen=True, kw_only=True):
    """One request of an exchange: the first one, or one after a redirect."""

    url: URL
    method: str
    headers: Mapping[str, str]
    private: Mapping[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return one_line(self.url.host or "", 100)


class Wire:
    """The connections of one client, made in the event loop that uses them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resolver = Resolver(client.networks)
        networks = client.networks
        connector = aiohttp.TCPConnector(
            limit=client.connections,
            resolver=self._resolver,
            ssl=client.trust or True,
            socket_factory=partial(_checked_socket, networks) if networks else None,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            # Resolving, connecting and TLS may take half of the time.
            timeout=aiohttp.ClientTimeout(total=None, connect=client.timeout / 2),
            headers={"User-Agent": AGENT, "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            middlewares=(_once,),
        )

    async def ask(self, request: Request) -> Answer:
        deadline = asyncio.get_running_loop().time() + self._client.timeout
        url = _parsed(request.url)
        response = await self._followed(_first(url, request), deadline)
        text = await self._body(response, deadline)
        headers = {name.lower(): value for name, value in response.headers.items()}
        secrets = (*request.secrets, *_secrets(url))
        return Answer(response.status, headers, text, SYSTEM.now(), secrets)

    async def close(self) -> None:
        await self._session.close()
        await self._resolver.close()

    async def _followed(self, hop: Hop, deadline: float) -> aiohttp.ClientResponse:
        """The first answer that is not a redirect."""
        for _ in range(_REDIRECTS + 1):
            try:
                async with asyncio.timeout_at(deadline):
                    response = await self._sent(hop)
            except aiohttp.ClientError as error:
                raise self._failure(hop, error) from error
            except TimeoutError:
                seconds = f"{self._client.timeout:g} s"
                raise DeliveryFailed(f"{hop.host} did not answer within {seconds}") from None
            location = response.headers.get("Location")
            if response.status not in _MOVED or not location:
                return response
            response.close()
            hop = self._next(hop, response.status, location)
        raise self._useless(f"{hop.host} redirects more than {_REDIRECTS} times")

    async def _sent(self, hop: Hop) -> aiohttp.ClientResponse:
        large = len(hop.body) > _LARGE
        return await self._session.request(
            hop.method,
            hop.url,
            headers={**hop.headers, **hop.private},
            data=(io.BytesIO(hop.body) if large else hop.body) or None,
            allow_redirects=False,
        )

    def _next(self, hop: Hop, status: int, location: str) -> Hop:
        """The request after a redirect. All but 303 keep the method: if 301 and 302 became GET, as
        in browsers, the message would be lost although the answer is 200."""
        try:
            url = _web(hop.url.join(URL(location)).with_user(None))
        except (ValueError, DeliveryFailed):
            raise self._useless(f"{hop.host} redirects to no web address") from None
        if hop.url.scheme == "https" and url.scheme != "https":
            raise self._useless(f"{hop.host} redirects from https to http")
        if not _is_same_host(hop.url, url):
            if self._client.networks is None:
                raise self._useless(f"{hop.host} redirects to another host, {url.host}")
            hop = replace(hop, private={})
        if status == 303:
            return replace(hop, url=url, method="GET", body=b"", headers={})
        return replace(hop, url=url)

    async def _body(self, response: aiohttp.ClientResponse, deadline: float) -> str:
        """As much of the body as arrives in time. The status has decided whether the message
        was accepted, so a failure from here on is no reason to send it again."""
        raw, is_whole = bytearray(), False
        try:
            async with asyncio.timeout_at(deadline):
                while len(raw) < self._client.most and not is_whole:
                    chunk = await response.content.readany()
                    raw += chunk
                    is_whole = not chunk
        except (TimeoutError, aiohttp.ClientError):
            pass
        finally:
            response.release() if is_whole else response.close()
        body = bytes(raw[: self._client.most])
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding in _ENCODED:
            body = _inflated(body, self._client.most)
        elif encoding != "identity":
            return f"(an answer encoded as {one_line(encoding, 20)})"
        return body.decode(errors="replace")

    def _failure(self, hop: Hop, error: aiohttp.ClientError) -> DeliveryFailed:
        away = self._client.is_service
        match error:
            case aiohttp.InvalidURL():
                return DeliveryFailed("the address is not a web address", permanent=True)
            case aiohttp.ConnectionTimeoutError():
                seconds = f"{self._client.timeout / 2:g} s"
                reason = f"no connection to {hop.host} within {seconds}"
                return DeliveryFailed(reason, unreachable=away)
            case aiohttp.ClientConnectorError(os_error=Forbidden() as forbidden):
                return DeliveryFailed(f"{hop.host}: {forbidden}", permanent=True)
            case (
                aiohttp.ClientConnectorCertificateError(certificate_error=cause)
                | aiohttp.ClientConnectorError(os_error=cause)
            ):
                reason = f"no connection to {hop.host}: {one_line(_reason(cause))}"
                return DeliveryFailed(reason, unreachable=away)
            case aiohttp.ClientResponseError():
                return DeliveryFailed(f"{hop.host} did not answer with HTTP")
        return DeliveryFailed(f"{hop.host} closed the connection without an answer")

    def _useless(self, reason: str) -> DeliveryFailed:
        """A redirect that we don't follow: a service is then unusable for every message, another
        server only for this address."""
        is_service = self._client.is_service
        return DeliveryFailed(reason, permanent=not is_service, unreachable=is_service)


class Resolver(AbstractResolver):
    """Resolves by the system, in threads of its own, so that slow names delay only their own
    medium."""

    def __init__(self, networks: Networks | None) -> None:
        self._networks = networks
        self._threads = ThreadPoolExecutor(_RESOLVERS, thread_name_prefix="resolver")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        ask = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, ask)
        except ValueError as error:  # a label is too long, or has an invalid character
            raise OSError(None, f"this is not a host name: {error}") from error
        return [self._result(host, port, *one) for one in found]

    def _result(
        self,
        host: str,
        port: int,
        family: int,
        _kind: int,
        proto: int,
        _name: str,
        address: tuple[Any, ...],
    ) -> ResolveResult:
        if self._networks:
            _check(self._networks, str(address[0]))
        return ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=family,
            proto=proto,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keeps the library from repeating a GET without an answer, which with some services would be a
    second message: it does not repeat after errors of other types."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError):
        raise
    except aiohttp.ClientConnectionError as error:
        raise Unanswered from error


def _checked_socket(networks: Networks, info: aiohttp.AddrInfoType) -> socket.socket:
    """Checks every connection, also one to an address that needs no resolving."""
    family, kind, proto, _, address = info
    _check(networks, str(address[0]))
    return socket.socket(family, kind, proto)


def _check(networks: Networks, host: str) -> None:
    if refusal := networks.refusal(host):
        raise Forbidden(refusal)


def _reason(cause: Exception) -> str:
    """The system's reason for a failure, or Python's."""
    words = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "")
    return words or str(cause) or type(cause).__name__


def _parsed(text: str) -> URL:
    try:
        return _web(URL(text))
    except ValueError:
        raise DeliveryFailed("the address is not a web address", permanent=True) from None


def _first(url: URL, request: Request) -> Hop:
    private = request.private
    if url.user or url.password:
        private = {**basic(url.user or "", url.password or ""), **private}
    return Hop(
        url=url.with_user(None),
        method=request.method,
        headers=request.headers,
        private=private,
        body=request.body,
    )


def _web(url: URL) -> URL:
    if url.scheme not in ("http", "https") or not url.host or len(str(url)) > _LONGEST_URL:
        reason = f"the address is not an http or https URL of at most {_LONGEST_URL:,} characters"
        raise DeliveryFailed(reason, permanent=True)
    return url


def _is_same_host(one: URL, other: URL) -> bool:
    """Also where http became https, each on its default port."""
    usual = one.is_default_port() and other.is_default_port()
    return one.host == other.host and (one.port == other.port or usual)


def _secrets(url: URL) -> list[str]:
    """Possible secrets in a URL: values, the password, long parts of its path."""
    long = [part for part in url.parts if len(part) >= _LONG_TOKEN]
    return [*long, *url.query.values(), *filter(None, [url.password])]


def _inflated(body: bytes, most: int) -> bytes:
    """Decompresses at most `most` bytes, whatever the body expands to."""
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(body, most)
    except zlib.error:
        return b""
