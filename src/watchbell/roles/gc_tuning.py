"""Sets how often Python's garbage collector runs, which stops everything else."""

import gc

COLLECT = (50_000, 20, 100)
"""Allocations before a collection. A batch is thousands of short-lived objects without cycles;
with the default the collector takes a quarter of our time."""


def collect_seldom() -> None:
    """Also excludes all present objects from collections."""
    gc.set_threshold(*COLLECT)
    gc.freeze()
