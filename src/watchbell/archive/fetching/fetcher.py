"""Fetches one URL and keeps what went over the wire."""

import asyncio
from pathlib import Path

from watchbell.archive.fetching import ftp
from watchbell.archive.fetching.connection import Connection, Pool, connected, unverified_tls
from watchbell.archive.fetching.exchange import Exchange
from watchbell.archive.fetching.model import Fetched, FetchFailed, Limits, Request
from watchbell.archive.fetching.resolver import Resolver
from watchbell.archive.fetching.spool import Spool
from watchbell.archive.fetching.target import Target, request_bytes, target
from watchbell.clock import SYSTEM, Clock
from watchbell.http.networks import Networks

_MOST_IDLE = 256
_IDLE_SECONDS = 30


class Fetcher:
    """Any number of fetches at a time; redirects are for the caller to follow."""

    def __init__(
        self,
        networks: Networks,
        folder: Path,
        limits: Limits | None = None,
        *,
        clock: Clock = SYSTEM,
        most_idle: int = _MOST_IDLE,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        """Large responses are kept in files in `folder` until they are closed."""
        self._limits = limits or Limits()
        self._folder = folder
        self._clock = clock
        self._pool = Pool(clock, most_idle, idle_seconds)
        self._resolver = Resolver(networks, clock)
        self._tls = unverified_tls()

    async def fetch(self, request: Request) -> Fetched:
        """What goes wrong is in `error`. Raises OSError only where our disk can't take the
        response."""
        started, begun = self._clock.now(), self._clock.monotonic()
        sent = b""
        try:
            to = target(request.url, self._limits.url_size)
            if to.scheme == "ftp":
                return await self._by_ftp(request.url, to, started, begun)
            sent = request_bytes(to, request)
            exchange, connection = await self._exchanged(to, sent)
        except FetchFailed as failure:
            return Fetched(
                url=request.url,
                response=Spool(self._folder),
                error=failure.error,
                is_retryable=failure.is_retryable,
                started=started,
                seconds=self._clock.monotonic() - begun,
            )
        _check_stored(exchange.failure, exchange.spool)
        seconds = self._clock.monotonic() - begun
        return _fetched(request.url, sent, exchange, connection, started, seconds)

    def close(self) -> None:
        self._pool.close()
        self._resolver.close()

    async def _by_ftp(self, url: str, to: Target, started: float, begun: float) -> Fetched:
        address, *_ = await self._addresses(to)
        spool = Spool(self._folder)
        try:
            result = await ftp.transfer(to, address, self._limits, spool)
        except asyncio.CancelledError:
            spool.close()
            raise
        failure = result.failure
        _check_stored(failure, spool)
        return Fetched(
            url=url,
            response=spool,
            status=result.status,
            truncated=result.truncated,
            error=failure.error if failure else "",
            is_retryable=failure is not None and failure.is_retryable,
            ip=address,
            started=started,
            seconds=self._clock.monotonic() - begun,
            transcript=result.transcript,
            links=await asyncio.to_thread(result.links, url) if result.is_listing else (),
        )

    async def _exchanged(self, to: Target, sent: bytes) -> tuple[Exchange, Connection]:
        # What may change something at the server is sent once, over a connection that is not stale.
        kept = self._pool.take(to.origin) if sent.startswith(b"GET ") else None
        if kept:
            exchange = await self._ask(kept, to, sent)
            if not exchange.is_stale:
                return exchange, kept
            exchange.spool.close()
        fresh = await self._connected(to)
        return await self._ask(fresh, to, sent), fresh

    async def _ask(self, connection: Connection, to: Target, sent: bytes) -> Exchange:
        exchange = Exchange(self._limits, Spool(self._folder))
        connection.begin(exchange, sent)
        try:
            await exchange.finish()
        except asyncio.CancelledError:
            connection.abort()
            exchange.spool.close()
            raise
        if exchange.keeps_connection:
            self._pool.put(to.origin, connection)
        else:
            connection.abort()
        return exchange

    async def _addresses(self, to: Target) -> list[str]:
        seconds = self._limits.connect
        try:
            async with asyncio.timeout(seconds):
                return await self._resolver.addresses(to.host)
        except TimeoutError:
            raise FetchFailed(f"DNS: no answer within {seconds:g} s", is_retryable=True) from None

    async def _connected(self, to: Target) -> Connection:
        return await connected(
            lambda address: Connection(address, self._pool.forget),
            await self._addresses(to),
            to.port,
            self._tls if to.scheme == "https" else None,
            to.host.rstrip("."),
            self._limits.connect,
        )


def _check_stored(failure: FetchFailed | None, spool: Spool) -> None:
    if failure and failure.unstored:
        spool.close()
        raise failure.unstored


def _fetched(
    url: str,
    sent: bytes,
    exchange: Exchange,
    connection: Connection,
    started: float,
    seconds: float,
) -> Fetched:
    head, failure = exchange.framing.head, exchange.failure
    return Fetched(
        url=url,
        request=sent,
        response=exchange.spool,
        status=head.status if head else 0,
        reason=head.reason if head else "",
        headers=head.headers if head else (),
        head_size=head.size if head else 0,
        interim=exchange.framing.interim,
        truncated=exchange.truncated,
        error=failure.error if failure else "",
        is_retryable=failure is not None and failure.is_retryable,
        ip=connection.address,
        started=started,
        seconds=seconds,
        certificate=connection.certificate,
    )
