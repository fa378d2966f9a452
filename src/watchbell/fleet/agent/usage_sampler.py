"""What the processes of jobs use, once a second."""

from collections.abc import Iterable, Mapping
from typing import Any

from watchbell.fleet.agent.masking import Masker
from watchbell.process import usage
from watchbell.process.procfs import marks_of, session_of
from watchbell.process.run import Ended
from watchbell.process.usage import ProcessUsage

MOST_SHOWN = 100
"""Processes of a job that are reported."""
MOST_CONNECTIONS = 100
MOST_READ = 1_000
"""Processes of a job that are read: a fork bomb must not stop us."""


class Figure:
    """Of one kind of resource, as the document has it."""

    def __init__(self) -> None:
        self.min = self.max = self.total = self.current = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        self.min = min(self.min, value) if self.count else value
        self.max = max(self.max, value)
        self.current = value
        self.total += value
        self.count += 1

    def shown(self) -> dict[str, float]:
        if not self.count:
            return {}
        names = ("min", "max", "total", "count", "current")
        return {name: round(getattr(self, name), 3) for name in names}


class JobUsageMeter:
    """Of all processes of one job."""

    def __init__(self) -> None:
        self.cpu, self.mem = Figure(), Figure()
        self._disk: dict[int, int] = {}
        self._connections = 0
        self._samples = 0
        self._last: tuple[float, float] | None = None
        self._processes: dict[int, ProcessUsage] = {}
        self.shares: dict[int, float] = {}
        """Percent of one core, by process, since the sample before."""

    def add(self, at: float, processes: list[ProcessUsage]) -> None:
        """`at`: seconds of the monotonic clock."""
        seconds = sum(process.cpu for process in processes)
        if self._last and at > self._last[0]:
            passed = at - self._last[0]
            self.cpu.add(max(seconds - self._last[1], 0) / passed * 100)
            spent = spent_since(self._processes, processes)
            self.shares = {pid: one / passed * 100 for pid, one in spent.items()}
        self._last, self._processes = (at, seconds), {one.pid: one for one in processes}
        self.mem.add(sum(process.memory for process in processes))
        for process in processes:
            self._disk[process.pid] = process.disk_read + process.disk_written

    def add_connections(self, count: int) -> None:
        self._connections += count
        self._samples += 1

    def finish(self, ended: Ended) -> None:
        """A job that was too short for samples has one for its whole time."""
        if not self.cpu.count and ended.seconds > 0:
            self.cpu.add((ended.user + ended.system) / ended.seconds * 100)
        if ended.peak > self.mem.max:
            self.mem.add(ended.peak)

    @property
    def disk(self) -> dict[str, float]:
        return {"total": sum(self._disk.values()), "count": 1} if self._disk else {}

    @property
    def net(self) -> dict[str, float]:
        if not self._samples:
            return {}
        return {"total": self._connections, "count": self._samples}


def spent_since(
    before: Mapping[int, ProcessUsage], processes: Iterable[ProcessUsage]
) -> dict[int, float]:
    """Seconds of CPU time, by process. The time of a child that has ended is its parent's now, so
    what the child had spent before is no news."""
    current = {one.pid: one for one in processes}
    inherited: dict[int, float] = {}
    for pid, old in before.items():
        if pid not in current or current[pid].started != old.started:
            inherited[old.parent] = inherited.get(old.parent, 0) + old.cpu
    spent = {}
    for pid, one in current.items():
        known = before.get(pid)
        past = known.cpu + inherited.get(pid, 0) if known and known.started == one.started else 0
        spent[pid] = max(one.cpu - past, 0)
    return spent


def shown(
    processes: Iterable[ProcessUsage], shares: Mapping[int, float], masker: Masker
) -> dict[str, dict[str, Any]]:
    """Processes, as the document has them. `shares`: what each uses of one core, in percent."""
    return {
        str(one.pid): {
            "pid": one.pid,
            "parentPid": one.parent,
            "command": masker.mask_text(one.command or one.name),
            "state": one.state,
            "cpu": round(shares.get(one.pid, 0), 2),
            "memRss": one.memory,
            "disk": one.disk_read + one.disk_written,
            "started": round(one.started, 2),
        }
        for one in list(processes)[:MOST_SHOWN]
    }


def connections(processes: Iterable[ProcessUsage]) -> tuple[dict[str, Any], ...]:
    found = usage.connections([one.pid for one in processes])
    return tuple(
        {
            "pid": one.pid,
            "type": one.protocol,
            "state": one.state,
            "local_addr": one.local,
            "remote_addr": one.remote,
        }
        for one in found[:MOST_CONNECTIONS]
    )


def orphans(wardens: Iterable[int], mains: dict[int, str]) -> dict[str, list[int]]:
    """Processes that have lost their parents and belong to jobs, by job. `mains` are the main
    processes, with their jobs."""
    found: dict[str, list[int]] = {}
    for warden in wardens:
        for pid in usage.children(warden):
            if pid in mains:
                continue
            job = mains.get(session_of(pid)) or marks_of(pid).get("WB_RUN", "")
            found.setdefault(job, []).append(pid)
    return found
