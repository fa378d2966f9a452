"""Responses that a crawl with a browser keeps in memory, so that no page has them fetched again.

Pages share most of their parts, and each is opened in a browser without a past.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from watchbell.archive.fetching.model import Fetched
from watchbell.archive.grabbing.proxy import Answer, Headers

_MOST = 32 << 20
_LARGEST = 2 << 20
_ENTRY = 1_000
"""Bytes that an entry counts beside its body."""
_SAME_FOR_ALL = frozenset(("accept-encoding", "cookie", "origin", "user-agent"))
"""What a response may depend on: it does not change from page to page, or is checked."""


class _Kept(Struct, frozen=True):
    status: int
    reason: str
    headers: Headers
    body: bytes
    allowed: str
    """The origin that alone may read it; empty or `*` if there is none."""


class KeptResponses:
    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[None]:
        """Only one fetches a URL; who comes meanwhile waits for what the first one keeps."""
        lock, users = self._turns.get(url, (asyncio.Lock(), 0))
        self._turns[url] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            _, users = self._turns.pop(url)
            if users > 1:
                self._turns[url] = lock, users - 1

    def find(self, url: str, origin: str) -> Answer | None:
        kept = self._kept.get(url)
        if kept is None or (kept.allowed not in ("", "*") and kept.allowed != origin):
            return None
        self._kept.move_to_end(url)
        return Answer(kept.status, kept.reason, kept.headers, (kept.body,))

    def keep(self, url: str, fetched: Fetched) -> None:
        """The URL is one without secrets."""
        size = fetched.response.size - fetched.head_size
        if size > _LARGEST or fetched.error or fetched.truncated or not _is_lasting(fetched):
            return
        self._drop(url)
        self._kept[url] = _Kept(
            status=fetched.status,
            reason=fetched.reason,
            headers=fetched.headers,
            body=fetched.response.read(fetched.head_size),
            allowed=fetched.header("access-control-allow-origin"),
        )
        self._size += size + _ENTRY
        while self._size > _MOST:
            self._drop(next(iter(self._kept)))

    def _drop(self, url: str) -> None:
        kept = self._kept.pop(url, None)
        if kept:
            self._size -= len(kept.body) + _ENTRY


def _is_lasting(fetched: Fetched) -> bool:
    """Whether another page would get the same."""
    vary = {name.strip().lower() for name in fetched.header("vary").split(",")} - {""}
    is_final = fetched.status in (200, 301, 302, 303, 307, 308, 404, 410)
    return is_final and vary <= _SAME_FOR_ALL
