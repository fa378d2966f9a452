"""Ends runs that no longer send heartbeats, and cleans up after instances that are gone."""

import asyncio
from collections.abc import Callable, Container, Sequence

import msgspec

from watchbell import logs
from watchbell.cron import history, instances, pending_fires, run_results
from watchbell.cron.claims import Claims
from watchbell.cron.fires import Left
from watchbell.cron.keys import Cron, CronOwn, CronUpstream
from watchbell.cron.last_handled import MOST_AHEAD
from watchbell.cron.model import Beat, Detail, Fire, Job, Record, decoded, parsed
from watchbell.cron.result_writer import Outcome
from watchbell.cron.run_results import RunResult
from watchbell.cron.unattended_jobs import UnplacedJobs
from watchbell.errors import LockLost, Refused, StoreUnavailable
from watchbell.runs.writer import RunWriter
from watchbell.settings import Cron as CronSettings
from watchbell.store import outage
from watchbell.store.client import Store
from watchbell.store.lock import locked
from watchbell.store.script import Script
from watchbell.store.store_clock import StoreClock

_LEASE = 10.0
_MOST = 100
_SWEEP_EVERY = 3_600.0
_MARK_KEPT = 86_400

# KEYS fired, jobs; ARGV[1] cursor, ARGV[2] prefix of the omissions of a job, ARGV[3] seconds.
# Forgets marks of jobs that are gone, unless they are younger. Returns the next cursor.
_SWEEP = Script("""
local found = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local now = tonumber(redis.call('TIME')[1])
for i = 1, #found[2], 2 do
  local job, last = found[2][i], tonumber(string.match(found[2][i + 1], '^%d+') or '0')
  if last < now - tonumber(ARGV[3]) and redis.call('HEXISTS', KEYS[2], job) == 0 then
    redis.call('HDEL', KEYS[1], job)
    redis.call('UNLINK', ARGV[2] .. job)
  end
end
return found[1]
""")


class Reaper:
    def __init__(
        self,
        store: Store,
        claims: Claims,
        writer: RunWriter[RunResult, Outcome],
        clock: StoreClock,
        settings: CronSettings,
        *,
        ours: Container[str],
        find: Callable[[str], Job | None],
        unplaced: UnplacedJobs,
        steady: Callable[[], float],
    ) -> None:
        """`ours` are the runs of this instance. `steady` returns for how many seconds the store has
        been available: while it was not, nobody could send a heartbeat."""
        self._store, self._claims, self._writer, self._clock = store, claims, writer, clock
        self._settings, self._ours, self._find, self._steady = settings, ours, find, steady
        self._keys, self._own = Cron(store.prefix), CronOwn(store.prefix)
        self._instances = CronUpstream(store.prefix).instances()
        self._next_sweep, self._unplaced = 0.0, unplaced
        self._log = logs.get(role="cron")

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._settings.heartbeat)
            if self._steady() < self._settings.heartbeat:
                continue
            try:
                async with locked(self._store, self._keys.reaper_lock(), _LEASE):
                    await self._reap()
                outage.end()
            except (Refused, LockLost):
                continue  # another instance does it
            except StoreUnavailable as error:
                outage.begin(error)

    async def _reap(self) -> None:
        await self._follow_clock()
        stale = self._clock.now() - self._settings.heartbeat * 1.5
        while runs := await self._frozen(stale):
            await self._freeze(runs, stale)
        await self._store.call("ZREMRANGEBYSCORE", self._instances, "-inf", f"({stale:.6f}")
        await self._bury(stale - self._settings.heartbeat)
        await self._unplaced.report(await instances.alive(self._store), self._clock.now())
        if self._clock.monotonic() >= self._next_sweep:
            self._next_sweep = self._clock.monotonic() + _SWEEP_EVERY
            await self._sweep()

    async def _follow_clock(self) -> None:
        """Moves heartbeats from before the store's clock was set back to the present: otherwise
        dead runs and instances would seem alive until the clock has caught up."""
        now = self._clock.now()
        latest = f"({now + MOST_AHEAD:.6f}"
        runs = await self._store.call("ZRANGEBYSCORE", self._keys.active(), latest, "+inf")
        for run in runs:
            await self._store.call("ZADD", self._keys.active(), "XX", f"{now:.6f}", run)
        await self._store.call("ZREMRANGEBYSCORE", self._instances, latest, "+inf")
        found = await self._store.call("HGETALL", self._own.instances())
        for name, text in found.items():
            beat = parsed(text, Beat)
            if beat and beat.seen > now + MOST_AHEAD:
                beat.seen = now
                moved = msgspec.json.encode(beat)
                await self._store.call("HSET", self._own.instances(), name, moved)

    async def _frozen(self, stale: float) -> list[bytes]:
        found = await self._store.call(
            "ZRANGEBYSCORE", self._keys.active(), "-inf", f"({stale:.6f}", "LIMIT", 0, _MOST
        )
        return [run for run in found if run.decode(errors="replace") not in self._ours]

    async def _freeze(self, runs: Sequence[bytes], stale: float) -> None:
        records = await self._store.call("HMGET", self._keys.runs(), *runs)
        details = await self._store.call("HMGET", self._own.details(), *runs)
        for run, record, detail in zip(runs, records, details, strict=True):
            known = decoded(record) if record is not None and _is_text(run) else None
            if known:
                await self._freeze_one(run.decode(), known, detail, stale)
            else:
                # There is no record to end, so the run is only removed from the active ones.
                await self._store.call("ZREM", self._keys.active(), run)

    async def _freeze_one(
        self, run: str, record: Record, raw_detail: bytes | None, stale: float
    ) -> None:
        result = run_results.frozen(
            run,
            (record, parsed(raw_detail, Detail) or Detail()),
            self._find(record.job_name),
            await history.output(self._store, run).tail(self._settings.last_lines),
            self._clock.now(),
            stale,
            upstream=self._settings.upstream_data,
        )
        outcome = await self._writer.finish(result)
        if outcome is Outcome.DONE:
            self._log.warning("run is frozen", run=run, job=record.job_name, host=record.host)

    async def _bury(self, silent_since: float) -> None:
        found = await self._store.call("HGETALL", self._own.instances())
        now = self._clock.now()
        for name, text in found.items():
            beat = parsed(text, Beat)
            if beat is None or beat.seen < min(silent_since, now - 3 * beat.every):
                await bury(self._store, self._claims, name.decode(errors="replace"))

    async def _sweep(self) -> None:
        cursor = 0
        keys = [self._own.fired(), self._keys.jobs()]
        omissions = self._own.job_omissions.literals[0]
        while True:
            cursor = int(await _SWEEP(self._store, keys, [cursor, omissions, _MARK_KEPT]))
            if not cursor:
                return


def _is_text(run: bytes) -> bool:
    try:
        run.decode()
    except UnicodeDecodeError:
        return False
    return True


async def bury(store: Store, claims: Claims, instance: str) -> None:
    """Records the fires that only this instance would have run as not run, and forgets it."""
    own = CronOwn(store.prefix)
    reason = f"skipped: the instance {instance} ended before its turn came"
    while texts := await store.call("LRANGE", own.own_pending(instance), 0, _MOST - 1):
        left = [
            Left(fire.job, fire.fire, "", "", fire.fire, 1, reason, "")
            for text in texts
            if (fire := parsed(text, Fire))
        ]
        await claims.claim(left, 0)
        await store.call("LTRIM", own.own_pending(instance), len(texts), -1)
    not_made = f"retry not made: the instance {instance} ended"
    await pending_fires.give_up_retries(claims.call, instance, not_made)
    await store.call("HDEL", own.instances(), instance)
