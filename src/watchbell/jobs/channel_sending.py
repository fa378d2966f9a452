"""Whether a channel may be used once more today."""

from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Channel
from watchbell.store.client import Store
from watchbell.store.script import Script
from watchbell.units import utc_day

_KEPT = 2 * 86_400

# KEYS[1] uses of the day; ARGV[1] what uses it, ARGV[2] the most uses, ARGV[3] seconds for which
# the uses are kept. Returns 1 if it may be used, also when the same use asks again.
_ADMIT = Script("""
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
""")


async def obstacle(store: Store, channel: Channel, use: str, now: float) -> str:
    """Why the channel may not be used; empty if it may. `use` names what wants to use it, and
    counts once however often it asks. Days are those of UTC."""
    if not channel.enabled:
        return f"the channel {channel.title} is disabled"
    if not channel.max_per_day:
        return ""
    key = Jobs(store.prefix).channel_uses(utc_day(now), channel.id)
    if await _ADMIT(store, [key], [use, channel.max_per_day, _KEPT]):
        return ""
    times = "once" if channel.max_per_day == 1 else f"{channel.max_per_day} times"
    return f"the channel {channel.title} was used {times} today, which is its limit"
