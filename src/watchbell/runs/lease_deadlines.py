"""Decides until when a run may continue under its lock, after each attempt to renew that lock.

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
    """From a successful renewal to the next one, for a lock that lapses after `seconds`."""
    return seconds / 4


def retry_pause(seconds: float) -> float:
    """From a failed renewal to the next one."""
    return min(0.5, seconds / 6)


def renewed(asked: float, seconds: float, grace: float) -> Lease:
    """The lease after the store renewed a lock of `seconds`, by a request sent at `asked`.

    The store handles a request after it was sent. So on the store's clock the lock lapses at
    `asked` plus `seconds` or later, however long the request, the reply and this process took.
    """
    ends = asked + seconds - margin(seconds)
    return Lease(ends - min(grace, seconds / 4), ends)


def refused(lease: Lease, asked: float, left: float, grace: float) -> Lease:
    """The lease after the store refused to renew the lock, and answered that no other run begins
    for `left` seconds. It never gets shorter, because earlier answers still hold; the lease of an
    adopted run is unknown."""
    if left <= 0:
        return lease
    new = renewed(asked, left, grace)
    return new if lease == UNKNOWN or new.ends > lease.ends else lease


def margin(seconds: float) -> float:
    """From the warden's SIGKILL to the end of the lock: on a busy machine, the warden waits for a
    CPU, and the processes of the run take time to disappear."""
    return max(0.25, min(2.0, seconds / 5))
