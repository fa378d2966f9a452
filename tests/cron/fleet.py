"""Instances as processes of their own, and what their jobs leave behind."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.conftest import bare_environment, watchbell
from tests.cron.crew import HEARTBEAT, definition
from tests.faults.invariants import check, in_one_list, marked, none_alive
from tests.waiting import eventually
from watchbell.cron.instances import instances
from watchbell.cron.keys import Cron
from watchbell.cron.model import decoded
from watchbell.store.client import Store


class Row(NamedTuple):
    """What a job wrote when it began: who it is, and when, by the machine's own seconds."""

    job: str
    fire: int
    run: str
    pid: int
    at: float
    overlaps: bool


class Fleet:
    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._ledger = folder / "ledger"
        self.all: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        *,
        data: str = "",
        clock: dict[str, str] | None = None,
        fault: str = "",
        variables: dict[str, str] | None = None,
        **settings: object,
    ) -> subprocess.Popen[bytes]:
        """With these settings of cron; `clock` is an environment with a wrong one, `fault` the
        point at which the instance kills itself, and `variables` what else is in its environment.
        """
        name = data or f"data{len(self.all)}"
        usual = {"heartbeat": HEARTBEAT, "kill_after": 1, "stop_wait": 0, **settings}
        environment = {f"WATCHBELL_CRON_{key.upper()}": str(v) for key, v in usual.items()}
        environment["WATCHBELL_FAULT"] = fault
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                watchbell("run", "cron", "--store", self._url, "--data", str(self._folder / name)),
                env={**with_clock(bare_environment(**environment), clock), **(variables or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.all.append(process)
        return process

    async def ready(self, store: Store, *processes: subprocess.Popen[bytes]) -> None:
        chosen = processes or self.all
        wanted = {process.pid for process in chosen}

        async def are_there() -> bool:
            assert all(process.poll() is None for process in chosen), self.said()
            return wanted <= {beat.pid for beat in await instances(store)}

        # An instance takes a second of CPU to begin; a very busy machine gives it that in a minute.
        await eventually(are_there, 120, f"instances {sorted(wanted)}")

    def said(self) -> str:
        """The end of each instance's log."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in logs)

    def job(self, seconds: float, when: dict[str, str], **more: object) -> dict[str, object]:
        """One that notes when it begins, and whether another of its lock goes on meanwhile."""
        lock = self._folder / "flock-$WB_JOB"
        cmd = (
            f"exec 9>{lock}; flock -n 9 && how=alone || how=together; read at rest </proc/uptime; "
            f'echo "$WB_JOB $WB_FIRE $WB_RUN $$ $at $how" >>{self._ledger}; sleep {seconds:g}'
        )
        return definition(cmd, when, **more)  # type: ignore[arg-type]

    def rows(self, job: str = "") -> list[Row]:
        """What was noted, in order."""
        if not self._ledger.exists():
            return []
        rows = []
        for line in self._ledger.read_text().splitlines():
            name, fire, run, pid, at, how = line.split()
            rows.append(Row(name, int(fire), run, int(pid), float(at), how == "together"))
        return [row for row in rows if job in ("", row.job)]

    def end(self) -> None:
        for process in self.all:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.all:
            process.wait(60)

    @staticmethod
    def warden(process: subprocess.Popen[bytes]) -> psutil.Process:
        [child] = psutil.Process(process.pid).children()
        return child


def with_clock(environment: dict[str, str], clock: dict[str, str] | None) -> dict[str, str]:
    """The environment, with the wrong clock of the other one in place of its own."""
    if clock is None:
        return environment
    marks = ("LD_PRELOAD", "FAKETIME", "DONT_FAKE")
    return {
        **{name: value for name, value in environment.items() if not name.startswith(marks)},
        **{name: value for name, value in clock.items() if name.startswith(marks)},
    }


def alive(run: str) -> list[int]:
    return [pid for pid, marked_run in marked("WB_RUN").items() if marked_run == run]


async def check_invariants(store: Store) -> None:
    """I7 and I8: each run in one place, and no process of one that is over."""
    keys = Cron(store.prefix)
    records = {
        run.decode(): decoded(raw)
        for run, raw in (await store.call("HGETALL", keys.runs())).items()
    }
    places = {
        "active": await _members(store, keys.active()),
        "success": await _members(store, keys.results("success")),
        "fail": await _members(store, keys.results("fail")),
    }
    names = {record.job_name for record in records.values() if record}
    for verdict in ("success", "fail"):
        of_jobs = [
            run for job in names for run in await _members(store, keys.job_results(job, verdict))
        ]
        assert sorted(of_jobs) == sorted(places[verdict])
    statuses = {run: record.status for run, record in records.items() if record}
    over = [run for run, status in statuses.items() if status != "running"]
    assert sorted(places["active"]) == sorted(set(records) - set(over))
    check(in_one_list(records, places), none_alive(over, marked("WB_RUN")))


async def _members(store: Store, key: str) -> Sequence[str]:
    return [run.decode() for run in await store.call("ZRANGE", key, 0, -1)]


def seconds_of_tests(usual: int) -> int:
    """How long fires are watched; CRON_SECONDS=60 for a thorough look."""
    return int(os.environ.get("CRON_SECONDS", usual))
