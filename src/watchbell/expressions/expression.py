"""An expression: parsed once, evaluated often."""

from typing import Any, Self

from watchbell.expressions import compiler, parser
from watchbell.expressions.compiler import Evaluator
from watchbell.expressions.evaluation import Evaluation


class Expression:
    __slots__ = ("_evaluator", "names", "text")

    def __init__(self, text: str, names: frozenset[str], evaluator: Evaluator) -> None:
        self.text, self._evaluator = text, evaluator
        self.names = names
        """The names of the values that it reads."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ExpressionError."""
        found = parser.parsed(text)
        return cls(text, found.names, compiler.compiled(text, found.tree))

    def evaluate(self, values: dict[str, Any]) -> Any:
        """The value, which may be part of the given ones. They are what a JSON text contains.

        Raises ExpressionError. What is missing is None.
        """
        return self._evaluator(Evaluation(values))

    def is_true(self, values: dict[str, Any]) -> bool:
        """Whether the value counts as true: not null, false, 0, nor empty."""
        return bool(self.evaluate(values))
