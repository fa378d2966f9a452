"""Counts keys by family: their number, their memory, and which expire."""

from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct

from watchbell.store.client import Primary, Store
from watchbell.store.families import Family, family_of
from watchbell.store.script import Script

_WEIGHED = 200
"""Keys of a family whose memory is measured; the rest is estimated from them."""

# ARGV: keys of this server. Returns type and remaining ms of each; keys may lie in any slots of it.
_LOOK = Script("""
local answers = {}
for i, key in ipairs(ARGV) do
  answers[i] = {redis.call('TYPE', key).ok, redis.call('PTTL', key)}
end
return answers
""")


class Count(Struct):
    keys: int = 0
    expiring: int = 0
    weighed: int = 0
    weight: int = 0

    @property
    def bytes(self) -> int:
        """The memory of all keys of the family, estimated from those that were measured."""
        return self.weight * self.keys // self.weighed if self.weighed else 0


class KeySeen(Struct, frozen=True):
    key: str
    kind: str
    expires: bool
    family: Family | None


async def look(store: Store, families: Sequence[Family]) -> AsyncIterator[tuple[Primary, KeySeen]]:
    """Every key of the store, with the family that it belongs to."""
    known = list(families)
    for primary in await store.primaries():
        async for names in _scanned(primary):
            found = await _LOOK.on(primary, names)
            for name, (kind, remaining) in zip(names, found, strict=True):
                if kind == b"none":
                    continue
                key = name.decode(errors="surrogateescape")
                ours = key.startswith(store.prefix)
                family = (
                    family_of(key.removeprefix(store.prefix), kind.decode(), known)
                    if ours
                    else None
                )
                yield primary, KeySeen(key, kind.decode(), remaining >= 0, family)


async def count(
    store: Store, families: Sequence[Family], progress: Callable[[int], None]
) -> dict[Family | None, Count]:
    """Counts by family; under None what belongs to no family of ours."""
    counts: dict[Family | None, Count] = {family: Count() for family in families}
    counts[None] = Count()
    total = 0
    async for primary, seen in look(store, families):
        entry = counts[seen.family]
        entry.keys += 1
        entry.expiring += seen.expires
        if entry.weighed < _WEIGHED:
            key = seen.key.encode(errors="surrogateescape")
            entry.weight += await primary.call("MEMORY", "USAGE", key) or 0
            entry.weighed += 1
        total += 1
        if total % 1000 == 0:
            progress(total)
    return counts


async def _scanned(primary: Primary) -> AsyncIterator[list[bytes]]:
    cursor = 0
    while True:
        cursor, names = await primary.call("SCAN", cursor, "COUNT", 1000)
        if names:
            yield names
        if int(cursor) == 0:
            return
