"""What the commands share that keep users and keys."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from watchbell.cli.options import opened
from watchbell.settings import Settings
from watchbell.store.client import Store

T = TypeVar("T")


def done(settings: Settings, action: Callable[[Store], Awaitable[T]]) -> T:
    async def run() -> T:
        async with opened(settings) as store:
            return await action(store)

    return asyncio.run(run())
