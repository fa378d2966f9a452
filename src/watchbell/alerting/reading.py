"""How records of many checks are read: scripts that make the keys, pages, plain values."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

PAGE = 1000


class CheckScript(Script):
    """Lua that is run for each of many `checks`; what it returns for one is its answer.

    It has `key(family, part, …)`, `entity` and `check`, and `given`, its further arguments.
    """

    def __init__(self, lua: str) -> None:
        # ARGV[1] msgpack: what stands between the parts of the keys of each family; ARGV[2]
        # msgpack: checks as {entity, check}; the rest are the Lua's own.
        super().__init__(f"""
local families, given = cmsgpack.unpack(ARGV[1]), {{unpack(ARGV, 3)}}
local function key(name, ...)
  local literals, parts = families[name], {{...}}
  if #parts == 2 then return literals[1] .. parts[1] .. literals[2] .. parts[2] .. literals[3] end
  local text = literals[1]
  for i, part in ipairs(parts) do text = text .. part .. literals[i + 1] end
  return text
end
local function answer(entity, check) {lua}
end
local answers = {{}}
for i, pair in ipairs(cmsgpack.unpack(ARGV[2])) do
  local read, found = pcall(answer, pair[1], pair[2])
  answers[i] = read and found
end
return answers
""")

    async def over(
        self, store: Store, ids: Sequence[str], given: Sequence[Argument], at_once: int
    ) -> AsyncIterator[tuple[str, Any]]:
        """Each check with its answer; `at_once` of them are asked in one step.

        One that can't be read, since somebody left a key of a wrong type, is left out.
        """
        families, route = _families(store.prefix)
        for first in range(0, len(ids), at_once):
            some = ids[first : first + at_once]
            checks = msgspec.msgpack.encode([split_id(event_id) for event_id in some])
            answers = await self(store, [route], [families, checks, *given])
            for event_id, answer in zip(some, answers, strict=True):
                if answer is not None:
                    yield event_id, answer


@lru_cache
def _families(prefix: str) -> tuple[bytes, str]:
    """What stands between the parts of all keys, as scripts unpack it, and a key of ours."""
    keys = Alerting(prefix)
    literals = {
        family.name: getattr(space, family.name).literals
        for space in (keys, AlertingOwn(prefix))
        for family in space.families()
    }
    return msgspec.msgpack.encode(literals), keys.all_checks()


async def members(store: Store, key: str) -> AsyncIterator[list[tuple[str, int]]]:
    """The members of a sorted set with their scores, page by page; one may come twice."""
    cursor = 0
    while True:
        cursor, page = await store.call("ZSCAN", key, cursor, "COUNT", PAGE)
        yield [(text(member), number(score) or 0) for member, score in page]
        if cursor == 0:
            return


async def fields(store: Store, key: str) -> dict[bytes, bytes]:
    """All of a hash, however large, without holding up the others."""
    found: dict[bytes, bytes] = {}
    cursor = 0
    while True:
        cursor, page = await store.call("HSCAN", key, cursor, "COUNT", PAGE)
        found |= page
        if cursor == 0:
            return found


def pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def text(value: bytes) -> str:
    return value.decode(errors="replace")


def text_or_none(value: bytes | None) -> str | None:
    return None if value is None else text(value)


def number(value: bytes | float | None) -> int | None:
    """A whole number that somebody wrote, or nothing where it is none."""
    try:
        return None if value is None else int(float(value))
    except (ValueError, OverflowError):
        return None


def numbers(values: Iterable[bytes]) -> list[int]:
    return [found for found in map(number, values) if found is not None]
