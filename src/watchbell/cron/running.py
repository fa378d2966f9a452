"""A run under way on this instance."""

from math import inf

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
        self.next_keep = self.gives_up = inf
        self._lapses = self._freezes = inf
        self.grace = grace
        """From SIGTERM to SIGKILL."""

    def kept(self, asked: float, heartbeat: float) -> None:
        """The store was asked at that time to keep the run and its lock, and has.

        The store extends the lock when it reads the request, never before it was sent. So on the
        store's clock the lock lapses at `asked` plus its seconds, or later, however long the
        request, the reply and this process took.
        """
        self.next_keep = asked + heartbeat
        self._freezes = asked + heartbeat * 1.5 - _margin(heartbeat)
        if self.lock:
            seconds = self.ttl / 1000
            self.next_keep = asked + min(heartbeat, seconds / 4)
            self._lapses = asked + seconds - _margin(seconds)
            self.gives_up = self._lapses - min(self.grace, seconds / 4)
        if self.process:
            self.process.lease(self.lease_until, self.keep_until)

    def started(self, process: Run) -> None:
        self.process = process
        if self._is_to_be_killed:
            process.kill()
        elif self.reason:
            process.terminate()

    def terminate(self, reason: str) -> None:
        """The run is to end, and stays ours until it has."""
        self.reason = self.reason or reason
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
        self._is_to_be_killed = True
        if self.process:
            self.process.kill()

    def lose(self, reason: str) -> None:
        """The run is no longer ours, and has to end."""
        self.next_keep = self.gives_up = inf
        self.terminate(reason)

    def why(self, ended: Ended) -> str:
        """Why it ended, where not by itself."""
        return self.reason or ("" if ended.cause is Cause.ITSELF else ended.cause.value)

    @property
    def lease_until(self) -> float | None:
        """When the warden kills the run: before its lock lapses, where it has one."""
        return self._lapses if self.lock else None

    @property
    def keep_until(self) -> float:
        """Until when no other instance begins or ends the run in the store, with a margin."""
        return min(self._lapses, self._freezes)


def _margin(seconds: float) -> float:
    """Between the warden's SIGKILL and the lock's end: for the warden to be given a CPU, and for
    all processes of the run to be gone, on a machine that has no CPU to spare."""
    return max(0.25, min(2.0, seconds / 5))
