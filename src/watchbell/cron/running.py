"""A run under way on this instance."""

import asyncio
from math import inf

from watchbell.cron import lease_deadlines
from watchbell.cron.model import Begun
from watchbell.process.run import Cause, Ended, Run


class Running:
    """Seconds are of the monotonic clock."""

    def __init__(self, begun: Begun, instance: str, grace: float) -> None:
        self.begun = begun
        self.instance = instance
        self.id = begun.run
        self.job_name = begun.fire.job
        self.lock = begun.fire.lock if begun.has_lock else ""
        self.ttl = begun.fire.ttl if begun.has_lock else 0
        """Milliseconds."""
        self.process: Run | None = None
        self.reason = ""
        """Why it was stopped, where it was."""
        self._is_to_be_killed = self.is_cancelled = False
        self.output_bytes = 0
        self.next_keep = inf
        self._lease, self._freezes, self._is_lost = lease_deadlines.UNKNOWN, inf, False
        self._changed = asyncio.Event()
        self.grace = grace
        """From SIGTERM to SIGKILL."""

    def kept(self, asked: float, heartbeat: float) -> None:
        """The store was asked at that time to keep the run and its lock, and has."""
        self.next_keep = asked + heartbeat
        self._freezes = asked + heartbeat * 1.5 - lease_deadlines.margin(heartbeat)
        if self.lock:
            seconds = self.ttl / 1000
            self.next_keep = asked + min(heartbeat, lease_deadlines.pause(seconds))
            self._lease = lease_deadlines.renewed(asked, seconds, self.grace)
        self._extend()

    def renew_at(self, when: float) -> None:
        """The lock of the run may have lapsed: how long it has is unknown until it was renewed."""
        self._lease, self.next_keep = lease_deadlines.UNKNOWN, when

    async def secured(self) -> None:
        """Returns when the run may be started under its lock, or has to end."""
        while self.lock and self._lease == lease_deadlines.UNKNOWN and not self.reason:
            self._changed.clear()
            await self._changed.wait()

    def not_kept(self, asked: float, left: float = 0) -> None:
        """The store was asked at that time, and refused or did not answer. No other run begins
        under the lock for `left` seconds from then."""
        self.next_keep = asked + lease_deadlines.retry_pause(self.ttl / 1000 or inf)
        if self.lock and left > 0:
            self._lease = lease_deadlines.refused(self._lease, asked, left, self.grace)
            self._extend()

    def _extend(self) -> None:
        self._changed.set()
        if self.process:
            self.process.lease(self.lease_until, self.keep_until)

    @property
    def gives_up(self) -> float:
        """When the run has to end, unless its lock is renewed before."""
        return inf if self._is_lost else self._lease.gives_up

    def started(self, process: Run) -> None:
        self.process = process
        if self._is_to_be_killed:
            process.kill()
        elif self.reason:
            process.terminate()

    def terminate(self, reason: str) -> None:
        """The run is to end, and stays ours until it has."""
        self.reason = self.reason or reason
        self._changed.set()
        if self.process:
            self.process.terminate()

    def cancel(self, reason: str, *, kill: bool = False) -> None:
        """A person ends the run: it is not tried again."""
        self.is_cancelled = True
        if kill:
            self.kill(reason)
        else:
            self.terminate(reason)

    def kill(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._changed.set()
        self._is_to_be_killed = True
        if self.process:
            self.process.kill()

    def lose(self, reason: str) -> None:
        """The run is no longer ours, and has to end."""
        self.next_keep, self._is_lost = inf, True
        self.terminate(reason)

    def why(self, ended: Ended) -> str:
        """Why it ended, where not by itself."""
        return self.reason or ("" if ended.cause is Cause.ITSELF else ended.cause.value)

    @property
    def lease_until(self) -> float | None:
        """When the warden kills the run: before its lock lapses, where it has one."""
        return self._lease.ends if self.lock else None

    @property
    def keep_until(self) -> float:
        """Until when no other instance begins or ends the run in the store, with a margin."""
        return min(self._lease.ends, self._freezes)
