"""Signs of life of pipelines: each renews the leases of its crawls every second."""

from collections.abc import Mapping, Sequence

import msgspec

from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT, OWNED
from watchbell.archive.model import Ownership
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

# KEYS[1] pending; ARGV[1] seconds of a lease, ARGV[2] msgpack: {ident, pipeline, fence, trouble}.
# Returns the numbers of those whose pipeline may work on them no more.
_BEAT = Script(
    LAYOUT
    + OWNED
    + """
local ends, lost = store_time() + tonumber(ARGV[1]), {}
redis.call('ZCARD', crawls.leases)
for number, one in ipairs(cmsgpack.unpack(ARGV[2])) do
  local ident, pipeline, fence, trouble = unpack(one)
  local refused = refusal(ident, pipeline, fence)
  if refused then
    local is_its_own = refused == 'ended'
      and redis.call('HGET', crawls.crawl(ident), 'finisher') == fence
    if not is_its_own then lost[#lost + 1] = number end
  else
    local own = crawls.crawl(ident)
    if (redis.call('HGET', own, 'trouble') or '') ~= trouble then
      if trouble == '' then
        redis.call('HDEL', own, 'trouble')
      else
        redis.call('HSET', own, 'trouble', trouble)
      end
      redis.call('PUBLISH', crawls.news, ident)
    end
    add_to(archive.job(ident), 'heartbeat', 1)
    redis.call('ZADD', crawls.leases, precise(ends), ident)
  end
end
return lost
"""
)


async def beat(
    store: Store,
    ownerships: Sequence[Ownership],
    seconds: float,
    troubles: Mapping[Ownership, str] | None = None,
) -> set[Ownership]:
    """Renews the leases for `seconds` and counts a heartbeat of each crawl. `troubles` says why
    crawls can't go on at the moment. Returns the rights that have ended: their work must be
    dropped. That of a crawl which the pipeline has ended itself is not among them."""
    if not ownerships:
        return set()
    known = troubles or {}
    items = [(one.ident, one.pipeline, str(one.fence), known.get(one, "")) for one in ownerships]
    args: list[Argument] = [seconds, msgspec.msgpack.encode(items)]
    lost = await _BEAT(store, [Archive(store.prefix).pending()], args)
    return {ownerships[number - 1] for number in lost}
