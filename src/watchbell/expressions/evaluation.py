"""One evaluation: the values it reads, and what it may cost."""

from typing import Any

from watchbell.expressions.errors import Unusable

STEPS = 100_000
"""Most steps of an evaluation. A step is at most the work of one operator on one item."""
LONGEST_TEXT = 1_000_000
"""Most characters of a text that an expression makes."""


class Evaluation:
    """Steps are counted where work can grow: in filters, functions and long texts. The rest is
    bounded by the length of the expression."""

    __slots__ = ("item", "steps", "values")

    def __init__(self, values: Any) -> None:
        self.values = values
        self.item: Any = None
        """The item that a filter looks at."""
        self.steps = 0

    def charge(self, steps: int) -> None:
        """Count steps before they are done."""
        self.steps += steps
        if self.steps > STEPS:
            raise Unusable(f"too much work: more than {STEPS:,} steps; use smaller arrays or texts")

    def charge_text(self, length: int) -> None:
        """Count the work on a text."""
        if length > 64:
            self.charge(length >> 6)

    def made(self, text: str) -> str:
        """Count a text that was made, and refuse one that is too long."""
        self.fits(len(text))
        return text

    def fits(self, length: int) -> None:
        """Refuse to make a text that is too long, and count its work."""
        if length > LONGEST_TEXT:
            raise Unusable(f"the text is too long: more than {LONGEST_TEXT:,} characters")
        self.charge_text(length)
