"""A Lua script that runs for each of many checks and builds their keys."""

from collections.abc import AsyncIterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script


class CheckScript(Script):
    """Lua that runs for each of many `checks` and returns an answer for each.

    It can use `key(family, part, …)`, `entity`, `check`, and `given`, the further arguments.
    """

    def __init__(self, lua: str) -> None:
        super().__init__(for_checks(lua))

    async def over(
        self, store: Store, ids: Sequence[str], given: Sequence[Argument], at_once: int
    ) -> AsyncIterator[tuple[str, Any]]:
        """Each check with its answer, `at_once` checks per call. A check with a key of a wrong
        type is skipped."""
        literals, route = families(store.prefix)
        for first in range(0, len(ids), at_once):
            some = ids[first : first + at_once]
            checks = msgspec.msgpack.encode([split_id(event_id) for event_id in some])
            answers = await self(store, [route], [literals, checks, *given])
            for event_id, answer in zip(some, answers, strict=True):
                if answer is not None:
                    yield event_id, answer


def for_checks(lua: str) -> str:
    """The Lua of a script that runs this for each of many checks."""
    # ARGV[1] msgpack: what stands between the parts of the keys of each family; ARGV[2] msgpack:
    # checks as {entity, check}; the rest are the Lua's own.
    return f"""
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
"""


@lru_cache
def families(prefix: str) -> tuple[bytes, str]:
    """What stands between the parts of all keys, as scripts unpack it, and a key of ours."""
    keys = Alerting(prefix)
    literals = {
        family.name: getattr(space, family.name).literals
        for space in (keys, AlertingOwn(prefix))
        for family in space.families()
    }
    return msgspec.msgpack.encode(literals), keys.all_checks()
