"""Reads a child's output from its pipe, as fast as both the child and the reader allow."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import suppress

from watchbell.clock import Clock
from watchbell.process.output import Batch, Output
from watchbell.process.output_file import OutputFile

_READ = 64 << 10  # at once, so that a child that writes much leaves the loop to others
_PIPE = 1 << 20  # the most that a pipe holds
_NEWEST_EVERY = 0.25  # seconds; what is kept as the newest is mostly never made into lines


class OutputReader:
    def __init__(
        self, descriptor: int, output: Output, clock: Clock, output_file: OutputFile | None = None
    ) -> None:
        """Takes over the descriptor, which must not block. The output file comes first."""
        self._descriptor = descriptor
        self.output = output
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._is_reading = self._is_overlooked = False
        self._news = asyncio.Event()
        self._over = asyncio.Event()
        self._hurry = asyncio.Event()
        self._output_file = output_file
        if output_file and (content := output_file.content()):
            self._feed(content)
        self._go_on()

    async def batches(self, every: float) -> AsyncGenerator[Batch, None]:
        is_over = False
        try:
            while not is_over:
                await self._news.wait()
                await self._pause(every)
                self._news.clear()
                self._hurry.clear()
                is_over = self._over.is_set()
                while batch := self.output.take(newest=self.output.is_over):
                    self._go_on()
                    yield batch
                    if not self.output.is_waiting:  # what came meanwhile is news
                        break
        finally:
            self.overlook()  # where the taker left early, the child need not wait for anybody

    async def _pause(self, every: float) -> None:
        """Whether more may come and reading is not paused."""
        seconds = max(every, _NEWEST_EVERY) if self.output.is_over else every
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._hurry.wait()

    def overlook(self) -> None:
        """Nobody will read any more: keep what fits, then the newest, and never pause."""
        self._is_overlooked = True
        self._go_on()

    def finish(self) -> None:
        """The child is gone: reads what is in the pipe and stops, whoever else holds the pipe."""
        for _ in range(_PIPE // _READ):
            if self._over.is_set() or not self._read():
                break
        self._stop()

    def close(self) -> None:
        self._stop()

    def _go_on(self) -> None:
        if self._is_overlooked and self.output.is_full:
            self.output.overlook()
        if self.output.is_full:
            self._hurry.set()
        wanted = not self._over.is_set() and not self.output.is_full
        if wanted and not self._is_reading:
            self._loop.add_reader(self._descriptor, self._read)
        elif self._is_reading and not wanted:
            self._loop.remove_reader(self._descriptor)
        self._is_reading = wanted

    def _read(self) -> bool:
        """Whether there was anything to read."""
        try:
            chunk = self._chunk()
        except BlockingIOError:
            return False
        if not chunk:
            self._stop()
            return False
        self._feed(chunk)
        self._go_on()
        return True

    def _chunk(self) -> bytes:
        if self._output_file:
            return self._output_file.read(self._descriptor, _READ)
        return os.read(self._descriptor, _READ)

    def _feed(self, chunk: bytes) -> None:
        self.output.feed(chunk, self._clock.now())
        self._news.set()

    def _stop(self) -> None:
        if not self._over.is_set():
            self._over.set()
            self._hurry.set()
            self._go_on()
            os.close(self._descriptor)
            if self._output_file:
                self._output_file.close()
            self.output.close()
            self._news.set()
