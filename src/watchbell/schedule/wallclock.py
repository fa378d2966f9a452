"""Readings of a wall clock: how they are written, and which moments they are.

A reading is the number of seconds since midnight of the day before 1 January of year 1 (its day
is `reading // DAY`, a proleptic ordinal). It has no zone, so arithmetic with it never meets DST.
"""

import re
from bisect import bisect_left
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from watchbell.errors import Refused

DAY = 86_400

_EXTENDED = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_BASIC = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?", re.ASCII)


def stamp(text: str) -> datetime | None:
    """`2013-04-18 15:00:00`, ISO 8601 or `20130418T150000Z`; aware only if an offset is written."""
    text = text.strip()
    found = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    try:
        moment = datetime.combine(date(year, month, day), time(hour, minute, second))
        return moment if found[7] is None else _aware(moment, found[7])
    except (ValueError, OverflowError):
        return None


def _aware(moment: datetime, offset: str) -> datetime:
    if offset[0] not in "+-":
        ahead = timedelta()
    else:
        digits = offset[1:].replace(":", "").ljust(4, "0")
        ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        ahead = -ahead if offset[0] == "-" else ahead
    # Whole days of room on both sides, for any zone to be read in later.
    if not date.min.year < moment.year < date.max.year:
        raise ValueError(moment)
    return (moment - ahead).replace(tzinfo=UTC)


def is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-?\d\d-?\d\d", text.strip(), re.ASCII) is not None


def shown(moment: datetime) -> int:
    """What the clock shows at a moment, by the zone that the moment carries, if any."""
    return moment.toordinal() * DAY + moment.hour * 3600 + moment.minute * 60 + moment.second


def shown_in(moment: datetime, zone: ZoneInfo) -> int:
    """What a clock in the zone shows at a moment; one without an offset is such a reading."""
    return shown(moment if moment.tzinfo is None else moment.astimezone(zone))


def reading(seconds: float, zone: ZoneInfo) -> int:
    """What a clock in the zone shows at an epoch time."""
    return shown(datetime.fromtimestamp(seconds, zone))


def epoch(wall: int, zone: ZoneInfo) -> int:
    """When a clock in the zone first shows this.

    For a reading that comes twice, because clocks are set back, that is the first time; for one
    that is skipped, because clocks are set forward, the first moment after the gap.
    """
    try:
        local = datetime.combine(date.fromordinal(wall // DAY), time(), zone)
        local = local.replace(
            hour=wall % DAY // 3600, minute=wall % 3600 // 60, second=wall % 60, fold=0
        )
        since_1970 = wall - shown(datetime.fromtimestamp(0, UTC))
        before, after = _offset(local), _offset(local.replace(fold=1))
        if before >= after:
            return since_1970 - before
        around = range(since_1970 - after, since_1970 - before + 1)
        return around[bisect_left(around, after, key=lambda second: _offset_at(second, zone))]
    except (ValueError, OverflowError):
        raise Refused("a time outside of the years 1 to 9999 has no meaning") from None


def _offset(local: datetime) -> int:
    return int((local.utcoffset() or timedelta()).total_seconds())


def _offset_at(second: int, zone: ZoneInfo) -> int:
    return _offset(datetime.fromtimestamp(second, zone))
