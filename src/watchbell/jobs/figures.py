"""Counts of jobs and servers, for metrics and pages."""

from msgspec import Struct

from watchbell.fleet import presence
from watchbell.fleet.keys import Fleet
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

_MOST = 5_000
"""Jobs in progress whose state is looked at; of more, the newest."""

# KEYS live, delayed, finished, done, events, counters, servers; ARGV[1] what the keys of jobs in
# progress begin with, ARGV[2] how many jobs are looked at. Returns how many jobs run, are in
# progress, are delayed and are finished, when the last one was completed, how many events there
# are, how many jobs ended well and badly, and how many servers there are.
_READ = Script(
    READ
    + """
local active, live = 0, read('ZREVRANGE', KEYS[1], 0, ARGV[2] - 1) or {}
for _, id in ipairs(live) do
  local state = read('HGET', ARGV[1] .. id, 'state')
  if state == '"active"' or state == '"finishing"' then active = active + 1 end
end
return {active, read('ZCARD', KEYS[1]) or 0, read('ZCARD', KEYS[2]) or 0,
  read('HLEN', KEYS[3]) or 0, (read('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES') or {})[2] or false,
  read('HLEN', KEYS[5]) or 0, read('HMGET', KEYS[6], 'success', 'fail') or {},
  read('HLEN', KEYS[7]) or 0}
"""
)


class Figures(Struct, frozen=True, kw_only=True):
    events: int
    active: int
    waiting: int
    """For a slot, for their turn, or to be dispatched."""
    delayed: int
    kept: int
    """Finished jobs in the store."""
    last: float | None
    """When the last job was completed."""
    succeeded: int
    failed: int
    """Since counting began."""
    servers: int
    online: int


async def figures(store: Store, down_after: float) -> Figures:
    keys, fleet = Jobs(store.prefix), Fleet(store.prefix)
    names = [keys.live(), keys.delayed(), keys.finished(), keys.done(), keys.events()]
    names += [keys.counters(), fleet.servers()]
    active, live, delayed, kept, last, events, ended, servers = await _READ(
        store, names, [keys.job.literals[0], _MOST]
    )
    seen = await presence.read(store)
    succeeded, failed = (int(count or 0) for count in ended or (0, 0))
    return Figures(
        events=events,
        active=active,
        waiting=max(live - active - delayed, 0),
        delayed=delayed,
        kept=kept,
        last=float(last) if last else None,
        succeeded=succeeded,
        failed=failed,
        servers=servers,
        online=sum(seen.is_online(one, down_after) for one in seen.links),
    )
