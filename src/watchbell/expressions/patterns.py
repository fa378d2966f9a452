"""Regular expressions, matched by RE2 in linear time."""

from typing import Any

from watchbell.expressions.errors import Unusable
from watchbell.expressions.evaluation import Evaluation

_MEMORY = 1 << 18
"""The most bytes that a compiled pattern may take."""
_LONGEST = 1_000
_BASE = 12
"""Steps of a match, whatever its length."""


class Pattern:
    """Raises Unusable if it is not valid."""

    def __init__(self, expression: str) -> None:
        if len(expression) > _LONGEST:
            raise Unusable(f"the pattern is longer than {_LONGEST:,} characters")
        import re2  # type: ignore[import-untyped] # noqa: PLC0415  (few need it, and it takes a while)

        options = re2.Options()
        options.log_errors, options.max_mem = False, _MEMORY
        try:
            self._search = re2.compile(expression.encode(errors="replace"), options)
        except re2.error as error:
            reason = error.args[0].decode(errors="replace")
            raise Unusable(
                f"the pattern is not valid: {reason}; expected the syntax of RE2"
            ) from None
        self.size = int(self._search.programsize)
        """Instructions, each of which RE2 may have to run for every character."""

    def match(self, text: str, run: Evaluation) -> list[Any] | None:
        """The text that matches, then its groups."""
        run.charge(_BASE + (len(text) * self.size >> 6))
        found = self._search.search(text.encode(errors="replace"))
        if found is None:
            return None
        parts = [found.group(), *found.groups()]
        return [None if part is None else part.decode(errors="replace") for part in parts]
