"""What operators do with jobs and runs: trigger and wait, read output, name runs in short."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import servers
from tests.cli.test_cron_commands import (
    KEYS,
    OWN,
    arguments,
    instance,
    place,
    ran,
)
from tests.conftest import bare_environment, watchbell

__all__ = ["place"]


def put_run(place: servers.Single, run: str, job: str, ended: float, **more: object) -> None:
    """A run that ended, with one line of output."""
    record = {"job_name": job, "start_time": ended - 1, "host": "h", "status": "success"}
    record |= {"retcode": 0, "output": "", "duration": 1, **more}
    place.server.call("HSET", KEYS.runs(), run, json.dumps(record))
    place.server.call("ZADD", KEYS.results("success"), ended, run)
    place.server.call("ZADD", KEYS.job_results(job, "success"), ended, run)
    place.server.call("ZADD", KEYS.output(run), ended, f"1\toutput of {run}\n")
    place.server.call("PEXPIRE", KEYS.output(run), 60_000)


def test_a_trigger_prints_the_id_of_the_run_it_began(place: servers.Single, tmp_path: Path) -> None:
    ran(place, "add", "job", "--at", "@never", "--", "true")
    ran(place, "add", "each", "--at", "@never", "--everywhere", "--", "true")
    with instance(place, tmp_path):
        for name in ("job", "each"):
            said = ran(place, "trigger", name)
            run = said.removeprefix(f"triggered {name}: run ").strip()
            assert [one["id"] for one in json.loads(ran(place, "runs", name, "--json"))] == [run]


@pytest.mark.parametrize(
    ("cmd", "code", "printed"),
    [
        ("echo one; echo two >&2", 0, "one\ntwo\n"),
        ("echo one; exit 7", 7, "one\n"),
        ("kill -TERM $$", 128 + 15, ""),
        ("kill -9 $$", 128 + 9, ""),
    ],
)
def test_who_waits_for_a_trigger_gets_its_output_and_exit_code(
    place: servers.Single, tmp_path: Path, cmd: str, code: int, printed: str
) -> None:
    ran(place, "add", "job", "--at", "@never", "--", cmd)
    with instance(place, tmp_path):
        done = subprocess.run(
            watchbell(*arguments(place, "trigger", "job", "--wait")),
            env=bare_environment(),
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stdout.decode()) == (code, printed)


def test_output_comes_while_the_run_goes_on(place: servers.Single, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    cmd = f"echo begun; until test -e {gate}; do sleep 0.05; done; echo done"
    ran(place, "add", "job", "--at", "@never", "--", cmd)
    with (
        instance(place, tmp_path / "data"),
        subprocess.Popen(
            watchbell(*arguments(place, "trigger", "job", "--wait")),
            env=bare_environment(),
            stdout=subprocess.PIPE,
        ) as waiting,
    ):
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"begun\n"
        assert "not run: skipped: the lock is held" in ran(place, "trigger", "job", code=1)
        assert "not run: skipped" in ran(place, "trigger", "job", "--wait", code=1)
        assert ran(place, "output", "job") == "begun\n"
        with subprocess.Popen(
            watchbell(*arguments(place, "output", "job", "-f")),
            env=bare_environment(),
            stdout=subprocess.PIPE,
        ) as following:
            assert following.stdout is not None
            assert following.stdout.readline() == b"begun\n"
            gate.touch()
            assert following.stdout.read() == b"done\n"
        assert waiting.stdout.read() == b"done\n"
    assert (waiting.returncode, following.returncode) == (0, 0)


def test_the_output_of_a_job_is_that_of_its_last_run(place: servers.Single) -> None:
    ran(place, "add", "job", "--at", "@never", "--", "true")
    assert "job 'job' has not run yet" in ran(place, "output", "job", code=1)
    put_run(place, "aaaa1", "job", 10)
    put_run(place, "aaaa2", "job", 20)
    assert ran(place, "output", "job") == "output of aaaa2\n"


def test_a_run_is_named_by_the_beginning_of_its_id(place: servers.Single) -> None:
    put_run(place, "abc1", "job", 10)
    put_run(place, "abd2", "job", 20)
    put_run(place, "abd2x", "job", 30)
    assert ran(place, "output", "abc") == "output of abc1\n"
    assert ran(place, "output", "abd2") == "output of abd2\n"
    said = ran(place, "output", "ab", code=1)
    assert "several runs begin with 'ab': abc1, abd2, abd2x; give more of the id" in said
    for command in ("terminate", "kill"):
        assert "several runs begin with 'ab'" in ran(place, command, "ab", code=1)
        assert "no run 'abc' is under way" in ran(place, command, "abc", code=1)
    assert "there is no job and no run 'zz'" in ran(place, "output", "zz", code=1)


def test_a_retried_run_says_which_attempt_it_is(place: servers.Single) -> None:
    put_run(place, "abc1", "job", 10, status="fail", retcode=1)
    detail = {"job": "job", "attempt": 2, "attempts": 4, "retry_at": 3600}
    place.server.call("HSET", OWN.details(), "abc1", json.dumps(detail))
    assert "fail, attempt 2 of 4, the next at 1970-01-01 01:00:00" in ran(place, "runs", "job")
