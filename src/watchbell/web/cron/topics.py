"""The topic of cron: `jobs`, `paused`, `running`, `runs` kept, `last_success`, `last_failure`."""

from typing import Any

from watchbell.cron.keys import Cron
from watchbell.store.client import Store
from watchbell.store.script import READ, Script
from watchbell.web.live.topics import Topic

# KEYS jobs, paused, active, runs, successes, failures. Returns the lengths of the first four, and
# when the last success and the last failure came.
_COUNTS = Script(
    READ
    + """
local function last(key) return (read('ZREVRANGE', key, 0, 0, 'WITHSCORES') or {})[2] or false end
return {read('HLEN', KEYS[1]) or 0, read('SCARD', KEYS[2]) or 0, read('ZCARD', KEYS[3]) or 0,
  read('HLEN', KEYS[4]) or 0, last(KEYS[5]), last(KEYS[6])}
"""
)


class CronTopics:
    topics: tuple[Topic, ...] = ("cron",)

    def __init__(self, store: Store) -> None:
        self._store = store

    async def look(self) -> dict[Topic, dict[str, Any]]:
        keys = Cron(self._store.prefix)
        names = [keys.jobs(), keys.paused(), keys.active(), keys.runs()]
        names += [keys.results("success"), keys.results("fail")]
        jobs, paused, running, runs, success, failure = await _COUNTS(self._store, names)
        return {
            "cron": {
                "jobs": jobs,
                "paused": paused,
                "running": running,
                "runs": runs,
                "last_success": _seconds(success),
                "last_failure": _seconds(failure),
            }
        }

    def rest(self) -> None:
        pass


def _seconds(value: bytes | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
