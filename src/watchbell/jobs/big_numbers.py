"""Whole numbers of more than 64 bits, which JSON allows and MessagePack does not."""

import math
import re
from typing import Any

SUSPECT = re.compile(rb"\d{19}")
"""Found in every JSON text that has such a number."""


def bounded(value: Any) -> Any:
    """The value with such numbers as floats."""
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else _float(value)
    if isinstance(value, dict):
        return {name: bounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(each) for each in value]
    return value


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
