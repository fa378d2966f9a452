"""Which properties each type of timing has, and which timings an event may have together."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from watchbell.errors import Refused
from watchbell.jobs import value_readers as read
from watchbell.jobs.model import Timing
from watchbell.jobs.value_readers import Reader
from watchbell.schedule import zones
from watchbell.schedule.fields import refuse

ONCE = ("startup", "catchup", "nth", "manual", "precision", "delay", "destruct", "continuous")
"""Types of which an event has at most one that is enabled."""
APART = (("interval", "precision"), ("interval", "delay"), ("precision", "delay"))
"""Types that exclude each other."""
FEWEST = 2
"""The smallest `every` of `nth`."""


def _timezone(field: str, value: Any) -> str:
    return zones.named(field, value).key if value != "" else ""


def _days(field: str, value: Any) -> tuple[int, ...]:
    """Days of the month; negative ones count from its end."""
    days: tuple[int, ...] = read.numbers(-31, 31)(field, value)
    if 0 in days:
        refuse(field, "days from 1 to 31 or from -1 to -31", value)
    return days


def _minute(field: str, value: Any) -> int:
    return read.moment(field, value) // 60 * 60


_EVERY: dict[str, Reader] = {
    "type": read.anything,
    "enabled": read.yes_or_no,
    "id": read.optional_identifier,
}
_LAUNCHING: dict[str, Reader] = {
    **_EVERY,
    "params": read.mapping,
    "tags": read.array(read.identifier),
}
_BOUNDS: dict[str, Reader] = {**_EVERY, "start": read.moment, "end": read.moment}
_READERS: dict[str, dict[str, Reader]] = {
    "schedule": {
        **_LAUNCHING,
        "years": read.numbers(1970, 9999),
        "months": read.numbers(1, 12),
        "days": _days,
        "weekdays": read.numbers(0, 6),
        "hours": read.numbers(0, 23),
        "minutes": read.numbers(0, 59),
        "timezone": _timezone,
    },
    "continuous": _LAUNCHING,
    "single": {**_LAUNCHING, "epoch": _minute},
    "interval": {
        **_LAUNCHING,
        "start": read.moment,
        "duration": read.whole(1, read.LONGEST_TIME),
    },
    "startup": _LAUNCHING,
    "manual": _EVERY,
    "catchup": {
        **_EVERY,
        "policy": read.one_of(("all", "latest")),
        "most": read.whole(1, 1_000_000),
    },
    "destruct": _EVERY,
    "range": _BOUNDS,
    "blackout": _BOUNDS,
    "delay": {**_EVERY, "duration": read.whole(1, read.LONGEST_TIME)},
    "precision": {**_EVERY, "seconds": read.numbers(0, 59)},
    "nth": {**_EVERY, "every": read.whole(FEWEST, 1_000_000)},
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "single": ("epoch",),
    "interval": ("duration",),
    "blackout": ("start", "end"),
    "delay": ("duration",),
    "precision": ("seconds",),
    "nth": ("every",),
}
_NOT_HERE = {
    "magic": "magic links are not supported; run the event through the API with a key",
    "keyboard": "keyboard triggers are not supported; run the event on its page",
    "plugin": "scheduler plugins are not supported; let another event run this one",
    "quiet": "every job is recorded; quiet timings are not supported",
}


def properties(kind: object) -> Collection[str]:
    """The properties that a type of timing has."""
    return _READERS.get(kind, _EVERY) if isinstance(kind, str) else _EVERY


def reader(*, strict: bool) -> Reader:
    def timing(field: str, value: Any) -> Timing:
        given = read.mapping(field, value)
        kind = given.get("type")
        if not isinstance(kind, str) or kind not in _READERS:
            _refuse_type(f"{field}.type", kind)
        found = read.fields(field, given, _READERS[kind], strict=strict)
        for name in _NEEDED.get(kind, ()):
            if found.get(name) in (None, ()):
                raise Refused(f"a timing of the type {kind} needs it", field=f"{field}.{name}")
        if kind in ("range", "blackout"):
            _check_bounds(field, found)
        if kind == "interval":
            found.setdefault("start", 0)
        return Timing(**found)

    return timing


def _refuse_type(field: str, kind: Any) -> NoReturn:
    if isinstance(kind, str) and kind in _NOT_HERE:
        raise Refused(_NOT_HERE[kind], field=field)
    refuse(field, f"one of {', '.join(_READERS)}", kind)


def _check_bounds(field: str, found: Mapping[str, Any]) -> None:
    start, end = found.get("start"), found.get("end")
    if start is None and end is None:
        raise Refused("a range needs a start or an end", field=f"{field}.start")
    if start is not None and end is not None and end < start:
        raise Refused("the end is before the start", field=f"{field}.end")


def check_together(timings: Sequence[Timing]) -> None:
    """Raises Refused for timings that contradict each other; those that are disabled do not
    count."""
    places = [place for place, timing in enumerate(timings) if timing.enabled]
    counts: Counter[str] = Counter(timings[place].type for place in places)
    for kind in ONCE:
        if counts[kind] > 1:
            field = f"timings[{_last(timings, places, kind)}].type"
            raise Refused(f"an event has at most one timing of the type {kind}", field=field)
    if counts["continuous"] and len(places) > 1:
        field = f"timings[{_last(timings, places, 'continuous')}].type"
        raise Refused("an event that runs continuously has no other timings", field=field)
    for one, other in APART:
        if counts[one] and counts[other]:
            field = f"timings[{_last(timings, places, other)}].type"
            raise Refused(f"{one} and {other} exclude each other", field=field)


def _last(timings: Sequence[Timing], places: Iterable[int], kind: str) -> int:
    return max(place for place in places if timings[place].type == kind)
