"""The response to one request while it arrives: its bytes, its limits, its end."""

import asyncio
from contextlib import suppress

from msgspec import Struct

from watchbell.archive.fetching.framing import Framing, named
from watchbell.archive.fetching.model import FetchFailed, Limits, Truncation, unstored
from watchbell.archive.fetching.spool import Spool


class _Window(Struct, frozen=True):
    """The time until which something has to arrive: the head, or enough of the body."""

    end: float
    size: int = 0
    """Bytes that had arrived when it began."""
    is_of_body: bool = False


class Exchange:
    def __init__(self, limits: Limits, spool: Spool) -> None:
        self._limits = limits
        self._waiter: asyncio.Future[None] | None = None
        self.framing = Framing(limits.head_size)
        self.spool = spool
        self.failure: FetchFailed | None = None
        self.truncated: Truncation = ""
        self.is_over = False

    @property
    def keeps_connection(self) -> bool:
        """Whether the next request can use the connection."""
        framing = self.framing
        return (
            framing.head is not None
            and framing.head.is_kept_alive
            and framing.is_complete
            and not framing.has_more
            and not self.truncated
            and self.failure is None
            and framing.head.status != 101
        )

    @property
    def is_stale(self) -> bool:
        """Whether a connection from the pool had ended, or carried what nobody asked for."""
        failure = self.failure
        return failure is not None and not self.framing.head and failure.truncated != "time"

    def received(self, piece: bytes) -> None:
        if self.is_over:
            self.framing.has_more = True
            return
        had_head = self.framing.head is not None
        try:
            self._keep(self.framing.feed(piece))
        except FetchFailed as failure:
            self._fail(failure)
        if self.framing.is_complete:
            self.is_over = True
        elif not had_head and self.framing.head and _is_endless(self.framing.head.headers):
            self._cut("unspecified")
        if self.is_over or (not had_head and self.framing.head):
            self._wake()

    def closed(self, error: Exception | None) -> None:
        """The connection has ended: properly, or by this error."""
        if self.is_over:
            return
        failure = self.framing.closed(_words(error) if error else "")
        if failure:
            self._fail(failure)
        self.is_over = True
        self._wake()

    async def finish(self) -> None:
        """Waits until the exchange is over, at most as long as the limits allow."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        last = begun + self._limits.total
        window = _Window(begun + self._limits.head)
        while not self.is_over:
            self._waiter = loop.create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(window.end, last)):
                    await self._waiter
            if not self.is_over:
                window = self._next_window(window, last, loop.time())

    def _next_window(self, window: "_Window", last: float, now: float) -> "_Window":
        limits = self._limits
        if now >= last:
            self._fail(FetchFailed(f"not complete after {limits.total:g} s", truncated="time"))
        elif self.framing.head and not window.is_of_body:
            return _Window(now + limits.stall, self.spool.size, is_of_body=True)
        elif now < window.end:
            return window
        elif not self.framing.head:
            self._fail(_slow(f"no response within {limits.head:g} s"))
        elif self.spool.size - window.size >= limits.stall_size:
            return _Window(now + limits.stall, self.spool.size, is_of_body=True)
        else:
            least = f"{limits.stall_size:,} bytes within {limits.stall:g} s"
            self._fail(_slow(f"fewer than {least}"))
        return window

    def _keep(self, piece: bytes) -> None:
        room = self._limits.size - self.spool.size
        if len(piece) > room:
            piece = piece[:room]
            self._cut("length")
        try:
            self.spool.write(piece)
        except OSError as error:
            self.failure = unstored(error)
            self._cut("unspecified")

    def _cut(self, why: Truncation) -> None:
        self.truncated = why
        self.is_over = True

    def _fail(self, failure: FetchFailed) -> None:
        self.failure = failure
        self.is_over = True
        if self.framing.head:
            self.truncated = failure.truncated
        pending, self.framing.pending = self.framing.pending, b""
        if pending:
            self._keep(pending)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _is_endless(headers: tuple[tuple[str, str], ...]) -> bool:
    """Whether this is a live stream, such as Icecast's, which ends with its station."""
    is_stream = any(name.lower().startswith("icy-") for name, _ in headers)
    return is_stream and not named(headers, "content-length")


def _slow(error: str) -> FetchFailed:
    return FetchFailed(error, is_retryable=True, truncated="time")


def _words(error: Exception) -> str:
    return (getattr(error, "strerror", "") or str(error) or type(error).__name__).lower()
