"""Crontab files: what their lines become, and what is left out."""

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.cron.crontab_file import Entry, Writer, entries
from watchbell.cron.model import Job
from watchbell.cron.validation import from_fields
from watchbell.errors import Refused
from watchbell.schedule.crontab_lines import Skipped

FILE = r"""
# nightly things
SHELL=/bin/sh
PATH = "/usr/local/bin:/usr/bin"
MAILTO=alice@example.com

30 2 * * *   /usr/local/bin/backup.sh --all
@hourly      /usr/local/bin/backup.sh --fast
CRON_TZ=Europe/Rome
0 9 * * mon-fri  mail -s "100\%" bob@example.com%Hello Bob,%all is well.
@reboot      start-me
61 * * * *   never
* * * *
"""


def made(text: str, **options: bool) -> list[Entry | Skipped]:
    return list(entries(text, **options))


def test_lines_become_jobs_with_the_variables_above_them() -> None:
    mailto, backup, fast, mail, *skipped = made(FILE)
    assert isinstance(mailto, Skipped)
    assert isinstance(backup, Entry)
    assert backup.name == "backup.sh"
    assert backup.definition == {
        "cron_args": {"cronstring": "30 2 * * *"},
        "job_args": {"cmd": "/usr/local/bin/backup.sh --all", "lock": True, "ttl": 60},
        "watchbell": {"environment": {"PATH": "/usr/local/bin:/usr/bin"}},
    }
    assert isinstance(fast, Entry)
    assert (fast.name, fast.definition["cron_args"]) == ("backup.sh-2", {"cronstring": "@hourly"})
    assert isinstance(mail, Entry)
    assert mail.definition["cron_args"] == {
        "cronstring": "0 9 * * mon-fri",
        "timezone": "Europe/Rome",
    }
    assert mail.definition["job_args"]["cmd"] == (
        "printf '%s\\n' 'Hello Bob,' 'all is well.' | { mail -s \"100%\" bob@example.com\n}"
    )
    assert [type(one) for one in skipped] == [Skipped] * 3


def test_what_can_not_be_a_job_is_left_out_with_its_line_and_reason() -> None:
    skipped = [one for one in made(FILE) if isinstance(one, Skipped)]
    assert [one.line for one in skipped] == [5, 11, 12, 13]
    assert "nothing is mailed" in skipped[0].reason
    assert "@reboot" in skipped[1].reason
    assert "its times: expected a minute from 0 to 59" in skipped[2].reason
    assert "five fields of time and a command" in skipped[3].reason


def test_a_systems_crontab_names_users() -> None:
    (one,) = made("17 * * * * root cd / && run-parts /etc/cron.hourly\n", has_users=True)
    assert isinstance(one, Entry)
    assert one.definition["watchbell"] == {"user": "root"}
    assert one.definition["job_args"]["cmd"] == "cd / && run-parts /etc/cron.hourly"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.booleans())
def test_any_text_becomes_jobs_that_are_valid_or_reasons(text: str, has_users: bool) -> None:
    for one in made(text, has_users=has_users):
        if isinstance(one, Entry):
            assert one.name
            assert "cronstring" in one.definition["cron_args"]


def command(text: str) -> str:
    (one,) = made(text)
    assert isinstance(one, Entry)
    return str(one.definition["job_args"]["cmd"])


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("cat", ""),
        ("cat%", ""),
        ("cat%one", "one\n"),
        ("cat%one%", "one\n"),
        ("cat%one%%two", "one\n\ntwo\n"),
        (r"cat%100\%%$HOME", "100%\n$HOME\n"),
        ("cat # a comment%one", "one\n"),
        ("cat; true &%one", "one\n"),
        ("cat && echo done;%one", "one\ndone\n"),
    ],
)
def test_what_follows_a_percent_sign_is_the_input(line: str, printed: str) -> None:
    cmd = command(f"* * * * * {line}")
    done = subprocess.run(
        ["/bin/bash", "-c", cmd], input="", capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)


