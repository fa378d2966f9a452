"""Forgets the marks of jobs that are no longer in the store, and reports their checks as ok.

No run of such a job will ever succeed again, so its check would stay critical for ever. With the
ok, the people who were alerted receive the recovery.
"""

from collections.abc import Sequence

import msgspec

from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.cron import lua
from watchbell.cron.keys import Cron, CronOwn
from watchbell.store.client import Store
from watchbell.store.script import Script

UNBOUNDED = 1 << 53

# The keys and the table that `lua.RETIRE` needs, first in a script.
KEYS_AND_NAMES = (
    """
local jobs, fired, skipped, overdue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local retries, retries_due, events, unreported = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local own = cmsgpack.unpack(ARGV[1])
local seconds = tonumber(redis.call('TIME')[1])
"""
    + REPORT
    + lua.RETIRE
)

# KEYS and ARGV[1] as `keys` and `packed_names` give them; ARGV[2] msgpack: names of jobs.
# Those that are in the store after all are left alone.
_RETIRE = Script(
    KEYS_AND_NAMES
    + """
for _, job in ipairs(cmsgpack.unpack(ARGV[2])) do retire(job) end
"""
)


async def retire(store: Store, names: Sequence[str], most_events: int) -> None:
    if names:
        args = [packed_names(store, most_events), msgspec.msgpack.encode(names)]
        await _RETIRE(store, keys(store), args)


def keys(store: Store) -> list[str]:
    cron, own = Cron(store.prefix), CronOwn(store.prefix)
    return [
        cron.jobs(),
        own.fired(),
        own.skipped(),
        own.overdue(),
        own.retries(),
        own.retries_due(),
        Alerting(store.prefix).events(),
        own.unreported(),
    ]


def packed_names(store: Store, most_events: int) -> bytes:
    cron, own = Cron(store.prefix), CronOwn(store.prefix)
    names = {
        "job_results": cron.job_results.literals,
        "job_omissions": own.job_omissions.literals[0],
        "most_events": most_events,
    }
    return msgspec.msgpack.encode(names)
