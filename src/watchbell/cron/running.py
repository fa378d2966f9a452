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
        self._is_to_be_killed = False
        self.output_bytes = 0
        self.next_keep = self.gives_up = inf
        self._lapses = self._freezes = inf
        self.grace = grace
        """From SIGTERM to SIGKILL."""

    def kept(self, asked: float, now: float, heartbeat: float) -> None:
        """The store was asked at that time to keep the run and its lock, and has."""
        self.next_keep = asked + heartbeat
        self._freezes = asked + heartbeat * 1.5 - _margin(heartbeat)
        if self.lock:
            seconds = self.ttl / 1000
            self.next_keep = asked + min(heartbeat, seconds / 3)
            self._lapses = asked + seconds - _margin(seconds)
            self.gives_up = self._lapses - min(self.grace, seconds / 4)
        if self.process:
            self.process.lease(self.lease(now), self.keep(now))

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

    def lease(self, now: float) -> float | None:
        """Seconds that are left of the lock, where there is one, with a margin."""
        return max(self._lapses - now, 0) if self.lock else None

    def keep(self, now: float) -> float:
        """Seconds for which nobody else will begin or end the run in the store, with a margin."""
        return max(min(self._lapses, self._freezes) - now, 0)


def _margin(seconds: float) -> float:
    return max(0.15, min(1.0, seconds / 10))
