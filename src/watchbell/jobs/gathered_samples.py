"""The samples that agents have sent since the round before, written by one call."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from watchbell import logs
from watchbell.errors import Refused
from watchbell.fleet import samples, validation
from watchbell.fleet.model import Quick, Server
from watchbell.fleet.samples import Machine, Sampled
from watchbell.jobs.agent_session import Wishes
from watchbell.store.client import Store

if TYPE_CHECKING:
    from watchbell.fleet.machine_sample import MachineSample


class Gathered:
    def __init__(self) -> None:
        self._sampled: list[Sampled] = []
        self._machines: list[Machine] = []
        self._quick: dict[str, list[Quick]] = {}
        self.full: list[tuple[Server, MachineSample]] = []
        """The full samples that came, each of its minute."""

    def __bool__(self) -> bool:
        return bool(self._sampled or self._machines)

    def add(self, server: Server, wishes: Wishes, now: float) -> None:
        """What the agent of a server has sent, by our clock."""
        minute = wishes.minute
        latest = wishes.sample if wishes.sample is not minute else None
        for given in (minute, latest):
            if given is not None:
                sample = replace(given.sample, at=round(now, 3))
                self._sampled.append(Sampled(server.id, sample, given.is_minute))
        if wishes.quick:
            self._quick[server.id] = validation.quick(wishes.quick, now)
        if wishes.machine is not None:
            self._add_machine(server, wishes.machine.packed, now)

    def _add_machine(self, server: Server, packed: bytes, now: float) -> None:
        try:
            sample = validation.machine(packed, server.hostname, now)
        except Refused as refused:
            logs.get(role="web").warning(
                "a full sample is left out", hostname=server.hostname, reason=str(refused)
            )
            return
        self.full.append((server, sample))
        self._machines.append(Machine(server.id, server.hostname, now, packed))

    async def record(self, store: Store) -> None:
        await samples.record(store, self._sampled, self._machines, self._quick)
