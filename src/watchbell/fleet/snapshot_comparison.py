"""What changed between two snapshots."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from watchbell.fleet.model import ServerState, Snapshot, SnapshotHead

MOST_LISTED = 20


class Value(Struct, frozen=True):
    """A figure in both snapshots."""

    name: str
    before: float
    after: float
    unit: str = ""
    """`%`, `bytes`, or empty."""

    @property
    def change(self) -> float:
        return self.after - self.before


class ProcessShown(Struct, frozen=True):
    pid: int
    user: str
    command: str
    cpu: float
    """Percent of one core."""
    memory: int
    """Resident bytes."""


class Mover(Struct, frozen=True):
    """A process whose use changed most."""

    before: ProcessShown
    after: ProcessShown


class ServerComparison(Struct, frozen=True, kw_only=True):
    server: str
    hostname: str
    values: tuple[Value, ...] = ()
    """Load, CPU, memory, network and processes: all, changed or not."""
    mounts: tuple[Value, ...] = ()
    """File systems that became fuller or emptier."""
    connections: tuple[Value, ...] = ()
    """States in which there are more or fewer."""
    started: tuple[ProcessShown, ...] = ()
    """Among those that a snapshot lists; those that use most come first."""
    ended: tuple[ProcessShown, ...] = ()
    started_count: int = 0
    ended_count: int = 0
    cpu_movers: tuple[Mover, ...] = ()
    memory_movers: tuple[Mover, ...] = ()


class Comparison(Struct, frozen=True, kw_only=True):
    before: SnapshotHead
    after: SnapshotHead
    seconds: float
    servers: tuple[ServerComparison, ...] = ()
    """Those that both show."""
    only_before: tuple[str, ...] = ()
    """Hostnames of servers that only one of them shows."""
    only_after: tuple[str, ...] = ()
    jobs_started: tuple[str, ...] = ()
    jobs_ended: tuple[str, ...] = ()
    alerts_raised: tuple[str, ...] = ()
    alerts_cleared: tuple[str, ...] = ()


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """The older one comes first, whichever is given first."""
    if before.head.date > after.head.date:
        before, after = after, before
    old = {one.server.id: one for one in before.states}
    new = {one.server.id: one for one in after.states}
    return Comparison(
        before=before.head,
        after=after.head,
        seconds=round(after.head.date - before.head.date, 3),
        servers=tuple(_compared(old[id_], new[id_]) for id_ in new if id_ in old),
        only_before=_hostnames(old, new),
        only_after=_hostnames(new, old),
        jobs_started=_added(before.head.jobs, after.head.jobs),
        jobs_ended=_added(after.head.jobs, before.head.jobs),
        alerts_raised=_added(before.head.alerts, after.head.alerts),
        alerts_cleared=_added(after.head.alerts, before.head.alerts),
    )


def _hostnames(
    some: Mapping[str, ServerState], others: Mapping[str, ServerState]
) -> tuple[str, ...]:
    return tuple(sorted(one.server.hostname for id_, one in some.items() if id_ not in others))


def _added(before: Iterable[str], after: Iterable[str]) -> tuple[str, ...]:
    known = set(before)
    return tuple(one for one in after if one not in known)


def _compared(before: ServerState, after: ServerState) -> ServerComparison:
    old, new = before.data, after.data
    if old is None or new is None:  # one has no full sample of it
        return ServerComparison(server=after.server.id, hostname=after.server.hostname)
    processes = _processes(old), _processes(new)
    started = _by_use(one for key, one in processes[1].items() if key not in processes[0])
    ended = _by_use(one for key, one in processes[0].items() if key not in processes[1])
    pairs = [
        Mover(one, processes[1][key]) for key, one in processes[0].items() if key in processes[1]
    ]
    return ServerComparison(
        server=after.server.id,
        hostname=after.server.hostname,
        values=tuple(_values(old, new)),
        mounts=tuple(_mounts(old, new)),
        connections=tuple(_connections(old, new)),
        started=tuple(started[:MOST_LISTED]),
        ended=tuple(ended[:MOST_LISTED]),
        started_count=len(started),
        ended_count=len(ended),
        cpu_movers=_movers(pairs, lambda one: one.cpu),
        memory_movers=_movers(pairs, lambda one: one.memory),
    )


_FIGURES: tuple[tuple[str, tuple[str | int, ...], str], ...] = (
    ("load of 1 minute", ("load", 0), ""),
    ("load of 5 minutes", ("load", 1), ""),
    ("CPU", ("cpu", "currentLoad"), "%"),
    ("CPU waiting for disks", ("cpu", "totals", "iowait"), "%"),
    ("memory used", ("memory", "used"), "bytes"),
    ("memory available", ("memory", "available"), "bytes"),
    ("swap used", ("memory", "swapused"), "bytes"),
    ("read from disks each second", ("stats", "fs", "rx_sec"), "bytes"),
    ("written to disks each second", ("stats", "fs", "wx_sec"), "bytes"),
    ("received each second", ("stats", "network", "rx_sec"), "bytes"),
    ("sent each second", ("stats", "network", "tx_sec"), "bytes"),
    ("processes", ("processes", "all"), ""),
    ("connections", ("connections", "all"), ""),
    ("jobs", ("jobs",), ""),
)


def _values(old: dict[str, Any], new: dict[str, Any]) -> Iterable[Value]:
    for name, path, unit in _FIGURES:
        yield Value(name, _at(old, path), _at(new, path), unit)


def _at(data: Any, path: Iterable[str | int]) -> float:
    """0 where there is no such figure."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return 0.0
    return float(data)


def _mounts(old: dict[str, Any], new: dict[str, Any]) -> Iterable[Value]:
    for name in sorted(old["mounts"].keys() | new["mounts"].keys()):
        before, after = _at(old["mounts"], (name, "use")), _at(new["mounts"], (name, "use"))
        if before != after:
            path = (new["mounts"].get(name) or old["mounts"][name])["mount"]
            yield Value(path, before, after, "%")


def _connections(old: dict[str, Any], new: dict[str, Any]) -> Iterable[Value]:
    before, after = old["connections"]["states"], new["connections"]["states"]
    for state in sorted(before.keys() | after.keys()):
        counts = before.get(state, 0), after.get(state, 0)
        if counts[0] != counts[1]:
            yield Value(state, *counts)


def _processes(data: dict[str, Any]) -> dict[tuple[int, int], ProcessShown]:
    """By pid and start, which name a process."""
    return {
        (one["pid"], round(one["started"])): ProcessShown(
            one["pid"], one["user"], one["command"], one["cpu"], one["memRss"]
        )
        for one in data["processes"]["list"]
    }


def _by_use(found: Iterable[ProcessShown]) -> list[ProcessShown]:
    return sorted(found, key=lambda one: (-one.cpu, -one.memory, one.pid))


def _movers(pairs: Iterable[Mover], figure: Callable[[ProcessShown], float]) -> tuple[Mover, ...]:
    def moved(one: Mover) -> float:
        return abs(figure(one.after) - figure(one.before))

    found = sorted((one for one in pairs if moved(one)), key=moved, reverse=True)
    return tuple(found[:MOST_LISTED])
