"""How long a server asks us to wait. Pure."""

import re

from watchbell.archive.fetching import http_dates

_SECONDS = re.compile(r"\d{1,9}(?:\.\d*)?", re.ASCII)


def retry_after(text: str, now: float) -> float | None:
    """Seconds that a `Retry-After` header asks for; None if it asks for nothing we understand."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    when = http_dates.parsed(text)
    return None if when is None else max(when - now, 0.0)
