"""Hours as keys name them: YYYYMMDDHH, in UTC."""

from collections.abc import Iterator
from datetime import UTC, datetime


def hour(now: int) -> str:
    return f"{datetime.fromtimestamp(now, UTC):%Y%m%d%H}"


def hours_back(now: int, count: int) -> Iterator[str]:
    """The current hour and those before it, `count` in all, latest first."""
    return (hour(now - back * 3_600) for back in range(count))


def start_of(name: str) -> int:
    """Seconds since 1970 at which an hour began."""
    return int(datetime.strptime(name, "%Y%m%d%H").replace(tzinfo=UTC).timestamp())
