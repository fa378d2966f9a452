"""One call on the open store."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened

T = TypeVar("T")


def with_store(settings: Settings, action: Callable[[Store], Awaitable[T]]) -> T:
    """The result of `action` on the store of these settings, which is closed afterwards."""

    async def run() -> T:
        async with opened(settings) as store:
            return await action(store)

    return asyncio.run(run())
