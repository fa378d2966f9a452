"""Hands the fires of a job over to another scheduler."""

from watchbell.cron import commands, definitions, last_handled
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Job
from watchbell.cron.validation import with_state
from watchbell.errors import Changed
from watchbell.store.client import Store
from watchbell.store.script import Script

# KEYS jobs, paused, fired; ARGV[1] name, ARGV[2] its definition, ARGV[3] the definition of the
# paused job, ARGV[4] fingerprint, empty without a lock, ARGV[5] fingerprint of paused jobs, ARGV[6]
# channel, ARGV[7] command. No fire after the mark is claimed once this has run. Returns the last
# fire that was handled, or -1 if the definition is another.
_HAND_OVER = Script("""
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return -1 end
local now = tonumber(redis.call('TIME')[1])
local last, known = string.match(redis.call('HGET', KEYS[3], ARGV[1]) or '', '^(%d+):(.*)$')
last = known == ARGV[4] and tonumber(last) or now
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('SADD', KEYS[2], ARGV[1])
if ARGV[4] ~= '' then
  local mark = string.format('%.0f:%s', math.max(last, now), ARGV[5])
  redis.call('HSET', KEYS[3], ARGV[1], mark)
end
redis.call('PUBLISH', ARGV[6], ARGV[7])
return last
""")


async def hand_over(store: Store, job: Job, raw: bytes) -> int:
    """Pauses the job, and returns its last fire that was handled: all later ones belong to the
    caller. `raw` is its definition; raises Changed if that is another by now."""
    keys = Cron(store.prefix)
    last: int = await _HAND_OVER(
        store,
        [keys.jobs(), keys.paused(), CronOwn(store.prefix).fired()],
        [
            job.name,
            raw,
            with_state(raw, paused=True) or raw,
            job.fingerprint if job.lock else "",
            last_handled.PAUSED,
            keys.commands(),
            commands.encoded("pause", job.name),
        ],
    )
    if last < 0:
        raise Changed(f"job {job.name!r} was changed by somebody else meanwhile; try again")
    return last


async def definition(store: Store, name: str) -> bytes | None:
    found = await definitions.some(store, [name])
    return found[0][1] if found else None
