"""`watchbell cron` as people type it, with an instance that runs what they add."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.cli import commands
from tests.conftest import bare_environment, watchbell
from tests.waiting import PATIENCE, wait_until
from watchbell.cron.keys import Cron, CronOwn

PREFIX = "ours:"
KEYS = Cron(PREFIX)
OWN = CronOwn(PREFIX)


@pytest.fixture
def place(server: servers.Single) -> Iterator[servers.Single]:
    server.server.call("FLUSHALL")
    yield server
    server.server.call("FLUSHALL")


def arguments(place: servers.Single, *words: str) -> list[str]:
    """`cron WORDS…` on the test's store; what comes after `--` stays at the end."""
    at = words.index("--") if "--" in words else len(words)
    options = ["--store", f"{place.url}?prefix={PREFIX}"]
    return ["cron", *words[:at], *options, *words[at:]]


def ran(
    place: servers.Single, *words: str, given: str = "", code: int = 0, zone: str = "UTC"
) -> str:
    """What was printed, and what was complained of."""
    done = commands.ran(*arguments(place, *words), given=given, TZ=zone)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def listed(place: servers.Single) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(ran(place, "list", "--json"))}


def definition(place: servers.Single, name: str) -> Any:
    return json.loads(place.server.call("HGET", KEYS.jobs(), name))


@contextmanager
def instance(place: servers.Single, data: Path, **environment: str) -> Iterator[None]:
    options = ["--store", f"{place.url}?prefix={PREFIX}", "--data", str(data)]
    process = subprocess.Popen(
        watchbell("run", "cron", *options),
        env=bare_environment(**environment),
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: json.loads(ran(place, "instances", "--json")), 30)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_a_job_is_added_as_the_document_has_it(place: servers.Single) -> None:
    said = ran(
        place, "add", "backup", "--at", "30 2 * * *", "--tz", "Europe/Rome", "--", "pg_dump", "a b"
    )
    assert "at 02:30 every day, Europe/Rome" in said
    assert definition(place, "backup") == {
        "cron_args": {"cronstring": "30 2 * * *", "timezone": "Europe/Rome"},
        "job_args": {"cmd": "pg_dump 'a b'", "lock": True, "ttl": 60},
    }


def test_an_edit_changes_what_is_given_and_nothing_else(place: servers.Single) -> None:
    ran(place, "add", "beat", "--on", "second=*/10", "--env", "A=1", "--", "date")
    ran(place, "edit", "beat", "--limit", "2 minutes", "--no-alert", "--overlap", "queue")
    said = definition(place, "beat")
    assert said["cron_args"] == {"second": "*/10"}
    assert said["job_args"]["cmd"] == "date"
    assert said["watchbell"] == {
        "environment": {"A": "1"},
        "alert": False,
        "overlap": "queue",
        "time_limit": 120,
    }


