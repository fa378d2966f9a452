"""Connections to servers, and the pool of those that wait for the next request."""

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from watchbell.archive.fetching.exchange import Exchange
from watchbell.archive.fetching.model import Certificate, FetchFailed
from watchbell.clock import Clock

Origin = tuple[str, str, int]


class Connection(asyncio.Protocol):
    """Carries one exchange at a time."""

    def __init__(self, address: str, on_lost: Callable[["Connection"], None]) -> None:
        self._on_lost = on_lost
        self._early: bytes | None = b""
        """What arrived before the first request."""
        self.address = address
        self._exchange: Exchange | None = None
        self._transport: asyncio.Transport | None = None
        self.is_lost = False
        self.idle_since = 0.0
        self.certificate: Certificate | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.certificate = _certificate(transport.get_extra_info("ssl_object"))

    def begin(self, exchange: Exchange, request: bytes) -> None:
        self._exchange = exchange
        early, self._early = self._early, None
        if early:
            exchange.received(early)
        if self._transport is None or self.is_lost:
            exchange.closed(None)
        else:
            self._transport.write(request)

    def end(self) -> None:
        """The exchange is over; the connection can carry another one."""
        self._exchange = None

    def abort(self) -> None:
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._exchange is not None:
            self._exchange.received(data)
        elif self._early is not None:
            self._early += data
        else:  # nobody asked for it
            self.abort()
            self._lost()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._exchange is not None:
            self._exchange.closed(exc)
        self._lost()

    def _lost(self) -> None:
        self.is_lost = True
        self._on_lost(self)


class Pool:
    """Connections that are kept for the next request to the same server, the newest first."""

    def __init__(self, clock: Clock, most: int, seconds: float) -> None:
        self._clock = clock
        self._most = most
        self._seconds = seconds
        self._idle: OrderedDict[Connection, Origin] = OrderedDict()
        self._by_origin: dict[Origin, list[Connection]] = {}

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, origin: Origin) -> Connection | None:
        self._expire()
        kept = self._by_origin.get(origin)
        if not kept:
            return None
        connection = kept[-1]
        self.forget(connection)
        return connection

    def put(self, origin: Origin, connection: Connection) -> None:
        connection.end()
        if connection.is_lost:
            return
        connection.idle_since = self._clock.monotonic()
        self._idle[connection] = origin
        self._by_origin.setdefault(origin, []).append(connection)
        if len(self._idle) > self._most:
            self._close_oldest()

    def forget(self, connection: Connection) -> None:
        origin = self._idle.pop(connection, None)
        if origin is None:
            return
        kept = self._by_origin[origin]
        kept.remove(connection)
        if not kept:
            del self._by_origin[origin]

    def close(self) -> None:
        while self._idle:
            self._close_oldest()

    def _expire(self) -> None:
        since = self._clock.monotonic() - self._seconds
        while self._idle and next(iter(self._idle)).idle_since < since:
            self._close_oldest()

    def _close_oldest(self) -> None:
        connection = next(iter(self._idle))
        self.forget(connection)
        connection.abort()


def unverified_tls() -> ssl.SSLContext:
    """An archive wants what the server sends, however old its TLS or wrong its certificate is. The
    certificate is recorded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.options |= 0x4  # OP_LEGACY_SERVER_CONNECT, which Python names from 3.12 on
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    context.set_alpn_protocols(["http/1.1"])
    return context


async def connected(
    make: Callable[[str], Connection],
    addresses: list[str],
    port: int,
    tls: ssl.SSLContext | None,
    name: str,
    seconds: float,
) -> Connection:
    """A connection to the first of the addresses that accepts one. FetchFailed if none does within
    the time, which the addresses share."""
    loop = asyncio.get_running_loop()
    failure = FetchFailed("no address")
    for address in addresses:
        try:
            async with asyncio.timeout(seconds / len(addresses)):
                _, connection = await loop.create_connection(
                    partial(make, address),
                    address,
                    port,
                    ssl=tls,
                    server_hostname=name if tls else None,
                )
        except TimeoutError:
            failure = FetchFailed(f"no connection within {seconds:g} s", is_retryable=True)
        except (ssl.SSLError, ValueError) as error:
            raise FetchFailed(f"TLS: {_tls_reason(error)}") from None
        except OSError as error:
            failure = FetchFailed(refusal(error), is_retryable=True)
        else:
            return connection
    raise failure


def _certificate(tls: ssl.SSLObject | None) -> Certificate | None:
    der = tls.getpeercert(binary_form=True) if tls else None
    if not tls or not der:
        return None
    cipher = tls.cipher()
    return Certificate(der, tls.version() or "", cipher[0] if cipher else "", _chain(tls, der))


def _chain(tls: ssl.SSLObject, der: bytes) -> tuple[bytes, ...]:
    """Python names the certificates above the server's own from 3.13 on."""
    every = getattr(tls, "get_unverified_chain", None)
    return tuple(every()) if every else (der,)


def _tls_reason(error: Exception) -> str:
    reason = getattr(error, "reason", "") or str(error)
    return reason.replace("_", " ").lower()


def refusal(error: OSError) -> str:
    match error:
        case ConnectionRefusedError():
            return "connection refused"
        case ConnectionResetError():
            return "connection reset"
    return f"no connection: {(error.strerror or str(error)).lower()}"
