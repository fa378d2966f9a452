"""Waiting for a condition with a deadline; the only place in the tests that sleeps.

A deadline is there for what never comes about. What comes about late, because the machine is busy
with something else, is no failure: so no deadline is shorter than `PATIENCE`, whatever is asked
for, and that is far beyond what anything takes.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from watchbell.roles.supervisor import where

T = TypeVar("T")

POLL = 0.005
PATIENCE = 120


def wait_until(predicate: Callable[[], T], seconds: float = PATIENCE, why: str = "") -> T:
    """The first true value that `predicate` gives; what it raises is raised."""
    seconds = max(seconds, PATIENCE)
    deadline = time.monotonic() + seconds
    while not (value := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(predicate, seconds, why, value))
        time.sleep(POLL)
    return value


@overload
async def eventually(
    predicate: Callable[[], Awaitable[T]], seconds: float = PATIENCE, why: str = ""
) -> T: ...
@overload
async def eventually(predicate: Callable[[], T], seconds: float = PATIENCE, why: str = "") -> T: ...
async def eventually(predicate: Callable[[], Any], seconds: float = PATIENCE, why: str = "") -> Any:
    """As `wait_until`, on the event loop; a predicate that hangs is cut off at the deadline too."""
    value: Any = None
    seconds = max(seconds, PATIENCE)
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            while not (value := await _asked(predicate)):  # noqa: ASYNC110
                await asyncio.sleep(POLL)
    except TimeoutError:
        if not deadline.expired():
            raise
        _show_tasks()
        raise AssertionError(_late(predicate, seconds, why, value)) from None
    return value


async def _asked(predicate: Callable[[], Any]) -> Any:
    answer = predicate()
    return await answer if inspect.isawaitable(answer) else answer


def _show_tasks() -> None:
    """Where every task of the test waits, to be read beside the failure."""
    for task in asyncio.all_tasks():
        print(f"{task.get_name()} waits at\n{where(task)}\n")


def _late(predicate: object, seconds: float, why: str, value: object) -> str:
    name = getattr(predicate, "__qualname__", repr(predicate))
    return f"not within {seconds:g} s: {why or name} (last: {value!r})"
