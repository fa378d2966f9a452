"""What operators do with jobs and runs: trigger and wait, read output, name runs in short."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import servers
from tests.cli import commands
from tests.cli.test_cron_commands import (
    KEYS,
    OWN,
    PREFIX,
    arguments,
    definition,
    instance,
    place,
    ran,
)
from tests.conftest import bare_environment, watchbell
from watchbell.cron.validation import _OPTIONS

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
        assert "not started: skipped: the lock is held" in ran(place, "trigger", "job", code=1)
        assert "not started: skipped" in ran(place, "trigger", "job", "--wait", code=1)
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
        assert "there is no run 'abc1' in progress" in ran(place, command, "abc", code=1)
    assert "there is no job and no run 'zz'" in ran(place, "output", "zz", code=1)


def test_a_retried_run_says_which_attempt_it_is(place: servers.Single) -> None:
    put_run(place, "abc1", "job", 10, status="fail", retcode=1)
    detail = {"job": "job", "attempt": 2, "attempts": 4, "retry_at": 3600}
    place.server.call("HSET", OWN.details(), "abc1", json.dumps(detail))
    assert "fail, attempt 2 of 4, next at 1970-01-01 01:00:00" in ran(place, "runs", "job")


EVERY_OPTION = {
    "--tz": ("Europe/Rome", "timezone", "Europe/Rome"),
    "--from": ("2026-12-01", "start_date", "2026-12-01"),
    "--until": ("2027-12-01", "end_date", "2027-12-01"),
    "--jitter": ("2 minutes", "jitter", 120),
    "--host": ("web-1", "hosts", ["web-1"]),
    "--tag": ("gpu", "tags", ["gpu"]),
    "--missed": ("once", "missed", "once"),
    "--grace": ("5 minutes", "grace", 300),
    "--overlap": ("queue", "overlap", "queue"),
    "--retries": ("3", "retries", 3),
    "--retry-delay": ("10 s", "retry_delay", 10),
    "--retry-factor": ("1.5", "retry_factor", 1.5),
    "--limit": ("2 hours", "time_limit", 7200),
    "--kill-after": ("0", "kill_after", 0),
    "--linger": ("forever", "linger", None),
    "--daemons": ("leave", "daemons", "leave"),
    "--folder": ("/srv", "folder", "/srv"),
    "--user": ("alice", "user", "alice"),
    "--group": ("staff", "group", "staff"),
    "--nice": ("-5", "nice", -5),
    "--env": ("A=1", "environment", {"A": "1"}),
    "--rlimit": ("nofile=64", "limits", {"nofile": 64}),
    "--output-limit": ("100", "output_limit", 100),
}


def test_everything_that_a_definition_can_hold_has_an_option(place: servers.Single) -> None:
    words = [word for option, (value, *_) in EVERY_OPTION.items() for word in (option, value)]
    ran(place, "add", "job", "--at", "@daily", "--no-alert", *words, "--", "true")
    said = definition(place, "job")
    found = {**said["cron_args"], **said["watchbell"]}
    assert found == {
        "cronstring": "@daily",
        "alert": False,
        **{field: value for _, field, value in EVERY_OPTION.values()},
    }
    assert set(_OPTIONS) <= set(found)
    ran(place, "edit", "job", "--at", "@hourly", "--retries", "1")
    assert definition(place, "job")["cron_args"]["start_date"] == "2026-12-01"
    unset = [word for option in EVERY_OPTION for word in ("--unset", option.removeprefix("--"))]
    ran(place, "edit", "job", "--unset", "alert", *unset)
    assert definition(place, "job") == {
        "cron_args": {"cronstring": "@hourly"},
        "job_args": {"cmd": "true", "lock": True, "ttl": 60},
    }


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--retries", "101"), 1, "--retries: expected a whole number from 0 to 100"),
        (("--retry-factor", "0"), 1, "--retry-factor: expected a number from 1 to 100"),
        (("--nice", "20"), 1, "--nice: expected a whole number from -20 to 19"),
        (("--rlimit", "files=1"), 1, "--rlimit: expected an object with some of"),
        (("--rlimit", "nofile=x"), 2, "--rlimit nofile is 'x'; write a whole number"),
        (("--tag", "a b"), 1, "--tag: expected a list of at most 100 names"),
        (("--jitter", "soon"), 2, "--jitter"),
        (("--unset", "cmd"), 2, "--unset"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_and_changes_nothing(
    place: servers.Single, words: tuple[str, ...], code: int, said: str
) -> None:
    ran(place, "add", "job", "--at", "@daily", "--", "true")
    before = definition(place, "job")
    assert said in ran(place, "edit", "job", *words, code=code)
    assert definition(place, "job") == before


def test_a_job_is_shown_with_its_retries_and_where_it_runs(
    place: servers.Single, tmp_path: Path
) -> None:
    words = ["--retries", "3", "--tag", "gpu", "--host", "web-1"]
    ran(place, "add", "job", "--at", "@daily", *words, "--", "true")
    said = ran(place, "show", "job")
    assert "retried up to 3 times, after 1 minute, 2 minutes, 4 minutes\n" in said
    assert "runs only on web-1\n" in said
    assert "runs only on instances with the tags gpu\n" in said
    assert "no instance may run it" not in said
    with instance(place, tmp_path):
        assert "no instance may run it: " in ran(place, "show", "job")
        assert "'job' can't run: no instance may run it: " in ran(place, "trigger", "job", code=1)


def test_a_preview_begins_at_a_given_date(place: servers.Single) -> None:
    words = ["--tz", "Europe/Rome", "--from", "2027-03-28", "--count", "2"]
    said = ran(place, "preview", "30 2 * * *", *words)
    assert [line.split()[1] for line in said.splitlines()[1:]] == ["2027-03-28", "2027-03-29"]
    assert "clocks are set forward" in said
    at = ran(place, "preview", "0 0 * * *", "--from", "2027-01-01 00:00", "--count", "1", "--json")
    assert json.loads(at)["fires"] == [1_798_761_600]
    assert "was not understood" in ran(place, "preview", "@daily", "--from", "sometime", code=1)


def test_a_list_shows_the_first_jobs_and_says_how_many_more_there_are(
    place: servers.Single,
) -> None:
    said = json.dumps({"cron_args": {"cronstring": "@daily"}, "job_args": {}})
    for n in range(1, 13):
        place.server.call("HSET", KEYS.jobs(), f"job-{n:02}", said)
    lines = ran(place, "list", "--limit", "3").splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["job-01", "job-02", "job-03"]
    assert lines[-1] == "9 more; --limit 0 shows all."
    assert len(json.loads(ran(place, "list", "--limit", "3", "--json"))) == 3
    assert len(ran(place, "list", "--limit", "0").splitlines()) == 13


def test_doctor_has_a_section_about_cron(place: servers.Single, tmp_path: Path) -> None:
    ran(place, "add", "train", "--at", "@daily", "--tag", "gpu", "--", "true")
    place.server.call("HSET", KEYS.jobs(), "bad", "{}")
    where = ["--store", f"{place.url}?prefix={PREFIX}"]
    said = commands.ran("doctor", *where).stdout
    assert "no instance is running: 2 jobs are not run" in said
    assert "jobs with an invalid definition are not run: 1 job (bad)" in said
    with instance(place, tmp_path, WATCHBELL_CRON_TAGS="eu,web"):
        said = commands.ran("doctor", *where).stdout
        assert ran(place, "instances").splitlines()[1].endswith("  eu, web")
    assert "2 jobs; 0 of 100 places taken on 1 instance" in said
    assert "train: no instance may run it: " in said
    assert "lacks the tag gpu" in said
