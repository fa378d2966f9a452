"""What is said of fires around which clocks are set."""

import pytest

from tests.schedule.clocks import at
from watchbell.schedule.cron_args import from_cron_args
from watchbell.schedule.dst_notes import remark, zone_of

ROME = {"timezone": "Europe/Rome"}


@pytest.mark.parametrize(
    ("text", "fire", "said"),
    [
        ("30 2 * * *", "2026-03-28T01:30:00Z", ""),
        ("30 2 * * *", "2026-03-29T01:00:00Z", "never show 02:30; it runs right after"),
        ("15,45 2 * * *", "2026-03-29T01:00:00Z", "never show 02:15; it runs right after"),
        ("0 3 * * *", "2026-03-29T01:00:00Z", ""),
        ("*/30 * * * *", "2026-03-29T01:00:00Z", ""),
        ("30 2 * * *", "2026-10-25T00:30:00Z", "show 02:30 twice; it runs the first time only"),
        ("*/30 * * * *", "2026-10-25T00:30:00Z", "show 02:30 twice; it runs both times"),
        ("*/30 * * * *", "2026-10-25T01:30:00Z", "show 02:30 for the second time"),
        ("*/30 * * * *", "2026-10-25T02:00:00Z", ""),
        ("30 2 * * *", "2026-10-26T01:30:00Z", ""),
    ],
)
def test_a_fire_says_what_set_clocks_do_to_it(text: str, fire: str, said: str) -> None:
    schedule = from_cron_args({"cronstring": text, **ROME})
    moment = int(at(fire))
    assert schedule.next_after(moment - 1) == moment
    told = remark(schedule, moment)
    assert told.endswith(said) if said else told == ""


def test_what_goes_by_no_clock_has_no_remarks() -> None:
    every = from_cron_args({"cronstring": "@every 30m", **ROME})
    assert zone_of(every) is None
    assert remark(every, int(at("2026-10-25T00:30:00Z"))) == ""


def test_limits_change_nothing_about_remarks() -> None:
    said = {"cronstring": "30 2 * * *", "start_date": "2026-01-01", **ROME}
    limited = from_cron_args(said)
    assert zone_of(limited) is not None
    assert "never show 02:30" in remark(limited, int(at("2026-03-29T01:00:00Z")))
