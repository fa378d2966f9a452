"""Maintenance windows: which one is open, and the commands that open, extend and end them."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import split_id
from watchbell.store.families import Named
from watchbell.units import utc_time

Kind = Literal["scheduled", "unscheduled"]
Command = list[str | int]

GLUE = " / "
_LONGEST_MS = 1 << 50
"""A time to live that every store takes; about 35,000 years."""


class Window(Struct, frozen=True):
    start: int
    duration: int
    summary: str = ""

    @property
    def end(self) -> int:
        return self.start + self.duration

    def is_open(self, now: int) -> bool:
        return self.start <= now < self.end

    def in_words(self) -> str:
        return f"from {utc_time(self.start)} to {utc_time(self.end)}"


class Family(Struct, frozen=True):
    """The keys in which the windows of one kind are kept."""

    current: Named
    windows: Named
    times: Named
    summary: Named


def family(keys: Alerting, kind: Kind) -> Family:
    names = (kind, f"{kind}_windows", f"{kind}_times", f"{kind}_summary")
    return Family(*(getattr(keys, name) for name in names))


class Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


S = TypeVar("S", bound=Span)


def current_window(windows: Iterable[S], now: int) -> S | None:
    """Of the windows that are open, the one that ends last."""
    opened = [window for window in windows if window.start <= now < window.end]
    return max(opened, key=lambda window: (window.end, window.start), default=None)


def glued(*summaries: str) -> str:
    """The summaries joined in order, without repetitions."""
    parts: list[str] = []
    for summary in summaries:
        parts += [summary] if summary and summary not in GLUE.join(parts).split(GLUE) else []
    return GLUE.join(parts)


def commands_for_current(
    keys: Alerting, event_id: str, kind: Kind, windows: Iterable[Window], now: int
) -> list[Command]:
    """Sets the key of the open window, which expires at its end."""
    key = family(keys, kind).current(*split_id(event_id))
    window = current_window(windows, now)
    if window is None:
        return [["DEL", key]]
    return [["SET", key, window.start, "PX", min((window.end - now) * 1000, _LONGEST_MS)]]


def commands_for_scheduled(
    keys: Alerting,
    event_id: str,
    windows: Sequence[Window],
    start: int,
    duration: int,
    summary: str,
    now: int,
    old_summary: str = "",
) -> list[Command]:
    """Adds a scheduled window to `windows`; one with the same start gets the new length.

    `old_summary` is the summary of that one.
    """
    others = [window for window in windows if window.start != start]
    return [
        *_recorded(
            keys, event_id, "scheduled", Window(start, duration, glued(old_summary, summary))
        ),
        *commands_for_current(keys, event_id, "scheduled", [*others, Window(start, duration)], now),
    ]


def commands_for_end_scheduled(
    keys: Alerting, event_id: str, windows: Sequence[Window], start: int, now: int
) -> list[Command]:
    """Cancels a future window or ends an open one; no commands for any other."""
    window = next((window for window in windows if window.start == start), None)
    if window is None or window.end <= now:
        return []
    others = [one for one in windows if one.start != start]
    if start > now:
        change = commands_for_removal(keys, event_id, "scheduled", start)
    else:
        change = _shortened(keys, event_id, "scheduled", start, now)
    return [*change, *commands_for_current(keys, event_id, "scheduled", others, now)]


def commands_for_create_unscheduled(
    keys: Alerting,
    event_id: str,
    current_start: int | None,
    start: int,
    duration: int,
    summary: str,
    now: int,
    old_summary: str = "",
) -> list[Command]:
    """Opens a window in place of the open one; one that is over is only recorded.

    `old_summary` is the summary of a window with the same start, which this one extends.
    """
    window = Window(start, duration, glued(old_summary, summary))
    commands: list[Command] = []
    if window.end > now and current_start is not None and current_start != start:
        commands += commands_for_end_unscheduled(keys, event_id, current_start, start)
    commands += _recorded(keys, event_id, "unscheduled", window)
    if window.end > now:
        commands += commands_for_current(keys, event_id, "unscheduled", [window], now)
    return commands


def commands_for_end_unscheduled(
    keys: Alerting, event_id: str, current_start: int, end: int
) -> list[Command]:
    return [
        *_shortened(keys, event_id, "unscheduled", current_start, end),
        ["DEL", keys.unscheduled(*split_id(event_id))],
    ]


def commands_for_replace(
    keys: Alerting,
    event_id: str,
    kind: Kind,
    windows: Sequence[Window],
    wanted: Sequence[Window],
    now: int,
) -> list[Command]:
    """Sets the wanted windows, without their summaries. Others that are to come are removed, open
    ones end, and those that are over stay."""
    (entity, check), names = split_id(event_id), family(keys, kind)
    commands: list[Command] = []
    for start in {window.start for window in windows} - {window.start for window in wanted}:
        if start > now:
            commands += commands_for_removal(keys, event_id, kind, start)
        else:
            commands += _shortened(keys, event_id, kind, start, now)
    for window in wanted:
        commands += [
            ["ZADD", names.windows(entity, check), window.duration, window.start],
            ["ZADD", names.times(entity, check), window.start, window.start],
        ]
    return [*commands, *commands_for_current(keys, event_id, kind, wanted, now)]


def commands_for_removal(keys: Alerting, event_id: str, kind: Kind, start: int) -> list[Command]:
    """Removes every record of the window."""
    (entity, check), names = split_id(event_id), family(keys, kind)
    return [
        ["ZREM", names.windows(entity, check), start],
        ["ZREM", names.times(entity, check), start],
        ["DEL", names.summary(entity, check, start)],
    ]


def _recorded(keys: Alerting, event_id: str, kind: Kind, window: Window) -> list[Command]:
    (entity, check), names = split_id(event_id), family(keys, kind)
    commands: list[Command] = [
        ["ZADD", names.windows(entity, check), window.duration, window.start],
        ["ZADD", names.times(entity, check), window.start, window.start],
    ]
    if window.summary:
        commands.append(["SET", names.summary(entity, check, window.start), window.summary])
    return commands


def _shortened(keys: Alerting, event_id: str, kind: Kind, start: int, end: int) -> list[Command]:
    """Sets the end of a window, but never later than it was."""
    (entity, check), names = split_id(event_id), family(keys, kind)
    return [
        ["ZADD", names.windows(entity, check), "LT", max(end - start, 0), start],
        ["ZADD", names.times(entity, check), start, start],
    ]
