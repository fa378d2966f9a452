"""What a definition may say, and what is said of one that can't be run."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cron.crew import definition
from watchbell.cron.model import Invalid, Job, RunOptions
from watchbell.cron.validation import LONGEST_NAME, read, with_state

GOOD = definition("pg_dump shop", {"cronstring": "30 2 * * *"})


def judged(said: Any, name: bytes | str = "backup") -> Job | Invalid:
    return read(name, json.dumps(said).encode())


def errors(said: Any, name: bytes | str = "backup") -> tuple[str, ...]:
    found = judged(said, name)
    assert isinstance(found, Invalid)
    return tuple(error.text for error in found.errors)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good definition with another value, or without one."""
    said: dict[str, Any] = json.loads(json.dumps(GOOD))
    *parts, last = path.split(".")
    place = said
    for part in parts:
        place = place.setdefault(part, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return said


def test_the_document_s_own_examples_are_valid() -> None:
    every_two = {
        "cron_args": {"second": "*/2"},
        "job_args": {"cmd": "echo every_two_seconds", "lock": True, "ttl": 10},
        "job_state": {"paused": True},
    }
    job = judged(every_two, "two")
    assert isinstance(job, Job)
    assert (job.cmd, job.lock, job.ttl, job.is_paused) == (
        "echo every_two_seconds",
        "two",
        10,
        True,
    )
    assert job.schedule.next_after(100) == 102
    minutely = {"cronstring": "* * * * *"}
    assert isinstance(judged(changed("cron_args", minutely)), Job)


@pytest.mark.parametrize(
    ("lock", "name", "overlap"),
    [
        (True, "backup", "skip"),
        ("shared", "shared", "skip"),
        (False, "", "allow"),
        ("", "", "allow"),
    ],
)
def test_a_lock_is_named_after_the_job_or_by_its_own_name(
    lock: bool | str, name: str, overlap: str
) -> None:
    job = judged(changed("job_args.lock", lock))
    assert isinstance(job, Job)
    assert (job.lock, job.overlap) == (name, overlap)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("cron_args", None, "cron_args: enter when it runs"),
        ("cron_args", {}, "cron_args: expected either cronstring or"),
        ("cron_args", [], "cron_args: expected an object"),
        (
            "cron_args.cronstring",
            "61 * * * *",
            "cron_args.cronstring: expected a minute from 0 to 59",
        ),
        ("cron_args.cronstring", "* * * * * *", "cron_args.cronstring: expected five fields"),
        ("cron_args.cronstring", "@reboot", "'@reboot' is not supported"),
        ("cron_args.timezone", "Mars/Base", "cron_args.timezone: expected a time zone"),
        ("job_args", None, "job_args: enter an object"),
        ("job_args", "x", "job_args: expected an object, not 'x'"),
        ("job_args.cmd", None, "job_args.cmd: enter the command to run"),
        ("job_args.cmd", " ", "job_args.cmd: expected the command to run"),
        ("job_args.cmd", "echo \0", "job_args.cmd: expected the command to run"),
        ("job_args.cmd", "x" * 100_001, "job_args.cmd: expected at most 100,000 bytes"),
        ("job_args.lock", None, "job_args.lock: enter true"),
        ("job_args.lock", 1, "job_args.lock: expected true, false or the name of a lock, not 1"),
        ("job_args.ttl", None, "job_args.ttl: enter for how many"),
        ("job_args.ttl", 0, "job_args.ttl: expected a whole number of seconds from 1"),
        ("job_args.ttl", -1, "job_args.ttl: expected"),
        ("job_args.ttl", 5.5, "job_args.ttl: expected"),
        ("job_args.ttl", True, "job_args.ttl: expected"),
        ("job_state", 5, "job_state: expected an object, not 5"),
        ("job_state.paused", "yes", "job_state.paused: expected true or false, not 'yes'"),
        ("watchbell", [], "watchbell: expected an object"),
        ("watchbell.color", "red", "watchbell: expected only alert, missed"),
        ("watchbell.alert", 1, "watchbell.alert: expected true or false"),
        ("watchbell.missed", "never", "watchbell.missed: expected one of skip, once, all"),
        ("watchbell.overlap", "kill", "watchbell.overlap: expected one of skip, queue, allow"),
        ("watchbell.grace", -1, "watchbell.grace: expected a whole number from 0"),
        ("watchbell.time_limit", 0, "watchbell.time_limit: expected a number of seconds"),
        ("watchbell.linger", "long", "watchbell.linger: expected a number of seconds"),
        (
            "watchbell.environment",
            {"A=": "b"},
            "watchbell.environment: expected an object of names",
        ),
        ("watchbell.limits", {"luck": 7}, "watchbell.limits: expected an object with some of"),
        ("watchbell.nice", 20, "watchbell.nice: expected a whole number from -20 to 19"),
    ],
)
def test_what_is_wrong_is_told_with_its_field(path: str, value: Any, complaint: str) -> None:
    found = errors(changed(path, value))
    assert any(complaint in error for error in found), found


