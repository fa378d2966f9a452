"""Plans, opens, extends and ends maintenance windows of checks, each in one step."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from watchbell.alerting import change_feed
from watchbell.alerting.check_writes import CheckWrites
from watchbell.alerting.history import windows_of
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import MirroredScript, Unit
from watchbell.alerting.model import split_id
from watchbell.alerting.windows import (
    Command,
    Kind,
    Window,
    commands_for_create_unscheduled,
    commands_for_current,
    commands_for_end_scheduled,
    commands_for_end_unscheduled,
    commands_for_replace,
    commands_for_scheduled,
    current_window,
    family,
)
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store
from watchbell.store.replies import number, pairs, text, text_or_none
from watchbell.store.script import RAISE_NOT_NOW

# KEYS of each check: the window that is open, all windows, summary of the one in question, media
# that are alerted about it; ARGV of each check: digest of what the caller knows of these, msgpack:
# the commands that follow from that. Returns for each check false once they are done; where
# something else is known by now, nothing is done, and that is returned after its digest; `refused`
# where somebody left a key of a wrong type.
_CHANGE = MirroredScript(
    RAISE_NOT_NOW
    + """
local function changed(open, windows, summary, media, digest, commands)
  local alerted = redis.call('SMEMBERS', media)
  table.sort(alerted)
  local known = {redis.call('GET', open), redis.call('ZRANGE', windows, 0, -1, 'WITHSCORES'),
    redis.call('GET', summary), alerted}
  local present = redis.sha1hex(cmsgpack.pack(known))
  if present ~= digest then return {present, unpack(known)} end
  for _, command in ipairs(cmsgpack.unpack(commands)) do redis.call(unpack(command)) end
  return false
end
local answers = {}
for i = 1, #KEYS / 4 do
  local at = i * 4 - 3
  local done, answer = pcall(changed, KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3],
    ARGV[i * 2 - 1], ARGV[i * 2])
  if not done and type(answer) == 'table' and answer.err then raise_not_now(answer) end
  answers[i] = done and answer or (not done and 'refused')
