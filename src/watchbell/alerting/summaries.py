"""Reads the failing checks of a contact that a summary lists."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.alerting import members
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import FAILING, Alert, RollupEntry
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

MOST = 5_000
"""The most checks that a summary lists."""
_FAILING_STATES = {state.encode() for state in FAILING}

# KEYS[1] any key of the namespace, by which a cluster finds the server. ARGV[1] msgpack: what
# stands between the parts of each family of keys; ARGV[2] how many at the most; ARGV[3] msgpack:
# for each summary its contact, the zset of alerted checks, and further checks; ARGV[4] now. Returns
# of each summary's checks that belong there: name, state, last_change and summary.
_FAILING = Script(
    """
local families, now, answers = cmsgpack.unpack(ARGV[1]), tonumber(ARGV[4]), {}
"""
    + READ
    + members.LUA
    + """
for i, asked in ipairs(cmsgpack.unpack(ARGV[3])) do
  local names, answer = read('ZREVRANGE', asked[2], 0, ARGV[2] - 1) or {}, {}
  for _, name in ipairs(asked[3]) do names[#names + 1] = name end
  for first = 1, #names, 500 do
    look_at({unpack(names, first, math.min(first + 499, #names))})
  end
  for _, name in ipairs(names) do
    if not is_gone(asked[1], name) then
      local key = of_check('current', string.match(name, '^([^:]*):(.*)$'))
      local fields = read('HMGET', key, 'state', 'last_change', 'summary') or {false, false, false}
      answer[#answer + 1] = {name, unpack(fields)}
    end
  end
  answers[i] = answer
end
return answers
"""
)


class Summary(Struct):
    """An alert that lists all failing checks of its contact."""

    alert: Alert
    changed: dict[str, bool]
    """Failing checks that were added or removed by writes that the store may not have yet."""
    failing: int
    """The approximate number of failing checks."""


class Summaries:
    def __init__(self, prefix: str) -> None:
        self._keys = Alerting(prefix)
        named = {
            name: getattr(self._keys, name).literals for name in ("current", *members.FAMILIES)
        }
        self._families = msgspec.msgpack.encode(named)

    async def fill(self, store: Store, summaries: Sequence[Summary], now: int) -> None:
        for group in _groups(summaries):
            asked = [
                (
                    one.alert.contact_id,
                    self._keys.alerting_checks(one.alert.contact_id, one.alert.media),
                    [name for name, counted in one.changed.items() if counted],
                )
                for one in group
            ]
            args: list[Argument] = [self._families, MOST, msgspec.msgpack.encode(asked), now]
            answers = await _FAILING(store, [self._keys.notifications()], args)
            for one, answer in zip(group, answers, strict=True):
                one.alert.rollup_alerts = {
                    name: entry
                    for name, entry in _entries(answer, now)
                    if one.changed.get(name, True)
                }


def _groups(summaries: Sequence[Summary]) -> Iterator[list[Summary]]:
    """Groups summaries so that one call lists about as many checks as the longest summary."""
    group: list[Summary] = []
    total = 0
    for one in summaries:
        if group and total + one.failing > MOST:
            yield group
            group, total = [], 0
        group.append(one)
        total += one.failing
    if group:
        yield group


def _entries(answer: Sequence[Sequence[Any]], now: int) -> Iterator[tuple[str, RollupEntry]]:
    for name, state, changed, summary in answer:
        if state in _FAILING_STATES:
            since = int(changed) if (changed or b"").isdigit() else now
            yield (
                name.decode(errors="replace"),
                RollupEntry(
                    state=state.decode(),
                    duration=max(now - since, 0),
                    summary=summary.decode(errors="replace") if summary else None,
                ),
            )