def test_of_edits_at_the_same_time_none_undoes_another(place: servers.Single) -> None:
    ran(place, "add", "job", "--at", "@daily", "--", "true")
    edits = {"grace": 60, "time_limit": 60, "folder": "/srv", "missed": "once"}
    options = {"time_limit": "limit"}
    at_once = {
        field: subprocess.Popen(
            watchbell(
                *arguments(place, "edit", "job", f"--{options.get(field, field)}", f"{value}")
            ),
            env=bare_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for field, value in edits.items()
    }
    refused = {field: process.communicate()[1] for field, process in at_once.items()}
    done = {field: edits[field] for field, error in refused.items() if not error}
    assert done
    assert definition(place, "job")["watchbell"] == done
    assert all(b"changed by somebody else" in error for error in refused.values() if error)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ("add", "a", "--at", "61 * * * *", "--", "true"),
            1,
            "--at: expected a minute from 0 to 59",
        ),
        (("add", "a", "--", "true"), 2, "say when"),
        (("add", "a", "--at", "@daily", "--on", "hour=1", "--", "true"), 2, "can't be combined"),
        (("add", "a", "--on", "hour", "--", "true"), 2, "write NAME=VALUE"),
        (("add", "a", "--at", "@daily"), 2, "COMMAND"),
        (("add", "a", "--at", "@daily", "--lock", "", "--", "true"), 2, "--lock needs a name"),
        (
            ("add", "a", "--at", "@daily", "--lock", "b", "--everywhere", "--", "true"),
            2,
            "--lock and --everywhere can't be combined",
        ),
        (("add", "all", "--at", "@daily", "--", "true"), 1, "means every job"),
        (("add", "a", "--at", "@daily", "--tz", "Mars/Base", "--", "true"), 1, "Mars/Base"),
        (("edit", "nothing", "--at", "@daily"), 1, "there is no job 'nothing'"),
        (("edit", "nothing"), 2, "say what to change"),
        (("remove", "nothing"), 1, "there is no job 'nothing'"),
        (("pause", "nothing"), 1, "there is no job 'nothing'"),
        (("show", "nothing"), 1, "there is no job 'nothing'"),
        (("output", "nothing"), 1, "there is no job and no run 'nothing'"),
        (("runs", "nothing"), 1, "there is no job 'nothing'"),
        (("trigger", "nothing"), 1, "there is no job 'nothing'"),
        (("kill", "nothing"), 1, "there is no run 'nothing'"),
        (("preview", "@reboot"), 1, "@reboot"),
        (("preview", "* * *"), 1, "EXPR"),
        (("import", "crontab", "/nonexistent/file"), 1, "can't be read"),
        (("reload",), 1, "no instance of cron is running"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    place: servers.Single, words: tuple[str, ...], code: int, said: str
) -> None:
    told = ran(place, *words, code=code)
    assert said in told
    assert listed(place) == {}


def test_a_preview_speaks_in_words_and_dates(place: servers.Single) -> None:
    words = ran(place, "preview", "*/15 8-18 * * mon-fri", "--tz", "Europe/Rome", "--count", "3")
    assert words.startswith("every 15 minutes from 08:00 to 18:59 on weekdays, Europe/Rome\n")
    assert len(words.splitlines()) == 4


def test_the_help_says_of_each_command_in_whole_what_it_does() -> None:
    helped = subprocess.run(
        watchbell("cron", "--help"), env=bare_environment(), capture_output=True, check=True
    )
    lines = helped.stdout.decode().partition("Commands:\n")[2].splitlines()
    assert len(lines) > 15
    assert [line for line in lines if line.endswith("...")] == []


def test_a_job_that_never_fires_says_so_once(place: servers.Single) -> None:
    for times, said in (("@never", "never by itself"), ("0 0 30 2 *", "This schedule never runs")):
        for words in (("preview", times), ("add", f"job {said[:3]}", "--at", times, "--", "true")):
            told = ran(place, *words)
            assert (told.count("never"), told.count(said)) == (1, 1)


def test_times_are_told_as_the_jobs_zone_has_them_and_as_the_readers(place: servers.Single) -> None:
    words = ran(place, "add", "a", "--at", "30 2 * * *", "--tz", "Asia/Kolkata", "--", "true")
    assert re.search(r"next run: \w{3} \S+ 02:30:00 IST   \S+ 21:00:00 local time\n", words)
    assert (
        len(re.findall(r" 02:30:00 IST   \S+ 21:00:00 local time\n", ran(place, "show", "a"))) == 3
    )
    assert "local time" not in ran(place, "preview", "30 2 * * *", "--tz", "Africa/Abidjan")


def test_a_preview_says_what_clocks_that_are_set_do_to_a_fire(place: servers.Single) -> None:
    words = ran(place, "preview", "30 2 29 3 *", "--tz", "Europe/Rome", "--count", "20")
    assert "clocks are set forward and never show 02:30; it runs right after" in words


