"""When an alert becomes active and when it is cleared: samples are counted up and down. Pure."""

from typing import Literal, NamedTuple

Change = Literal["", "fire", "clear"]


class Count(NamedTuple):
    reached: int
    """From 0 to the samples of the definition."""
    change: Change


def counted(known: int, samples: int, *, is_true: bool, is_active: bool) -> Count:
    """An alert becomes active at as many as its definition names, and is cleared at 0. In between
    it stays what it is."""
    samples = max(samples, 1)
    count = min(max(known, 0), samples)
    count = min(count + 1, samples) if is_true else max(count - 1, 0)
    if is_true and count == samples and not is_active:
        return Count(count, "fire")
    if count == 0 and is_active:
        return Count(count, "clear")
    return Count(count, "")
