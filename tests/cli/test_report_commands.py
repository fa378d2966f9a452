"""Checks, maintenance and reports as people and their scripts meet them at the command line."""

import json
import os
import pty
import re
import subprocess
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests import servers
from tests.alerting import recorded
from tests.cli import commands
from tests.conftest import bare_environment, watchbell, watched
from watchbell.alerting import maintenance
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import short_id
from watchbell.alerting.windows import Window
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

KEYS = Alerting()
HTTP, DISK, MYSQL = "web-1:HTTP:80", "web-1:Disk /var", "db-1:MySQL"
NASTY = "web-2:\x1b[31mred\nline\u202eü"
HOUR, DAY = 3600, 86_400

Ran = subprocess.CompletedProcess[str]
Run = Callable[..., Ran]
Print = Callable[..., Any]


def now() -> int:
    return int(SYSTEM.now())


@pytest.fixture
async def checks(server: servers.Single) -> AsyncIterator[Store]:
    """HTTP has been critical for an hour, after an hour of warning a day ago; MySQL is well, the
    disk unknown and disabled, and a fourth has a name of the worst sort."""
    async for store in watched(server.url):
        at = now()
        await recorded.check(
            store,
            HTTP,
            [
                (at - 3 * DAY, "ok"),
                (at - DAY, "warning", "slow"),
                (at - DAY + HOUR, "ok", "fast"),
                (at - HOUR, "critical", "refused"),
            ],
            summary="refused",
            last_update=at,
        )
        await recorded.check(store, MYSQL, [(at - 3 * DAY, "ok")], last_update=at)
        await recorded.check(store, DISK, [(at - 60, "unknown")])
        await recorded.disabled(store, DISK)
        await recorded.check(store, NASTY, [(at - 30, "critical", "\x1b]0;x\x07")])
        await store.call("HSET", KEYS.checks_by_hash(), short_id(HTTP), HTTP)
        await store.call("HSET", KEYS.entity_ids(), "web-1", "id-1")
        yield store


@pytest.fixture
def run(server: servers.Single) -> Run:
    def ran(*arguments: str | bytes, code: int = 0, **environment: str) -> Ran:
        done = commands.ran(*arguments, "--store", server.url, TZ="Europe/Berlin", **environment)
        assert done.returncode == code, (done.stdout, done.stderr)
        said = done.stdout + done.stderr
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", said)
        assert "--json" in arguments or "\u202e" not in said
        return done

    return ran


@pytest.fixture
def printed(run: Run) -> Print:
    return lambda *arguments: json.loads(run(*arguments, "--json").stdout)


async def pushed(store: Store) -> list[Any]:
    """The events that wait, oldest first."""
    items = await store.call("LRANGE", KEYS.events(), 0, -1)
    return [json.loads(item) for item in reversed(items)]


async def test_status_shows_failing_checks_first_and_counts(
    checks: Store, run: Run, printed: Print
) -> None:
    lines = run("status").stdout.splitlines()
    assert lines[0].split() == ["check", "state", "for", "last", "event", "maintenance", "summary"]
    assert lines[1].startswith("web-1:HTTP:80 ")
    assert "critical  1 hour" in lines[1]
    assert lines[2].startswith(r"web-2:\x1b[31mred\nline\u202eü")
    assert lines[3].startswith("db-1:MySQL")
    assert lines[-1] == "3 checks: 2 critical, 1 ok."
    assert "2 more; --limit 0 shows all." in run("status", "--limit", "1").stdout
    assert [one["id"] for one in printed("status", "--all", "web-1")] == [HTTP, DISK]
    await recorded.check(checks, "db-1:SMTP", [(now(), "ok")], last_update=now())
    await recorded.check(checks, "db-1:LDAP", [(now(), "ok")], last_update=now())
    assert run("status").stdout.endswith("\n5 checks: 2 critical, 3 ok.\n")
    assert checks.prefix == ""


