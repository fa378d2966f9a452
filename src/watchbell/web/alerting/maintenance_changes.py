"""Scheduling, changing and ending the maintenance of many checks at once."""

from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.alerting import calendar, history, maintenance, phrases
from watchbell.alerting.calendar import Alike
from watchbell.alerting.keys import Alerting
from watchbell.alerting.phrases import Given
from watchbell.alerting.windows import Kind, Window
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web.alerting.maintenance_calendar import Calendar
from watchbell.web.problems import HttpProblem
from watchbell.web.refused import RefusedField

MOST = 50_000
"""Checks that are put into maintenance by one request."""


class Plan(Struct, frozen=True):
    kind: Kind
    window: Window
    checks: list[str]


class Span(Struct, frozen=True):
    """When it begins and ends, as people write it: with a duration, or with an end."""

    start: Given
    duration: Given | None
    end: Given | None

    def seconds(self, now: float, zone: ZoneInfo) -> tuple[int, int]:
        """Start and duration. Raises HttpProblem that names the field that was not understood."""
        start = _read("start", lambda: phrases.moment(self.start, now, zone))
        if (self.duration is None) == (self.end is None):
            raise HttpProblem(422, "give either duration or end", field="duration")
        if self.duration is not None:
            duration = self.duration
            return start, _read("duration", lambda: phrases.length(duration))
        until = self.end or 0
        end = _read("end", lambda: phrases.moment(until, now, zone))
        if end <= start:
            raise HttpProblem(422, "expected a time after the start", field="end")
        return start, end - start


def _read(field: str, read: Callable[[], int]) -> int:
    with RefusedField(field):
        seconds = read()
    if not 0 <= seconds <= maintenance.LATEST:
        raise HttpProblem(422, "this time is too far away", field=field)
    return seconds


async def select_checks(store: Store, pattern: str, checks: Sequence[str]) -> list[str]:
    """The checks that match a pattern, or those that are named, which all have to exist."""
    if bool(pattern) == bool(checks):
        raise HttpProblem(422, "give either checks or a pattern", field="pattern")
    if checks:
        return await _known(store, checks)
    with RefusedField("pattern"):
        found = await history.find(store, pattern, disabled=True)
    if len(found) > MOST:
        reason = f"{len(found):,} checks match; expected at most {MOST:,}"
        raise HttpProblem(422, reason, field="pattern")
    return found


async def _known(store: Store, checks: Sequence[str]) -> list[str]:
    names = sorted(set(checks))
    scores = await store.call("ZMSCORE", Alerting(store.prefix).all_checks(), *names)
    unknown = [name for name, score in zip(names, scores, strict=True) if score is None]
    if unknown:
        raise NotFound(f"there is no check {unknown[0][:200]!r}")
    return names


async def alike(book: Calendar, id_: str) -> Alike:
    """The windows of an id. Raises NotFound where there are none."""
    name = calendar.named(id_)
    found = await book.within(name.start, name.start + 1) if name else []
    for one in found:
        if one.id == id_:
            return one
    raise NotFound("there is no such maintenance; it may have been changed or ended")


async def end(store: Store, one: Alike, checks: Sequence[str], now: int) -> list[str]:
    """Returns the checks whose windows were not over. Windows to come are cancelled."""
    if one.window.end <= now:
        return []
    return await maintenance.end(store, checks, one.kind, one.window.start, now, now)


async def resize(store: Store, one: Alike, checks: Sequence[str], until: int, now: int) -> None:
    """Sets another end for windows that are in progress or to come."""
    if one.window.end <= now:
        raise Refused("this maintenance is over and can't be changed")
    if until <= max(one.window.start, now):
        raise Refused("the new end is in the past; end the maintenance instead")
    if one.kind == "unscheduled" and until < one.window.end:
        await maintenance.end(store, checks, one.kind, one.window.start, until, now)
    else:
        window = Window(one.window.start, until - one.window.start)
        await maintenance.create(store, checks, one.kind, window, now)
