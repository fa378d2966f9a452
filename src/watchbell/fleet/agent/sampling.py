"""Samples the machine: eight values each second, a summary every few seconds, and everything once a
minute."""

import asyncio
import re
import zlib
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from watchbell import logs
from watchbell.clock import Clock
from watchbell.fleet.agent import sampler
from watchbell.fleet.agent.commands import Commands
from watchbell.fleet.agent.link import Link
from watchbell.fleet.agent.machine.quick_meter import QuickMeter
from watchbell.fleet.agent.machine.reader import MachineReader, Surroundings
from watchbell.fleet.agent.masking import MASK, Masker
from watchbell.fleet.agent.sampler import MachineSampler
from watchbell.fleet.messages import MachineSampled, Sampled, Welcome
from watchbell.fleet.minutes import minute_of, second_of

if TYPE_CHECKING:
    from watchbell.fleet.agent.agent import Agent
    from watchbell.fleet.model import Quick

_SECOND = 1.0
_LEAD = 10.0
"""Seconds that commands have before the sample that shows their output."""
_KEPT = 60
_SENT = ("summary", "machine")
"""What is sent once in each minute."""
_SECRET = re.compile(r"((?i:pass(?:word|wd)?|token|secret|api[-_]?key)[= ])([^\s\0]+)")
"""What a command line names as a secret."""


class Sampling:
    def __init__(
        self, agent: "Agent", link: Link, commands: Commands, folder: Path, clock: Clock, token: str
    ) -> None:
        """`token`: one that may stand on the command line of the agent."""
        self._agent, self._link, self._commands, self._clock = agent, link, commands, clock
        now, at = clock.now(), clock.monotonic()
        self._summary, self._quick_meter = MachineSampler(folder), QuickMeter(at)
        self._reader, self._info = MachineReader(now, at), sampler.server_info(0)
        self._quick: deque[Quick] = deque(maxlen=_KEPT)
        self._own = Masker([token] if token else [])
        self._next_summary = 0.0
        self._minutes: dict[str, int] = {}
        self._behind = 0.0
        """Seconds by which the clock of the server is ahead of ours."""
        self._known: Welcome | None = None

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_SECOND)
            try:
                await self._tick()
            except Exception:  # noqa: BLE001 the next second may be read again
                logs.get(role="agent").exception("a sample could not be taken")

    async def _tick(self) -> None:
        now, at = self._clock.now(), self._clock.monotonic()
        self._quick.append(self._quick_meter.read(now, at))
        welcome = self._agent.welcome
        if welcome is None or not self._link.is_connected:
            return
        is_new = welcome is not self._known
        if is_new:
            self._known, self._behind = welcome, welcome.now - now
        second, theirs = second_of(welcome.server), now + self._behind
        minute = minute_of(theirs, second)
        # The connection before may have ended with what was sent last. Once a minute is enough
        # where connections come and go.
        if is_new and self._minutes and self._begins("connection", minute):
            for what in _SENT:
                self._minutes.pop(what, None)
        if self._begins("commands", minute_of(theirs + _LEAD, second)):
            self._commands.start_all()
        if at >= self._next_summary:
            self._next_summary = at + welcome.sample_every - _SECOND / 2
            sample = self._summary.sample(now, at, self._jobs())
            is_minute = self._begins("summary", minute)
            quick = tuple(self._quick)
            self._quick.clear()
            self._link.send_soon(Sampled(sample=sample, is_minute=is_minute, quick=quick))
        if self._begins("machine", minute):
            await self._send_machine(now, at)

    def _begins(self, what: str, minute: int) -> bool:
        """Whether it was not done in this minute yet."""
        is_new = self._minutes.get(what) != minute
        self._minutes[what] = minute
        return is_new

    def _jobs(self) -> int:
        return len(self._agent.jobs.unfinished())

    async def _send_machine(self, now: float, at: float) -> None:
        around = Surroundings(self._agent.hostname, self._info, self._jobs(), self._masked)
        for _ in self._reader.steps(now, at, around):
            await asyncio.sleep(0)
        sample = self._reader.sample
        assert sample
        results = self._commands.results()
        sample = msgspec.structs.replace(
            sample,
            commands=self._each_masked(results.outputs),
            commands_errors=self._each_masked(results.errors),
        )
        packed = zlib.compress(msgspec.msgpack.encode(sample))
        self._link.send_soon(MachineSampled(packed=packed))

    def _maskers(self) -> list[Masker]:
        return [self._own, *self._agent.maskers()]

    def _masked(self, text: str) -> str:
        for masker in self._maskers():
            text = masker.mask_text(text)
        return _SECRET.sub(rf"\1{MASK}", text)

    def _each_masked(self, values: dict[str, Any]) -> dict[str, Any]:
        for masker in self._maskers():
            values = {name: masker.mask_values(value) for name, value in values.items()}
        return values