async def test_status_of_one_check_shows_everything(
    checks: Store, run: Run, printed: Print
) -> None:
    await maintenance.create_scheduled(checks, HTTP, now() - 60, HOUR, "new\ncable", now())
    shown = run("status", "WEB-1:HTTP:80").stdout
    assert "scheduled maintenance" in shown
    assert r"(new\ncable)" in shown
    [status] = printed("status", HTTP)
    assert status["state"] == "critical"
    assert status["scheduled"]["summary"] == "new\ncable"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["status", "nothing*"], 1, "no check matches 'nothing*'; write ENTITY"),
        (["status", DISK], 1, "are disabled; --all shows them"),
        (["status", "/(/"], 1, "is no regular expression"),
        (["ack", MYSQL], 1, "db-1:MySQL: it is not failing; there is nothing to acknowledge"),
        (["ack", "deadbeef"], 1, "no check matches 'deadbeef'"),
        (["ack", HTTP, "--for", "a while"], 2, "Invalid value for '--for': 'while' was not"),
        (["ack", HTTP, "--for", "0"], 2, "expected at least one second"),
        (["test-notify", "nobody:HTTP"], 1, "there is no entity 'nobody'"),
        (["maintenance", "create", HTTP], 2, "Missing option '--for'"),
        (["maintenance", "create", HTTP, "--for", "1h"], 1, "nothing was changed; add --yes"),
        (["maintenance", "end"], 2, "say which"),
        (["maintenance", "end", HTTP, "--yes"], 1, "no maintenance of 'web-1:HTTP:80' is current"),
        (["outages", "--from", "soon"], 2, "'soon' was not understood as a time"),
        (["downtime", "--from", "in 1 hour"], 1, "the time range ends before it starts"),
        (
            ["outages", "--from", "in 1 hour", "--to", "in 1 day"],
            1,
            "the time range is in the future",
        ),
        (["history", "web-1"], 1, "matches 2 checks; name one"),
        (["history", "x:y"], 1, "no check matches"),
        (["purge", "--check", "x:y"], 1, "no check matches"),
        (["purge", "--days", "0"], 2, "is not a whole number of days"),
    ],
)
async def test_what_can_not_be_done_is_told_in_a_line(
    checks: Store, run: Run, arguments: list[str], code: int, says: str
) -> None:
    done = run(*arguments, code=code)
    assert says in done.stderr
    assert await pushed(checks) == []


async def test_a_key_of_a_wrong_type_is_told_in_a_line(checks: Store, run: Run) -> None:
    await checks.call("DEL", KEYS.all_checks())
    await checks.call("SET", KEYS.all_checks(), "x")
    refused = run("status", code=1)
    assert refused.stderr == (
        "watchbell: another program left a key of a wrong type in the store: "
        "ZSCAN all_checks was refused\n"
    )
    await checks.call("DEL", KEYS.all_checks())


async def test_alerts_that_can_t_be_read_keep_nothing_else_from_being_shown(
    checks: Store, run: Run
) -> None:
    alert, index = KEYS.alert("a1"), KEYS.alerts_by_check("web-1", "HTTP:80")
    await checks.call("ZADD", index, now(), "a1")
    await checks.call("SET", alert, "x")
    assert "critical for" in run("history", HTTP).stdout
    await checks.call("DEL", alert, index)
    await checks.call("SET", index, "x")
    assert "critical for" in run("history", HTTP).stdout
    await checks.call("DEL", index)


async def test_failing_checks_come_with_their_short_ids(
    checks: Store, run: Run, printed: Print
) -> None:
    lines = run("failing").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [r"web-2:\x1b[31mred\nline\u202eü", HTTP]
    assert short_id(HTTP) in lines[2]
    found = {one["id"]: one["acknowledgement_id"] for one in printed("failing", "--all")}
    assert found == {HTTP: short_id(HTTP), NASTY: short_id(NASTY), DISK: short_id(DISK)}
    assert checks.prefix == ""


async def test_an_acknowledgement_is_sent_for_what_fails(checks: Store, run: Run) -> None:
    done = run("ack", "web-1", "--summary", "Alice is on it", "--for", "90 min")
    assert done.stdout == f"acknowledged for 1 hour, 30 minutes: {HTTP}\n"
    run("ack", short_id(HTTP).upper())
    first, second = await pushed(checks)
    assert (first["type"], first["state"]) == ("action", "acknowledgement")
    assert (first["entity"], first["check"]) == ("web-1", "HTTP:80")
    assert (first["summary"], first["duration"]) == ("Alice is on it", 5400)
    assert (second["acknowledgement_id"], second["duration"]) == (short_id(HTTP), 14_400)


