"""Identifiers of records sort by time and never repeat."""

from watchbell import ids


def test_ids_of_records_begin_with_their_letter_and_sort_by_time() -> None:
    times = [0.0, 1_700_000_000.0, 1_800_000_000.0, 1_800_000_000.001, 1_800_000_001.0]
    made = [ids.record_id("e", time) for time in times]
    assert sorted(made) == made
    assert all(one[0] == "e" and one.isalnum() and one.islower() for one in made)


def test_ids_of_one_moment_differ() -> None:
    assert len({ids.record_id("j", 1_800_000_000.0) for _ in range(10_000)}) == 10_000
