"""Until when a run may continue under its lock, from the store's answer and when it was asked.

Times are seconds of the monotonic clock.
"""

from math import inf
from typing import NamedTuple


class Lease(NamedTuple):
    gives_up: float = inf
    """When the run is asked to end."""
    ends: float = inf
    """When the warden kills it: before another run can begin under the lock."""


UNKNOWN = Lease()


def pause(seconds: float) -> float:
    """From a renewal that succeeded to the next one, of a lock of that many seconds."""
    return seconds / 4


def retry_pause(seconds: float) -> float:
    """From a renewal that failed to the next one."""
    return min(0.5, seconds / 6)


def renewed(asked: float, seconds: float, grace: float) -> Lease:
    """No other run begins under the lock for `seconds` from when the store handled the request.

    The store never handles a request before it was sent. So on the store's clock the lock lapses
    at `asked` plus `seconds`, or later, however long the request, the reply and this process took.
    """
    ends = asked + seconds - margin(seconds)
    return Lease(ends - min(grace, seconds / 4), ends)


def refused(lease: Lease, asked: float, left: float, grace: float) -> Lease:
    """The store refused to renew the lock, and no other run begins for `left` seconds from then.
    Never shorter than the lease so far, because what the store promised before still holds; of an
    adopted run that lease is unknown."""
    if left <= 0:
        return lease
    found = renewed(asked, left, grace)
    return found if lease == UNKNOWN or found.ends > lease.ends else lease


def margin(seconds: float) -> float:
    """Between the warden's SIGKILL and the lock's end: for the warden to be given a CPU, and for
    all processes of the run to be gone, on a machine that has no CPU to spare."""
    return max(0.25, min(2.0, seconds / 5))
