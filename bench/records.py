"""Flapjack's records: a build of 100,000 checks, their memory, and the processor beside them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from bench.figures import Figure
from bench.processor import PARTS, Costs, known, names, processes
from bench.stores import fresh
from watchbell.alerting import record_keeping, record_verify
from watchbell.alerting.record_watch import RecordWatch
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

CHECKS = 100_000
SAMPLE = 20_000
"""Checks for which the cost of an event is compared."""
_SLICE = 50

# ARGV msgpack: entity, check, entity, check, …: what the records of a check and of its state are,
# each written by one command and compared with nothing.
bare = Script("""
local names = cmsgpack.unpack(ARGV[1])
for i = 1, #names, 2 do
  local entity, check = names[i], names[i + 1]
  local id = string.sub(redis.sha1hex(entity .. ':' .. check), 1, 32)
  redis.call('HSET', 'check:' .. id .. ':attrs', 'entity_name', entity, 'name', check, 'state',
    'ok', 'summary', 'GET / 200 OK in 0.2 s', 'last_update', '1700000000', 'enabled', 'true')
  for _, index in ipairs({'check::ids', 'check::by_entity_name:' .. entity,
      'check::by_name:' .. check, 'check::by_enabled:true', 'check::by_state:ok'}) do
    redis.call('SADD', index, id)
  end
  redis.call('HSET', 'check_state:' .. id .. ':attrs', 'state', 'ok', 'summary',
    'GET / 200 OK in 0.2 s', 'count', i, 'timestamp', '1700000000', 'notified', 'false')
  for _, index in ipairs({'check_state::ids', 'check_state::by_state:ok',
      'check_state::by_notified:false'}) do
    redis.call('SADD', index, id)
  end
  redis.call('HSET', 'check_state::by_count', i, id)
  redis.call('HSET', 'check_state:' .. id .. ':belongs_to', 'check_id', id)
  redis.call('ZADD', 'check:' .. id .. ':states_ids', '1700000000', id)
end
return #names
""")


async def memory(store: Store) -> int:
    return int((await store.call("INFO", "memory"))["used_memory"])


async def built() -> tuple[float, float, float]:
    """Seconds of a build, and bytes per check of the working layout and of the records."""
    async with fresh() as (empty, _):
        nothing = await memory(empty)
    async with known(CHECKS) as (store, _):
        before = await memory(store)
        begun = time.perf_counter()
        await record_keeping.build(store, lambda _: None)
        spent = time.perf_counter() - begun
        after = await memory(store)
        counts = await record_keeping.counts(store)
        assert counts["check"] == counts["check_state"] == CHECKS
        assert [one async for one in record_verify.differences(store)] == []
    return spent, (before - nothing) / CHECKS, (after - before) / CHECKS


async def by_bare_script() -> float:
    """Seconds until the records of as many checks are written, in as many steps."""
    async with fresh() as (store, _):
        begun = time.perf_counter()
        for first in range(0, CHECKS, _SLICE):
            parts = [name for n in range(first, first + _SLICE) for name in names(n)]
            raw = [verbatim(part.encode()) for part in parts]
            await bare(store, [], [msgspec.msgpack.encode(raw)])
        return time.perf_counter() - begun


@asynccontextmanager
async def watching(store: Store) -> AsyncIterator[None]:
    """Changes of other programs are followed meanwhile, as beside every processor."""
    watch = asyncio.create_task(RecordWatch(store, SYSTEM).run())
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def costs(changing: float) -> tuple[Costs, Costs]:
    """The costs of the processor with records and without, in turn."""
    async with AsyncExitStack() as stack:
        both = []
        for with_records in (True, False):
            made = known(SAMPLE, with_records=with_records)
            store, processor = await stack.enter_async_context(made)
            if with_records:
                await stack.enter_async_context(watching(store))
            both.append(Costs(SAMPLE, store, processes(processor), changing))
        for _ in range(PARTS):
            for one in both:
                await one.measure()
    return both[0], both[1]


def processor() -> list[Figure]:
    """With records the processor keeps at least half of its rate."""
    rows = []
    for name, changing in (("no changes", 0.0), ("10% state changes", 0.1)):
        mine, without = asyncio.run(costs(changing))
        rows.append(
            Figure(
                name=f"processor with records, {name}, {SAMPLE:,} checks",
                unit="µs of CPU",
                sense="at most",
                runs=mine.measured,
                aim=2 * min(without.measured),
                limit=min(without.measured),
                limit_name="µs without records",
            )
        )
    return rows


def figures() -> list[Figure]:
    bare_seconds = asyncio.run(by_bare_script())
    spent, working, records = asyncio.run(built())
    return [
        Figure(
            name=f"records built, {CHECKS:,} checks",
            unit="s",
            sense="at most",
            runs=[spent],
            aim=60,
            limit=bare_seconds,
            limit_name="s by a bare script",
        ),
        Figure(
            name="memory of records",
            unit="bytes a check",
            sense="at most",
            runs=[records],
            limit=working,
            limit_name="bytes of the working layout",
        ),
        *processor(),
    ]
