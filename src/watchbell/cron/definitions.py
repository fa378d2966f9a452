"""Definitions in the store: read, validated, and changed where they contain their own state."""

from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from watchbell.cron.keys import Cron
from watchbell.cron.last_handled import marked
from watchbell.cron.model import Invalid, Job
from watchbell.cron.reading import Reading
from watchbell.cron.validation import read, with_state
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import READ, Script

Pair = tuple[bytes, bytes]
Replacement = tuple[bytes, bytes, bytes]

_SLICE = 200
_HAS_ERRORS = b'"validation_errors"'

# KEYS[1] jobs; ARGV[1] msgpack: {name, definition, new definition}. Replaces those that are still
# as they were read.
_REPLACE = Script("""
for _, one in ipairs(cmsgpack.unpack(ARGV[1])) do
  if redis.call('HGET', KEYS[1], one[1]) == one[2] then
    redis.call('HSET', KEYS[1], one[1], one[3])
  end
end
""")


# KEYS[1] paused; ARGV[1] a name, or empty for all. Returns those of them that are paused.
_PAUSED = Script(
    READ
    + """
if ARGV[1] == '' then return read('SMEMBERS', KEYS[1]) or {} end
return read('SISMEMBER', KEYS[1], ARGV[1]) == 1 and {ARGV[1]} or {}
"""
)


async def paused(store: Store, name: str = "") -> set[bytes]:
    """The names of all paused jobs; with `name`, only that one if it is paused."""
    return set(await _PAUSED(store, [Cron(store.prefix).paused()], [name]))


async def paused_names(store: Store) -> set[str]:
    return {name.decode(errors="replace") for name in await paused(store)}


async def every(store: Store) -> AsyncIterator[list[Pair]]:
    """Names and definitions in slices; one that changes meanwhile may come twice."""
    key, cursor = Cron(store.prefix).jobs(), 0
    while True:
        cursor, found = await store.call("HSCAN", key, cursor, "COUNT", _SLICE)
        yield list(_pairs(found))
        if not int(cursor):
            return


def _pairs(found: object) -> Iterator[Pair]:
    """Accepts a reply that the client turned into a dictionary, and one that it did not."""
    if isinstance(found, dict):
        yield from found.items()
    elif isinstance(found, list):
        yield from zip(found[::2], found[1::2], strict=True)


async def some(store: Store, names: Sequence[str]) -> list[Pair]:
    """Returns which of these names exist."""
    raws = await store.call("HMGET", Cron(store.prefix).jobs(), *names) if names else []
    pairs = zip(names, raws, strict=True)
    return [(name.encode(), raw) for name, raw in pairs if raw is not None]


async def first(store: Store, most: int) -> tuple[list[Pair], int]:
    """The first definitions by name, and how many there are."""
    key = Cron(store.prefix).jobs()
    names = sorted(await store.call("HKEYS", key), key=lambda name: name.decode(errors="replace"))
    some = names[:most]
    raws = await store.call("HMGET", key, *some) if some else []
    pairs = zip(some, raws, strict=True)
    return [(name, raw) for name, raw in pairs if raw is not None], len(names)


async def replace(store: Store, replacements: Sequence[Replacement]) -> None:
    """Replaces definitions, except those that were changed meanwhile."""
    if replacements:
        packed = msgspec.msgpack.encode([[verbatim(part) for part in one] for one in replacements])
        await _REPLACE(store, [Cron(store.prefix).jobs()], [packed])


def with_errors(name: bytes, raw: bytes, judgement: Job | Invalid) -> Replacement | None:
    """The definition with its errors written into it; None if they are there already."""
    if isinstance(judgement, Invalid):
        changed = with_state(raw, validation_errors=judgement.text)
    else:
        changed = with_state(raw, validation_errors=None) if _HAS_ERRORS in raw else None
    return (name, raw, changed) if changed is not None else None


async def validate(
    store: Store, names: Sequence[str], reading: Reading
) -> dict[str, Job | Invalid]:
    """Validates these definitions, or all, and writes their errors into them."""
    found: dict[str, Job | Invalid] = {}
    async for pairs in selected(store, names):
        judgements = [(name, raw, read(name, raw, reading)) for name, raw in pairs]
        changes = [with_errors(*one) for one in judgements]
        await replace(store, [change for change in changes if change])
        found |= {job.name: job for _, _, job in judgements}
    return found


async def set_paused(
    store: Store, names: Sequence[str], reading: Reading, *, paused: bool
) -> list[str]:
    """Pauses or resumes these jobs, or all. Returns the names of those that exist."""
    key, command = Cron(store.prefix).paused(), "SADD" if paused else "SREM"
    found: list[str] = []
    async for pairs in selected(store, names):
        if pairs:
            await store.call(command, key, *(name for name, _ in pairs))
        jobs = [job for pair in pairs if isinstance(job := read(*pair, reading), Job)]
        await marked(store, jobs, paused={job.name for job in jobs} if paused else set())
        changes = [(name, raw, _with_pause(raw, paused=paused)) for name, raw in pairs]
        await replace(store, [(name, raw, new) for name, raw, new in changes if new is not None])
        found += [name.decode(errors="replace") for name, _ in pairs]
    return found


def _with_pause(raw: bytes, *, paused: bool) -> bytes | None:
    return with_state(raw, paused=True if paused else None)


async def selected(store: Store, names: Sequence[str]) -> AsyncIterator[list[Pair]]:
    if names:
        yield await some(store, names)
        return
    async for pairs in every(store):
        yield pairs
