"""One call on an open store, for the commands about users and API keys."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.store.opening import opened

T = TypeVar("T")


def done(settings: Settings, action: Callable[[Store], Awaitable[T]]) -> T:
    async def run() -> T:
        async with opened(settings) as store:
            return await action(store)

    return asyncio.run(run())