def test_a_run_says_once_that_it_was_frozen_or_skipped(place: servers.Single) -> None:
    record = {"job_name": "a", "start_time": 5, "host": "h", "status": "frozen"}
    place.server.call("HSET", KEYS.runs(), "r1", json.dumps(record))
    detail = {"reason": "frozen: no heartbeat from h"}
    place.server.call("HSET", OWN.details(), "r1", json.dumps(detail))
    place.server.call("ZADD", KEYS.results("fail"), 5, "r1")
    skipped = {"job": "a", "first": 1, "last": 1, "count": 1, "reason": "skipped: so", "at": 2}
    place.server.call("LPUSH", OWN.omissions(), json.dumps(skipped))
    said = ran(place, "runs")
    assert "  frozen: no heartbeat from h  " in said
    assert "  skipped: so" in said


def test_jobs_go_out_as_json_and_come_back(place: servers.Single) -> None:
    ran(place, "add", "one", "--at", "@daily", "--paused", "--", "true")
    ran(place, "add", "two", "--on", "second=5", "--everywhere", "--", "true")
    exported = ran(place, "export")
    for name in ("one", "two"):
        ran(place, "remove", name)
    assert "add --yes" in ran(place, "import", "json", "-", given=exported, code=1)
    assert listed(place) == {}
    assert "imported 2 jobs" in ran(place, "import", "json", "-", "--yes", given=exported)
    assert json.loads(ran(place, "export")) == json.loads(exported)
    told = ran(place, "import", "json", "-", "--yes", given=exported, code=1)
    assert "--replace replaces existing jobs" in told


def test_a_crontab_is_imported_but_for_what_makes_no_sense(place: servers.Single) -> None:
    text = "0 4 * * * /usr/bin/tidy\n@reboot hello\n"
    said = ran(place, "import", "crontab", "-", "--yes", given=text)
    assert "line 2 is skipped" in said
    assert definition(place, "tidy")["job_args"]["cmd"] == "/usr/bin/tidy"
    assert "0 4 * * * /usr/bin/tidy" in ran(place, "export", "--form", "crontab")


def test_who_imports_times_of_another_zone_is_told(place: servers.Single) -> None:
    for text, zone, is_told in (
        ("@daily true", "Asia/Tokyo", True),
        ("CRON_TZ=Asia/Tokyo\n@daily true", "Asia/Tokyo", False),
        ("@daily true", "UTC", False),
    ):
        said = ran(place, "import", "crontab", "-", "--yes", "--replace", given=text, zone=zone)
        assert ("Times without a time zone will mean UTC" in said) is is_told


def test_an_export_leaves_out_what_could_not_come_back(place: servers.Single) -> None:
    ran(place, "add", "good", "--at", "@daily", "--", "true")
    ran(place, "add", "asleep", "--at", "@daily", "--paused", "--", "true")
    place.server.call("HSET", KEYS.jobs(), "list", "[]")
    said = ran(place, "export")
    assert "list is skipped: the definition is not a JSON object" in said
    exported = said[: said.rindex("}") + 1]
    assert set(json.loads(exported)) == {"good", "asleep"}
    assert "imported 2" in ran(place, "import", "json", "-", "--yes", "--replace", given=exported)
    crontab = ran(place, "export", "--form", "crontab")
    assert "# asleep is left out: it is paused" in crontab
    assert crontab.count("@daily true") == 1


def test_a_bad_definition_of_somebody_else_is_told_and_harms_no_other(
    place: servers.Single,
) -> None:
    ran(place, "add", "good", "--at", "@daily", "--", "true")
    place.server.call("HSET", KEYS.jobs(), "bad", json.dumps({"cron_args": {}}))
    place.server.call("HSET", KEYS.jobs(), "worse", b"\xff")
    assert "1 of 3 jobs valid" in ran(place, "validate", code=1)
    found = listed(place)
    assert found["good"]["errors"] == []
    assert any("job_args" in error for error in found["bad"]["errors"])
    assert found["worse"]["errors"]
    assert "validation_errors" in definition(place, "bad")["job_state"]
    assert "'bad' can't run: " in ran(place, "trigger", "bad", code=1)


