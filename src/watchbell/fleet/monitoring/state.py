"""What is kept of a server between its minute samples, and what a new sample is to it. Pure."""

from enum import Enum

from msgspec import Struct

from watchbell.fleet.minutes import LATE_MINUTES


class Turn(Enum):
    """What a sample is, compared with the one before."""

    NEXT = "it is counted"
    SET_BACK = "it is counted: the clock was set back"
    DUPLICATE = "there was a sample of this minute already"
    LATE = "a later sample came before it"


class MonitorState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    minute: int = 0
    """Of the last sample that was counted: its time divided by 60."""
    at: float = 0
    uptime: float = 0
    """Of the server then, in seconds."""
    values: dict[str, float] = {}
    deltas: dict[str, float] = {}
    counts: dict[str, int] = {}
    """By alert definition, where it is not 0."""


def turn(state: MonitorState, at: float) -> Turn:
    minute = int(at // 60)
    if not state.minute or minute > state.minute:
        return Turn.NEXT
    if minute == state.minute:
        return Turn.DUPLICATE
    return Turn.LATE if minute >= state.minute - LATE_MINUTES else Turn.SET_BACK


def elapsed(state: MonitorState, at: float, uptime: float) -> float | None:
    """Seconds since the sample before: by the server's own uptime, which no change of a clock
    moves, or else by our clock. None where the server has started anew, or the time is unknown."""
    if not state.minute:
        return None
    is_known = uptime and state.uptime
    passed = uptime - state.uptime if is_known else at - state.at
    return passed if passed > 0 else None
