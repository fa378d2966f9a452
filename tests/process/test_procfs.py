"""Marks tell a process from all others, and whether it is dead is only said where we can know."""

import os
import subprocess

import pytest

from watchbell.process.procfs import is_dead, mark_of, own_mark


def test_a_process_that_ended_has_no_mark() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        mark = mark_of(process.pid)
        assert mark == mark_of(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert mark_of(process.pid) == ""  # a zombie
    assert mark_of(process.pid) == ""


def test_a_living_supervisor_is_not_dead_and_another_with_its_pid_is() -> None:
    pid, began, namespace = own_mark().split(":")
    assert not is_dead(own_mark())
    assert is_dead(f"{pid}:{int(began) - 1}:{namespace}")


@pytest.mark.parametrize("mark", ["", ":", "x:y:z", "1:1", "99999999:1:1"])
def test_of_others_nobody_says_that_they_are_dead(mark: str) -> None:
    assert not is_dead(mark)
