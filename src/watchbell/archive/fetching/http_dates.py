"""Dates in headers, in the many forms that servers write. Pure."""

from email.utils import mktime_tz, parsedate_tz


def parsed(text: str) -> float | None:
    """Seconds since the epoch; UTC if it names no zone."""
    try:
        found = parsedate_tz(text[:100])
        return float(mktime_tz(found)) if found and found[0] >= 1900 else None
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
