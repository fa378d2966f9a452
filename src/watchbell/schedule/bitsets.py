"""Sets of small numbers as integers: bit N is set if N is in the set."""

from collections.abc import Iterable
from typing import Final

ANY: Final = -1
"""The set of all numbers."""


def of(numbers: Iterable[int]) -> int:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def numbers(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
