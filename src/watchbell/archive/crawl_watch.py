"""What becomes of crawls at work whose pipeline is silent or that make no progress. Pure."""

from typing import Literal

from msgspec import Struct

STUCK_AFTER = 3_600.0
"""Seconds without progress after which a crawl counts as stuck."""
DEATH_TIMER = 3_600
"""Looks without a new heartbeat after which the pipeline of another program counts as dead."""
LOOK_EVERY = 2.0
"""Seconds between two looks, as upstream's reaper has it."""

Action = Literal["leave", "adopt", "remove", "return", "abort", "alarm", "clear"]


class Working(Struct, frozen=True, kw_only=True):
    """What is known of a crawl that is listed as at work, or has a lease."""

    ident: str
    is_readable: bool
    is_listed: bool = True
    """Whether it is in `working`."""
    url: str = ""
    has_ended: bool = False
    abort_requested: bool = False
    is_paused: bool = False
    is_ours: bool = False
    """Whether one of our pipelines took it, and so renews its lease."""
    pipeline: str = ""
    """The name of its pipeline, for people."""
    heartbeat: str | None = None
    """As the store has it."""
    death_timer: int = 0
    delay_max: int = 0
    lease: str = ""
    """When its lease ends, as the store has it; empty where it has none."""
    progress_at: float | None = None
    trouble: str = ""
    """Why its pipeline can't go on with it, as that reports."""
    failing: str = ""
    """Why its check fails; empty if it does not."""


class Verdict(Struct, frozen=True):
    action: Action
    reason: str = ""


_LEAVE = Verdict("leave")


def judge(
    crawl: Working, *, now: float, watched: float, lease: float, return_after: float
) -> Verdict:
    """`watched`: seconds for which its lease has not changed while we looked. `lease` and
    `return_after` as in the settings."""
    if not crawl.is_readable:
        return Verdict("remove", "it has no record")
    if crawl.has_ended:
        return Verdict("remove", "it has ended")
    if not crawl.is_listed or not (crawl.lease or _has_foreign_heartbeat(crawl)):
        return Verdict("adopt")
    if _has_foreign_heartbeat(crawl):
        silent = crawl.death_timer * LOOK_EVERY
        return _silence(crawl, silent, silent >= lease, DEATH_TIMER * LOOK_EVERY)
    silent = now - float(crawl.lease)
    return _silence(crawl, silent, silent >= 0 and watched >= lease, return_after, now)


def _has_foreign_heartbeat(crawl: Working) -> bool:
    return not crawl.is_ours and crawl.heartbeat is not None


def _silence(
    crawl: Working, silent: float, is_silent: bool, return_after: float, now: float | None = None
) -> Verdict:
    name = f"its pipeline {crawl.pipeline}" if crawl.pipeline else "a pipeline that took it"
    if is_silent and crawl.abort_requested:
        return Verdict("abort", f"aborted, since {name} is gone")
    if is_silent and silent >= return_after:
        return Verdict("return", f"back in the queue, since {name} is gone")
    if is_silent:
        return _alarm(crawl, f"{name} gives no sign of life")
    if crawl.trouble:
        return _alarm(crawl, crawl.trouble)
    if now is not None and _is_stuck(crawl, now):
        return _alarm(crawl, "no progress for more than an hour")
    return Verdict("clear") if crawl.failing else _LEAVE


def _is_stuck(crawl: Working, now: float) -> bool:
    if crawl.is_paused or crawl.progress_at is None:
        return False
    return now - crawl.progress_at >= STUCK_AFTER + 3 * crawl.delay_max / 1000


def _alarm(crawl: Working, reason: str) -> Verdict:
    return _LEAVE if crawl.failing == reason else Verdict("alarm", reason)