async def test_what_is_in_scheduled_maintenance_is_not_acknowledged(
    checks: Store, run: Run
) -> None:
    await maintenance.create_scheduled(checks, HTTP, now() - 60, HOUR, "", now())
    refused = run("ack", HTTP, code=1)
    assert "is in scheduled maintenance, in which nobody is notified anyway" in refused.stderr
    assert await pushed(checks) == []
    await recorded.check(checks, "web-1:SMTP", [(now() - 60, "critical")], last_update=now())
    assert run("ack", "web-1").stdout.splitlines() == [
        f"not acknowledged, in scheduled maintenance: {HTTP}",
        "acknowledged for 4 hours: web-1:SMTP",
    ]
    assert [one["check"] for one in await pushed(checks)] == ["SMTP"]


async def test_a_test_is_sent_for_an_entity_of_another_program(checks: Store, run: Run) -> None:
    await checks.call("SET", KEYS.entity_id("old-1"), "17")
    run("test-notify", "old-1")
    assert [one["entity"] for one in await pushed(checks)] == ["old-1"]


async def test_a_test_is_sent_for_an_entity_that_is_known(checks: Store, run: Run) -> None:
    run("test-notify", HTTP, "--summary", "only a test")
    run("test-notify", "WEB-1")
    first, second = await pushed(checks)
    assert (first["state"], first["check"]) == ("test_notifications", "HTTP:80")
    assert first["summary"] == "only a test"
    assert (second["entity"], second["check"]) == ("web-1", "test")


async def test_maintenance_is_planned_shown_and_taken_back(
    checks: Store, run: Run, printed: Print
) -> None:
    when = ["--from", "2100-01-02 08:00", "--for", "2 hours", "--reason", "new disks"]
    done = run("maintenance", "create", "web-1", *when, "--yes")
    span = "from 2100-01-02 08:00:00 to 2100-01-02 10:00:00"
    assert done.stdout.splitlines() == [
        f"scheduled maintenance {span}, 2 hours, of these checks:",
        f"  {DISK}",
        f"  {HTTP}",
        "scheduled maintenance created for 2 checks",
    ]
    start = 4_102_556_400  # 08:00 in Berlin
    assert await maintenance.windows(checks, HTTP, "scheduled") == [
        Window(start, 2 * HOUR, "new disks")
    ]
    shown = run("maintenance", "show", HTTP).stdout.splitlines()
    assert shown[1].split()[:3] == [HTTP, "scheduled", "2100-01-02"]
    assert printed("maintenance", "show", HTTP, "--when", "future") == [
        {
            "check": HTTP,
            "kind": "scheduled",
            "start": start,
            "end": start + 2 * HOUR,
            "duration": 2 * HOUR,
            "summary": "new disks",
            "when": "future",
        }
    ]
    assert printed("maintenance", "show", "--when", "current") == []
    assert printed("maintenance", "show", "--kind", "unscheduled", "--when", "all") == []
    ended = run("maintenance", "end", "--start", "2100-01-02 08:00:00", "--yes")
    assert ended.stdout.splitlines()[-1] == "ended: 2 windows"
    assert run("maintenance", "show").stdout == "No maintenance matches.\n"


async def test_maintenance_that_is_open_is_ended(checks: Store, run: Run) -> None:
    run("maintenance", "create", HTTP, "--for", "1h", "--yes")
    run(
        "maintenance",
        "create",
        HTTP,
        "--unscheduled",
        "--from",
        "10 min ago",
        "--for",
        "1h",
        "--yes",
    )
    assert "unscheduled until" in run("status", "web-*").stdout
    run("maintenance", "end", HTTP, "--kind", "unscheduled", "--yes")
    [window] = await maintenance.windows(checks, HTTP, "unscheduled")
    assert 600 <= window.duration < 700
    assert run("maintenance", "end", "web-*", "--yes").stdout.endswith("ended: 1 window\n")
    assert await checks.call("EXISTS", KEYS.scheduled("web-1", "HTTP:80")) == 0


