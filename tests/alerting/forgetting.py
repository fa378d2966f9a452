"""Makes a store look as if Flapjack had worked on it until now."""

from functools import lru_cache

from tests.families import FAMILIES
from watchbell.store.client import Store
from watchbell.store.families import Family
from watchbell.store.script import Script

# ARGV[1] seconds. Every key expires so much earlier, whatever time has really passed since it was
# written. Returns the names of all keys.
_AGE = Script("""
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('EXPIRE', key, math.ceil(left / 1000) - ARGV[1]) end
end
return redis.call('KEYS', '*')
""")


@lru_cache(None)
def _family(key: str) -> Family:
    fitting = (family for family in FAMILIES if family.matches(key))
    return max(fitting, key=lambda family: family.specificity)


async def forget(store: Store, elapsed: int, kept: frozenset[Family]) -> None:
    """Deletes the keys of all other families, and those that expired in these seconds."""
    names = await _AGE(store, [], [max(elapsed, 0)])
    gone = [name for name in names if _family(name.decode(errors="replace")) not in kept]
    if gone:
        await store.call("DEL", *gone)
