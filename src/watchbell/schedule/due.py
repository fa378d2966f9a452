"""Decides which fires are due, which are too late, and which late ones are still run."""

import zlib
from collections.abc import Sequence
from enum import Enum
from math import ceil, floor
from typing import Literal, NamedTuple

from watchbell.schedule.firing import Schedule

Missed = Literal["skip", "once", "all"]
"""Which fires that were not run in time are run later: none of them, the last, or all."""

PROMPT = 2.0
"""Seconds by which a fire may be late and still count as on time."""
MOST_CAUGHT_UP = 100
"""The most missed fires that are run later with `all`."""
COUNTED = 20
"""The most missed fires that are counted."""

_FIRST_WINDOW = 4.0
_WIDER = 8


class Fate(Enum):
    ON_TIME = "on time"
    LATE = "late, but still run"
    TOO_LATE = "missed: no instance ran it in time"
    REPLACED = "missed: a later one is run instead"


class Stretch(NamedTuple):
    """Fires that are not run."""

    first: int
    last: int
    number: int | None
    """None if there were too many to count."""
    fate: Fate


class Due(NamedTuple):
    omitted: Sequence[Stretch]
    """All of these come before the fires that are run."""
    fires: Sequence[tuple[int, Fate]]


NOTHING = Due((), ())


def delay(name: str, fire: int, jitter: int) -> float:
    """Seconds by which a fire is delayed: the same on every machine."""
    if not jitter:
        return 0.0
    return zlib.crc32(f"{fire}:{name}".encode()) / (1 << 32) * jitter


def due(schedule: Schedule, mark: int, now: float, *, missed: Missed, grace: int) -> Due:
    """Decides about the fires after `mark`, the last one handled, up to `now`.

    `grace` is how many seconds late a fire may start.
    """
    first = schedule.next_after(mark)
    if first is None or first > now:
        return NOTHING
    prompt = list(schedule.fires_between(max(mark, now - PROMPT), now))
    if prompt and prompt[0] == first:
        return Due((), [(fire, Fate.ON_TIME) for fire in prompt])
    before = prompt[0] - 1 if prompt else floor(now)
    run = _run_late(schedule, mark, before, now - grace, missed, has_prompt=bool(prompt))
    fires = [*((fire, Fate.LATE) for fire in run), *((fire, Fate.ON_TIME) for fire in prompt)]
    end = run[0] - 1 if run else before
    # Of the fires from here on, a later one is run instead of those that are left out.
    since = {"once": mark, "skip": ceil(now - grace) - 1, "all": end}[missed] if fires else end
    split = min(max(mark, since), end)
    found = [
        _stretch(schedule, mark, split, Fate.TOO_LATE),
        _stretch(schedule, split, end, Fate.REPLACED),
    ]
    return Due([stretch for stretch in found if stretch], fires)


def _run_late(
    schedule: Schedule, mark: int, before: int, since: float, missed: Missed, *, has_prompt: bool
) -> Sequence[int]:
    """Fires that are run although they are late."""
    if missed == "all":
        return latest(schedule, mark, before, MOST_CAUGHT_UP)
    newest = [] if has_prompt else latest(schedule, mark, before, 1)
    return newest if newest and (missed == "once" or newest[0] >= since) else []


def _stretch(schedule: Schedule, since: int, until: int, fate: Fate) -> Stretch | None:
    known = latest(schedule, since, until, COUNTED)
    first = schedule.next_after(since)
    if not known or first is None:
        return None
    return Stretch(first, known[-1], len(known) if known[0] == first else None, fate)


def latest(schedule: Schedule, since: float, until: float, most: int) -> list[int]:
    """The last fires after `since` and up to `until`, at most `most`.

    Searches wider and wider windows, so that it need not walk through a year of seconds.
    """
    window = _FIRST_WINDOW
    while True:
        begin = max(since, until - window)
        found = list(schedule.fires_between(begin, until))
        if len(found) >= most or begin == since:
            return found[-most:]
        window *= _WIDER
