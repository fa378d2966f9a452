"""The tests that deal with times pass whenever they run: at odd hours, on odd days, anywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import faketime

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = {  # the zone, and the local time at which the clock begins to run
    "midnight": ("UTC", "2026-11-17 00:00:00"),
    "half past one": ("UTC", "2026-11-17 01:31:00"),
    "noon": ("UTC", "2026-11-17 12:00:00"),
    "before midnight": ("UTC", "2026-12-31 23:59:50"),
    "29 February": ("UTC", "2028-02-29 23:59:50"),
    "spring in Rome": ("Europe/Rome", "2027-03-28 01:59:50"),
    "autumn in Rome": ("Europe/Rome", "2027-10-31 02:59:50"),
    "spring in New York": ("America/New_York", "2027-03-14 01:59:50"),
    "autumn in New York": ("America/New_York", "2027-11-07 01:59:50"),
}
QUICK = (
    "tests/test_clock.py",
    "tests/schedule/test_spoken.py",
    "tests/cron/test_unattended_jobs.py",
    "tests/alerting/test_intake.py",
)
ALL = tuple(
    f"tests/{folder}"
    for folder in ("alerting", "browser", "cli", "cron", "gateways", "roles", "schedule", "web")
)


def passes(moment: str, *paths: str) -> bool:
    faketime.library()  # or this is skipped
    zone, when = MOMENTS[moment]
    command = [sys.executable, "tests/suite.py", "--at", when, "-q", *paths]
    environment = {**os.environ, "TZ": zone}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    print(done.stdout, done.stderr)
    return done.returncode == 0


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_few_tests_of_times_pass_at(moment: str) -> None:
    assert passes(moment, "-p", "no:cacheprovider", *QUICK)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("moment", MOMENTS)
def test_all_tests_of_times_pass_at(moment: str) -> None:
    assert passes(moment, *ALL)
