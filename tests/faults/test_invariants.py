import os
import subprocess
import sys
from functools import partial
from itertools import accumulate
from pathlib import Path

import pytest

from tests.faults.invariants import (
    Hold,
    Page,
    Problem,
    check,
    held_by_one,
    history_as_modelled,
    holds,
    in_one_list,
    marked,
    none_alive,
    order_kept,
    paged_in_time,
    paged_once,
    processed_once,
    run_once,
)
from tests.faults.ledger import Ledger, Row
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("acknowledged", "processed", "violations"),
    [
        ("abc", "cab", []),
        ("ab", "abc", []),
        ("abc", "ab", ["I1: c was acknowledged and never processed"]),
        ("ab", "abb", ["I1: b was processed 2 times"]),
        ("a", "acc", ["I1: c was processed 2 times"]),
    ],
)
def test_what_was_acknowledged_is_processed_once(
    acknowledged: str, processed: str, violations: list[str]
) -> None:
    assert processed_once(acknowledged, processed) == violations


def total(events: list[Row]) -> list[int]:
    return list(accumulate(event["by"] for event in events))


EVENTS = [
    {"id": "b", "time": 2, "by": 10},
    {"id": "a", "time": 1, "by": 1},
    {"id": "b", "time": 2, "by": 10},
    {"id": "c", "time": 2, "by": 100},
]


@pytest.mark.parametrize(
    ("history", "violations"),
    [
        ([1, 11, 111], []),
        ([10, 11, 111], ["I2: step 0 of the history is 10, the model has 1"]),
        ([1, 11], ["I2: step 2 of the history is nothing, the model has 111"]),
        ([1, 11, 111, 121], ["I2: step 3 of the history is 121, the model has nothing"]),
    ],
)
def test_history_is_that_of_distinct_events_in_order(
    history: list[int], violations: list[str]
) -> None:
    assert history_as_modelled(history, EVENTS, total) == violations


@pytest.mark.parametrize(
    ("held", "violations"),
    [
        ([Hold("a", "2", 5, 9), Hold("a", "1", 0, 5), Hold("b", "1", 0, 9)], []),
        (
            [Hold("a", "1", 0, 5), Hold("a", "2", 4, 9)],
            ["I3: a was held under token 2 from 4.000 while token 1 held it until 5.000"],
        ),
    ],
)
def test_a_lock_is_held_by_one_at_a_time(held: list[Hold], violations: list[str]) -> None:
    assert held_by_one(held) == violations


def test_a_hold_that_never_stopped_clashes_with_the_next() -> None:
    rows = [
        {"event": "start", "lock": "a", "token": "1", "at": 1.0},
        {"event": "stop", "lock": "a", "token": "1", "at": 2.0},
        {"event": "start", "lock": "a", "token": "2", "at": 3.0},
    ]
    assert held_by_one(holds(rows)) == []
    rows.append({"event": "start", "lock": "a", "token": "3", "at": 4.0})
    assert len(held_by_one(holds(rows))) == 1


def test_a_hold_inside_an_earlier_long_one_is_seen() -> None:
    held = [Hold("a", "1", 0, 100), Hold("a", "2", 1, 2), Hold("a", "3", 50, 60)]
    assert len(held_by_one(held)) == 2


@pytest.mark.parametrize(
    ("slots", "runs", "violations"),
    [
        ([60, 120], [120, 60], []),
        ([60, 120], [60], ["I4: slot 120 has 0 runs"]),
        ([60, 120], [60, 120, 120], ["I4: slot 120 has 2 runs"]),
        ([60], [60, 61], ["I4: 1 runs of 61, which is no slot"]),
    ],
)
def test_every_slot_is_run_once(slots: list[int], runs: list[int], violations: list[str]) -> None:
    assert run_once(slots, runs) == violations


LATE = ["I5: bob had no page of disk from 100.000 to 140.000"]


@pytest.mark.parametrize(
    ("closed", "pages", "violations"),
    [
        (None, [("alice", 130), ("bob", 140)], []),
        (None, [("alice", 130), ("bob", 141)], LATE),
        (None, [("alice", 130)], LATE),
        (None, [("alice", 130), ("bob", 99)], LATE),
        (131, [("alice", 130)], LATE),
        (129, [], []),
    ],
)
def test_an_open_problem_is_paged_to_all_in_time(
    closed: float | None, pages: list[tuple[str, float]], violations: list[str]
) -> None:
    problem = Problem("disk", opened=100, delay=30, contacts=["alice", "bob"])
    if closed is not None:
        problem = Problem("disk", 100, 30, ["alice", "bob"], closed)
    sent = [Page("disk", contact, at) for contact, at in pages]
    assert paged_in_time([problem], sent, within=10, until=1000) == violations


