"""What fails for a contact, as a summary lists it."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import FAILING, Alert, RollupEntry
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

MOST = 5_000
"""Checks that a summary lists, at the most."""
_FAILING_STATES = {state.encode() for state in FAILING}

# KEYS[1] any key of the namespace, by which a cluster finds the server. ARGV[1] msgpack: what
# stands around the parts of `current`; ARGV[2] how many at the most; ARGV[3] msgpack: for each
# summary the zset of alerted checks, and further checks. Returns of each summary's checks: name,
# state, last_change and summary.
_FAILING = Script(
    READ
    + """
local parts, answers = cmsgpack.unpack(ARGV[1]), {}
for i, asked in ipairs(cmsgpack.unpack(ARGV[3])) do
  local ids, answer = read('ZREVRANGE', asked[1], 0, ARGV[2] - 1) or {}, {}
  for _, id in ipairs(asked[2]) do ids[#ids + 1] = id end
  for n, id in ipairs(ids) do
    local entity, check = string.match(id, '^([^:]*):(.*)$')
    local key = parts[1] .. (entity or '') .. parts[2] .. (check or '') .. parts[3]
    local fields = read('HMGET', key, 'state', 'last_change', 'summary') or {false, false, false}
    answer[n] = {id, unpack(fields)}
  end
  answers[i] = answer
end
return answers
"""
)


class Summary(Struct):
    """An alert that is to list all that fails for its contact."""

    alert: Alert
    changed: dict[str, bool]
    """Checks that were added to those the contact is alerted about, or taken from them, by what
    may not be in the store yet."""
    failing: int
    """About how many there are."""


class Summaries:
    def __init__(self, prefix: str) -> None:
        self._keys = Alerting(prefix)
        self._current = msgspec.msgpack.encode(self._keys.current.literals)

    async def fill(self, store: Store, summaries: Sequence[Summary], now: int) -> None:
        for group in _groups(summaries):
            asked = [
                (
                    self._keys.alerting_checks(one.alert.contact_id, one.alert.media),
                    [name for name, counted in one.changed.items() if counted],
                )
                for one in group
            ]
            args: list[Argument] = [self._current, MOST, msgspec.msgpack.encode(asked)]
            answers = await _FAILING(store, [self._keys.notifications()], args)
            for one, answer in zip(group, answers, strict=True):
                one.alert.rollup_alerts = {
                    name: entry
                    for name, entry in _entries(answer, now)
                    if one.changed.get(name, True)
                }


def _groups(summaries: Sequence[Summary]) -> Iterator[list[Summary]]:
    """So many that a call lists about as many checks as the longest summary: it holds up nobody."""
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
