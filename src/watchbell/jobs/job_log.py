"""The log of a job: reads, searches, follows and downloads it.

While a job is in progress, its output is in a stream, behind parts in `files` if it is long. A
short log is then kept in the job's record; others become one file. A line that has not ended is not
shown before the job is over.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from watchbell.errors import NotFound
from watchbell.files.objects import Files
from watchbell.jobs import job_records
from watchbell.jobs.log_reader import LogReader
from watchbell.runs import output_store
from watchbell.runs.output_store import MOST_BYTES, MOST_LINES, Hits, OutputLine, OutputWindow
from watchbell.store.client import Store

T = TypeVar("T")

_EVERY = 0.3
_PAGE = 1_000
_ATTEMPTS = 5


class JobLog:
    """Offers what `runs.output_store.OutputStore` does."""

    def __init__(self, store: Store, files: Files, job: str) -> None:
        self._store, self._job = store, job
        self._reader = LogReader(store, files, job)

    async def window(
        self, first: int, most: int = MOST_LINES, stop: int | None = None
    ) -> OutputWindow:
        """Lines from the place `first`, up to but not including `stop`."""
        first = max(first, 0)
        if stop is not None:
            most = max(min(most, stop - first), 0)
        found = await self._found(lambda: self._reader.forward(first, most))
        place, some = found.lines()
        shown = _weighed(some[max(first - place, 0) :][:most])
        first = min(first, found.total)
        return OutputWindow(
            total=found.total, complete=found.total, asked=first, first=first, lines=shown
        )

    async def end(self, most: int = MOST_LINES, stop: int | None = None) -> OutputWindow:
        """The last lines, or the last before the place `stop`."""
        found = await self._found(lambda: self._reader.backward(stop, most))
        place, some = found.lines()
        if stop is not None:
            some = some[: max(stop - place, 0)]
        shown = _weighed(some[::-1][:most])[::-1]
        first = place + len(some) - len(shown)
        return OutputWindow(
            total=found.total, complete=found.total, asked=0, first=first, lines=shown
        )

    async def following(self, after: OutputLine | None) -> OutputWindow:
        """The first lines after `after`."""
        return await self.window(await self._place_after(after))

    async def newest(self, after: OutputLine | None, most: int = MOST_LINES) -> OutputWindow:
        """The last lines after `after`; if there are too many, with a gap before them."""
        asked, found = await self._place_after(after), await self.end(most)
        asked = min(asked, found.total)
        return OutputWindow(
            total=found.total,
            complete=found.total,
            asked=asked,
            first=max(found.first, asked),
            lines=found.lines[max(asked - found.first, 0) :],
        )

    async def lines(self, after: OutputLine | None = None, most: int = _PAGE) -> list[OutputLine]:
        return (await self.window(await self._place_after(after), most)).lines

    async def search(self, text: str, start: int, *, backward: bool = False) -> Hits:
        """As `runs.output_store.search`. Of a very long line, only the beginning is searched."""
        return await output_store.search(self, text, start, backward=backward)

    async def follow(
        self, is_over: Callable[[], Awaitable[bool]] | None = None
    ) -> AsyncIterator[list[OutputLine]]:
        """All output, followed until the job is over."""
        last: OutputLine | None = None
        while True:
            was_over = await (is_over or self.is_over)()  # first, so that no line is missed
            while found := await self.lines(last):
                last = found[-1]
                yield found
            if was_over:
                return
            await asyncio.sleep(_EVERY)

    async def tail(self, most: int) -> str:
        """The last lines, as text."""
        return b"".join(line.text for line in (await self.end(most)).lines).decode(errors="replace")

    async def download(self) -> AsyncIterator[bytes]:
        """The log so far, as it was printed."""
        offset = 0
        while True:
            found = await self._found(lambda start=offset: self._reader.from_offset(start))  # type: ignore[misc]
            if not found:
                return
            offset = found[-1].end
            yield b"".join(chunk.text for chunk in found)

    async def is_over(self) -> bool:
        found = (await job_records.find(self._store, [self._job]))[0]
        return found is None or not found.is_live or found.job.state == "finishing"

    async def _place_after(self, after: OutputLine | None) -> int:
        if after is None:
            return 0
        return await self._found(lambda: self._reader.place_after(after.number))

    async def _found(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Tries again where a part was moved while it was to be read."""
        for _ in range(_ATTEMPTS):
            try:
                return await attempt()
            except NotFound:
                self._reader.forget()
        return await attempt()


def _weighed(some: Sequence[OutputLine]) -> list[OutputLine]:
    """The first of the lines, until they are long enough for an answer."""
    found, left = [], MOST_BYTES
    for line in some:
        if left <= 0:
            break
        found.append(line)
        left -= len(line.text)
    return found