def test_a_shell_that_is_none_of_ours_is_given_its_commands() -> None:
    assert command("SHELL=/usr/bin/fish\n@daily set a 1; echo $a") == (
        "/usr/bin/fish -c 'set a 1; echo $a'"
    )
    assert command("SHELL=/bin/sh\n@daily echo $a") == "echo $a"


def test_tz_is_for_commands_and_cron_tz_for_their_times() -> None:
    (one,) = made("TZ=Asia/Tokyo\nCRON_TZ=Europe/Rome\n@daily date")
    assert isinstance(one, Entry)
    assert one.definition["cron_args"]["timezone"] == "Europe/Rome"
    assert one.definition["watchbell"]["environment"] == {"TZ": "Asia/Tokyo"}


def test_an_unknown_zone_is_told_by_the_variable_that_names_it() -> None:
    (one,) = made("CRON_TZ=Mars/Base\n@daily date")
    assert isinstance(one, Skipped)
    assert one.reason.startswith("CRON_TZ: expected a time zone")


def defined(cron_args: dict[str, Any], cmd: str = "true", **options: Any) -> dict[str, Any]:
    said = {"cron_args": cron_args, "job_args": {"cmd": cmd, "lock": True, "ttl": 60}}
    return said | ({"watchbell": options} if options else {})


def test_a_job_that_a_crontab_can_say_comes_back_the_same() -> None:
    definition = defined({"cronstring": "5 4 * * *", "timezone": "Europe/Rome"}, "date +%F")
    (one,) = made(Writer().lines("dates", definition, "UTC"))
    assert isinstance(one, Entry)
    assert one.definition == definition
    assert isinstance(from_fields(one.name, one.definition), Job)


def test_each_job_keeps_its_zone_whatever_the_one_before_it_has() -> None:
    writer, zones = Writer(), ["Europe/Rome", None, "Asia/Tokyo", "Asia/Tokyo", None]
    lines = [
        writer.lines(f"job {n}", defined({"cronstring": "0 0 * * *", "timezone": zone}), "UTC")
        for n, zone in enumerate(zones)
    ]
    read = made("\n".join(lines))
    assert [one.definition["cron_args"]["timezone"] for one in read if isinstance(one, Entry)] == [
        zone or "UTC" for zone in zones
    ]


def test_what_a_crontab_leaves_unsaid_is_named() -> None:
    definition = defined({"cronstring": "@daily"}, folder="/srv", environment={"A": "b"})
    first, *_ = Writer().lines("tidy", definition, "UTC").splitlines()
    assert first == "# tidy; a crontab can't express its folder, environment"


@pytest.mark.parametrize(
    ("cron_args", "cmd"),
    [
        ({"second": "*/2"}, "true"),
        ({"cronstring": "* * * * *", "jitter": 5}, "true"),
        ({"cronstring": "@every 90s"}, "true"),
        ({"cronstring": "@never"}, "true"),
        ({"cronstring": "0 0 L * *"}, "true"),
        ({"cronstring": "0 0 * jul 5L"}, "true"),
        ({"cronstring": "0 0 * * MON#2"}, "true"),
        ({"cronstring": "* * * * *"}, "cd /srv\nrm old"),
    ],
)
def test_what_a_crontab_can_not_say_is_refused(cron_args: dict[str, object], cmd: str) -> None:
    with pytest.raises(Refused, match="a crontab has no"):
        Writer().lines("job", defined(cron_args, cmd), "UTC")


@pytest.mark.parametrize("times", ["@monthly", "0 0 * Jul *", "0 0 1 JUL-AUG 1"])
def test_an_l_in_a_name_is_no_last_day(times: str) -> None:
    assert times in Writer().lines("job", defined({"cronstring": times}), "UTC")


def test_times_stay_on_their_line() -> None:
    lines = Writer().lines("job", defined({"cronstring": " 0 4\n* * *\t"}), "UTC")
    assert lines.endswith("\n0 4 * * * true")


def test_every_minute_is_said_in_fields() -> None:
    lines = Writer().lines("job", defined({"cronstring": "@minutely"}), "UTC")
    assert lines.endswith("\n* * * * * true")
