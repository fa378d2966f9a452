"""Until when an agent's jobs may continue: the server ends jobs of an agent that it does not hear
from, so the agent has to end them before.

All jobs share one lease: it is renewed by each heartbeat that the server answers. The wardens know
its end, and keep to it even while the agent is suspended.
"""

from collections.abc import Callable
from math import inf

from watchbell.clock import Clock
from watchbell.runs import lease_deadlines
from watchbell.runs.lease_deadlines import Lease

_WORTH = 0.02
"""The part of a lease by which it has to grow before it is extended for the wardens."""


class JobLease:
    """Times are seconds of the monotonic clock."""

    def __init__(self, clock: Clock, extend: Callable[[float], None]) -> None:
        """`extend` tells the wardens until when jobs may continue."""
        self._clock, self._extend = clock, extend
        self._lease = Lease(-inf, -inf)
        self._extended_to = -inf

    @property
    def until(self) -> float:
        """When jobs are killed unless it is renewed."""
        return self._lease.ends

    @property
    def gives_up(self) -> float:
        """When jobs are asked to end unless it is renewed."""
        return self._lease.gives_up

    @property
    def is_known(self) -> bool:
        return self._lease.ends > -inf

    def renewed(self, asked: float, lost_after: float, kill_after: float) -> None:
        """The server answered a message that was sent at `asked`."""
        lease = lease_deadlines.renewed(asked, lost_after, kill_after)
        if lease.ends <= self._lease.ends:
            return
        self._lease = lease
        if lease.ends - self._extended_to >= lost_after * _WORTH:
            self._extended_to = lease.ends
            self._extend(lease.ends)

    @property
    def is_over(self) -> bool:
        return self.is_known and self._clock.monotonic() >= self._lease.gives_up
