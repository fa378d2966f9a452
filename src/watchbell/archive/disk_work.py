"""Work on the disk in a thread that is always waited for."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """As `asyncio.to_thread`. Cancelled, it ends after the thread, which can't be stopped: it would
    write beside whoever takes up its files next."""
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, partial(work, *args, **named))
    try:
        return await asyncio.shield(future)
    finally:
        was_cancelled = False
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                was_cancelled = True
        if was_cancelled:
            raise asyncio.CancelledError
        if not future.cancelled():
            future.exception()  # it was raised, or nobody is there to handle it
