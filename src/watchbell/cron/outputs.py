"""What runs printed, read back from the store in either of its forms."""

import asyncio
from collections.abc import AsyncIterator

from msgspec import Struct

from watchbell.cron import history
from watchbell.cron.keys import Cron
from watchbell.store.client import Store
from watchbell.store.script import Script

_PAGE = 1_000
_EVERY = 0.3

# KEYS[1] output; ARGV[1] time and ARGV[2] number of the line after which to begin, ARGV[3] how many
# to give at the most. Returns them, with their times where they have some.
_OUTPUT = Script("""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'zset' then
  local after = '(' .. ARGV[1]
  local found = redis.call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'WITHSCORES',
                           'LIMIT', 0, ARGV[3])
  return {found, 1}
end
if kind == 'list' then
  return {redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[2] + ARGV[3] - 1), 0}
end
return {{}, 0}
""")

# KEYS[1] output; ARGV[1] how many. Returns the last lines, and whether they have numbers.
_TAIL = Script("""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'zset' then return {redis.call('ZRANGE', KEYS[1], -ARGV[1], -1), 1} end
if kind == 'list' then return {redis.call('LRANGE', KEYS[1], -ARGV[1], -1), 0} end
return {{}, 0}
""")


class Line(Struct, frozen=True):
    number: int
    """From 1 on; what is missing in between was left out."""
    at: float
    """When it was printed; 0 where that is not known."""
    text: bytes


async def lines(store: Store, run: str, after: Line | None = None, most: int = _PAGE) -> list[Line]:
    """Of a run, after one of them; none where it printed no more, or was forgotten."""
    at, number = (after.at, after.number) if after else (0.0, 0)
    key = Cron(store.prefix).output(run)
    found, has_times = await _OUTPUT(store, [key], [f"{at:.6f}", number, most])
    if not has_times:
        return [Line(n, 0, text) for n, text in enumerate(found, number + 1)]
    return [_line(*pair) for pair in zip(found[::2], found[1::2], strict=True)]


def _line(member: bytes, at: bytes) -> Line:
    number, _, text = member.partition(b"\t")
    return Line(int(number) if number.isdigit() else 0, float(at), text)


async def follow(store: Store, run: str) -> AsyncIterator[list[Line]]:
    """All that a run has printed, and prints until it ends."""
    last: Line | None = None
    while True:
        is_over = (await history.run(store, run)).record.status != "running"
        while found := await lines(store, run, last):
            last = found[-1]
            yield found
        if is_over:
            return
        await asyncio.sleep(_EVERY)


async def last_number(store: Store, run: str) -> int:
    """Of the lines of a run; 0 where there are none."""
    found, has_numbers = await _TAIL(store, [Cron(store.prefix).output(run)], [1])
    return _line(found[0], b"0").number if found and has_numbers else 0


async def tail(store: Store, run: str, most: int) -> str:
    """The last lines, as a run's record has them."""
    found, has_numbers = await _TAIL(store, [Cron(store.prefix).output(run)], [most])
    texts = [line.partition(b"\t")[2] if has_numbers else line for line in found]
    return b"".join(texts).decode(errors="replace")