def test_keys_of_wrong_types_stop_no_list_and_are_told_in_one_line(place: servers.Single) -> None:
    ran(place, "add", "good", "--at", "@daily", "--", "true")
    for key in (KEYS.job_results("good", "fail"), KEYS.paused()):
        place.server.call("SET", key, "what is this")
    assert listed(place)["good"]["paused"] is False
    assert "a key of a wrong type" in ran(place, "runs", "good", code=1)
    assert "a key of a wrong type" in ran(place, "pause", "good", code=1)


def test_a_triggered_job_runs_is_followed_and_ended(place: servers.Single, tmp_path: Path) -> None:
    ran(place, "add", "hello", "--at", "@never", "--", "echo one; echo two >&2; exit 3")
    ran(place, "add", "long", "--at", "@never", "--", "echo begun; sleep 100")
    with instance(place, tmp_path):
        ran(place, "trigger", "hello")
        (run,) = wait_until(lambda: runs(place, "hello", "--only", "fail"), 20)
        assert (run["retcode"], run["status"]) == (3, "fail")
        assert ran(place, "output", run["id"]) == "one\ntwo\n"

        ran(place, "trigger", "long")
        (run,) = wait_until(lambda: runs(place, "long", "--only", "running"), 20)
        following = subprocess.Popen(
            watchbell(*arguments(place, "output", run["id"], "--follow")),
            env=bare_environment(),
            stdout=subprocess.PIPE,
        )
        assert following.stdout is not None
        assert following.stdout.readline() == b"begun\n"
        ran(place, "terminate", run["id"])
        assert following.wait(60) == 0
        following.stdout.close()
        (ended,) = wait_until(lambda: runs(place, "long", "--only", "fail"), 20)
        assert ended["retcode"] == -15

        host = json.loads(ran(place, "instances", "--json"))[0]["host"]
        ran(place, "drain", host)


def ended_run(place: servers.Single, run: str, *pieces: bytes, last: str = "") -> None:
    """A run that is over, with what it printed."""
    record = {"job_name": "a", "start_time": 5, "host": "h", "status": "success", "output": last}
    place.server.call("HSET", KEYS.runs(), run, json.dumps(record))
    for number, piece in enumerate(pieces, 1):
        place.server.call("ZADD", KEYS.output(run), number, f"{number}\t".encode() + piece)
    if pieces:
        place.server.call("EXPIRE", KEYS.output(run), 60)


def test_output_is_printed_byte_for_byte(place: servers.Single) -> None:
    pieces = [b"10%\r", b"20%\r", b"\xff\x00\n", b"x" * 9, b"x" * 9, b"no end"]
    ended_run(place, "r1", *pieces)
    command = watchbell(*arguments(place, "output", "r1"))
    printed = subprocess.run(command, env=bare_environment(), capture_output=True, check=True)
    assert printed.stdout == b"".join(pieces)


def test_with_times_each_piece_has_a_line(place: servers.Single) -> None:
    ended_run(place, "r1", b"10%\r", b"done\n")
    lines = ran(place, "output", "r1", "--times").splitlines()
    assert [line for line in lines if line] == [
        "1970-01-01 00:00:01 10%",
        "1970-01-01 00:00:02 done",
    ]


def test_the_last_lines_outlive_the_output(place: servers.Single) -> None:
    ended_run(place, "r1", last="one\ntwo\n")
    said = ran(place, "output", "r1")
    assert said.startswith("one\ntwo\n")
    assert "no longer kept" in said


def runs(place: servers.Single, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ran(place, "runs", *words, "--json"))
    return found
