"""How often Python looks for cycles to free, which stops everything else."""

import gc

COLLECT = (50_000, 20, 100)
"""How much is made before it does. A batch is thousands of objects that live for a moment and form
none; with the usual numbers the search takes a quarter of our time."""


def collect_seldom() -> None:
    """All that there is already is taken to stay, and not looked through again."""
    gc.set_threshold(*COLLECT)
    gc.freeze()
