"""Recurrence rules as schedules: the start of each occurrence fires."""

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from watchbell.schedule import description, fields, ical, recurrence, zones
from watchbell.schedule.firing import Schedule
from watchbell.schedule.recurrence import Restriction
from watchbell.schedule.rules import Unit


@dataclass(frozen=True, slots=True)
class Recurring(Schedule):
    """Fires when occurrences start on the clock of a zone."""

    rules: Restriction
    zone: ZoneInfo

    def next_after(self, instant: float) -> int | None:
        once = all(rule.unit >= Unit.DAY for rule in self.rules.rules)
        return zones.next_moment(self._following, self.zone, instant, once=once)

    def describes(self) -> str:
        value = self.rules
        words = description.starts_described(
            value.start, value.rules, value.exceptions, value.times, value.except_times
        )
        return f"{words}, {self.zone.key or 'local time'}"

    def _following(self, reading: int) -> int | None:
        return self.rules.following(reading, self.zone)


def from_rules(value: Mapping[str, object] | str, zone: ZoneInfo) -> Recurring:
    """A schedule from the hash of a time restriction or iCalendar text, ignoring its length."""
    known = ical.restriction(value) if isinstance(value, str) else fields.mapping("rules", value)
    rules = dict(known)
    if all(rules.get(name) is None for name in ("end_time", "end_date", "duration")):
        rules["duration"] = 1
    return Recurring(recurrence.parse(rules), zone)
