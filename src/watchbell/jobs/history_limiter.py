"""Deletes finished jobs that are too many or too old, some at a time."""

import asyncio
from collections.abc import Sequence

from watchbell import logs
from watchbell.clock import Clock
from watchbell.errors import FilesUnavailable, Refused
from watchbell.files.objects import Files
from watchbell.jobs import history, uploads
from watchbell.jobs.keys import Jobs
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.replies import text

_EVERY = 60.0
_SLICE = 200
_DAY = 86_400
_UPLOADS_EVERY = 3_600.0
"""Seconds between two looks at uploaded files, all of which are listed."""


class HistoryLimiter:
    def __init__(self, store: Store, files: Files, settings: Settings, clock: Clock) -> None:
        self._store, self._files, self._settings, self._clock = store, files, settings, clock
        self._log = logs.get(role="conductor")
        self._looked_at = -_UPLOADS_EVERY

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            deleted = await enduring(
                lambda: patiently(self.delete_some), "conductor", "limits of finished jobs"
            )
            if deleted < _SLICE:
                await self._expire_uploads()
                await asyncio.sleep(_EVERY)

    async def _expire_uploads(self) -> None:
        if self._clock.monotonic() - self._looked_at < _UPLOADS_EVERY:
            return
        self._looked_at = self._clock.monotonic()
        try:
            await uploads.expire(self._files, self._clock.now(), self._settings.finished_days)
        except FilesUnavailable as error:
            self._log.error("old uploads can't be deleted now", reason=str(error))

    async def delete_some(self) -> int:
        """Deletes a slice of the oldest jobs. Returns how many; a full slice means that there may
        be more."""
        done = Jobs(self._store.prefix).done()
        oldest = self._clock.now() - self._settings.finished_days * _DAY
        found = await self._store.call(
            "ZRANGEBYSCORE", done, "-inf", f"({oldest:.6f}", "LIMIT", 0, _SLICE
        )
        extra = await self._store.call("ZCARD", done) - self._settings.finished
        if len(found) < min(extra, _SLICE):
            found = await self._store.call("ZRANGE", done, 0, min(extra, _SLICE) - 1)
        return await self._deleted([text(one) for one in found])

    async def _deleted(self, ids: Sequence[str]) -> int:
        try:
            await history.delete(self._store, self._files, ids)
        except (FilesUnavailable, Refused) as error:
            if len(ids) == 1:
                self._log.error("an old job can't be deleted now", job=ids[0], reason=str(error))
                return 0
            return sum([await self._deleted([one]) for one in ids])
        return len(ids)
