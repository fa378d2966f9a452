"""What goes on although the store refuses one of its calls, as for a key of a wrong type.

How a task's failure reaches its role, in three steps. A store that can't serve us now is waited for
(`patiently`). A reply that blames a key fails one attempt, which is made again (`enduring`), where
the role does other work that must not end with it. Everything else is raised: the role fails, and
the supervisor logs it and starts the role again.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.clock import SYSTEM
from watchbell.store.client import Backoff

T = TypeVar("T")

STEADY = 60.0
"""Seconds after which an attempt that failed again counts as one that failed for the first time."""


async def enduring(
    attempt: Callable[[], Awaitable[T]],
    role: str,
    task: str,
    on_failure: Callable[[str], None] = lambda _: None,
    first_pause: float = 1.0,
) -> T:
    """What `attempt` gives; made again, later each time, after an error reply of the store.

    Each failure is logged with its traceback, and `on_failure` is given the reason.
    """
    backoff = Backoff(first=first_pause, longest=STEADY)
    while True:
        begun = SYSTEM.monotonic()
        try:
            return await attempt()
        except ResponseError as raised:
            error = raised
        if SYSTEM.monotonic() - begun > STEADY:
            backoff.reset()
        blamed = "; ".join(getattr(error, "__notes__", []))
        reason = f"{error} ({blamed})" if blamed else str(error)
        logs.get(role=role).error("task failed, and is tried again", task=task, exc_info=error)
        on_failure(f"{task}: {reason}")
        await backoff.wait()
