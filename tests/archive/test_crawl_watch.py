"""What is decided about crawls whose pipeline is silent or that make no progress."""

from typing import Any

import pytest

from watchbell.archive.crawl_watch import STUCK_AFTER, Verdict, Working, judge
from watchbell.archive.unchanged import Unchanged

NOW = 1_790_000_000.0
LEASE, RETURN = 30.0, 600.0


def ours(**fields: Any) -> Working:
    known = {"lease": str(NOW + 20), "progress_at": NOW, "pipeline": "alice", "heartbeat": "5"}
    return Working(ident="x", **{"is_readable": True, "is_ours": True, **known, **fields})


def foreign(**fields: Any) -> Working:
    return Working(
        ident="x", **{"is_readable": True, "pipeline": "bob", "heartbeat": "5", **fields}
    )


SILENT = {"lease": str(NOW - 1)}
GONE = {"lease": str(NOW - RETURN)}
SILENCE = "its pipeline alice gives no sign of life"
STUCK = "no progress for more than an hour"


@pytest.mark.parametrize(
    ("crawl", "watched", "verdict"),
    [
        (ours(), 0, Verdict("leave")),
        (ours(failing=SILENCE), 0, Verdict("clear")),
        (ours(is_readable=False), 0, Verdict("remove", "it has no record")),
        (ours(has_ended=True), 0, Verdict("remove", "it has ended")),
        (ours(lease=""), 0, Verdict("adopt")),
        (ours(is_listed=False), 0, Verdict("adopt")),
        (ours(**SILENT), 29, Verdict("leave")),
        (ours(**SILENT), 30, Verdict("alarm", SILENCE)),
        (ours(**SILENT, failing=SILENCE), 30, Verdict("leave")),
        (ours(**GONE), 29, Verdict("leave")),
        (
            ours(**GONE),
            30,
            Verdict("return", "back in the queue, since its pipeline alice is gone"),
        ),
        (
            ours(**SILENT, abort_requested=True),
            30,
            Verdict("abort", "aborted, since its pipeline alice is gone"),
        ),
        (ours(abort_requested=True), 30, Verdict("leave")),
        (ours(trouble="its disk is full"), 0, Verdict("alarm", "its disk is full")),
        (ours(trouble="its disk is full", failing="its disk is full"), 0, Verdict("leave")),
        (ours(trouble="its disk is full", **SILENT), 30, Verdict("alarm", SILENCE)),
        (ours(progress_at=NOW - STUCK_AFTER), 0, Verdict("alarm", STUCK)),
        (ours(progress_at=NOW - STUCK_AFTER, failing=STUCK), 0, Verdict("leave")),
        (ours(progress_at=NOW - STUCK_AFTER, is_paused=True), 0, Verdict("leave")),
        (ours(progress_at=NOW - STUCK_AFTER, delay_max=9_999_999), 0, Verdict("leave")),
        (foreign(), 0, Verdict("leave")),
        (foreign(death_timer=14), 0, Verdict("leave")),
        (
            foreign(death_timer=15),
            0,
            Verdict("alarm", "its pipeline bob gives no sign of life"),
        ),
        (
            foreign(death_timer=3_600),
            0,
            Verdict("return", "back in the queue, since its pipeline bob is gone"),
        ),
        (foreign(heartbeat=None, pipeline=""), 0, Verdict("adopt")),
        (
            foreign(heartbeat=None, pipeline="", **GONE),
            30,
            Verdict("return", "back in the queue, since a pipeline that took it is gone"),
        ),
    ],
)
def test_a_crawl_is_judged(crawl: Working, watched: float, verdict: Verdict) -> None:
    found = judge(crawl, now=NOW, watched=watched, lease=LEASE, return_after=RETURN)
    assert found == verdict


def test_only_what_was_watched_counts() -> None:
    unchanged = Unchanged()
    assert unchanged.watch({"a": 1, "b": None}, 10) == {"a": 0, "b": 0}
    assert unchanged.watch({"a": 1, "b": 2, "c": 3}, 15) == {"a": 5, "b": 0, "c": 0}
    unchanged.restart()
    assert unchanged.watch({"a": 1}, 20) == {"a": 0}
