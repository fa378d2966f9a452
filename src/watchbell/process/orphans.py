"""Processes that outlived the supervisor that started them, found by the marks they carry.

A warden ends its supervisor's children by itself. What is left for this module is the case that
both were killed. Works where there is a /proc; elsewhere nothing is ever found.
"""

import asyncio
import os
import signal
from collections.abc import Container
from contextlib import suppress

from msgspec import Struct

from watchbell.clock import SYSTEM
from watchbell.process.procfs import PROC, is_dead, marks_of

_PAUSE = 0.05  # seconds between checks
_PATIENCE = 30.0  # seconds to wait for what survives SIGKILL


class Orphan(Struct, frozen=True):
    pid: int
    run: str
    owner: str
    supervisor: str
    """The mark of the process that started it; see `own_mark`."""
    may_stay: bool
    """Whether its run was allowed to leave daemons behind."""


def orphans(owner: str = "") -> list[Orphan]:
    """Processes whose supervisor is dead and whose owner's name begins with `owner`. Root sees
    everybody's processes, others only their own."""
    return [one for one in marked() if one.owner.startswith(owner) and is_dead(one.supervisor)]


def marked() -> list[Orphan]:
    """All processes of runs, supervised or not."""
    names = os.listdir(PROC) if PROC.is_dir() else []  # noqa: PTH208 far cheaper
    pids = (int(name) for name in names if name.isdecimal())
    return [
        Orphan(
            pid,
            marks["WB_RUN"],
            marks.get("WB_OWNER", ""),
            marks.get("WB_SUPERVISOR", ""),
            marks.get("WB_ESCAPED") == "leave",
        )
        for pid in pids
        if "WB_RUN" in (marks := marks_of(pid))
    ]


async def end(owner: str = "", grace: float = 10.0, spared: Container[str] = ()) -> list[Orphan]:
    """Ends the orphans that may not stay, by SIGTERM and later SIGKILL. Returns them when they are
    gone, or some time after SIGKILL if they are not. Runs in `spared` have a new supervisor."""
    ended: dict[int, Orphan] = {}
    kills_at = SYSTEM.monotonic() + grace
    while left := [
        orphan for orphan in orphans(owner) if not orphan.may_stay and orphan.run not in spared
    ]:
        now = SYSTEM.monotonic()
        if now > kills_at + _PATIENCE:
            break
        for orphan in left:
            if now >= kills_at:
                signal_safely(orphan, signal.SIGKILL)
            elif orphan.pid not in ended:
                signal_safely(orphan, signal.SIGTERM)
            ended[orphan.pid] = orphan
        await asyncio.sleep(_PAUSE)
    return list(ended.values())


def signal_safely(orphan: Orphan, number: int) -> None:
    """Never signals another process that got its pid meanwhile, where the system has pidfds."""
    with suppress(ProcessLookupError, PermissionError):
        if not hasattr(os, "pidfd_open"):
            os.kill(orphan.pid, number)
            return
        descriptor = os.pidfd_open(orphan.pid)
        try:
            if marks_of(orphan.pid).get("WB_RUN") == orphan.run:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)
