"""Whether a URL is tried again, and how long its host is left alone. Pure."""

from msgspec import Struct

MOST_TRIES = 3
MOST_WAITS = 10
"""Tries of a URL whose host asks us to come back later."""
_RETRY = 5.0
_LONGEST_RETRY = 300.0
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 600.0
_LONGEST_ASKED = 3_600.0
_FAILURES = 3
"""Failures in a row after which a host is left alone for a while."""
_TOO_MANY, _UNAVAILABLE = 429, 503


class Pace(Struct, frozen=True):
    """What follows from one response."""

    retry_in: float | None = None
    """Seconds until the URL is tried again. None: it is done."""
    host_pause: float = 0.0
    """Seconds for which the host is left alone."""
    reason: str = ""


def pace(
    status: int,
    error: str,
    *,
    is_retryable: bool,
    retry_after: float | None,
    tries: int,
    failures: int,
) -> Pace:
    """`status` is 0 without a response, `tries` those before this one, `failures` those of the host
    in a row, this one included."""
    if status in (_TOO_MANY, _UNAVAILABLE):
        return _asked_to_wait(status, retry_after, tries, failures)
    if not error and status < 500:
        return Pace()
    pause = _backoff(failures - _FAILURES) if status == 0 and failures >= _FAILURES else 0.0
    if not is_retryable or tries + 1 >= MOST_TRIES:
        return Pace(host_pause=pause, reason=f"given up after {_times(tries + 1)}")
    wait = min(_RETRY * 2**tries, _LONGEST_RETRY)
    what = error or f"the server answered {status}"
    return Pace(wait, pause, f"{what}; tried again in {wait:g} s")


def _asked_to_wait(status: int, asked: float | None, tries: int, failures: int) -> Pace:
    wait = min(asked, _LONGEST_ASKED) if asked is not None else _backoff(failures - 1)
    if tries + 1 >= MOST_WAITS:
        return Pace(host_pause=wait, reason=f"given up after {_times(tries + 1)}")
    return Pace(wait, wait, f"the server answered {status}; its host is left alone for {wait:g} s")


def _backoff(failures: int) -> float:
    return float(min(_FIRST_PAUSE * 2 ** min(max(failures, 0), 20), _LONGEST_PAUSE))


def _times(tries: int) -> str:
    return "1 try" if tries == 1 else f"{tries} tries"
