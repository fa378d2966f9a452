"""What the API returns for the output of a run or a job."""

from msgspec import Struct


class LineShown(Struct, frozen=True):
    n: int
    """The line's number, from 1; missing numbers are lines that were not kept."""
    at: float
    """When it was printed; 0 if not known."""
    text: str
    """Without the line ending, except a carriage return, after which the next line replaces it."""


class OutputShown(Struct, frozen=True, kw_only=True):
    """Consecutive lines."""

    total: int
    """The number of stored lines."""
    complete: int
    """How many of the first lines have no gap between them. The others are the newest, and may be
    replaced while the run is in progress."""
    start: int
    """The place of the first returned line, counted from 0."""
    lines: list[LineShown]


class HitsShown(Struct, frozen=True):
    places: list[int]
    """Places of lines that contain the text, counted from 0, in the order of the search."""
    next: int | None
    """`start` of the next search; null if everything was searched."""


class News(Struct, frozen=True, kw_only=True):
    """Output of a run since the last event."""

    total: int
    complete: int
    start: int
    skipped: int
    """How many lines before `start` were left out, because there were too many. Request them with
    the output endpoint."""
    lines: list[LineShown]
