"""The order of tests where several workers share them.

Each worker gets an equal number at first, in order, and one that is done takes from the end of
another's. So each begins with its share of the slow tests, and at the end no long ones are left.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SLOW = [
    TESTS / path
    for path in (
        *("alerting/test_machine.py", "browser", "cli", "cron", "faults"),
        *("web/test_description.py", "whole"),
    )
]
"""Folders of tests that start processes and wait for them, or open pages; long files of others."""


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Slow files are dealt whole, one to each worker in turn. The workers begin with different
    kinds, of which some need the processor and others wait."""
    fast = [item for item in items if not _is_slow(item)]
    files = [list(group) for _, group in groupby(filter(_is_slow, items), lambda item: item.path)]
    ordered: list[pytest.Item] = []
    left = len(items)
    for worker in range(workers):
        size = left // (workers - worker)
        left -= size
        ours = files[worker::workers]
        first = len(ours) * worker // workers
        slow = [item for file in (*ours[first:], *ours[:first]) for item in file]
        more = max(size - len(slow), 0)
        ordered += [*slow, *fast[:more]]
        del fast[:more]
    return ordered + fast


def _is_slow(item: pytest.Item) -> bool:
    """Tests on each kind of store stay together, for the sake of its servers."""
    is_slow = any(item.path.is_relative_to(path) for path in SLOW)
    return is_slow and "topology" not in getattr(item, "fixturenames", ())
