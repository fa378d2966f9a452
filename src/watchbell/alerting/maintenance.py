"""Maintenance of checks: windows are planned, opened, extended and ended, each in one step."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from watchbell.alerting.checks import Checks
from watchbell.alerting.history import windows_of
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.alerting.reading import number, pairs, text, text_or_none
from watchbell.alerting.windows import (
    Command,
    Kind,
    Window,
    commands_for_create_unscheduled,
    commands_for_current,
    commands_for_end_scheduled,
    commands_for_end_unscheduled,
    commands_for_scheduled,
    current_window,
    family,
)
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

# KEYS[1] the window that is open, KEYS[2] all windows, KEYS[3] summary of the one in question,
# KEYS[4] the media that are alerted about the check; ARGV[1] digest of what the caller knows of
# these, ARGV[2] msgpack: the commands that follow from that. Returns false once they are done;
# where something else is known by now, nothing is done, and that is returned after its digest.
_CHANGE = Script("""
local alerted = redis.call('SMEMBERS', KEYS[4])
table.sort(alerted)
local known = {redis.call('GET', KEYS[1]), redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES'),
  redis.call('GET', KEYS[3]), alerted}
local digest = redis.sha1hex(cmsgpack.pack(known))
if digest ~= ARGV[1] then return {digest, unpack(known)} end
for _, command in ipairs(cmsgpack.unpack(ARGV[2])) do redis.call(unpack(command)) end
return false
""")


Commands = Sequence[Sequence[object]]

LATEST = 1 << 40
"""Seconds; longer than anybody plans, and exact in every number format."""


class Known(Struct, frozen=True):
    """What there is of one kind of maintenance of a check."""

    windows: list[Window]
    present: int | None
    """The beginning that the key of the open window holds."""
    said: str
    """Summary of the window in question."""
    alerted: list[str]

    def current_start(self, now: int) -> int | None:
        """By the records; a window of which there is none is open while its key is there."""
        window = current_window(self.windows, now)
        if window is not None:
            return window.start
        return self.present if self.present not in {w.start for w in self.windows} else None


async def windows(store: Store, event_id: str, kind: Kind) -> list[Window]:
    """In the order of their beginnings."""
    return [window async for _, found in windows_of(store, [event_id], kind) for window in found]


async def create_scheduled(
    store: Store, event_id: str, start: int, duration: int, summary: str, now: int
) -> None:
    """Plans a window; one that begins at the same time gets the new length and both summaries."""
    _check(event_id, start, duration)
    keys = Alerting(store.prefix)

    def decided(known: Known) -> Commands:
        commands = commands_for_scheduled(
            keys, event_id, known.windows, start, duration, summary, now, known.said
        )
        others = [window for window in known.windows if window.start != start]
        opens = current_window([*others, Window(start, duration)], now) is not None
        return [*commands, *(_quiet(store, event_id, known) if opens else [])]

    await _changed(store, event_id, "scheduled", start, decided)


async def end_scheduled(store: Store, event_id: str, start: int, now: int) -> bool:
    """Takes a window to come back, or ends one that is open; False where it is neither."""
    keys = Alerting(store.prefix)

    def decided(known: Known) -> Commands:
        commands = commands_for_end_scheduled(keys, event_id, known.windows, start, now)
        others = [window for window in known.windows if window.start != start]
        stays = commands and current_window(others, now) is not None
        return [*commands, *(_quiet(store, event_id, known) if stays else [])]

    return await _changed(store, event_id, "scheduled", start, decided)


async def create_unscheduled(
    store: Store, event_id: str, start: int, duration: int, summary: str, now: int
) -> None:
    """Opens a window, which takes over from one that is open; one that is over is recorded."""
    _check(event_id, start, duration)
    if start > now:
        raise Refused("unscheduled maintenance begins at once or has begun; plan what is to come")
    keys = Alerting(store.prefix)

    def decided(known: Known) -> Commands:
        current = known.current_start(now)
        commands = commands_for_create_unscheduled(
            keys, event_id, current, start, duration, summary, now, known.said
        )
        opens = Window(start, duration).is_open(now)
        return [*commands, *(_quiet(store, event_id, known) if opens else [])]

    await _changed(store, event_id, "unscheduled", start, decided)


async def end_unscheduled(store: Store, event_id: str, end: int, now: int) -> bool:
    """Ends what is open; False where nothing is."""
    keys = Alerting(store.prefix)

    def decided(known: Known) -> Commands:
        opened = [window for window in known.windows if window.is_open(now)]
        current = known.current_start(now)
        starts = {window.start for window in opened}
        if current is not None:
            starts.add(current)
        commands: list[Command] = []
        for start in sorted(starts):
            commands += commands_for_end_unscheduled(keys, event_id, start, end)
        if opened and end > now:
            left = [Window(one.start, min(one.duration, end - one.start)) for one in opened]
            commands += commands_for_current(keys, event_id, "unscheduled", left, now)
        return commands

    return await _changed(store, event_id, "unscheduled", 0, decided)


async def _changed(
    store: Store, event_id: str, kind: Kind, start: int, decide: Callable[[Known], Commands]
) -> bool:
    """Does what follows from what is known; decides anew where that has changed meanwhile."""
    (entity, check), names = split_id(event_id), family(Alerting(store.prefix), kind)
    keys = [
        names.current(entity, check),
        names.windows(entity, check),
        names.summary(entity, check, start),
        AlertingOwn(store.prefix).alerting_media(entity, check),
    ]
    args: list[Argument] = ["", b""]
    while (seen := await _CHANGE(store, keys, args)) is not None:
        digest, present, flat, said, alerted = seen
        commands = decide(
            Known(
                windows=[_window(*one) for one in pairs(flat)],
                present=number(present),
                said=text_or_none(said) or "",
                alerted=[text(one) for one in alerted],
            )
        )
        if not commands:
            return False
        args = [digest, msgspec.msgpack.encode(commands)]
    return True


def _window(start: bytes, duration: bytes) -> Window:
    return Window(number(start) or 0, number(duration) or 0)


def _quiet(store: Store, event_id: str, known: Known) -> Commands:
    """What is in maintenance counts in nobody's rollup."""
    if not known.alerted:
        return []
    return list(Checks(store.prefix).no_longer_alerting(event_id, known.alerted))


def _check(event_id: str, start: int, duration: int) -> None:
    entity, check = split_id(event_id)
    if not entity or not check:
        raise Refused(f"the check is {event_id!r}; expected ENTITY:CHECK")
    if not 0 <= start <= LATEST:
        raise Refused(f"the start is {start}; expected seconds since 1970")
    if not 0 < duration <= LATEST:
        raise Refused(f"the duration is {duration}; expected at least one second")
