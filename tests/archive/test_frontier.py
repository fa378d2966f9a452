"""The URLs of a crawl, on disk."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from watchbell.archive.frontier import FoundUrl, Frontier
from watchbell.archive.model import Increments, LogEntry
from watchbell.archive.scope import Place
from watchbell.errors import Refused

START = Place(root="http://a/")


def url(text: str, **more: object) -> FoundUrl:
    host = text.split("/")[2]
    return FoundUrl(url=text, known=text, host=host, place=START, **more)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "frontier.db"


def test_a_url_is_taken_once(path: Path) -> None:
    frontier = Frontier(path)
    assert len(frontier.add([url("http://a/1"), url("http://a/2"), url("http://a/1")])) == 2
    assert frontier.add([url("http://a/2")]) == []
    (first,) = frontier.take("a")
    (second,) = frontier.take("a", 5)
    assert (first.url, second.url) == ("http://a/1", "http://a/2")
    assert frontier.take("a") == []
    frontier.done(first)
    frontier.done(second)
    assert (frontier.waiting, frontier.found) == (0, 2)
    frontier.close()


def test_a_url_is_claimed_out_of_turn(path: Path) -> None:
    frontier = Frontier(path)
    frontier.add([url("http://a/1"), url("http://a/2"), url("http://b/3")])
    claimed = frontier.claim("http://b/3")
    assert claimed
    assert (claimed.url, claimed.host, claimed.place) == ("http://b/3", "b", START)
    assert frontier.take("b") == []
    assert frontier.claim("http://b/3") is None
    (first,) = frontier.take("a")
    assert frontier.claim("http://a/1") is None, "it is being fetched"
    frontier.postpone(first, 10)
    again = frontier.claim("http://a/1")
    assert again
    assert again.tries == 1
    frontier.done(again)
    frontier.done(claimed)
    assert (frontier.knows("http://a/1"), frontier.knows("http://c/4")) == (True, False)
    assert frontier.waiting == 1
    frontier.close()


def test_a_url_is_known_without_its_session_id(path: Path) -> None:
    frontier = Frontier(path)
    plain = FoundUrl(url="http://a/x?sid=1", known="http://a/x", host="a", place=START)
    again = FoundUrl(url="http://a/x?sid=2", known="http://a/x", host="a", place=START)
    assert frontier.add([plain, again]) == [plain]
    assert frontier.add([url("http://a/x")]) == []
    frontier.close()


def test_the_turn_comes_before_the_order_of_finding(path: Path) -> None:
    frontier = Frontier(path)
    frontier.add([url("http://a/far", turn=1), url("http://a/near", turn=0)])
    assert [task.url for task in frontier.take("a", 2)] == ["http://a/near", "http://a/far"]
    frontier.close()


def test_what_was_not_committed_never_was(path: Path) -> None:
    frontier = Frontier(path)
    frontier.add([url("http://a/1"), url("http://b/1")])
    (task,) = frontier.take("a")
    frontier.commit()
    frontier.done(task)
    frontier.add([url("http://c/1")])
    frontier.set_fact("position", 7)
    frontier.put_batch([LogEntry(type="stdout", ts=1, message="hello")], Increments())
    frontier.close()

    again = Frontier(path)
    assert set(again.hosts) == {"a", "b"}
    assert (again.waiting, again.found) == (2, 2)
    assert again.fact("position", int) is None
    assert again.next_batch() is None
    assert [one.url for one in again.take("a")] == ["http://a/1"]
    again.close()


def test_what_is_postponed_is_due_again_with_one_try_more(path: Path) -> None:
    frontier = Frontier(path)
    frontier.add([url("http://a/1")])
    frontier.postpone(frontier.take("a")[0], 100)
    frontier.commit()
    frontier.close()
    again = Frontier(path)
    assert (again.next_later(), again.due(99), again.take("a")) == (100, set(), [])
    assert again.due(100) == {"a"}
    assert again.take("a")[0].tries == 1
    assert again.next_later() is None
    assert again.waiting == 1
    again.close()


def test_a_host_that_is_given_up_has_nothing_left_but_what_is_taken(path: Path) -> None:
    frontier = Frontier(path)
    frontier.add([url(f"http://a/{number}") for number in range(5)] + [url("http://b/1")])
    taken, later = frontier.take("a", 2)
    frontier.postpone(later, 50.0)
    assert frontier.give_up("a") == 4
    assert (frontier.take("a"), frontier.due(60.0), frontier.next_later()) == ([], set(), None)
    assert (frontier.waiting, frontier.hosts["a"].waiting) == (2, 1)
    frontier.done(taken)
    frontier.commit()
    frontier.close()
    again = Frontier(path)
    assert (again.waiting, again.take("a"), len(again.take("b"))) == (1, [], 1)
    again.close()


def test_batches_keep_their_numbers_after_all_were_sent(path: Path) -> None:
    frontier = Frontier(path)
    for message in ("one", "two"):
        entries = [LogEntry(type="stdout", ts=1, message=message)]
        frontier.put_batch(entries, Increments(items_queued=3, hosts={"a": (1, 2)}))
    frontier.commit()
    first = frontier.next_batch()
    assert first
    assert (first.entries[0].message, first.increments.hosts) == ("one", {"a": (1, 2)})
    frontier.drop_batches(2)
    frontier.commit()
    frontier.close()
    again = Frontier(path)
    assert again.next_batch() is None
    again.put_batch([], Increments())
    batch = again.next_batch()
    assert batch
    assert batch.number == 3
    again.close()


def test_urls_whose_records_are_lost_are_fetched_again(path: Path) -> None:
    frontier = Frontier(path)
    frontier.add([url(f"http://a/{n}") for n in range(5)])
    for task, place in zip(
        frontier.take("a", 5), [(0, 10), (0, 90), (1, 0), (1, 50), (-1, 0)], strict=True
    ):
        frontier.done(task, *place)
    assert (frontier.undo_from(1, 50), frontier.waiting) == (1, 1)
    assert (frontier.undo_from(0, 90), frontier.waiting) == (2, 3)
    again = frontier.take("a", 5)
    assert [one.url for one in again] == ["http://a/1", "http://a/2", "http://a/3"]
    frontier.close()


def test_a_file_of_another_version_is_refused(path: Path) -> None:
    frontier = Frontier(path)
    frontier.commit()
    frontier._db.rollback()
    frontier._db.execute("PRAGMA user_version = 99")
    frontier.close()
    with pytest.raises(Refused, match="another version"):
        Frontier(path)


def test_a_killed_process_leaves_the_last_commit(path: Path) -> None:
    """It prints a number after each commit, and is killed somewhere in the next one."""
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from watchbell.archive.frontier import FoundUrl, Frontier
        from watchbell.archive.scope import Place
        frontier = Frontier(Path(sys.argv[1]))
        number = 0
        while True:
            for _ in range(20):
                number += 1
                text = f"http://a/{number}"
                frontier.add([FoundUrl(url=text, known=text, host="a", place=Place(root="http://a/"))])
            frontier.set_fact("number", number)
            frontier.commit()
            print(number, flush=True)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        printed = [int(process.stdout.readline()) for _ in range(5)]
        os.kill(process.pid, signal.SIGKILL)
        printed += map(int, process.stdout)
    frontier = Frontier(path)
    number = frontier.fact("number", int)
    assert number
    assert number in (printed[-1], printed[-1] + 20)
    assert (frontier.found, len(frontier.take("a", 1_000_000))) == (number, number)
    frontier.close()
