"""How many connections one address may have open, and which are closed to make room."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from litestar.types import ASGIApp, Receive, Scope, Send

from watchbell.web.limits import sender
from watchbell.web.request_envelope import send_problem

RETRY_AFTER = 10


class Connection(Protocol):
    @property
    def address(self) -> str: ...

    @property
    def is_idle(self) -> bool:
        """Whether it has no request in progress."""

    def hang_up(self) -> None: ...


class Connections:
    """Open connections by address, the longest idle first."""

    def __init__(self, most: int, most_of_one: int, is_proxy: Callable[[str], bool]) -> None:
        """`most_of_one` is 0 for no limit, and does not apply to a proxy."""
        self._most, self._most_of_one, self._is_proxy = most, most_of_one, is_proxy
        self._open: dict[str, dict[Connection, None]] = {}
        self._count = 0

    def admit(self, new: Connection) -> bool:
        """Whether there is room for it, where need be after one that is idle was closed: of the
        same address if that has its share, else of the address that has most."""
        name = sender(new.address)
        mine = self._open.get(name, {})
        if self._is_limited(new.address) and len(mine) >= self._most_of_one:
            if not self._close_idle(name):
                return False
        elif self._count >= self._most and not self._close_any_idle():
            return False
        self._open.setdefault(name, {})[new] = None
        self._count += 1
        return True

    def rest(self, one: Connection) -> None:
        """It is idle from now on."""
        mine = self._open.get(sender(one.address), {})
        if one in mine:
            del mine[one]
            mine[one] = None

    def remove(self, one: Connection) -> None:
        name = sender(one.address)
        mine = self._open.get(name, {})
        if one in mine:
            del mine[one]
            self._count -= 1
            if not mine:
                del self._open[name]

    def _is_limited(self, address: str) -> bool:
        return bool(self._most_of_one) and not self._is_proxy(address)

    def _close_idle(self, name: str) -> bool:
        for one in self._open.get(name, {}):
            if one.is_idle:
                self.remove(one)
                one.hang_up()
                return True
        return False

    def _close_any_idle(self) -> bool:
        names = sorted(self._open, key=lambda name: len(self._open[name]), reverse=True)
        return any(self._close_idle(name) for name in names)


class Sockets:
    """Sockets that are open, those included that have not shaken hands for TLS yet. An address may
    have twice as many as connections: one that has to make room is closed in a moment."""

    def __init__(self, most_of_one: int, is_proxy: Callable[[str], bool]) -> None:
        self._most, self._is_proxy = 2 * most_of_one, is_proxy
        self._open = Counter[str]()

    def admit(self, address: str) -> bool:
        name = sender(address)
        if self._most and self._open[name] >= self._most and not self._is_proxy(address):
            return False
        self._open[name] += 1
        return True

    def remove(self, address: str) -> None:
        name = sender(address)
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


class RequestLimit:
    """The same for who comes through a trusted proxy, whose connections serve many people: so many
    requests of one address are answered at a time."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._open = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if scope["type"] != "http" or client is None:  # type: ignore[comparison-overlap]
            await self._app(scope, receive, send)
            return
        name = sender(client[0])
        if self._open[name] >= self._most:
            await refuse(send, f"{self._most} requests from {client[0]} are open")
            return
        self._open[name] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]


async def refuse(send: Send, why: str) -> None:
    detail = f"{why}, which is the most (web.connections_per_address); try again in a moment"
    await send_problem(send, 429, detail, {"retry-after": str(RETRY_AFTER), "connection": "close"})
