"""When a window begins and how long it lasts, as people and programs say it: words or seconds."""

from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.schedule import spoken, zones

Said = str | int


def length(said: Said) -> int:
    """Seconds of `4 hours` or 14400; at least one."""
    seconds = spoken.duration(said) if isinstance(said, str) else said
    if seconds < 1:
        raise Refused(f"'{said}' is no time at all; expected at least one second")
    return seconds


def moment(said: Said, now: float, zone: ZoneInfo) -> int:
    """Seconds since 1970 of `tomorrow 08:00`, read in the zone, or of a number of these."""
    if isinstance(said, int) and said < 0:
        raise Refused(f"'{said}' is no time; expected seconds since 1970")
    return spoken.moment(said, now, zone) if isinstance(said, str) else said


def zone(name: str) -> ZoneInfo:
    """Of a name such as `Europe/Berlin`."""
    return zones.named("zone", name)