def test_a_page_that_is_not_late_when_the_log_ends_is_not_missed() -> None:
    problem = Problem("disk", opened=100, delay=30, contacts=["alice"])
    assert paged_in_time([problem], [], within=10, until=139) == []
    assert len(paged_in_time([problem], [], within=10, until=140)) == 1


@pytest.mark.parametrize(
    ("keys", "kills", "violations"),
    [
        ("ab", 0, []),
        ("aab", 1, []),
        ("aab", 0, ["I6: a was sent 2 times with 0 kills"]),
        ("aaab", 1, ["I6: a was sent 3 times with 1 kills"]),
    ],
)
def test_a_page_is_doubled_by_a_kill_only(keys: str, kills: int, violations: list[str]) -> None:
    assert paged_once(keys, kills) == violations


@pytest.mark.parametrize(
    ("known", "queued", "taken", "violations"),
    [
        ("abc", "ab", "c", []),
        ("ab", "ab", "c", ["I7: c in taken is an orphan"]),
        ("abc", "ab", "", ["I7: c is in no list"]),
        ("abc", "ab", "bc", ["I7: b is in queued and taken"]),
        ("ab", "abb", "", ["I7: b is in queued and queued"]),
    ],
)
def test_queues_and_indexes_agree(
    known: str, queued: str, taken: str, violations: list[str]
) -> None:
    assert in_one_list(known, {"queued": queued, "taken": taken}) == violations


def test_a_process_of_a_finished_run_is_found_by_its_mark() -> None:
    mark = "WATCHBELL_TEST_RUN"
    run = f"run-{os.getpid()}"
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env={mark: run}) as process:
        wait_until(lambda: process.pid in marked(mark), why="the mark is seen after the exec")
        assert none_alive([run], marked(mark)) == [
            f"I8: process {process.pid} of run {run} is alive"
        ]
        assert none_alive(["another"], marked(mark)) == []
        process.kill()
        wait_until(lambda: not none_alive([run], marked(mark)), why="a zombie is not alive")


def sequence(*pairs: tuple[str, int]) -> list[Row]:
    return [{"key": key, "sequence": number} for key, number in pairs]


def test_order_is_kept_within_a_key() -> None:
    assert order_kept(sequence(("a", 1), ("b", 1), ("a", 2), ("b", 5))) == []
    assert order_kept(sequence(("a", 1), ("b", 2), ("a", 1))) == ["order: a has 1 after 1"]
    assert order_kept(sequence(("a", 2), ("a", 1))) == ["order: a has 1 after 2"]


def test_a_check_passes_when_all_hold_and_fails_with_all_that_do_not() -> None:
    check([], [])
    with pytest.raises(pytest.fail.Exception) as failure:
        check(run_once([60], []), [], paged_once("aa"))
    assert "I4: slot 60 has 0 runs\nI6: a was sent 2 times" in str(failure.value)


def test_a_check_shows_the_first_of_very_many() -> None:
    with pytest.raises(pytest.fail.Exception, match="and 980 more") as failure:
        check(run_once(range(1000), []))
    assert "slot 19 " in str(failure.value)
    assert "slot 20 " not in str(failure.value)


def test_a_ledger_gives_back_what_was_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.read() == []
    ledger.write(event="start", run="ä\n", at=1.5)
    ledger.write(event="stop", run="ä\n")
    start, stop = ledger.read()
    assert start == {"event": "start", "run": "ä\n", "at": 1.5}
    assert stop["at"] > 0
    assert ledger.read(event="stop") == [stop]


def test_a_torn_row_is_passed_over_and_hurts_no_other(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.write(n=1)
    with ledger.path.open("a") as file:
        file.write('\n{"at": 1, "n": 2, "te')
    ledger.write(n=3)
    assert [row["n"] for row in ledger.read()] == [1, 3]


def test_rows_of_many_killed_writers_are_whole_and_in_order(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    program = (
        "import sys, itertools, pathlib; from tests.faults.ledger import Ledger\n"
        "ledger = Ledger(pathlib.Path(sys.argv[1]))\n"
        "for n in itertools.count(): ledger.write(key=sys.argv[2], sequence=n, text='x' * 200)"
    )
    people = ("alice", "bob", "charlie")
    writers = [
        subprocess.Popen([sys.executable, "-c", program, ledger.path, name], cwd=ROOT)
        for name in people
    ]
    try:
        for name in people:
            wait_until(partial(_has_many_rows, ledger, name), 20, f"{name} writes")
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    rows = ledger.read()
    check(order_kept(rows))
    for name in people:
        written = [row["sequence"] for row in rows if row["key"] == name]
        assert written == list(range(len(written)))


def _has_many_rows(ledger: Ledger, name: str) -> bool:
    return len(ledger.read(key=name)) > 50
