"""The log of a job: turns its text into reports, complete up to a limit, then the newest only."""

from collections import deque

from msgspec import structs

from watchbell.fleet.agent.journal import JobState
from watchbell.fleet.messages import Output

_NEWEST = 256 << 10
_REPORT = 256 << 10
"""Bytes of one report at most."""


class JobLog:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._newest: deque[bytes] = deque()
        self._newest_bytes = 0
        self._is_marked = False

    def add(self, text: bytes, at: float, state: JobState) -> tuple[list[Output], JobState]:
        room = max(self._limit - state.offset, 0)
        if len(text) <= room:
            return _reports(text, at, state)
        # The limit is that of whole lines, unless one is longer.
        end = text.rfind(b"\n", 0, room) + 1
        reports, state = _reports(text[:end], at, state)
        if not state.cut and not self._is_marked:
            self._is_marked = True
            marker, state = _reports(_marker(state), at, state)
            reports += marker
        state = structs.replace(state, cut=state.cut + len(text) - end)
        self._keep(text[end:])
        return reports, state

    def finish(self, at: float, state: JobState) -> tuple[list[Output], JobState]:
        """The newest of what was left out."""
        newest = b"".join(self._newest)
        if self._newest_bytes < state.cut:
            newest = newest[newest.find(b"\n") + 1 :]
        if not newest:
            return [], state
        skipped = state.cut - len(newest)
        state = structs.replace(state, offset=state.offset + skipped, cut=skipped)
        return _reports(newest, at, state)

    def _keep(self, text: bytes) -> None:
        self._newest.append(text[-_NEWEST:])
        self._newest_bytes += len(self._newest[-1])
        while self._newest_bytes - len(self._newest[0]) >= _NEWEST:
            self._newest_bytes -= len(self._newest.popleft())


def _reports(text: bytes, at: float, state: JobState) -> tuple[list[Output], JobState]:
    reports = []
    position = 0
    offset, lines = state.offset, state.lines
    while position < len(text):
        end = min(position + _REPORT, len(text))
        if end < len(text):
            end = text.rfind(b"\n", position, end) + 1 or end
        part = text[position:end] if position or end < len(text) else text
        reports.append(Output(at=at, offset=offset, line=lines, text=part))
        offset += len(part)
        lines += part.count(b"\n")
        position = end
    return reports, structs.replace(state, offset=offset, lines=lines)


def _marker(state: JobState) -> bytes:
    return (
        f"[the output is complete up to here, {state.offset:,} bytes; from here on only its newest "
        "lines are kept]\n"
    ).encode()
