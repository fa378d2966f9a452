"""The pulse: what goes on in the house, looked at once a second for all who want to know.

| topic | its data |
|---|---|
| checks | how many of each state, `acknowledged`, in `maintenance`; `moment` is another text
whenever any check has changed |
| alerts | `count`, `latest` (when the newest was made), `delivered` and `failed` by all gateways |
| cron | `jobs`, `paused`, `running`, `runs` kept, `last_success`, `last_failure` |
| queues | lengths of `events`, `notifications` and each of `media`; `rate`, events a second |
| maintenance | `open` windows of checks; `changes` grows when any was planned, changed or ended |
| gateways | of each medium: `state`, `alive`, `queued`, `on_its_way`, `failed`, `delivered` |
"""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, get_args

import msgspec

from watchbell import logs
from watchbell.alerting.keys import Alerting
from watchbell.clock import Clock
from watchbell.cron.keys import Cron
from watchbell.errors import StoreUnavailable
from watchbell.gateways import overview
from watchbell.store.client import Store
from watchbell.store.replies import number
from watchbell.store.script import READ, Script
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_table import CheckTable
from watchbell.web.live.background import Background
from watchbell.web.live.events import Event, Source

SECONDS = 1.0

Topic = Literal["checks", "alerts", "cron", "queues", "maintenance", "gateways"]
TOPICS: tuple[Topic, ...] = get_args(Topic)

# KEYS events, notifications, counters, alerts. Returns the lengths of the first two, how many
# events there were, how many alerts there are, and the time of the latest.
_ALERTING = Script(
    READ
    + """
local last = read('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES') or {}
return {read('LLEN', KEYS[1]) or 0, read('LLEN', KEYS[2]) or 0, read('HGET', KEYS[3], 'all'),
  read('ZCARD', KEYS[4]) or 0, last[2] or false}
"""
)

# KEYS jobs, paused, active, runs, successes, failures. Returns the lengths of the first four, and
# when the last success and the last failure came.
_CRON = Script(
    READ
    + """
local function last(key) return (read('ZREVRANGE', key, 0, 0, 'WITHSCORES') or {})[2] or false end
return {read('HLEN', KEYS[1]) or 0, read('SCARD', KEYS[2]) or 0, read('ZCARD', KEYS[3]) or 0,
  read('HLEN', KEYS[4]) or 0, last(KEYS[5]), last(KEYS[6])}
"""
)

Found = dict[Topic, dict[str, Any]]


class Topics:
    """Runs while there are readers; each is told what has changed of the topics that it wants."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        background: Background,
        board: CheckTable,
        media: Collection[str],
    ) -> None:
        self._store, self._clock, self._background = store, clock, background
        self._board, self._media = board, list(media)
        self._wanted: list[Collection[Topic]] = []
        self._latest: dict[Topic, bytes] = {}
        self._beat, self._hurry = asyncio.Event(), asyncio.Event()
        self._counted: tuple[float, int] | None = None
        self._latest_rate: float | None = None
        self._is_running = False

    async def told(self, topics: Collection[Topic]) -> Source:
        seen: dict[Topic, bytes] = {}
        with self._reading(topics):
            while True:
                beat = self._beat
                for topic in topics:
                    data = self._latest.get(topic)
                    if data is not None and seen.get(topic) != data:
                        seen[topic] = data
                        yield Event("", topic, data)
                await beat.wait()

    @contextmanager
    def _reading(self, topics: Collection[Topic]) -> Iterator[None]:
        self._wanted.append(topics)
        if not self._is_running:
            self._is_running = True
            self._background.begin(self._run())
        elif not self._latest.keys() >= set(topics):
            self._hurry.set()
        try:
            yield
        finally:
            self._wanted.remove(topics)

    async def _run(self) -> None:
        try:
            while self._wanted:
                await self._look_patiently(set[Topic]().union(*self._wanted))
                with suppress(TimeoutError):
                    async with asyncio.timeout(SECONDS):
                        await self._hurry.wait()
                self._hurry.clear()
        finally:
            self._latest, self._counted, self._is_running = {}, None, False

    async def _look_patiently(self, topics: set[Topic]) -> None:
        try:
            await self._look(topics)
        except StoreUnavailable:
            pass  # told by everybody else who needs it; the next look may find it back
        except Exception:  # noqa: BLE001 one look stops none of the others
            logs.get(role="web").exception("the pulse failed")

    async def _look(self, topics: set[Topic]) -> None:
        found: Found = {}
        if topics & {"queues", "alerts", "gateways"}:
            found |= await self._alerting()
        if "cron" in topics:
            found["cron"] = await self._cron()
        self._tell(found)
        if topics & {"checks", "maintenance"}:
            self._board.begin()
            if self._board.is_loaded:
                self._tell(await self._checks())

    def _tell(self, found: Found) -> None:
        if found:
            self._latest |= {topic: msgspec.json.encode(data) for topic, data in found.items()}
            beat, self._beat = self._beat, asyncio.Event()
            beat.set()

    async def _alerting(self) -> Found:
        keys = Alerting(self._store.prefix)
        names = [keys.events(), keys.notifications(), keys.counters(), keys.alerts()]
        events, notifications, counted, alerts, latest = await _ALERTING(self._store, names)
        statuses = await overview.statuses(self._store, self._media)
        now = self._clock.now()
        return {
            "queues": {
                "events": events,
                "notifications": notifications,
                "media": {medium_status.medium: medium_status.queued for medium_status in statuses},
                "rate": self._rate(number(counted) or 0),
            },
            "alerts": {
                "count": alerts,
                "latest": number(latest),
                "delivered": sum(medium_status.delivered for medium_status in statuses),
                "failed": sum(medium_status.given_up for medium_status in statuses),
            },
            "gateways": {
                medium_status.medium: {
                    "state": medium_status.state,
                    "alive": medium_status.is_alive(now),
                    "queued": medium_status.queued,
                    "on_its_way": medium_status.on_its_way,
                    "failed": medium_status.failed,
                    "delivered": medium_status.delivered,
                }
                for medium_status in statuses
            },
        }

    def _rate(self, count: int) -> float | None:
        """Events a second since the last look; None at the first."""
        now, last = self._clock.monotonic(), self._counted
        if last is None or now - last[0] >= SECONDS / 2:  # a look in between says too little
            self._counted = now, count
            self._latest_rate = (
                None if last is None else round(max(count - last[1], 0) / (now - last[0]), 1)
            )
        return self._latest_rate

    async def _cron(self) -> dict[str, Any]:
        keys = Cron(self._store.prefix)
        names = [keys.jobs(), keys.paused(), keys.active(), keys.runs()]
        names += [keys.results("success"), keys.results("fail")]
        jobs, paused, running, runs, success, failure = await _CRON(self._store, names)
        return {
            "jobs": jobs,
            "paused": paused,
            "running": running,
            "runs": runs,
            "last_success": _seconds(success),
            "last_failure": _seconds(failure),
        }

    async def _checks(self) -> Found:
        ledger, view = await self._board.view(CheckFilter())
        counts = msgspec.to_builtins(view.counts)
        return {
            "checks": {**counts, "moment": ledger.moment},
            "maintenance": {
                "open": view.counts.maintenance,
                "changes": self._board.windows_changed,
            },
        }


def _seconds(value: bytes | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