def on_a_terminal(arguments: list[str], answer: str, code: int) -> str:
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    done = subprocess.run(
        arguments,
        env=bare_environment(),
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done
    return done.stdout + done.stderr


@pytest.mark.parametrize(("answer", "code", "windows"), [("y\n", 0, 1), ("n\n", 130, 0)])
async def test_on_a_terminal_a_person_is_asked_first(
    checks: Store, server: servers.Single, answer: str, code: int, windows: int
) -> None:
    arguments = watchbell("maintenance", "create", HTTP, "--for", "1h", "--store", server.url)
    said = on_a_terminal(arguments, answer, code)
    assert "Continue? [y/N]" in said
    assert len(await maintenance.windows(checks, HTTP, "scheduled")) == windows


async def test_history_has_everything_that_happened_to_a_check(
    checks: Store, run: Run, printed: Print
) -> None:
    at = now()
    await recorded.notified(checks, HTTP, "problems", at - HOUR + 30)
    await recorded.notified(checks, HTTP, "criticals", at - HOUR + 30)
    await recorded.alert(checks, "1", at - HOUR + 31, "alice", HTTP)
    await checks.call("HSET", KEYS.actions("web-1", "HTTP:80"), at - 60, "acknowledgement")
    await maintenance.create_unscheduled(checks, HTTP, at - 60, HOUR, "Bob looks", at)
    lines = run("history", HTTP).stdout.splitlines()
    told = [line.split("  ")[1].strip() for line in lines[1:]]
    assert told[:2] in (
        ["unscheduled maintenance for 1 hour", "acknowledgement"],
        ["acknowledgement", "unscheduled maintenance for 1 hour"],
    )
    assert told[2:4] == ["alert to alice by email", "problem notification (critical)"]
    assert [words.split()[0] for words in told[4:]] == ["critical", "ok", "warning", "ok"]
    past = printed("history", HTTP, "--from", "2 hours ago")
    assert [change["state"] for change in past["changes"]] == ["critical"]
    assert past["notifications"] == [
        {"timestamp": at - HOUR + 30, "kind": "problem", "state": "critical"}
    ]
    assert r"\x1b]0;x\x07" in run("history", NASTY).stdout


async def test_outages_and_downtime_are_told_for_a_range(
    checks: Store, run: Run, printed: Print
) -> None:
    failing_since = await checks.call("LINDEX", KEYS.states("web-1", "HTTP:80"), -1)
    at = int(failing_since) + HOUR
    await maintenance.create_scheduled(checks, HTTP, at - HOUR // 2, 10 * HOUR, "", at)
    since = str(at - 2 * DAY)
    until = str(at)
    [found] = printed("outages", HTTP, "--from", since, "--to", until)
    assert [(o["state"], o["duration"]) for o in found["outages"]] == [
        ("warning", HOUR),
        ("critical", HOUR),
    ]
    lines = run("outages", "--from", since).stdout.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["critical", "critical", "warning"]
    assert "  now  " in lines[1]
    [down] = printed("downtime", HTTP, "--from", since, "--to", until)
    assert down["total_seconds"] == {
        "warning": HOUR,
        "critical": HOUR // 2,
        "ok": 2 * DAY - HOUR - HOUR // 2,
    }
    assert down["percentages"]["ok"] == pytest.approx(100 - 1.5 * 100 / 48)
    table = run("downtime", "--from", since, "--to", until).stdout.splitlines()
    assert table[2].split()[:3] == ["check", "ok", "critical"]
    assert re.split("  +", table[3]) == [HTTP, "96.875 %", "30 minutes", "1 hour", "-", "2"]
    assert table[-1].startswith("db-1:MySQL")
    pieces = run("downtime", HTTP, "--from", since, "--to", until).stdout
    assert "warning" in pieces.splitlines()[-2]


async def test_old_history_is_removed_and_what_would_be_is_told(
    checks: Store, run: Run, printed: Print
) -> None:
    would = "4 checks examined; would remove: 1 change\n"
    assert run("purge", "--days", "1", "--dry-run").stdout == would
    assert printed("purge", "--days", "1", "--check", HTTP)["changes"] == 1
    assert run("purge").stdout == "4 checks examined; removed: nothing\n"
    assert await checks.call("LLEN", KEYS.states("web-1", "HTTP:80")) == 3


async def test_bytes_that_are_no_text_are_no_trouble(checks: Store, run: Run) -> None:
    run("status", b"\xff\xfe", code=1)
    run("ack", HTTP, "--summary", b"caf\xe9")
    [event] = await pushed(checks)
    assert event["summary"] == "caf?"


def test_an_empty_store_has_nothing_to_show(run: Run) -> None:
    assert run("status").stdout == "No check has reported yet.\n"
    assert run("failing").stdout == "No checks are failing.\n"
    assert run("maintenance", "show").stdout == "No maintenance matches.\n"
    assert run("outages").stdout == "No outages.\n"
    assert "from " in run("downtime").stdout
