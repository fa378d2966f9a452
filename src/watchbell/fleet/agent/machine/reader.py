"""Reads the full sample of this machine, a little at a time."""

import os
import platform
import resource
import sys
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from watchbell.fleet.agent.machine import counters
from watchbell.fleet.agent.machine.counters import Counted, rate
from watchbell.fleet.agent.machine.files import PROC, read
from watchbell.fleet.agent.machine.interfaces import interfaces
from watchbell.fleet.agent.machine.mounts import mounts
from watchbell.fleet.agent.machine.processes import ProcessesSeen, ProcessTable
from watchbell.fleet.agent.machine.signed_in import signed_in
from watchbell.fleet.agent.machine.sockets import SocketTable
from watchbell.fleet.machine_sample import (
    AgentProcess,
    Cpu,
    MachineSample,
    NetworkStats,
    Stats,
)
from watchbell.fleet.model import ServerInfo

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Surroundings(Struct, frozen=True):
    """What the agent knows that the kernel does not."""

    hostname: str
    info: ServerInfo
    jobs: int
    mask: Callable[[str], str]
    """Hides the secrets of jobs."""


class MachineReader:
    def __init__(self, now: float, at: float) -> None:
        """`at`: by the monotonic clock, as in all calls."""
        self._counted = counters.counted(at)
        self._spent = _own_cpu()
        self._started = now
        self._processes = ProcessTable(now - _uptime())
        self.sample: MachineSample | None = None
        """Once all steps are done."""

    def steps(self, now: float, at: float, around: Surroundings) -> Iterator[None]:
        """Reads a sample; between the steps, others get a turn."""
        last, new = self._counted, counters.counted(at)
        memory = counters.memory()
        seen = ProcessesSeen(_uptime())
        for _ in self._processes.slices(seen):
            yield
        processes = self._processes.summary(seen, memory["total"], around.mask)
        sockets = SocketTable()
        for _ in sockets.pieces():
            yield
        connections = sockets.summary([one.pid for one in processes.list])
        yield
        own = _own_cpu()
        network = interfaces(last.interfaces, new.interfaces, new.at - last.at)
        self.sample = MachineSample(
            hostname=around.hostname,
            date=round(now, 3),
            uptime_sec=_uptime(),
            arch=around.info.arch,
            platform=sys.platform,
            release=platform.release(),
            os=around.info.os,
            load=_load(),
            cpu=_cpu(last, new, around.info),
            memory=memory,
            mounts=mounts(),
            stats=Stats(
                io=counters.io_stats(last, new),
                fs=counters.disk_stats(last, new),
                network=_network(last, new, connections.all, connections.states),
                uptime_sec=_uptime(),
            ),
            interfaces=network,
            processes=processes,
            connections=connections,
            users=signed_in(),
            process=_own(new.at - last.at, own - self._spent, self._started),
            jobs=around.jobs,
        )
        self._counted, self._spent = new, own


def _uptime() -> float:
    words = read(f"{PROC}/uptime").split()
    return float(words[0]) if words else 0.0


def _load() -> tuple[float, float, float]:
    one, five, fifteen = os.getloadavg()
    return round(one, 2), round(five, 2), round(fifteen, 2)


def _cpu(last: Counted, new: Counted, info: ServerInfo) -> Cpu:
    totals, *cores = (
        counters.cpu_shares(old, now) for old, now in zip(last.cpu, new.cpu, strict=False)
    )
    return Cpu(
        average_load=_load()[0],
        current_load=totals.active,
        cores=len(cores) or os.cpu_count() or 1,
        brand=str(info.cpu.get("brand", "")),
        totals=totals,
        cpus=tuple(cores),
    )


def _network(last: Counted, new: Counted, connections: int, states: dict[str, int]) -> NetworkStats:
    before = counters.whole_network(last.interfaces)
    after = counters.whole_network(new.interfaces)
    seconds = new.at - last.at
    figures = msgspec.structs.asdict(after) | {
        "rx_sec": rate(before.rx_bytes, after.rx_bytes, seconds),
        "tx_sec": rate(before.tx_bytes, after.tx_bytes, seconds),
    }
    return NetworkStats(**figures, conns=connections, states=states)


def _own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _own(seconds: float, spent: float, started: float) -> AgentProcess:
    words = read(f"{PROC}/self/statm").split()
    return AgentProcess(
        pid=os.getpid(),
        cpu=rate(0, spent * 100, seconds),
        mem=int(words[1]) * _PAGE if len(words) > 1 else 0,
        started=round(started, 2),
    )