def test_everything_that_is_wrong_is_told_at_once() -> None:
    said = {"cron_args": {"hour": "25"}, "job_args": {"cmd": "", "lock": 3, "ttl": "soon"}}
    assert len(errors(said)) == 4


def test_queueing_needs_something_to_queue_for() -> None:
    said = definition("x", lock=False, overlap="queue")
    reason = "a job without a lock can't queue; give it a lock, or use 'skip' or 'allow'"
    assert errors(said) == (f"watchbell.overlap: {reason}",)


@pytest.mark.parametrize(
    "name", [b"\xff", "", " ", "a\nb", "all", "x" * (LONGEST_NAME + 1), "a\x7f"]
)
def test_a_name_that_could_not_be_spoken_of_is_refused(name: bytes | str) -> None:
    assert any(error.startswith("name: ") for error in errors(GOOD, name))


@pytest.mark.parametrize("name", ["a:b", "nightly backup", "__reaper__", "größe", "a{b}", "100%"])
def test_a_name_may_be_most_things(name: str) -> None:
    assert isinstance(judged(GOOD, name), Job)


def test_numbers_are_taken_as_instances_of_cronken_take_them() -> None:
    for ttl in ("5", 5.0, 5):
        job = judged(changed("job_args.ttl", ttl))
        assert isinstance(job, Job)
        assert job.ttl == 5


def test_the_fingerprint_changes_with_the_schedule_alone() -> None:
    one, other = judged(GOOD), judged(changed("job_args.cmd", "true"))
    third = judged(changed("cron_args.timezone", "Europe/Rome"))
    assert isinstance(one, Job)
    assert isinstance(other, Job)
    assert isinstance(third, Job)
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != third.fingerprint


def test_conduct_is_read_whole() -> None:
    said = RunOptions(
        alert=False,
        missed="all",
        grace=5,
        overlap="queue",
        time_limit=1.5,
        kill_after=2,
        linger=None,
        daemons="leave",
        environment={"A": "b"},
        folder="/tmp",
        user="nobody",
        group="nogroup",
        nice=5,
        limits={"nofile": 64},
    )
    job = judged(GOOD | {"watchbell": msgspec.to_builtins(said)})
    assert isinstance(job, Job)
    assert job.options == said


@given(st.binary())
@example(b"[" * 100_000)
@example(b'{"a":' * 50_000)
@example(b'"\\ud800"')
@example(b'{"cron_args":{"second":"*"},"job_args":{"cmd":"\\ud800","lock":true,"ttl":1}}')
@example(b"1e999999")
@example(b"9" * 100_000)
def test_no_bytes_raise(raw: bytes) -> None:
    assert isinstance(read("job", raw), Job | Invalid)
    assert isinstance(read(raw[:20], raw), Job | Invalid)
    assert with_state(raw, paused=True) is None or with_state(raw, paused=True)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PARTS = st.sampled_from(["cron_args", "job_args", "job_state", "watchbell"])
FIELDS = st.sampled_from(
    [
        *("cmd", "lock", "ttl", "cronstring", "second", "timezone", "jitter", "paused"),
        *RunOptions.__struct_fields__,
    ]
)


@given(st.dictionaries(PARTS, st.dictionaries(FIELDS, JSON) | JSON))
def test_no_shape_raises(said: dict[str, Any]) -> None:
    assert isinstance(read("job", msgspec.json.encode(said)), Job | Invalid)


def test_state_is_changed_and_all_else_is_kept() -> None:
    raw = b'{"b":1,"job_state":{"paused":true,"x":[]},"a":{}}'
    told = with_state(raw, validation_errors="bad")
    assert told is not None
    assert json.loads(told) == {
        "b": 1,
        "job_state": {"paused": True, "x": [], "validation_errors": "bad"},
        "a": {},
    }
    assert with_state(told, validation_errors="bad") is None
    assert with_state(told, validation_errors=None) == raw
    assert with_state(b'{"job_state":{"paused":true}}', paused=None) == b"{}"
    assert with_state(b"5", paused=True) is None
    assert with_state(b'{"job_state":"x"}', paused=True) is None
    assert with_state(b'{"job_state":null}', paused=True) == b'{"job_state":{"paused":true}}'
