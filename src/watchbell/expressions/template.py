"""Texts with expressions in them: `CPU load is {{float(load[0])}}`."""

from typing import Any, Self

from watchbell.expressions import compiler, parser, values
from watchbell.expressions.compiler import Evaluator
from watchbell.expressions.errors import ExpressionError, Unusable
from watchbell.expressions.evaluation import LONGEST_TEXT, Evaluation

_MOST = 1_000
"""Expressions of a template."""
_Part = str | tuple[int, Evaluator]


class Template:
    __slots__ = ("_parts", "names", "text")

    def __init__(self, text: str, names: frozenset[str], parts: list[_Part]) -> None:
        self.text, self._parts = text, parts
        self.names = names
        """The names of the values that it reads."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ExpressionError if an expression is not valid."""
        return cls._made(text, is_strict=True)

    @classmethod
    def tolerant(cls, text: str) -> Self:
        """With `[error: …]` in place of an expression that is not valid. Those beyond the first
        thousand stay as they are written."""
        return cls._made(text, is_strict=False)

    @classmethod
    def _made(cls, text: str, *, is_strict: bool) -> Self:
        parts: list[_Part] = []
        names: set[str] = set()
        end = 0
        while (start := text.find("{{", end)) >= 0:
            if len(parts) == 2 * _MOST:
                if is_strict:
                    raise ExpressionError(text, start + 1, f"more than {_MOST:,} expressions")
                break
            parts.append(text[end:start])
            try:
                found = parser.placeholder(text, start + 2)
                parts.append((start + 1, compiler.compiled(text, found.tree)))
            except ExpressionError as error:
                if is_strict:
                    raise
                parts.append(f"[error: {error.reason}]")
                closing = text.find("}}", start)
                end = len(text) if closing < 0 else closing + 2
            else:
                names |= found.names
                end = found.end
        parts.append(text[end:])
        return cls(text, frozenset(names), parts)

    def render(self, given: dict[str, Any]) -> str:
        """The text with the values in it. An expression that fails shows `[error: …]`, so a message
        is never lost."""
        return "".join(self._rendered(given, is_strict=False))

    def render_strictly(self, given: dict[str, Any]) -> str:
        """Raises ExpressionError if an expression fails."""
        return "".join(self._rendered(given, is_strict=True))

    def _rendered(self, given: dict[str, Any], *, is_strict: bool) -> list[str]:
        run = Evaluation(given)
        shown: list[str] = []
        length = 0
        for part in self._parts:
            if isinstance(part, str):
                shown.append(part)
                continue
            try:
                value = self._value(part, run, LONGEST_TEXT - length)
            except ExpressionError as error:
                if is_strict:
                    raise
                value = f"[error: {error.reason}]"
            length += len(value)
            shown.append(value)
        return shown

    def _value(self, part: tuple[int, Evaluator], run: Evaluation, room: int) -> str:
        position, evaluator = part
        value = evaluator(run)
        try:
            shown = values.text(value, run)
        except Unusable as error:
            raise ExpressionError(self.text, position, str(error)) from None
        if len(shown) > room:
            raise ExpressionError(self.text, position, "the text is too long")
        return shown
