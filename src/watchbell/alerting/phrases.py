"""Parses the start and length of a window, given in words or in seconds."""

from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.schedule import spoken, zones

Given = str | int


def length(given: Given) -> int:
    """Seconds, at least one, of `4 hours` or 14400."""
    seconds = spoken.duration(given) if isinstance(given, str) else given
    if seconds < 1:
        raise Refused(f"'{given}' is too short; expected at least one second")
    return seconds


def moment(given: Given, now: float, zone: ZoneInfo) -> int:
    """Seconds since 1970 of `tomorrow 08:00`, read in the zone, or of a number of these."""
    if isinstance(given, int) and given < 0:
        raise Refused(f"'{given}' is not a time; expected seconds since 1970")
    return spoken.moment(given, now, zone) if isinstance(given, str) else given


def zone(name: str) -> ZoneInfo:
    return zones.named("zone", name)
