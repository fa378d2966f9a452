"""Extends a lease while its work goes on, and cancels the work when the lease is lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from watchbell.clock import SYSTEM
from watchbell.errors import StoreUnavailable, WatchbellError


@asynccontextmanager
async def kept(
    extend: Callable[[], Awaitable[bool]], seconds: float, lost: WatchbellError
) -> AsyncIterator[None]:
    """The body runs under a lease of `seconds` that began just now and that `extend` renews.

    If `extend` returns false, or the store is unavailable for the length of a lease, the body is
    cancelled and `lost` is raised in its place. Time is measured by this process's monotonic clock.
    """
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(_keep(extend, seconds, lost))
            try:
                yield
            except Exception as error:  # noqa: BLE001 the group would wrap it
                failure = error
            finally:
                keeper.cancel()
    except* type(lost):
        failure = lost
    if failure is not None:
        raise failure


async def _keep(
    extend: Callable[[], Awaitable[bool]], seconds: float, lost: WatchbellError
) -> None:
    ends = SYSTEM.monotonic() + seconds
    while True:
        await asyncio.sleep(min(seconds / 3, max(ends - SYSTEM.monotonic(), 0)))
        asked = SYSTEM.monotonic()
        try:
            async with asyncio.timeout(ends - asked):  # none is left to one that slept too long
                held = await extend()
        except StoreUnavailable:
            continue
        except TimeoutError:
            raise lost from None
        if not held:
            raise lost
        ends = asked + seconds
