"""What the processes of a job use of the CPU, from one sample to the next."""

from typing import Any

import pytest

from watchbell.fleet.agent.masking import Masker
from watchbell.fleet.agent.usage_sampler import JobUsageMeter, shown
from watchbell.process.usage import ProcessUsage


def process(pid: int, cpu: float, **more: Any) -> ProcessUsage:
    values: dict[str, Any] = {
        "parent": 1,
        "name": "sh",
        "command": "sh",
        "state": "R",
        "started": 5.0,
    }
    values |= {"threads": 1, "memory": 1_000, "disk_read": 0, "disk_written": 0, **more}
    return ProcessUsage(pid=pid, cpu=cpu, **values)


def test_each_process_has_its_share_since_the_sample_before() -> None:
    meter = JobUsageMeter()
    meter.add(10, [process(7, 3.0), process(8, 100.0, parent=7)])
    meter.add(12, [process(7, 3.5), process(8, 101.0, parent=7)])
    assert meter.shares == {7: 25.0, 8: 50.0}
    procs = shown([process(8, 101.0)], meter.shares, Masker())
    assert procs["8"]["cpu"] == 50.0


def test_the_past_of_a_child_that_ended_is_not_counted_again() -> None:
    meter = JobUsageMeter()
    meter.add(10, [process(7, 3.0), process(8, 100.0, parent=7)])
    meter.add(11, [process(7, 103.5)])
    assert meter.shares == {7: pytest.approx(50.0)}


def test_a_process_that_took_the_id_of_another_begins_anew() -> None:
    meter = JobUsageMeter()
    meter.add(10, [process(7, 0.0), process(8, 100.0, parent=7)])
    meter.add(11, [process(7, 100.0), process(8, 0.5, parent=7, started=9.0)])
    assert meter.shares == {7: 0.0, 8: 50.0}


def test_the_shares_of_all_processes_are_those_of_the_job() -> None:
    meter = JobUsageMeter()
    meter.add(10, [process(7, 1.0), process(8, 2.0, parent=7), process(9, 3.0, parent=8)])
    meter.add(11, [process(7, 1.1), process(8, 5.2, parent=7)])
    assert sum(meter.shares.values()) == pytest.approx(meter.cpu.current)
