"""When the minutes of a server begin: those of different servers at different seconds, so that not
all of a fleet are sampled at the same time."""

import zlib

MINUTE = 60.0
LATE_MINUTES = 10
"""What is of a minute up to so many before the last one has come late; before that, the clock was
set back."""
SPREAD = 55
"""Seconds of a minute over which samples are spread; what is late stays in its minute."""


def second_of(server: str) -> int:
    """At which second of each minute a server is sampled."""
    return zlib.crc32(server.encode()) % SPREAD


def minute_of(now: float, second: int) -> int:
    """The minute of a server that begins at this second of the clock's minutes."""
    return int((now - second) // MINUTE)


def is_next(minute: int, last: int) -> bool:
    """Whether something is due in this minute, if it was last done in that one."""
    return not 0 <= last - minute <= LATE_MINUTES
