"""The topics of alerting: checks and maintenance; queues, alerts and gateways.

| topic | its data |
|---|---|
| checks | how many of each state, `acknowledged`, in `maintenance`; `moment` differs whenever any
check has changed |
| maintenance | `open` windows of checks; `changes` grows when any was planned, changed or ended |
| queues | lengths of `events`, `notifications` and each of `media`; `rate`, events a second |
| alerts | `count`, `latest` (when the newest was made), `delivered` and `failed` by all gateways |
| gateways | of each medium: `state`, `alive`, `queued`, `on_its_way`, `failed`, `delivered` |
"""

from collections.abc import Collection
from typing import Any

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.clock import Clock
from watchbell.gateways import overview
from watchbell.gateways.overview import MediumStatus
from watchbell.store.client import Store
from watchbell.store.replies import number
from watchbell.store.script import READ, Script
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_table import CheckTable
from watchbell.web.live.topics import SECONDS, Topic

# KEYS events, notifications, counters, alerts. Returns the lengths of the first two, how many
# events there were, how many alerts there are, and the time of the latest.
_COUNTS = Script(
    READ
    + """
local last = read('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES') or {}
return {read('LLEN', KEYS[1]) or 0, read('LLEN', KEYS[2]) or 0, read('HGET', KEYS[3], 'all'),
  read('ZCARD', KEYS[4]) or 0, last[2] or false}
"""
)

Found = dict[Topic, dict[str, Any]]


class AlertTopics:
    topics: tuple[Topic, ...] = ("queues", "alerts", "gateways")

    def __init__(self, store: Store, clock: Clock, media: Collection[str]) -> None:
        self._store, self._clock, self._media = store, clock, list(media)
        self._counted: tuple[float, int] | None = None
        self._latest_rate: float | None = None

    async def look(self) -> Found:
        keys = Alerting(self._store.prefix)
        names = [keys.events(), keys.notifications(), keys.counters(), keys.alerts()]
        events, notifications, counted, alerts, latest = await _COUNTS(self._store, names)
        statuses = await overview.statuses(self._store, self._media)
        now = self._clock.now()
        return {
            "queues": {
                "events": events,
                "notifications": notifications,
                "media": {one.medium: one.queued for one in statuses},
                "rate": self._rate(number(counted) or 0),
            },
            "alerts": {
                "count": alerts,
                "latest": number(latest),
                "delivered": sum(one.delivered for one in statuses),
                "failed": sum(one.given_up for one in statuses),
            },
            "gateways": {one.medium: _gateway(one, now) for one in statuses},
        }

    def rest(self) -> None:
        self._counted = None

    def _rate(self, count: int) -> float | None:
        """Events a second since the last look; None at the first."""
        now, last = self._clock.monotonic(), self._counted
        if last is None or now - last[0] >= SECONDS / 2:  # a look in between says too little
            self._counted = now, count
            self._latest_rate = (
                None if last is None else round(max(count - last[1], 0) / (now - last[0]), 1)
            )
        return self._latest_rate


def _gateway(status: MediumStatus, now: float) -> dict[str, Any]:
    return {
        "state": status.state,
        "alive": status.is_alive(now),
        "queued": status.queued,
        "on_its_way": status.on_its_way,
        "failed": status.failed,
        "delivered": status.delivered,
    }


class CheckTopics:
    topics: tuple[Topic, ...] = ("checks", "maintenance")

    def __init__(self, table: CheckTable) -> None:
        self._table = table

    async def look(self) -> Found:
        self._table.begin()
        if not self._table.is_loaded:
            return {}
        rows, view = await self._table.view(CheckFilter())
        return {
            "checks": {**msgspec.to_builtins(view.counts), "moment": rows.moment},
            "maintenance": {
                "open": view.counts.maintenance,
                "changes": self._table.windows_changed,
            },
        }

    def rest(self) -> None:
        pass
