"""`watchbell cron convert`: cron jobs that become events."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests import servers
from tests.cli import commands
from watchbell.cli.cron.conversion import converted
from watchbell.cron import hand_over
from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Job
from watchbell.cron.validation import from_fields, read
from watchbell.errors import Changed, Refused
from watchbell.jobs import timetable, validation
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Event
from watchbell.store.client import Store

PREFIX = "ours:"
KEYS = Cron(PREFIX)
OWN = CronOwn(PREFIX)
NOON = 1_800_014_400


@pytest.fixture
def place(server: servers.Single) -> Iterator[servers.Single]:
    server.server.call("FLUSHALL")
    yield server
    server.server.call("FLUSHALL")


def ran(place: servers.Single, *words: str, code: int = 0, **environment: str) -> str:
    """What was printed, and what was complained of."""
    at = words.index("--") if "--" in words else len(words)
    command = [*words[:at], "--store", f"{place.url}?prefix={PREFIX}", *words[at:]]
    done = commands.ran(*command, TZ="UTC", **environment)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def event(place: servers.Single, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran(place, "events", "show", name, "--json"))
    return found


def is_paused(place: servers.Single, name: str) -> bool:
    return bool(place.server.call("SISMEMBER", KEYS.paused(), name))


def job(times: dict[str, Any], lock: Any = True, **options: Any) -> Job:
    args = {"cmd": "date", "lock": lock, "ttl": 60}
    made = from_fields("tidy", {"cron_args": times, "job_args": args, "watchbell": options})
    assert isinstance(made, Job), made
    return made


def fires(made: Event) -> list[int]:
    times = timetable.of(made.timings, "UTC")
    return [
        int(instant)
        for minute in times.fires_between(NOON, NOON + 40 * 86_400)
        for instant in times.fire(minute).instants or [minute]
    ]


@pytest.mark.parametrize(
    "times",
    [
        {"cronstring": "30 2 * * *", "timezone": "Europe/Rome"},
        {"cronstring": "*/15 8-17 * * 1-5"},
        {"cronstring": "0 0 1 * 0"},
        {"cronstring": "@every 90m"},
        {"minute": "5", "hour": "3", "day": "last"},
        {"minute": "0", "hour": "*/6", "year": "2027-2028"},
        {"cronstring": "0 12 * * *", "start_date": "2027-01-20", "end_date": "2027-01-25"},
    ],
)
def test_the_event_runs_at_the_times_of_the_job(times: dict[str, Any]) -> None:
    one = job(times)
    made = validation.read("event", converted(one, "/bin/sh", {}).event)
    assert isinstance(made, Event)
    expected = list(one.schedule.fires_between(NOON, NOON + 40 * 86_400))
    assert expected
    assert fires(made) == expected


def test_seconds_become_a_timing_of_their_own() -> None:
    made = converted(job({"second": "*/20"}), "/bin/sh", {}).event
    assert {"type": "precision", "seconds": [0, 20, 40]} in made["timings"]


def test_a_job_without_times_becomes_an_event_that_people_run() -> None:
    made = converted(job({"cronstring": "@never"}), "/bin/sh", {}).event
    assert made["timings"] == [{"type": "manual"}]


@pytest.mark.parametrize("times", [{"week": "1-10"}, {"day": "2nd mon"}])
def test_a_schedule_that_events_do_not_have_is_refused(times: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="events have no"):
        converted(job(times), "/bin/sh", {})


@pytest.mark.parametrize(
    ("lock", "overlap", "expected"),
    [
        (True, "skip", [("job", 1)]),
        (True, "queue", [("job", 1), ("queue", 1)]),
        (True, "allow", []),
        (False, "allow", []),
    ],
)
def test_overlapping_runs_become_limits(lock: bool, overlap: str, expected: list[Any]) -> None:
    made = converted(job({"minute": "0"}, lock, overlap=overlap), "/bin/sh", {}).event
    assert [(one["type"], one["amount"]) for one in made["limits"]] == expected


@pytest.mark.parametrize(
    ("lock", "options", "words"),
    [
        (False, {}, "every instance"),
        ("shared", {}, "'shared'"),
        (True, {}, "aborted"),
        (True, {"retries": 3}, "delay before a retry"),
        (True, {"grace": 5}, "how late"),
        (True, {"alert": False}, "check events"),
        (True, {"hosts": ["db-9"]}, "no agent runs on db-9"),
        (True, {"tags": ["ssd"]}, "tagged ssd"),
        (True, {"limits": {"nofile": 9}}, "nofile"),
        (True, {"output_limit": 5}, "log of a job"),
        (True, {"linger": 1}, "linger"),
    ],
)
def test_what_an_event_can_not_do_is_named(lock: Any, options: dict[str, Any], words: str) -> None:
    found = converted(job({"minute": "0"}, lock, **options), "/bin/sh", {}).omissions
    assert [reason for reason in found if words in reason]


def test_a_job_is_converted_and_continues(place: servers.Single) -> None:
    ran(
        *(place, "cron", "add", "Nightly backup", "--at", "30 2 * * *", "--tz", "Europe/Rome"),
        *("--limit", "1 hour", "--retries", "2", "--retry-delay", "90", "--user", "postgres"),
        *("--env", "A=it's", "--folder", "/srv/my files", "--", "pg_dump shop"),
    )
    said = ran(place, "cron", "convert", "Nightly backup")
    assert "at 02:30 every day, Europe/Rome" in said
    assert "not carried over: the delay before a retry does not grow" in said
    assert "`watchbell events enable nightly_backup`" in said
    made = event(place, "nightly_backup")
    assert (made["enabled"], made["plugin"]) == (False, "shell_as_postgres")
    assert made["params"]["script"] == (
        "#!/bin/bash\nexport A='it'\"'\"'s'\ncd '/srv/my files' || exit 1\npg_dump shop\n"
    )
    assert {one["type"]: one for one in made["limits"]} == {
        "time": {"type": "time", "duration": 3600},
        "retry": {"type": "retry", "amount": 2, "duration": 90},
        "job": {"type": "job", "amount": 1},
    }
    plugin = json.loads(ran(place, "plugins", "show", "shell_as_postgres"))
    assert (plugin["uid"], plugin["command"]) == ("postgres", "watchbell-plugin shell")
    assert not is_paused(place, "Nightly backup")
    again = ran(place, "cron", "convert", "Nightly backup", code=1)
    assert "there is an event 'nightly_backup' already" in again
    ran(place, "cron", "convert", "Nightly backup", "--id", "other", "--target", "main")


def test_a_replaced_job_is_paused_and_its_event_begins_after_its_last_run(
    place: servers.Single,
) -> None:
    ran(place, "cron", "add", "tidy", "--at", "0 3 * * *", "--", "date")
    mark, _, fingerprint = place.server.call("HGET", OWN.fired(), "tidy").partition(":")
    last = int(mark) - 1_000
    place.server.call("HSET", OWN.fired(), "tidy", f"{last}:{fingerprint}")
    said = ran(place, "cron", "convert", "tidy", "--replace")
    assert "paused job tidy" in said
    assert is_paused(place, "tidy")
    assert event(place, "tidy").get("enabled", True)
    assert int(place.server.call("HGET", Jobs(PREFIX).cursors(), "tidy")) == last
    after = place.server.call("HGET", OWN.fired(), "tidy")
    assert after.endswith(":paused")
    assert int(after.split(":")[0]) > last
    assert "cron.pause" in ran(place, "audit", "list")


def test_a_replaced_job_is_removed_on_request(place: servers.Single) -> None:
    ran(place, "cron", "add", "tidy", "--at", "0 3 * * *", "--", "date")
    assert "needs --replace" in ran(place, "cron", "convert", "tidy", "--remove", code=2)
    assert "removed job tidy" in ran(place, "cron", "convert", "tidy", "--replace", "--remove")
    assert not place.server.call("HEXISTS", KEYS.jobs(), "tidy")
    assert event(place, "tidy").get("enabled", True)


def test_nothing_is_changed_if_the_event_can_not_be_made(place: servers.Single) -> None:
    ran(place, "cron", "add", "tidy", "--at", "0 3 * * *", "--", "date")
    said = ran(place, "cron", "convert", "tidy", "--replace", "--id", "no id", code=1)
    assert "id" in said
    assert not is_paused(place, "tidy")
    assert "there is no job 'other'" in ran(place, "cron", "convert", "other", code=1)


def test_a_conversion_that_is_killed_can_be_repeated(place: servers.Single) -> None:
    ran(place, "cron", "add", "tidy", "--at", "* * * * *", "--", "date")
    fault = {"WATCHBELL_FAULT": "convert.handed_over"}
    ran(place, "cron", "convert", "tidy", "--replace", code=-signal.SIGKILL, **fault)
    assert is_paused(place, "tidy")
    assert "There are no events" in ran(place, "events", "list")
    said = ran(place, "cron", "convert", "tidy", "--replace")
    assert "The event is disabled; `watchbell events enable tidy`" in said
    assert is_paused(place, "tidy")


async def test_a_job_that_changed_meanwhile_is_not_handed_over(store: Store) -> None:
    keys = Cron(store.prefix)
    raw = b'{"cron_args":{"minute":"0"},"job_args":{"cmd":"date","lock":true,"ttl":9}}'
    await store.call("HSET", keys.jobs(), "tidy", raw + b" ")
    one = read(b"tidy", raw)
    assert isinstance(one, Job)
    with pytest.raises(Changed):
        await hand_over.hand_over(store, one, raw)
    assert await store.call("SCARD", keys.paused()) == 0
