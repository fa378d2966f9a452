"""Connects to the store: a URL becomes a `Store`, which runs commands."""

import asyncio
import os
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self, TypeVar

from msgspec import Struct
from redis import asyncio as redis
from redis import exceptions
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from watchbell.errors import StoreNotReady, StoreUnavailable, StoreUnfit
from watchbell.store import outage
from watchbell.store.url import StoreURL

T = TypeVar("T")
Argument = str | bytes | int | float
Call = Callable[..., Awaitable[Any]]

BLOCK = 5
"""The most seconds that a blocking command waits, well below our timeout."""

_TIMEOUT = 20
_CONNECT_TIMEOUT = 5
_POOL = 100
_SPARE = 10
"""Connections that are reserved for live channels."""

_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ClusterError,
    exceptions.InvalidResponse,
    exceptions.RedisClusterException,
    OSError,
)
CLIENT_ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""All that a call may raise; `Store.unavailable` decides which mean that the store is
unavailable."""
NOT_NOW = (
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "UNBLOCKED",
)
"""The codes of replies that mean "not now": the same call succeeds once the cause is gone."""
# The client makes errors of their own of some codes, and leaves the code out of their text.
_CODED = (
    exceptions.BusyLoadingError,
    exceptions.ClusterDownError,
    exceptions.MasterDownError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
)
# At the beginning, or where a script passes the error of one of its commands on.
_NOT_NOW = re.compile(rf"(?:^-?|: -)(?:{'|'.join(NOT_NOW)})\b")


class Store:
    """A store and the prefix of our keys in it.

    A command is sent once; a caller that may repeat it uses `patiently`.
    """

    def __init__(self, url: StoreURL) -> None:
        self.url = url
        self.prefix = url.prefix
        self._sentinel: Sentinel | None = None
        self._nodes: dict[tuple[str, int], redis.Redis] = {}
        # The pool raises when it is empty; here callers wait.
        self._room = asyncio.Semaphore(_POOL - _SPARE)
        self._client = self._connected(url)

    async def call(self, *command: Argument) -> Any:
        """The answer to one command. An answer is bytes where it is text."""
        return await self._sent(self._client, command)

    async def _sent(self, client: "redis.Redis | RedisCluster", command: Sequence[Argument]) -> Any:
        try:
            async with asyncio.timeout(_TIMEOUT), self._room:
                return await heeding(client.execute_command(*command))
        except CLIENT_ERRORS as error:
            if unavailable := self.unavailable(error):
                raise unavailable from error
            error.add_note(" ".join(map(_printable, command[:2])))
            raise

    def unavailable(self, error: Exception) -> StoreUnavailable | None:
        """The StoreUnavailable for an error of the client; None where it means something else."""
        if isinstance(error, _CODED):
            return StoreNotReady(self._reason(error))
        if isinstance(error, exceptions.ResponseError) and _NOT_NOW.search(str(error)):
            return StoreNotReady(self._reason(error))
        if isinstance(error, exceptions.AuthenticationError):
            return StoreUnfit(self._reason(error))
        return StoreUnavailable(self._reason(error)) if isinstance(error, _AWAY) else None

    async def primaries(self) -> "list[Primary]":
        """The servers that hold keys, each with its own `call`."""
        if not isinstance(self._client, RedisCluster):
            return [Primary(self.url.redacted(), self.call)]
        try:
            await heeding(self._client.initialize())
        except _AWAY as error:
            raise StoreUnavailable(self._reason(error)) from error
        return [
            Primary(node.name, self._calling(node.host, int(node.port)))
            for node in self._client.get_primaries()
        ]

    def _calling(self, host: str, port: int) -> Call:
        client = self._node(host, port)

        async def call(*command: Argument) -> Any:
            return await self._sent(client, command)

        return call

    def _node(self, host: str, port: int) -> redis.Redis:
        """A client of one node of a cluster."""
        if (host, port) not in self._nodes:
            options = {**_options(self.url), **_tls(self.url)}
            self._nodes[host, port] = redis.Redis(host=host, port=port, **options)
        return self._nodes[host, port]

    def pubsub(self, key: str | None = None) -> Any:
        """A subscription on its own connection; on a cluster any node receives every message, but
        only the one that holds a key reports its changes."""
        if isinstance(self._client, RedisCluster):
            if key is not None and (node := self._client.get_node_from_key(key)):
                return self._node(node.host, int(node.port)).pubsub()
            return self._node(*random.choice(self.url.hosts)).pubsub()
        return self._client.pubsub()

    async def close(self) -> None:
        sentinels = self._sentinel.sentinels if self._sentinel is not None else []
        for client in [self._client, *self._nodes.values(), *sentinels]:
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _reason(self, error: BaseException) -> str:
        reason = _system_error(error) or str(error) or "it does not answer"
        if isinstance(error, exceptions.AuthenticationError):
            who = f"user {self.url.user!r}" if self.url.user else "us"
            reason = f"it refuses {who} with this password" if self.url.password else reason
        return f"the store at {self.url.redacted()} can't be used: {reason}"

    def _connected(self, url: StoreURL) -> "redis.Redis | RedisCluster":
        options = _options(url)
        if url.topology == "cluster":
            nodes = [ClusterNode(host, port) for host, port in url.hosts]
            options.pop("db")
            return RedisCluster(startup_nodes=nodes, **options, **_tls(url))
        if url.topology == "sentinel":
            own = {"username": url.sentinel_user or None, "password": url.sentinel_password or None}
            self._sentinel = Sentinel(  # type: ignore[no-untyped-call]
                list(url.hosts),
                sentinel_kwargs={**options, **own, **_tls(url), "db": 0, "socket_timeout": 5},
            )
            client: redis.Redis = self._sentinel.master_for(url.service, **options, **_tls(url))
            return client
        if url.socket:
            return redis.Redis(unix_socket_path=url.socket, **options)
        host, port = url.hosts[0]
        return redis.Redis(host=host, port=port, **options, **_tls(url))


async def heeding(call: Awaitable[T]) -> T:
    """The call's answer, unless we were cancelled meanwhile.

    The client may send by `asyncio.wait_for`, which before Python 3.12 forgets a cancellation that
    comes together with the end of what it waits for; a loop would then go on for ever.
    """
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    try:
        return await call
    finally:
        if task.cancelling() > before:
            raise asyncio.CancelledError


class Primary(Struct, frozen=True):
    """One server that holds keys: the store itself, or a part of a cluster."""

    name: str
    call: Call


def _printable(word: Argument) -> str:
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def _options(url: StoreURL) -> dict[str, Any]:
    return {
        "db": url.db,
        "username": url.user or None,
        "password": url.password or None,
        "socket_timeout": None,  # ours is around the whole call, and can be relied on
        "socket_connect_timeout": _CONNECT_TIMEOUT,
        "max_connections": _POOL,
        "retry": Retry(NoBackoff(), 0),
        "client_name": "watchbell",
        "protocol": 2,
    }


def _tls(url: StoreURL) -> dict[str, Any]:
    if not url.tls:
        return {}
    return {
        "ssl": True,
        "ssl_ca_certs": url.ca or None,
        "ssl_certfile": url.cert or None,
        "ssl_keyfile": url.key or None,
    }


def _system_error(error: BaseException | None) -> str:
    """The operating system's message where it caused the error."""
    while error is not None:
        if isinstance(error, OSError) and (error.errno or 0) > 0:
            return os.strerror(error.errno or 0)
        error = error.__cause__ or error.__context__
    return ""


class Backoff:
    """Pauses that grow with every failure in a row."""

    def __init__(self, first: float = 0.02, longest: float = 1.0) -> None:
        self._first, self._longest = first, longest
        self._pause = first

    async def wait(self) -> None:
        pause, self._pause = self._pause, min(self._pause * 2, self._longest)
        await asyncio.sleep(pause * random.uniform(0.5, 1))

    @property
    def has_waited(self) -> bool:
        return self._pause > self._first

    def reset(self) -> None:
        self._pause = self._first


async def patiently(
    attempt: Callable[[], Awaitable[T]], on_wait: Callable[[StoreUnavailable], None] | None = None
) -> T:
    """The result of `attempt`, repeated until the store is available. Only for what may be done
    twice."""
    backoff = Backoff()
    while True:
        try:
            answer = await attempt()
        except StoreUnavailable as error:
            outage.begin(error)
            if on_wait is not None:
                on_wait(error)
        else:
            if backoff.has_waited:
                outage.end()
            return answer
        await backoff.wait()
