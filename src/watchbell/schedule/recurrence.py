"""Time restrictions: recurring windows on the wall clock of a contact.

A window opens when an occurrence starts and is [start, end) of what the clock on the wall shows.
Where clocks are set forward, one that would open in the gap opens at the first moment after it;
where they are set back, both passes of the hour count. The end is a reading of the clock too: a
window that lies within the gap does not open at all.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.schedule import description, fields, ical, rules, wallclock
from watchbell.schedule.occurrences import Pattern, Plan
from watchbell.schedule.rules import Rule

_KEPT = 4096
_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """A time without an offset is a reading of the contact's clock; with one, it is a moment."""

    start: datetime
    end: datetime
    rules: tuple[Rule, ...]
    exceptions: tuple[Rule, ...]
    times: tuple[datetime, ...]
    except_times: tuple[datetime, ...]
    _plans: dict[ZoneInfo, Plan]

    def covers(self, now: float, zone: ZoneInfo) -> bool:
        plan = self._plans.get(zone) or self._plan(zone)
        local = datetime.fromtimestamp(now, zone)
        return plan.covers(
            local.toordinal() * 86_400 + local.hour * 3600 + local.minute * 60 + local.second
        )

    def following(self, wall: int, zone: ZoneInfo) -> int | None:
        """The first reading of the zone's clock, from `reading` on, at which a window opens."""
        return (self._plans.get(zone) or self._plan(zone)).following(wall)

    def describe(self) -> str:
        """In words, such as `Monday to Friday, 08:00 to 18:00`."""
        return description.described(
            self.start,
            self.length_in(_UTC),
            self.rules,
            self.exceptions,
            self.times,
            self.except_times,
        )

    def length_in(self, zone: ZoneInfo) -> int:
        """The length of a window in seconds, by the clock of the zone."""
        return wallclock.shown_in(self.end, zone) - wallclock.shown_in(self.start, zone)

    def _plan(self, zone: ZoneInfo) -> Plan:
        start = wallclock.shown_in(self.start, zone)
        points = {wallclock.shown_in(time, zone) for time in self.times}
        plan = Plan(
            start,
            self.length_in(zone),
            tuple(_pattern(rule, start, zone) for rule in self.rules),
            frozenset(points if self.rules else {start, *points}),
            tuple(_pattern(rule, start, zone) for rule in self.exceptions),
            frozenset(wallclock.shown_in(time, zone) for time in self.except_times),
        )
        return self._plans.setdefault(zone, plan)


def _pattern(rule: Rule, start: int, zone: ZoneInfo) -> Pattern:
    until = None if rule.until is None else wallclock.shown_in(rule.until, zone)
    return Pattern(rule, start, until)


def parse(value: Mapping[str, object] | str) -> Restriction:
    """A restriction from its hash, the hash as JSON text, or iCalendar text."""
    if isinstance(value, str):
        return _parsed(value)
    text = _as_text(value)
    if text is None:
        raise Refused("a time restriction is an object of plain JSON values")
    return _parsed(text)


def _as_text(value: object) -> str | None:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=_KEPT)
def _parsed(text: str) -> Restriction:
    if not text.lstrip().startswith("{"):
        return _read(ical.restriction(text))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the time restriction is not JSON: {error}") from None
    return _read(value)


def _read(given: Mapping[str, object]) -> Restriction:
    start_name, start_value = _first(given, "start_time", "start_date")
    start = fields.moment(start_name, start_value)
    return Restriction(
        start,
        _end(given, start),
        (*_rules("rrules", given.get("rrules")), *_rules("rrule", given.get("rrule"))),
        (*_rules("exrules", given.get("exrules")), *_rules("exrule", given.get("exrule"))),
        fields.moments(*_first(given, "rtimes", "rdates")),
        fields.moments(*_first(given, "extimes", "exdates")),
        {},
    )


def _first(given: Mapping[str, object], *names: str) -> tuple[str, object]:
    """The name and the value of the first field that is present."""
    for name in names:
        if given.get(name) is not None:
            return name, given[name]
    return names[0], None


def _end(given: Mapping[str, object], start: datetime) -> datetime:
    name, value = _first(given, "end_time", "end_date", "duration")
    end = _after(start, value) if name == "duration" else fields.moment(name, value)
    if (end.tzinfo is None) == (start.tzinfo is None) and end <= start:
        fields.refuse(name, "a time after the start", value)
    return end


def _after(start: datetime, duration: object) -> datetime:
    seconds = fields.positive("duration", duration)
    try:
        end = start + timedelta(seconds=seconds)
    except OverflowError:
        fields.refuse("duration", "seconds that end before the year 9999", duration)
    if end.year == MAXYEAR:
        fields.refuse("duration", "seconds that end before the year 9999", duration)
    return end


def _rules(field: str, value: object) -> tuple[Rule, ...]:
    listed = [value] if isinstance(value, str) else fields.array(field, value)
    return tuple(
        ical.rule(f"{field}[{index}]", one)
        if isinstance(one, str)
        else rules.from_hash(f"{field}[{index}]", one)
        for index, one in enumerate(listed)
    )
