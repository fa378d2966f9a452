"""Why an expression can't be parsed or evaluated, and where."""

from watchbell.errors import Refused

_WIDEST = 100
"""Characters of the text in `pointer`, at most."""


class Unusable(Exception):
    """Something is wrong with a value or the amount of work; whoever knows the place adds it."""


class ExpressionError(Refused):
    """`position` is the column in `text`, counted from 1; `problem` is the reason without it."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.text, self.position, self.problem = text, position, problem
        super().__init__(f"{problem}, at {self._place()}")

    def _place(self) -> str:
        before = self.text[: self.position - 1]
        if "\n" not in self.text:
            return f"column {self.position}"
        line = before.count("\n") + 1
        return f"line {line}, column {len(before) - before.rfind(chr(10))}"

    def pointer(self) -> str:
        """The line with the mistake, and below it a caret, for terminals."""
        start = self.text.rfind("\n", 0, self.position - 1) + 1
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        column = self.position - 1 - start
        if len(line) > _WIDEST:
            cut = max(0, min(column - _WIDEST // 2, len(line) - _WIDEST))
            line, column = line[cut : cut + _WIDEST], column - cut
        shown = "".join(char if char.isprintable() else " " for char in line)
        return f"{shown}\n{' ' * column}^"
