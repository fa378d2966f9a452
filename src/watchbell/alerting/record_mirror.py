"""Brings records up to date with the working layout, or compares the two."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.record_lua import MIRROR, ON
from watchbell.store.client import Argument, Store
from watchbell.store.effects import verbatim
from watchbell.store.replies import text, text_or_none
from watchbell.store.script import RAISE_NOT_NOW, Script

# KEYS[1] the switch of the records; ARGV[1] what all keys begin with, ARGV[2] whether to look only,
# ARGV[3] msgpack: units, ARGV[4] the value of the switch while records are kept. Returns the
# differences, each key, field, expected, found; and the units that the store refused, with the
# reason. Returns nothing where it is to write, and records are not kept.
_MIRROR = Script(
    RAISE_NOT_NOW
    + MIRROR
    + """
if ARGV[2] ~= '1' and redis.call('GET', KEYS[1]) ~= ARGV[4] then return false end
local mirror, differences = mirror_of(ARGV[1], ARGV[2] == '1', true)
local refused = {}
for _, unit in ipairs(cmsgpack.unpack(ARGV[3])) do
  local is_done, problem = pcall(mirror[unit[1]], unpack(unit, 2))
  if not is_done then
    local is_reply = type(problem) == 'table' and problem.err
    if is_reply then raise_not_now(problem) end
    refused[#refused + 1] = {table.concat(unit, ' '), is_reply or tostring(problem)}
  end
end
return {differences, refused}
"""
)


class Difference(Struct, frozen=True):
    """A record that is not what the working layout says."""

    key: str
    field: str
    """The field of a hash, or the member of a set; empty for a whole key."""
    expected: str | None = None
    """None where there should be nothing; `present` for a member of a set."""
    found: str | None = None


class Refusal(Struct, frozen=True):
    """A unit that can't be mirrored, since a key has a wrong type."""

    unit: str
    reason: str


class Mirrored(Struct, frozen=True):
    differences: list[Difference]
    """Empty where the mirror wrote."""
    refused: list[Refusal]
    is_kept: bool = True
    """False where nothing was written, since records are not kept any more."""


async def write(store: Store, units: Sequence[Unit]) -> Mirrored:
    """Brings the records of the units up to date, while records are kept."""
    return await _mirrored(store, units, look=False)


async def look(store: Store, units: Sequence[Unit]) -> Mirrored:
    """Compares the records of the units with the working layout and writes nothing."""
    return await _mirrored(store, units, look=True)


async def _mirrored(store: Store, units: Sequence[Unit], *, look: bool) -> Mirrored:
    raw = [[verbatim(word.encode(errors="surrogateescape")) for word in unit] for unit in units]
    route = AlertingOwn(store.prefix).records()
    args: list[Argument] = [store.prefix, int(look), msgspec.msgpack.encode(raw), ON]
    answer = await _MIRROR(store, [route], args)
    if answer is None:
        return Mirrored([], [], is_kept=False)
    differences, refused = answer
    return Mirrored(
        [
            Difference(text(key), text(field), text_or_none(expected), text_or_none(found))
            for key, field, expected, found in differences
        ],
        [Refusal(text(unit), text(reason)) for unit, reason in refused],
    )
