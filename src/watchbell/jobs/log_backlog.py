"""Slows down an agent whose jobs print faster than their logs can be moved to files."""

import asyncio
from collections.abc import Iterable

from watchbell.fleet.messages import Output, Report
from watchbell.jobs.keys import Jobs
from watchbell.jobs.log_stream import ENTRIES
from watchbell.store.client import Store, patiently
from watchbell.store.script import Script

FULL = 32 << 20
"""Bytes of a log in the store above which its agent has to wait."""
_CHECKED_AFTER = 4 << 20
_LOOKS, _PAUSE = 20, 0.1
"""An agent waits for two seconds at most, since its other jobs and heartbeats wait with it."""

# KEYS[1] log. Returns how many bytes of output it spans.
_SIZE = Script(
    ENTRIES
    + """
local function offset(entry) return entry and tonumber(value(entry, 'offset')) or 0 end
return offset(last()) - offset(first('-'))
"""
)


class LogBacklog:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._unchecked: dict[str, int] = {}
        """Bytes of each job since its log was last looked at."""

    async def wait(self, reports: Iterable[Report]) -> None:
        """Call it after these reports were written."""
        for report in reports:
            if isinstance(report.body, Output):
                size = self._unchecked.get(report.job, 0) + len(report.body.text)
                self._unchecked[report.job] = size
            else:
                self._unchecked.pop(report.job, None)
        checked = [job for job, size in self._unchecked.items() if size >= _CHECKED_AFTER]
        for job in checked:
            del self._unchecked[job]
        for _ in range(_LOOKS):
            checked = [job for job in checked if await self._size(job) > FULL]
            if not checked:
                return
            await asyncio.sleep(_PAUSE)

    async def _size(self, job: str) -> int:
        key = Jobs(self._store.prefix).log(job)
        return int(await patiently(lambda: _SIZE(self._store, [key])))
