"""Reports on disk, until they are acknowledged."""

from pathlib import Path

import msgspec
import pytest

from watchbell.fleet.agent import journal as journals
from watchbell.fleet.agent.journal import JobState, Journal, head_of
from watchbell.fleet.messages import Output, Report


def output(number: int, size: int = 10) -> Output:
    return Output(at=1, offset=0, line=number, text=b"x" * size)


def written(folder: Path, count: int, size: int = 10) -> Journal:
    journal = Journal.begun(folder, b"head")
    for number in range(count):
        journal.append([output(number, size)], "j1", JobState(lines=number + 1))
    return journal


def numbers(journal: Journal, most: int = 1 << 30) -> list[int]:
    taken = journal.unsent(most)
    for number, raw, size in taken:
        report = msgspec.msgpack.decode(raw, type=Report)
        assert (report.job, report.n, len(bytes(raw))) == ("j1", number, size)
    return [one.number for one in taken]


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_SEGMENT", 1_000)


def test_reports_are_given_once_and_again_after_a_rewind(folder: Path) -> None:
    journal = written(folder, 100)
    assert numbers(journal) == list(range(1, 101))
    assert numbers(journal) == []
    journal.acknowledge(40)
    journal.rewind()
    assert numbers(journal) == list(range(41, 101))
    journal.close()


def test_reports_are_given_in_parts(folder: Path) -> None:
    journal = written(folder, 100)
    found = []
    while part := numbers(journal, 200):
        assert len(part) < 20
        found += part
    assert found == list(range(1, 101))
    journal.append([output(1), output(2)], "j1", JobState())
    assert numbers(journal, 1) == [101, 102]
    journal.close()


def test_what_is_acknowledged_leaves_the_disk(folder: Path) -> None:
    journal = written(folder, 1_000, 100)
    before = sum(path.stat().st_size for path in folder.iterdir())
    numbers(journal)
    journal.acknowledge(990)
    assert sum(path.stat().st_size for path in folder.iterdir()) < before / 20
    assert head_of(folder) == b"head"
    journal.acknowledge(1_000)
    journal.append([output(1)], "j1", JobState())
    assert numbers(journal) == [1_001]
    journal.close()


def test_another_process_continues_where_it_was(folder: Path) -> None:
    first = written(folder, 50)
    numbers(first)
    first.acknowledge(30)
    first.close()
    assert head_of(folder) == b"head"
    second = Journal.recovered(folder)
    assert (second.last, second.state.lines) == (50, 50)
    second.acknowledge(30)
    assert numbers(second) == list(range(31, 51))
    second.append([output(50)], "j1", JobState(lines=51))
    assert numbers(second) == [51]
    second.close()


def test_a_batch_that_is_not_whole_does_not_count(folder: Path) -> None:
    journal = Journal.begun(folder, b"head")
    journal.append([output(0)], "j1", JobState(lines=1))
    journal.append([output(1), output(2)], "j1", JobState(lines=3))
    journal.close()
    [path] = folder.iterdir()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        if cut < 8:
            assert head_of(folder) is None
            continue
        assert head_of(folder) == b"head"
        recovered = Journal.recovered(folder)
        assert recovered.last in (0, 1)
        assert recovered.state.lines == recovered.last
        recovered.append([output(9)], "j1", JobState(lines=9))
        assert numbers(recovered) == list(range(1, recovered.last + 1))
        recovered.close()
        for other in folder.iterdir():
            other.unlink()


def test_a_state_can_be_recorded_without_reports(folder: Path) -> None:
    journal = Journal.begun(folder, b"head")
    journal.append([], "j1", JobState(is_starting=True))
    assert not journal.has_unsent
    journal.close()
    recovered = Journal.recovered(folder)
    assert recovered.state.is_starting
    assert recovered.last == 0
    recovered.append([output(0)], "j1", JobState())
    assert numbers(recovered) == [1]
    recovered.close()


def test_large_reports_are_read_whole(folder: Path) -> None:
    journal = written(folder, 3, 2 << 20)
    assert numbers(journal, 1) == [1]
    assert numbers(journal) == [2, 3]
    journal.close()


def test_another_process_continues_after_what_is_gone(folder: Path) -> None:
    first = written(folder, 1_000, 100)
    numbers(first)
    first.acknowledge(990)
    first.close()
    second = Journal.recovered(folder)
    found = numbers(second)
    assert found == list(range(found[0], 1_001))
    assert 1 < found[0] <= 991
    second.close()
