"""Records the reports of a job, a few at a time, in its journal."""

import asyncio
from collections.abc import Sequence

from watchbell import logs
from watchbell.fleet.agent.journal import JobState, Journal
from watchbell.fleet.agent.outbox import Outbox
from watchbell.fleet.messages import Body
from watchbell.probes import probe

_HOLD = 0.01
"""Seconds for which small reports wait for others."""
_RETRY = 1.0
"""Seconds until a disk that was full is tried again."""


class JobReports:
    def __init__(self, job: str, journal: Journal, outbox: Outbox) -> None:
        self._job, self._journal, self._outbox = job, journal, outbox
        self.state = journal.state
        """The state of the job after all reports, recorded or not."""
        self._held: list[Body] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._log = logs.get(role="agent")
        self.is_muted = False
        """Whether nobody wants the reports."""

    def hold(self, bodies: Sequence[Body], state: JobState) -> None:
        """Records them soon, together with what follows. An agent that is killed before that makes
        them again, from what it finds then."""
        self._held += bodies
        self.state = state
        if self._held and not self._timer:
            self._timer = self._loop.call_later(_HOLD, self._flush_held)

    async def record(self, bodies: Sequence[Body], state: JobState) -> None:
        """Returns when they are recorded; waits while the disk is full."""
        self._held += bodies
        self.state = state
        while not self._flush():  # noqa: ASYNC110 nobody reports that there is space again
            await asyncio.sleep(_RETRY)

    def _flush_held(self) -> None:
        self._timer = None
        if not self._flush():
            self._timer = self._loop.call_later(_RETRY, self._flush_held)

    def _flush(self) -> bool:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self.is_muted:
            self._held.clear()
            return True
        try:
            self._journal.append(self._held, self._job, self.state)
        except OSError as error:
            self._log.warning("can't store a job's reports", job=self._job, reason=str(error))
            return False
        probe("agent.recorded")
        self._held.clear()
        self._outbox.announce(self._job)
        return True

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
