"""Decides which fires of an event launch jobs, and which were missed."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from watchbell.jobs.timetable import Timetable
from watchbell.schedule.due import COUNTED, latest

GRACE = 60
"""Seconds by which a fire may be late without `catchup`."""


class Reason(Enum):
    """Why fires launch nothing."""

    MISSED = "missed: nothing was there to launch it in time"
    REPLACED = "missed: only the latest run is caught up"
    TOO_MANY = "missed: more runs than are caught up"


class Omitted(NamedTuple):
    first: int
    last: int
    number: int | None
    """None if there were too many to count."""
    reason: Reason


class Due(NamedTuple):
    fires: Sequence[int]
    """In order."""
    omitted: Omitted | None = None
    """All of these come before the fires."""


def due(timetable: Timetable, mark: int, first: int | None, now: float, most: int) -> Due:
    """Decides about the fires after `mark`, the last one handled, up to `now`; `first` is the first
    of them. At most `most` are caught up."""
    if first is None or first > now:
        return Due(())
    if now - first < GRACE:
        return Due([first, *timetable.fires_between(first, now)])
    fires, reason = _launched(timetable, mark, now, most)
    if fires and fires[0] == first:
        return Due(fires)
    return Due(fires, _omitted(timetable, mark, fires[0] - 1 if fires else int(now), reason))


def _launched(
    timetable: Timetable, mark: int, now: float, most: int
) -> tuple[Sequence[int], Reason]:
    in_time = list(timetable.fires_between(max(mark, now - GRACE), now))
    if timetable.catchup is None:
        return in_time, Reason.MISSED
    if timetable.catchup.policy == "latest":
        return in_time or latest(timetable, mark, now, 1), Reason.REPLACED
    most = min(most, timetable.catchup.most or most)
    return latest(timetable, mark, now, max(most, len(in_time))), Reason.TOO_MANY


def _omitted(timetable: Timetable, since: int, until: int, reason: Reason) -> Omitted | None:
    known = latest(timetable, since, until, COUNTED)
    first = timetable.next_after(since)
    if not known or first is None:
        return None
    return Omitted(first, known[-1], len(known) if known[0] == first else None, reason)
