"""What was given up: listed page by page, and sent again."""

from collections.abc import Sequence

from msgspec import Struct

from watchbell.gateways import outcomes, overview
from watchbell.gateways.keys import Gateways
from watchbell.gateways.outbox import Item, Unfit
from watchbell.store.client import Store
from watchbell.store.replies import text
from watchbell.store.script import Script

_AT_ONCE = 1_000

# KEYS[1] failed, KEYS[2] failures; ARGV[1] how many are wanted, ARGV[2] the alert after which they
# come, given up at ARGV[3]; it may be there no more. Returns of each its id, when it was given up,
# and its record.
_PAGE = Script("""
local first, after = 0, ARGV[2]
if after ~= '' then
  local rank = redis.call('ZREVRANK', KEYS[1], after)
  first = rank and rank + 1 or redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[3], '+inf')
end
local found = redis.call('ZREVRANGE', KEYS[1], first, first + ARGV[1] - 1, 'WITHSCORES')
local answers = {}
for i = 1, #found, 2 do
  local record = redis.call('HGET', KEYS[2], found[i])
  if record then answers[#answers + 1] = {found[i], found[i + 1], record} end
end
return answers
""")


class Failure(Struct, kw_only=True):
    """An alert or message that was given up, or something unreadable."""

    id: str = ""
    address: str = ""
    check: str = ""
    state: str = ""
    since: int
    tries: int = 0
    error: str
    raw: str = ""


class Listed(Struct, frozen=True):
    id: str
    given_up: int
    failure: Failure


def failure_of(one: Item | Unfit) -> Failure:
    if isinstance(one, Unfit):
        return Failure(since=int(one.since), error=one.error, raw=one.raw)
    return Failure(
        id=one.id,
        address=one.address,
        check=one.topic,
        state=one.alert.state if one.alert else "",
        since=int(one.since),
        tries=one.tries,
        error=one.error,
    )


async def page(store: Store, medium: str, count: int, after: str, given_up: int) -> list[Listed]:
    """The newest, or those that follow `after`, which was given up at `given_up`."""
    keys = Gateways(store.prefix)
    names = [keys.failed(medium), keys.failures(medium)]
    answers = await _PAGE(store, names, [count, after, given_up])
    return [
        Listed(text(name), int(float(time)), failure_of(overview.failure(record)))
        for name, time, record in answers
    ]


async def every(store: Store, medium: str) -> list[Item | Unfit]:
    """All, newest first."""
    found: list[Item | Unfit] = []
    while some := await overview.failed(store, medium, len(found), _AT_ONCE):
        found += some
    return found


async def named(store: Store, medium: str, ids: Sequence[str]) -> list[Item]:
    """Those of these ids that were given up."""
    found: list[Item | Unfit] = []
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        records = await store.call("HMGET", Gateways(store.prefix).failures(medium), *some)
        found += [overview.failure(record) for record in records if record is not None]
    return [one for one in found if isinstance(one, Item)]


async def retry(store: Store, medium: str, items: Sequence[Item], now: float) -> int:
    """Returns how many are sent again."""
    pieces = [items[at : at + _AT_ONCE] for at in range(0, len(items), _AT_ONCE)]
    return sum([await outcomes.retry(store, medium, piece, now) for piece in pieces])


async def retry_all(store: Store, medium: str, now: float) -> int:
    items = [one for one in await every(store, medium) if isinstance(one, Item)]
    return await retry(store, medium, items, now)
