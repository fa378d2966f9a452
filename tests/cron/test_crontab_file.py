"""Crontab files: what their lines become, and what is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.cron.crontab_file import Entry, Skipped, entries, line_of
from watchbell.cron.model import Job
from watchbell.cron.validation import from_fields
from watchbell.errors import Refused

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
    backup, fast, mail, *skipped = made(FILE)
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
        "printf '%s\\n' 'Hello Bob,' 'all is well.' | { mail -s \"100%\" bob@example.com; }"
    )
    assert [type(one) for one in skipped] == [Skipped] * 3


def test_what_can_not_be_a_job_is_left_out_with_its_line_and_reason() -> None:
    skipped = [one for one in made(FILE) if isinstance(one, Skipped)]
    assert [one.line for one in skipped] == [11, 12, 13]
    assert "@reboot" in skipped[0].reason
    assert "minute" in skipped[1].reason
    assert "five fields of time and a command" in skipped[2].reason


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


def test_a_job_that_a_crontab_can_say_comes_back_the_same() -> None:
    definition = {
        "cron_args": {"cronstring": "5 4 * * *", "timezone": "Europe/Rome"},
        "job_args": {"cmd": "date +%F", "lock": True, "ttl": 60},
    }
    (one,) = made(line_of("dates", definition))
    assert isinstance(one, Entry)
    assert one.definition == definition
    assert isinstance(from_fields(one.name, one.definition), Job)


@pytest.mark.parametrize("cron_args", [{"second": "*/2"}, {"cronstring": "* * * * *", "jitter": 5}])
def test_what_a_crontab_can_not_say_is_refused(cron_args: dict[str, object]) -> None:
    definition = {"cron_args": cron_args, "job_args": {"cmd": "true", "lock": True, "ttl": 1}}
    with pytest.raises(Refused, match="a crontab has no"):
        line_of("job", definition)
