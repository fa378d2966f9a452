"""Parts of a file that a client asks for with the header `Range`. Pure."""

import re
from typing import NamedTuple

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class ByteRange(NamedTuple):
    start: int
    end: int
    """The first byte that is not wanted."""


def wanted(header: str, size: int) -> ByteRange | None:
    """None for the whole file: also where the header is not understood, or names several ranges.
    Raises ValueError where the file has none of these bytes."""
    found = _RANGE.fullmatch(header.strip())
    if not found or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= end:
        raise ValueError(f"the file has {size} bytes")
    return ByteRange(start, end)
