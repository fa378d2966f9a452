"""Follows the output of a job: what is log, what are messages, and what both change."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from watchbell.clock import Clock
from watchbell.fleet.agent.job_changes import Spoken
from watchbell.fleet.agent.job_log import JobLog
from watchbell.fleet.agent.job_messages import JobOutput, Parsed, is_too_long
from watchbell.fleet.agent.job_reports import JobReports
from watchbell.fleet.messages import Body, Changes
from watchbell.process.output_chunks import ChunkReader

_CHUNK = 256 << 10
_GATHER = 0.02
"""Seconds for which little output is gathered."""
_SHOWN = 200
_LINE_START = re.compile(rb"(?m)^(?=.)", re.DOTALL)


class OutputFollower:
    def __init__(
        self,
        reports: JobReports,
        output: JobOutput,
        log: JobLog,
        clock: Clock,
        *,
        annotates: bool,
        on_limits: Callable[[Sequence[dict[str, Any]]], None],
        on_output: Callable[[int], None],
    ) -> None:
        """`on_limits` gets limits that the job pushes; `on_output`, the size of the output."""
        self._reports, self._output, self._log, self._clock = reports, output, log, clock
        self._annotates, self._on_limits, self._on_output = annotates, on_limits, on_output

    async def follow(self, chunks: ChunkReader) -> None:
        """To the end of the output. The last reports are held."""
        chunks.position = self._output.position
        while chunk := await chunks.gathered(_CHUNK, _GATHER):
            self._on_output(chunks.size)
            self._handle(self._output.feed(chunk))
            if not chunks.is_taken:
                await self._reports.record((), self._reports.state)
                chunks.discard(self._output.position)
        self._handle(self._output.finish())
        now = self._clock.now()
        outputs, state = self._log.finish(now, self._reports.state)
        self._reports.hold(outputs, state)

    def _handle(self, parsed: Parsed) -> None:
        now = self._clock.now()
        state = structs.replace(
            self._reports.state,
            position=self._output.position,
            is_within_line=self._output.is_within_line,
        )
        bodies: list[Body] = []
        text = self._annotated(parsed.text, now) if self._annotates else parsed.text
        if text:
            outputs, state = self._log.add(text, now, state)
            bodies += outputs
        if parsed.messages or parsed.broken:
            spoken = Spoken(state)
            for line in parsed.broken:
                shown = line[:_SHOWN].decode(errors="replace")
                why = "is longer than 4 MiB" if is_too_long(line) else "is not valid JSON"
                spoken.warn(f"A line begins like a message, but {why}: {shown}")
            for message in parsed.messages:
                spoken.add(message)
            state = spoken.state
            if spoken.values or spoken.activity:
                activity = tuple(spoken.activity)
                bodies.append(Changes(at=now, values=spoken.values, activity=activity))
            self._on_limits(spoken.limits)
        self._reports.hold(bodies, state)

    def _annotated(self, text: bytes, now: float) -> bytes:
        """With the time before each line."""
        stamp = f"[{datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M:%S}] ".encode()
        return _LINE_START.sub(stamp, text)
