"""The commands that send events, as users and their scripts meet them."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.cli import commands
from tests.conftest import bare_environment, watchbell
from tests.waiting import wait_until
from watchbell.alerting.hours import hour
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.cli.simulate import course
from watchbell.clock import SYSTEM

PREFIX = "ours:"
THEIRS = "theirs:"
KEYS, OWN, OTHER = Alerting(PREFIX), AlertingOwn(PREFIX), Alerting(THEIRS)
PASSWORD = "hunter2-geheim"


@pytest.fixture
def place(server: servers.Single) -> Iterator[servers.Single]:
    server.server.call("FLUSHALL")
    yield server
    server.server.call("FLUSHALL")


def url(place: servers.Single, prefix: str = PREFIX) -> str:
    return f"{place.url}?prefix={prefix}"


def started(place: servers.Single, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        watchbell(*arguments, "--store", url(place)),
        env=bare_environment(),
        stdin=more.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def ran(place: servers.Single, *arguments: str, given: str | None = None) -> tuple[int, str, str]:
    done = commands.ran(*arguments, "--store", url(place), given=given)
    return done.returncode, done.stdout, done.stderr


@contextmanager
def receiving(
    place: servers.Single, *arguments: str
) -> Iterator[Callable[[int], tuple[int, str, str]]]:
    """A receiver that runs on; called with a signal, it gives code, output and errors."""
    with started(place, *arguments) as process:

        def ended(number: int) -> tuple[int, str, str]:
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            assert b"Traceback" not in err, err
            return process.returncode, out.decode(), err.decode()

        try:
            yield ended
        finally:
            process.kill()


def sent(place: servers.Single) -> list[dict[str, Any]]:
    """The events that wait, the next to be processed first, without their times."""
    items = place.server.call("LRANGE", KEYS.events(), 0, -1)[::-1]
    return [{k: v for k, v in json.loads(item).items() if k != "time"} for item in items]


def event(**more: Any) -> dict[str, Any]:
    return {"type": "service", "state": "ok", "entity": "web-1", "check": "HTTP", **more}


def test_an_event_is_sent(place: servers.Single) -> None:
    before = int(SYSTEM.now())
    code, out, err = ran(place, "event", "Web-1", "HTTP", "CRITICAL", "it is down")
    assert (code, out, err) == (0, "sent: web-1:HTTP is critical (it is down)\n", "")
    assert sent(place) == [event(state="critical", summary="it is down")]
    item = place.server.call("LINDEX", KEYS.events(), 0)
    assert before <= json.loads(item)["time"] <= SYSTEM.now()


def test_an_event_has_all_that_options_say(place: servers.Single) -> None:
    options = {
        "--details": "long",
        "--perfdata": "a=1",
        "--time": "5",
        "--ttl": "60",
        "--initial-failure-delay": "1",
        "--repeat-failure-delay": "2",
        "--initial-recovery-delay": "3",
    }
    given = [word for option in options.items() for word in option]
    code, _, _ = ran(place, "event", "web-1", "HTTP", "ok", *given, "--tag", "a", "--tag", "b")
    assert code == 0
    assert json.loads(place.server.call("LINDEX", KEYS.events(), 0)) == event(
        details="long",
        perfdata="a=1",
        time=5,
        ttl=60,
        initial_failure_delay=1,
        repeat_failure_delay=2,
        initial_recovery_delay=3,
        tags=["a", "b"],
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["event", "a:b", "HTTP", "ok"], 1, "entity is 'a:b'; expected a name without a colon"),
        (["event", "a", "x\ny", "ok"], 1, r"check is 'x\ny'; expected a name without control"),
        (["event", "", "HTTP", "ok"], 1, "missing or empty: entity"),
        (["event", "a", "HTTP", "up"], 2, "'up' is not one of"),
        (["event", "a", "HTTP", "ok", "--ttl", "-1"], 2, "--ttl"),
        (["event", "a", "HTTP"], 2, "Missing argument"),
        (["simulate", "fail", "a:b", "--count", "1"], 1, "expected a name without a colon"),
        (["simulate", "explode"], 2, "'explode' is not one of"),
        (["simulate", "fail", "--interval", "0"], 2, "--interval"),
        (["receive", "json", "/nowhere"], 2, "/nowhere"),
        (["receive", "json", "/"], 2, "is a directory"),
        (["receive", "nagios"], 2, "Missing option '--pipe'"),
        (["receive", "nsca", "--pipe", "/dev/null"], 1, "/dev/null is no named pipe"),
        (["receive", "nsca", "--pipe", "/nowhere/pipe"], 1, "the pipe /nowhere/pipe can't be used"),
        (["receive", "mirror", "redis://h"], 2, "give --all, --follow or both"),
        (
            ["receive", "mirror", "redis://h", "--all", "--include", "("],
            2,
            "is not a regular expression",
        ),
        (["receive", "mirror", "http://h", "--all"], 3, "the scheme is not known"),
        (["receive", "mirror", f"redis://:{PASSWORD}@127.0.0.1:1", "--all"], 4, "can't be used"),
        (["receive", "smoke"], 2, "No such command 'smoke'"),
        (["rejected", "--limit", "x"], 2, "--limit"),
    ],
)
def test_what_cannot_be_done_is_told_with_its_code(
    arguments: list[str], code: int, says: str, place: servers.Single
) -> None:
    ended, out, err = ran(place, *arguments)
    assert (ended, out) == (code, ""), err
    assert says in err
    assert PASSWORD not in err
    assert sent(place) == []


def test_names_that_are_no_text_are_sent_as_text(place: servers.Single) -> None:
    name = os.fsdecode(b"web\xff")
    code, out, _ = ran(place, "event", name, "HTTP", "ok", name)
    assert (code, out) == (0, "sent: web?:HTTP is ok (web?)\n")


@pytest.mark.parametrize(
    ("kind", "count", "states"),
    [
        ("fail", 3, ["warning", "warning", "warning"]),
        ("recover", 3, ["warning", "warning", "ok"]),
        ("recover", 1, ["ok"]),
        ("flap", 4, ["warning", "ok", "warning", "ok"]),
    ],
)
def test_the_course_of_a_simulation(kind: str, count: int, states: list[str]) -> None:
    assert course(kind, "warning", count) == states


def test_a_simulation_sends_real_events(place: servers.Single) -> None:
    given = ["--seconds", "0.03", "--interval", "0.01", "--state", "unknown", "--tag", "x"]
    code, out, err = ran(place, "simulate", "recover", "web-1", "HTTP", *given)
    assert (code, err) == (0, "")
    states = ["unknown", "unknown", "unknown", "ok"]
    assert sent(place) == [
        event(state=state, summary=f"simulated, {number} of 4", tags=["x"])
        for number, state in enumerate(states, 1)
    ]
    assert out.splitlines()[0] == "sent: web-1:HTTP is unknown (simulated, 1 of 4)"
    assert len(out.splitlines()) == 4


def test_a_simulation_has_a_check_of_its_own(place: servers.Single) -> None:
    code, _, _ = ran(place, "simulate", "flap", "--count", "2", "--interval", "0.001")
    assert code == 0
    found = [(one["entity"], one["check"], one["state"]) for one in sent(place)]
    assert found == [("foo-app-01", "HTTP", "critical"), ("foo-app-01", "HTTP", "ok")]


def test_a_stream_of_json_is_received(place: servers.Single) -> None:
    events = [event(check=f"check {number}") for number in range(1_000)]
    stream = "".join(
        json.dumps(one, indent=number % 3 or None) for number, one in enumerate(events)
    )
    code, out, err = ran(place, "receive", "json", given=stream)
    assert (code, out, err) == (0, "1,000 sent, 0 skipped\n", "")
    assert sent(place) == events


def test_a_file_of_json_is_received_but_for_what_is_wrong(
    place: servers.Single, tmp_path: Path
) -> None:
    good = json.dumps(event()).encode()
    file = tmp_path / "events.json"
    file.write_bytes(good + b'\n{"a": "\n' + good + b' {"type":"service"}\n\xff\n{{}')
    code, out, err = ran(place, "receive", "json", str(file))
    assert (code, out) == (1, "2 sent, 4 skipped\n")
    assert err.splitlines() == [
        "watchbell: line 2, column 1: a string is not closed",
        f"watchbell: line 3, column {len(good) + 2}: missing or empty: state, entity, check",
        "watchbell: line 4, column 1: expected an object",
        "watchbell: line 5, column 1: the object is not closed",
    ]
    assert sent(place) == [event(), event()]


def test_events_are_sent_as_they_come_from_a_slow_program(place: servers.Single) -> None:
    with started(place, "receive", "json", stdin=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(event()).encode())
            process.stdin.flush()
            wait_until(lambda: sent(place) == [event()], 20)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, b"")


PERFDATA = b"[SERVICEPERFDATA]\t1\tweb-1\tHTTP\t%s\t0\t0.5\tout\ta=1\n"
COMMAND = b"[1] PROCESS_SERVICE_CHECK_RESULT;web-1;HTTP;%s;out\n"


@pytest.mark.parametrize(
    ("receiver", "lines", "more"),
    [
        (
            "nagios",
            [PERFDATA % b"OK", PERFDATA % b"DOWN"],
            {"perfdata": "a=1", "check_latency": 0.5},
        ),
        ("nsca", [COMMAND % b"0", COMMAND % b"2"], {}),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_pipe_is_received_from_one_writer_after_the_other(
    receiver: str,
    lines: list[bytes],
    more: dict[str, Any],
    number: signal.Signals,
    place: servers.Single,
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe"
    with receiving(place, "receive", receiver, "--pipe", str(pipe)) as ended:
        wait_until(pipe.is_fifo, 20)
        pipe.write_bytes(lines[0] + b"\xff\0 nonsense\n\n")
        wait_until(lambda: len(sent(place)) == 1, 20)
        pipe.write_bytes(lines[1].rstrip(b"\n"))
        wait_until(lambda: len(sent(place)) == 2, 20)
        code, out, err = ended(number)
    assert (code, out) == (0, "2 sent, 1 skipped\n")
    assert err.startswith(r"watchbell: skipped '�\x00 nonsense': ")
    assert err.count("\n") == 1
    assert sent(place) == [
        event(state="ok", summary="out", **more),
        event(state="critical", summary="out", **more),
    ]


def archived(place: servers.Single, when: str, *checks: str) -> None:
    key = OTHER.archive(when)
    for check in checks:
        place.server.call("LPUSH", key, json.dumps(event(check=check, time=1)))
    place.server.call("EXPIRE", key, 600)
    place.server.call("SADD", OTHER.archives(), key)


def checks(place: servers.Single) -> list[str]:
    return [one["check"] for one in sent(place)]


def test_another_installation_is_mirrored(place: servers.Single) -> None:
    archived(place, "2026010102", "c")
    archived(place, "2026010101", "a", "b")
    place.server.call("LPUSH", OTHER.archive("2026010101"), b"\xff")
    code, out, err = ran(place, "receive", "mirror", url(place, THEIRS), "--all")
    assert (code, out) == (0, "3 sent, 1 skipped\n")
    assert "skipped '�': not JSON" in err
    assert checks(place) == ["a", "b", "c"]


def test_a_mirror_keeps_to_the_checks_that_are_wanted(place: servers.Single) -> None:
    archived(place, "2026010101", "HTTP", "SSH", "HTTPS")
    given = ["receive", "mirror", url(place, THEIRS), "--all", "--include", "^web-1:HTTP"]
    assert ran(place, *given)[:2] == (0, "2 sent, 0 skipped\n")
    assert checks(place) == ["HTTP", "HTTPS"]


@pytest.mark.parametrize("more", [["--all"], []])
def test_a_mirror_follows_what_comes(more: list[str], place: servers.Single) -> None:
    archived(place, "2026010101", "old")
    with receiving(place, "receive", "mirror", url(place, THEIRS), "--follow", *more) as ended:
        # Events are added until one comes through: then all before it were there, or passed over.
        numbers = iter(range(10_000))

        def one_came() -> bool:
            archived(place, "2026010102", f"new {next(numbers)}")
            return any(check.startswith("new") for check in checks(place))

        wait_until(one_came, 20)
        archived(place, "2026010103", "last")
        wait_until(lambda: checks(place)[-1] == "last", 20)
        code, _, err = ended(signal.SIGTERM)
    assert (code, err) == (0, "")
    found = checks(place)
    assert ("old" in found) == bool(more)
    new = [int(check.split()[1]) for check in found if check.startswith("new")]
    assert new == list(range(new[0], next(numbers)))


def test_a_store_does_not_mirror_itself(place: servers.Single) -> None:
    code, out, err = ran(place, "receive", "mirror", url(place), "--all")
    assert (code, out) == (1, "")
    assert "URL is this installation's own store" in err


def test_rejected_events_are_listed_with_their_reasons(place: servers.Single) -> None:
    now = int(SYSTEM.now())
    earlier = now - 2 * 3_600
    records: list[tuple[int, bytes]] = [
        (earlier, json.dumps({"time": earlier, "reason": "not JSON", "event": "x"}).encode()),
        (now, json.dumps({"time": now, "reason": "bad\x1b[2J", "event": "{\n}\x07ü"}).encode()),
        (now, b"\xff not a record"),
    ]
    for when, record in records:
        key = OWN.rejections(hour(when))
        place.server.call("LPUSH", key, record)
        place.server.call("EXPIRE", key, 600)

    code, out, err = ran(place, "rejected", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "rejections": [
            {"time": 0, "reason": "unreadable", "event": "� not a record"},
            {"time": now, "reason": "bad\x1b[2J", "event": "{\n}\x07ü"},
            {"time": earlier, "reason": "not JSON", "event": "x"},
        ],
        "hours": {hour(now): 2, hour(earlier): 1},
    }
    code, out, err = ran(place, "rejected", "--limit", "2")
    assert (code, err) == (0, "")
    assert "bad?[2J" in out
    assert "{ }?ü" in out
    assert "not JSON" not in out
    assert "\x1b" not in out
    counts = [line.split()[-1] for line in out.splitlines()[-2:]]
    assert counts == ["2", "1"]


def test_rejected_events_of_a_year_are_found(place: servers.Single, tmp_path: Path) -> None:
    file = tmp_path / "watchbell.toml"
    file.write_text("[alerting]\nrejected_days = 365\n")
    long_ago = int(SYSTEM.now()) - 300 * 86_400
    key = OWN.rejections(hour(long_ago))
    place.server.call("LPUSH", key, json.dumps({"time": long_ago, "reason": "x", "event": "y"}))
    place.server.call("EXPIRE", key, 600)
    code, out, _ = ran(place, "rejected", "--json", "--config", str(file))
    assert (code, json.loads(out)["hours"]) == (0, {hour(long_ago): 1})
    code, out, _ = ran(place, "rejected", "--json")
    assert (code, json.loads(out)["hours"]) == (0, {})


def test_nothing_rejected_is_told_so(place: servers.Single) -> None:
    assert ran(place, "rejected") == (0, "No events were rejected.\n", "")
    code, out, _ = ran(place, "rejected", "--json")
    assert (code, json.loads(out)) == (0, {"rejections": [], "hours": {}})


def test_drain_registers_its_process_beside_its_counters(place: servers.Single) -> None:
    assert ran(place, "event", "web", "http", "ok", "fine")[0] == 0
    code, _, errors = ran(place, "drain", "--at", "1700000000")
    assert (code, errors) == (0, "")
    (counters,) = place.server.call("KEYS", KEYS.instance_counters("*", "*"))
    instance = KEYS.instance(*counters.split(":")[-2:])
    boot = int(place.server.call("HGET", instance, "boot_time"))
    assert abs(boot - SYSTEM.now()) < 3_600  # when the process began, not the time of the replay
    assert int(place.server.call("TTL", instance)) > 0