end
return answers
"""
)

Commands = Sequence[Sequence[object]]

_AT_ONCE = 200
LATEST = 1 << 40
"""The latest start and the longest duration, in seconds; exact in every number format."""


class Known(Struct, frozen=True):
    """The maintenance of one kind that a check has."""

    windows: list[Window]
    present: int | None
    """The start that the key of the open window holds."""
    summary: str
    """The summary of the window in question."""
    alerted: list[str]

    def current_start(self, now: int) -> int | None:
        """The start of the open window: by its record, or by its key where it has no record."""
        window = current_window(self.windows, now)
        if window is not None:
            return window.start
        return self.present if self.present not in {w.start for w in self.windows} else None


async def windows(store: Store, event_id: str, kind: Kind) -> list[Window]:
    """Sorted by start."""
    return [window async for _, found in windows_of(store, [event_id], kind) for window in found]


async def create_scheduled(
    store: Store, event_id: str, start: int, duration: int, summary: str, now: int
) -> None:
    """Plans a window; one with the same start gets the new length and both summaries."""
    await create(store, [event_id], "scheduled", Window(start, duration, summary), now)


async def create_unscheduled(
    store: Store, event_id: str, start: int, duration: int, summary: str, now: int
) -> None:
    """Opens a window in place of the open one; one that is over is only recorded."""
    await create(store, [event_id], "unscheduled", Window(start, duration, summary), now)


async def end_scheduled(store: Store, event_id: str, start: int, now: int) -> bool:
    """Cancels a future window or ends an open one; False for any other."""
    return bool(await end(store, [event_id], "scheduled", start, now, now))


async def end_unscheduled(store: Store, event_id: str, end_at: int, now: int) -> bool:
    """Ends the open window; False if none is open."""
    return bool(await end(store, [event_id], "unscheduled", 0, end_at, now))


async def create(store: Store, ids: Sequence[str], kind: Kind, window: Window, now: int) -> None:
    """Adds the same window to many checks, to each in one step."""
    for event_id in ids:
        _check(event_id, window.start, window.duration)
    _not_to_come(kind, window, now)
    decide, checks = _scheduled if kind == "scheduled" else _unscheduled, CheckWrites(store.prefix)

    def decided(event_id: str, known: Known) -> Commands:
        return decide(checks, event_id, known, window, now)

    await _changed(store, ids, kind, window.start, decided)


async def end(
    store: Store, ids: Sequence[str], kind: Kind, start: int, end_at: int, now: int
) -> list[str]:
    """Ends the scheduled window that begins at `start`, or open unscheduled ones at `end_at`;
    returns the checks that had one."""
    checks = CheckWrites(store.prefix)

    def decided(event_id: str, known: Known) -> Commands:
        if kind == "scheduled":
            return _ended_scheduled(checks, event_id, known, start, now)
        return _ended_unscheduled(checks.keys, event_id, known, end_at, now)

    return await _changed(store, ids, kind, start, decided)


async def replace(
    store: Store,
    event_id: str,
    kind: Kind,
    wanted: Sequence[Window],
    now: int,
    first: Sequence[Command] = (),
) -> None:
    """Gives a check these windows of one kind, after other commands, all in one step. Other windows
    that are to come are removed, one that is open ends, and those that are over stay."""
    checks, found = CheckWrites(store.prefix), await windows(store, event_id, kind)
    for window in wanted:
        _check(event_id, window.start, max(window.duration, 1))
        _not_to_come(kind, window, now)
    before = {window.start: window for window in found}
    texts = {one.start: one.summary for one in wanted if before.get(one.start) != one}

    def decided(event_id: str, known: Known) -> Commands:
        commands = [
            *first,
            *commands_for_replace(checks.keys, event_id, kind, known.windows, wanted, now),
        ]
        names = family(checks.keys, kind)
        for start, summary in texts.items():
            commands.append(["SET", names.summary(*split_id(event_id), start), summary])
        opens = any(window.is_open(now) for window in wanted)
        return [*commands, *(_quiet(checks, event_id, known) if opens else [])]

    earliest = min((one.start for one in (*found, *wanted)), default=0)
    await _changed(store, [event_id], kind, earliest, decided)


def _scheduled(
    checks: CheckWrites, event_id: str, known: Known, window: Window, now: int
) -> Commands:
    start, length = window.start, window.duration
    commands = commands_for_scheduled(
        checks.keys,
        *(event_id, known.windows, start, length, window.summary, now, known.summary),
    )
    others = [one for one in known.windows if one.start != start]
    opens = current_window([*others, Window(start, length)], now) is not None
    return [*commands, *(_quiet(checks, event_id, known) if opens else [])]


def _unscheduled(
    checks: CheckWrites, event_id: str, known: Known, window: Window, now: int
) -> Commands:
    commands = commands_for_create_unscheduled(
        checks.keys,
        *(event_id, known.current_start(now), window.start, window.duration, window.summary, now),
        known.summary,
    )
    return [*commands, *(_quiet(checks, event_id, known) if window.is_open(now) else [])]


def _ended_scheduled(
    checks: CheckWrites, event_id: str, known: Known, start: int, now: int
) -> Commands:
    commands = commands_for_end_scheduled(checks.keys, event_id, known.windows, start, now)
    others = [window for window in known.windows if window.start != start]
    stays = commands and current_window(others, now) is not None
    return [*commands, *(_quiet(checks, event_id, known) if stays else [])]


def _ended_unscheduled(
    keys: Alerting, event_id: str, known: Known, end_at: int, now: int
) -> Commands:
    opened = [window for window in known.windows if window.is_open(now)]
    current = known.current_start(now)
    starts = {window.start for window in opened} | ({current} if current is not None else set())
    commands: list[Command] = []
    for start in sorted(starts):
        commands += commands_for_end_unscheduled(keys, event_id, start, end_at)
    if opened and end_at > now:
        left = [Window(one.start, min(one.duration, end_at - one.start)) for one in opened]
        commands += commands_for_current(keys, event_id, "unscheduled", left, now)
    return commands


async def _changed(
    store: Store,
    ids: Sequence[str],
    kind: Kind,
    start: int,
    decide: Callable[[str, Known], Commands],
) -> list[str]:
    """Runs the commands that follow from what is known of each check, and returns the checks that
    had any.

    A check that changed meanwhile is decided anew. Raises Refused, after all others are done, for
    one that can't be changed.
    """
    changed, refused = list[str](), list[str]()
    names, own = family(Alerting(store.prefix), kind), AlertingOwn(store.prefix)

    def keys_of(entity: str, check: str) -> list[str]:
        summary = names.summary(entity, check, start)
        media = own.alerting_media(entity, check)
        return [names.current(entity, check), names.windows(entity, check), summary, media]

    def packed(event_id: str, commands: Commands) -> bytes:
        return msgspec.msgpack.encode([*commands, change_feed.of_windows(own, [event_id])])

    for first in range(0, len(ids), _AT_ONCE):
        pending = dict.fromkeys(ids[first : first + _AT_ONCE], (b"", b""))
        while pending:
            keys = [key for event_id in pending for key in keys_of(*split_id(event_id))]
            args: list[Argument] = [word for pair in pending.values() for word in pair]
            units = [unit for event_id in pending for unit in _units(event_id, kind, start)]
            seen = dict(zip(pending, await _CHANGE(store, keys, args, units), strict=True))
            changed += [event_id for event_id, answer in seen.items() if answer is None]
            refused += [event_id for event_id, answer in seen.items() if answer == b"refused"]
            pending = {
                event_id: (answer[0], packed(event_id, commands))
                for event_id, answer in seen.items()
                if isinstance(answer, list) and (commands := decide(event_id, _known(*answer[1:])))
            }
    if refused:
        raise Refused(
            f"the maintenance of {refused[0]} can't be changed: another program has written keys "
            "of a wrong type"
        )
    return changed


def _units(event_id: str, kind: Kind, start: int) -> list[Unit]:
    """What changes in the records; a check that never reported has a record if it has a window."""
    return [("check", event_id), ("windows", event_id, kind, str(start)), ("alerting", event_id)]


def _known(
    present: bytes | None, flat: Sequence[bytes], summary: bytes | None, alerted: Sequence[bytes]
) -> Known:
    return Known(
        windows=[_window(*one) for one in pairs(flat)],
        present=number(present),
        summary=text_or_none(summary) or "",
        alerted=[text(one) for one in alerted],
    )


def _window(start: bytes, duration: bytes) -> Window:
    return Window(number(start) or 0, number(duration) or 0)


def _quiet(checks: CheckWrites, event_id: str, known: Known) -> Commands:
    """A check in maintenance counts in no rollup."""
    if not known.alerted:
        return []
    return list(checks.no_longer_alerting(event_id, known.alerted))


def _check(event_id: str, start: int, duration: int) -> None:
    entity, check = split_id(event_id)
    if not entity or not check:
        raise Refused(f"{event_id!r} is no check; expected ENTITY:CHECK", field="check")
    if not 0 <= start <= LATEST:
        raise Refused(f"{start} is no time; expected seconds since 1970", field="start")
    if not 0 < duration <= LATEST:
        reason = f"{duration} is not allowed; expected at least one second"
        raise Refused(reason, field="duration")


def _not_to_come(kind: Kind, window: Window, now: int) -> None:
    if kind == "unscheduled" and window.start > now:
        reason = "unscheduled maintenance begins at once or has begun; schedule what is to come"
        raise Refused(reason, field="start")
