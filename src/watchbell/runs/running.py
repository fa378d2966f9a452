"""One run in progress: its process, its lease, and why it has to end."""

import asyncio
from math import inf

from watchbell.process.run import Cause, Ended, Run
from watchbell.runs import lease_deadlines


class Running:
    """Times are seconds of the monotonic clock."""

    def __init__(self, id: str, name: str, *, lock: str, ttl: int, grace: float) -> None:  # noqa: A002
        self.id = id
        self.name = name
        """The name of the job."""
        self.lock, self.ttl = lock, ttl
        """The lock, empty without one; milliseconds until it lapses unless it is renewed."""
        self.grace = grace
        """Seconds from SIGTERM to SIGKILL."""
        self.process: Run | None = None
        self.reason = ""
        """Why it was stopped; empty if it was not."""
        self.is_cancelled = False
        """Whether a person ended it."""
        self.next_renewal = inf
        """When its lease is renewed next."""
        self._must_be_killed = False
        self._lease, self._freezes, self._is_lost = lease_deadlines.UNKNOWN, inf, False
        self._changed = asyncio.Event()

    def renewed(self, asked: float, heartbeat: float) -> None:
        """The store renewed the run and its lock, by a request sent at `asked`."""
        self.next_renewal = asked + heartbeat
        self._freezes = asked + heartbeat * 1.5 - lease_deadlines.margin(heartbeat)
        if self.lock:
            seconds = self.ttl / 1000
            self.next_renewal = asked + min(heartbeat, lease_deadlines.pause(seconds))
            self._lease = lease_deadlines.renewed(asked, seconds, self.grace)
        self._extend()

    def renew_at(self, when: float) -> None:
        """The lock may have lapsed: its lease is unknown until the renewal at `when`."""
        self._lease, self.next_renewal = lease_deadlines.UNKNOWN, when

    async def secured(self) -> None:
        """Returns once the run may start under its lock, or has to end."""
        while self.lock and self._lease == lease_deadlines.UNKNOWN and not self.reason:
            self._changed.clear()
            await self._changed.wait()

    def not_renewed(self, asked: float, left: float = 0) -> None:
        """The store refused or did not answer a request sent at `asked`. No other run begins under
        the lock for `left` seconds from then."""
        self.next_renewal = asked + lease_deadlines.retry_pause(self.ttl / 1000 or inf)
        if self.lock and left > 0:
            self._lease = lease_deadlines.refused(self._lease, asked, left, self.grace)
            self._extend()

    def _extend(self) -> None:
        self._changed.set()
        if self.process:
            self.process.lease(self.lease_until, self.keep_until)

    @property
    def gives_up(self) -> float:
        """When the run is asked to end, unless its lock is renewed before."""
        return inf if self._is_lost else self._lease.gives_up

    def started(self, process: Run) -> None:
        self.process = process
        if self._must_be_killed:
            process.kill()
        elif self.reason:
            process.terminate()

    def terminate(self, reason: str) -> None:
        """Asks the run to end, and keeps its lease until it has."""
        self.reason = self.reason or reason
        self._changed.set()
        if self.process:
            self.process.terminate()

    def cancel(self, reason: str, *, kill: bool = False) -> None:
        """Ends the run on a person's request, so it is not retried."""
        self.is_cancelled = True
        if kill:
            self.kill(reason)
        else:
            self.terminate(reason)

    def kill(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._changed.set()
        self._must_be_killed = True
        if self.process:
            self.process.kill()

    def lose(self, reason: str) -> None:
        """Ends the run, because another may begin under its lock or has ended it."""
        self.next_renewal, self._is_lost = inf, True
        self.terminate(reason)

    def why(self, ended: Ended) -> str:
        """Why it ended; empty if by itself."""
        return self.reason or ("" if ended.cause is Cause.ITSELF else ended.cause.value)

    @property
    def lease_until(self) -> float | None:
        """When the warden kills the run, before its lock lapses; None without a lock."""
        return self._lease.ends if self.lock else None

    @property
    def keep_until(self) -> float:
        """Until when no other instance can begin or end the run in the store, less a margin."""
        return min(self._lease.ends, self._freezes)
