"""Whether a URL is tried again, and how long its host is left alone. Pure."""

from msgspec import Struct

MOST_TRIES = 3
MOST_WAITS = 10
"""Tries of a URL whose host asks us to come back later."""
_FAILURES = 3
"""Failures in a row after which a host is left alone for a while."""
MOST_FAILURES = 25
"""Those after which it is given up, with the usual waits after more than three hours."""
_TOO_MANY, _UNAVAILABLE = 429, 503


class Waits(Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds."""

    retry: float = 5.0
    """Until the second try of a URL; twice as long until the third, and so on."""
    longest_retry: float = 300.0
    pause: float = 5.0
    """For which a host is left alone that fails again and again; twice as long the next time."""
    longest_pause: float = 600.0
    longest_asked: float = 3_600.0
    """That a host may ask for."""


USUAL = Waits()


class Pace(Struct, frozen=True, kw_only=True):
    """What follows from one response."""

    retry_in: float | None = None
    """Seconds until the URL is tried again. None: it is done."""
    host_pause: float = 0.0
    """Seconds for which the host is left alone."""
    gives_up_host: bool = False
    """Whether its other URLs are not tried any longer."""
    reason: str = ""


AT_ONCE = Pace(retry_in=0.0, reason="tried again at once")


def is_down(status: int, *, is_retryable: bool) -> bool:
    """Whether the host answers nobody now; an error of one page says nothing about others."""
    return status in (_TOO_MANY, _UNAVAILABLE) or (status == 0 and is_retryable)


def pace(
    status: int,
    error: str,
    *,
    is_retryable: bool,
    retry_after: float | None,
    tries: int,
    failures: int,
    waits: Waits = USUAL,
) -> Pace:
    """`status` is 0 without a response, `tries` those before this one. `failures` is how often the
    host was down in a row, this time included."""
    if failures >= MOST_FAILURES:
        return Pace(gives_up_host=True, reason=f"its host was down {_times(failures)} in a row")
    if status in (_TOO_MANY, _UNAVAILABLE):
        return _asked_to_wait(status, retry_after, tries, failures, waits)
    if not error and status < 500:
        return Pace()
    has_pause = status == 0 and is_retryable and failures >= _FAILURES
    pause = _backoff(failures - _FAILURES, waits) if has_pause else 0.0
    if not is_retryable or tries + 1 >= MOST_TRIES:
        return Pace(host_pause=pause, reason=f"given up after {_times(tries + 1)}")
    wait = min(waits.retry * 2**tries, waits.longest_retry)
    what = error or f"the server answered {status}"
    reason = f"{what}; tried again in {wait:g} s"
    return Pace(retry_in=wait, host_pause=pause, reason=reason)


def _asked_to_wait(
    status: int, asked: float | None, tries: int, failures: int, waits: Waits
) -> Pace:
    longest = waits.longest_asked
    wait = min(asked, longest) if asked is not None else _backoff(failures - 1, waits)
    if tries + 1 >= MOST_WAITS:
        return Pace(host_pause=wait, reason=f"given up after {_times(tries + 1)}")
    reason = f"the server answered {status}; its host is left alone for {wait:g} s"
    return Pace(retry_in=wait, host_pause=wait, reason=reason)


def _backoff(failures: int, waits: Waits) -> float:
    return float(min(waits.pause * 2 ** min(max(failures, 0), 20), waits.longest_pause))


def _times(tries: int) -> str:
    return "1 try" if tries == 1 else f"{tries} tries"
