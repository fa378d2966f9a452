"""Counts of runs, jobs and waiting fires, for metrics."""

from msgspec import Struct

from watchbell.cron import instances
from watchbell.cron.keys import Cron, CronOwn
from watchbell.store.client import Store
from watchbell.store.script import Script

# KEYS[1] counters, KEYS[2] jobs, KEYS[3] paused, KEYS[4] active runs.
_READ = Script("""
return {
  redis.call('HMGET', KEYS[1], 'success', 'fail'), redis.call('HLEN', KEYS[2]),
  redis.call('SCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]),
}
""")


class Figures(Struct, frozen=True):
    succeeded: int
    failed: int
    """Since counting began; frozen runs count as failed."""
    jobs: int
    paused: int
    active: int
    pending: int
    """Runs that wait for an instance with a free place."""


async def figures(store: Store) -> Figures:
    keys, own = Cron(store.prefix), CronOwn(store.prefix)
    names = [own.counters(), keys.jobs(), keys.paused(), keys.active()]
    (succeeded, failed), jobs, paused, active = await _READ(store, names)
    return Figures(
        succeeded=int(succeeded or 0),
        failed=int(failed or 0),
        jobs=jobs,
        paused=paused,
        active=active,
        pending=await instances.pending(store),
    )
