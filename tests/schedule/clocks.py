"""What clocks show around the moments at which they are set, found by asking minute by minute."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

UTC = ZoneInfo("UTC")
ROME = ZoneInfo("Europe/Rome")
MINUTE = timedelta(minutes=1)

CHANGES = [
    ("Europe/Rome", "2026-03-29T01:00Z"),
    ("Europe/Rome", "2026-10-25T01:00Z"),
    ("America/New_York", "2026-03-08T07:00Z"),
    ("America/New_York", "2026-11-01T06:00Z"),
    # By half an hour.
    ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00Z"),
    # At midnight, so that a day begins at 01:00, and one has an evening that comes twice.
    ("America/Havana", "2026-03-08T05:00Z"),
    ("America/Havana", "2026-11-01T05:00Z"),
    # A day that was left out.
    ("Pacific/Apia", "2011-12-30T10:00Z"),
    ("UTC", "2026-01-01T00:00Z"),
]


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def shown(moment: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(moment, zone).replace(tzinfo=None)


@lru_cache
def around(zone: str, change: str) -> list[tuple[int, datetime]]:
    """All minutes of a day before and a day after a change, each with what the clock shows."""
    known = ZoneInfo(zone)
    minutes = range(at(change) - 86_400, at(change) + 86_400, 60)
    return [(moment, shown(moment, known)) for moment in minutes]


def whenever_shown(
    minutes: list[tuple[int, datetime]], wanted: Callable[[datetime], bool]
) -> list[int]:
    return [moment for moment, clock in minutes if wanted(clock)]


def once_each(minutes: list[tuple[int, datetime]], wanted: Callable[[datetime], bool]) -> list[int]:
    """What comes twice counts as it comes first; what is skipped as the end of the gap."""
    first, clock = minutes[0]
    found = [first] if wanted(clock) else []
    latest = clock
    for _, (moment, clock) in pairwise(minutes):
        new = []
        while latest < clock:
            latest += MINUTE
            new.append(latest)
        if any(wanted(each) for each in new):
            found.append(moment)
    return found
