"""One exchange over HTTP, with a limit to everything that a server may do to us."""

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
"""Threads; each is made when all others wait for a name."""
_ENCODED = ("gzip", "x-gzip", "deflate")


class Unanswered(aiohttp.ClientError):
    """The connection ended before there was an answer."""


class Forbidden(OSError):
    """A stranger's URL leads to where nothing of ours may be sent. Its text says why."""


class Hop(Struct, frozen=True, kw_only=True):
    """One request of an exchange: the first one, or where a redirect led to."""

    url: URL
    method: str
    headers: Mapping[str, str]
    private: Mapping[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return one_line(self.url.host or "", 100)


class Wire:
    """The connections of one client; made within the event loop that it serves."""

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
            # A name, a connection and TLS take half of the time at the most.
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
        """The first answer that is no redirect."""
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
        """Where a redirect leads. All but 303 keep the method: turned into a GET, as browsers do
        with 301 and 302, a message would get lost while a page of the server's says 200."""
        try:
            url = _web(hop.url.join(URL(location)).with_user(None))
        except (ValueError, DeliveryFailed):
            raise self._useless(f"{hop.host} redirects to what is no web address") from None
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
        """As much of the body as comes in time: the status has said whether we were heard, so what
        goes wrong from here on is no reason to say it all again."""
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
            return f"(an answer in {one_line(encoding, 20)})"
        return body.decode(errors="replace")

    def _failure(self, hop: Hop, error: aiohttp.ClientError) -> DeliveryFailed:
        away = self._client.is_service
        match error:
            case aiohttp.InvalidURL():
                return DeliveryFailed("the address is no web address", permanent=True)
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
                reason = f"no connection to {hop.host}: {one_line(_said(cause))}"
                return DeliveryFailed(reason, unreachable=away)
            case aiohttp.ClientResponseError():
                return DeliveryFailed(f"{hop.host} answered with what is no HTTP")
        return DeliveryFailed(f"{hop.host} hung up without an answer")

    def _useless(self, reason: str) -> DeliveryFailed:
        """The server sends us to where we don't go: a service is of no use to anybody then, and of
        the servers that addresses name the address is."""
        is_service = self._client.is_service
        return DeliveryFailed(reason, permanent=not is_service, unreachable=is_service)


class Resolver(AbstractResolver):
    """Resolves by the system, in threads of its own: where names of one medium's servers take
    their time, no other medium waits for them."""

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
        except ValueError as error:  # a label too long, a character that no name has
            raise OSError(None, f"this is no name of a host: {error}") from error
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
    """By itself the library repeats a GET of which it heard no answer, and with some services that
    would be a second message; it does not with errors that it does not know."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError):
        raise
    except aiohttp.ClientConnectionError as error:
        raise Unanswered from error


def _checked_socket(networks: Networks, info: aiohttp.AddrInfoType) -> socket.socket:
    """What every connection goes through, also one to an address that needs no resolving."""
    family, kind, proto, _, address = info
    _check(networks, str(address[0]))
    return socket.socket(family, kind, proto)


def _check(networks: Networks, host: str) -> None:
    if refusal := networks.refusal(host):
        raise Forbidden(refusal)


def _said(cause: Exception) -> str:
    """The system's words for what went wrong, or Python's."""
    words = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "")
    return words or str(cause) or type(cause).__name__


def _parsed(text: str) -> URL:
    try:
        return _web(URL(text))
    except ValueError:
        raise DeliveryFailed("the address is no web address", permanent=True) from None


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
        reason = f"the address is no http or https URL of at most {_LONGEST_URL:,} characters"
        raise DeliveryFailed(reason, permanent=True)
    return url


def _is_same_host(one: URL, other: URL) -> bool:
    """Also where http became https, each on its usual port."""
    usual = one.is_default_port() and other.is_default_port()
    return one.host == other.host and (one.port == other.port or usual)


def _secrets(url: URL) -> list[str]:
    """What may be secret in a URL: values, passwords, long pieces of its path."""
    long = [part for part in url.parts if len(part) >= _LONG_TOKEN]
    return [*long, *url.query.values(), *filter(None, [url.password])]


def _inflated(body: bytes, most: int) -> bytes:
    """No more than is wanted, however much a little can become."""
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(body, most)
    except zlib.error:
        return b""
