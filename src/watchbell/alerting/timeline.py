"""A check's states over a range of time, simplified to what a chart can show."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting.model import SEVERITY
from watchbell.alerting.reports import Change

MOST = 1_000
"""About as many segments as a screen can show."""


class Segment(Struct, frozen=True):
    """A check was in a state; in the worst of several, where there are more `changes` than one."""

    start: int
    end: int
    state: str | None
    """None where nothing is known."""
    changes: int = 1
    summary: str = ""

    @property
    def seconds(self) -> int:
        return self.end - self.start


def segments(changes: Sequence[Change], start: int, end: int) -> list[Segment]:
    """The segments of [start, end); `changes` are in order and begin with the state at `start`."""
    found = [Segment(start, end, None, 0)]
    for change in changes:
        if change.timestamp >= end:
            break
        if change.state != found[-1].state:
            begin = max(change.timestamp, start)
            found[-1] = replace(found[-1], end=begin)
            found.append(Segment(begin, end, change.state, 1, change.summary or ""))
    return [one for one in found if one.seconds > 0]


def thinned(segments: Sequence[Segment], most: int = MOST) -> list[Segment]:
    """Merges neighbours that are too narrow to see; the worst state counts, so that no failure
    is hidden."""
    if len(segments) <= most:
        return list(segments)
    narrow = (segments[-1].end - segments[0].start) / (most / 2)
    found: list[Segment] = []
    crowd: list[Segment] = []
    for one in segments:
        if one.seconds >= narrow:
            found += _joined(crowd)
            found.append(one)
            crowd = []
            continue
        crowd.append(one)
        if one.end - crowd[0].start >= narrow:
            found += _joined(crowd)
            crowd = []
    return [*found, *_joined(crowd)]


def _joined(crowd: Sequence[Segment]) -> Iterable[Segment]:
    if len(crowd) < 2:
        return crowd
    worst = max(crowd, key=lambda one: SEVERITY.get(one.state or "", 0))
    changes = sum(one.changes for one in crowd)
    return [replace(worst, start=crowd[0].start, end=crowd[-1].end, changes=changes)]
