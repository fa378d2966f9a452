"""Searches a store for keys with a prefix and for the members of many sets."""

import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import suppress

from watchbell.store.client import Primary, Store
from watchbell.store.script import Script

# KEYS, or ARGV for those of one server: sets. Returns the members of each.
MEMBERS = Script("""
local found = {}
for i, key in ipairs(#KEYS > 0 and KEYS or ARGV) do
  local members = redis.pcall('SMEMBERS', key)
  found[i] = members.err and {} or members
end
return found
""")


async def scanned(
    store: Store, begin: str, kind: str
) -> AsyncIterator[tuple[Primary, list[bytes]]]:
    """The keys of a type with this prefix, page by page; one may come twice."""
    match = re.sub(r"([\\*?\[\]])", r"\\\1", begin) + "*"
    for primary in await store.primaries():
        cursor: bytes | int = 0
        while True:
            cursor, page = await primary.call(
                *("SCAN", cursor, "MATCH", match, "COUNT", 1000, "TYPE", kind)
            )
            if page:
                yield primary, page
            if int(cursor) == 0:
                break


async def memberships(store: Store, begin: str) -> dict[str, set[str]]:
    """The members of every set whose key has this prefix, by the rest of the key. What is not
    text is skipped."""
    found: dict[str, set[str]] = {}
    async for primary, page in scanned(store, begin, "set"):
        for key, members in zip(page, await MEMBERS.on(primary, page), strict=True):
            with suppress(UnicodeDecodeError):
                found[key[len(begin.encode()) :].decode()] = set(_texts(members))
    return found


def _texts(raw: Iterable[bytes]) -> Iterable[str]:
    for one in raw:
        with suppress(UnicodeDecodeError):
            yield one.decode()


def turned(sets: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """The sets of each member."""
    found: dict[str, list[str]] = {}
    for name in sorted(sets):
        for member in sets[name]:
            found.setdefault(member, []).append(name)
    return {member: tuple(names) for member, names in found.items()}
