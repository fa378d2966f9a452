"""Days of a month, in the ways in which people name them."""

from dataclasses import dataclass
from typing import Final

from watchbell.schedule.bitsets import numbers

FIRST_YEAR: Final = 1970
"""Years are counted from it where they are in a set."""

_EVERY_7TH = 0x10204081
_WORKDAYS = 0b0111110


@dataclass(frozen=True, slots=True)
class Days:
    """A day belongs to these days if any of the fields names it."""

    dates: int = 0
    from_end: int = 0
    """1 is the last day of the month, 2 the last but one."""
    weekdays: int = 0
    """Sunday is 0."""
    nth: int = 0
    """The nth of its weekday in the month is `7 * (n - 1) + weekday`."""
    last: int = 0
    """The last of its weekday in the month."""
    last_workday: bool = False

    def within(self, first: int, length: int) -> int:
        """The dates of these days in a month that begins with the weekday `first`."""
        whole = (2 << length) - 2
        found = self.dates | _weekly(self.weekdays, first)
        if self.nth:
            for week in range(5):
                found |= _rotated(self.nth >> 7 * week & 127, first) << (7 * week + 1)
        if self.last:
            found |= _weekly(self.last, first) & whole & -1 << (length - 6)
        if self.from_end:
            for place in numbers(self.from_end):
                found |= 1 << max(0, length + 1 - place)
        if self.last_workday:
            found |= 1 << (_weekly(_WORKDAYS, first) & whole).bit_length() - 1
        return found & whole


def _rotated(weekdays: int, first: int) -> int:
    """Bit N is set if the weekday of the Nth day after the first is in the set."""
    return (weekdays >> first | weekdays << (7 - first)) & 127


def _weekly(weekdays: int, first: int) -> int:
    return _rotated(weekdays, first) * _EVERY_7TH << 1
