"""Turns the tree of an expression into functions that evaluate it.

A node becomes one function of the evaluation. None of them recurses deeper than the tree, whose
depth the parser bounds.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from watchbell.expressions import functions, text_functions, values
from watchbell.expressions.errors import ExpressionError, Unusable
from watchbell.expressions.evaluation import Evaluation
from watchbell.expressions.nodes import (
    Array,
    Call,
    Chain,
    Choice,
    Filter,
    Index,
    Item,
    Literal,
    Logic,
    Member,
    Name,
    Node,
    Object,
    Path,
    Unary,
)
from watchbell.expressions.operators import OPERATORS, negative
from watchbell.expressions.patterns import Pattern

_LARGEST_PATTERNS = 50_000
"""Most instructions of all constant patterns of an expression."""
Evaluator = Callable[[Evaluation], Any]
_Step = Callable[[Any, Evaluation], Any]


def compiled(text: str, tree: Node) -> Evaluator:
    """The function that evaluates a tree, which was parsed from the text."""
    return _Compiler(text).evaluator(tree)


class _Compiler:
    def __init__(self, text: str) -> None:
        self._text = text
        self._pattern_size = 0

    def _failed(self, position: int, error: Unusable) -> ExpressionError:
        return ExpressionError(self._text, position, str(error))

    def evaluator(self, node: Node) -> Evaluator:
        match node:
            case Literal(value):
                return lambda run: value  # noqa: ARG005
            case Name(name):
                return _names((name,))
            case Item():
                return lambda run: run.item
            case Path():
                return self._path(node)
            case Call():
                return self._call(node)
            case Chain():
                return self._chain(node)
            case Unary():
                return self._unary(node)
            case _:
                return self._composed(node)

    def _composed(self, node: Logic | Choice | Array | Object) -> Evaluator:
        match node:
            case Logic(operator, operands):
                return _logic(operator, [self.evaluator(each) for each in operands])
            case Choice():
                return self._choice(node)
            case Array(items):
                parts = [self.evaluator(item) for item in items]
                return lambda run: [part(run) for part in parts]
            case Object(pairs):
                named = [(name, self.evaluator(value)) for name, value in pairs]
                return lambda run: {name: part(run) for name, part in named}

    def _path(self, node: Path) -> Evaluator:
        names = [step.name for step in _leading(node.steps)]
        if isinstance(node.base, Name):
            start, rest = _names((node.base.name, *names)), node.steps[len(names) :]
        else:
            start, rest = self.evaluator(node.base), node.steps
        applied = [self._step(step) for step in rest]
        if not applied:
            return start
        if len(applied) == 1:
            only = applied[0]
            return lambda run: only(start(run), run)

        def walked(run: Evaluation) -> Any:
            value = start(run)
            for step in applied:
                value = step(value, run)
            return value

        return walked

    def _step(self, step: Member | Index | Filter) -> _Step:
        match step:
            case Member(name):
                return lambda value, run: values.member(value, name)  # noqa: ARG005
            case Index(index):
                at = self.evaluator(index)
                return lambda value, run: values.element(value, at(run))
            case Filter():
                return self._filter(step)

    def _filter(self, node: Filter) -> _Step:
        condition, cost, position = self.evaluator(node.condition), node.size, node.position

        def filtered(value: Any, run: Evaluation) -> list[Any]:
            items = value if type(value) is list else [] if value is None else [value]
            try:
                run.charge(len(items) * cost)
            except Unusable as error:
                raise self._failed(position, error) from None
            outer = run.item
            found = []
            for run.item in items:
                if condition(run):
                    found.append(run.item)
            run.item = outer
            return found

        return filtered

    def _call(self, node: Call) -> Evaluator:
        function, position = self._function(node), node.position
        arguments = [self.evaluator(each) for each in node.arguments]

        def called(run: Evaluation) -> Any:
            given = [argument(run) for argument in arguments]
            try:
                return function(run, *given)
            except Unusable as error:
                raise self._failed(position, error) from None

        return called

    def _function(self, node: Call) -> Callable[..., Any]:
        match node:
            case Call("match", (_, Literal(str() as expression)), position):
                try:
                    return text_functions.matching(self._pattern(expression))
                except Unusable as error:
                    raise self._failed(position, error) from None
        return functions.TABLE[node.name].call

    def _pattern(self, expression: str) -> Pattern:
        pattern = Pattern(expression)
        self._pattern_size += pattern.size
        if self._pattern_size > _LARGEST_PATTERNS:
            raise Unusable("the patterns of the expression are too large")
        return pattern

    def _chain(self, node: Chain) -> Evaluator:
        first = self.evaluator(node.first)
        rest = [
            (OPERATORS[each.operator], self.evaluator(each.operand), each.position)
            for each in node.rest
        ]

        def calculated(run: Evaluation) -> Any:
            value = first(run)
            for operator, operand, position in rest:
                other = operand(run)
                try:
                    value = operator(value, other, run)
                except Unusable as error:
                    raise self._failed(position, error) from None
            return value

        return calculated

    def _unary(self, node: Unary) -> Evaluator:
        operand, position = self.evaluator(node.operand), node.position
        operators = node.operators[::-1]

        def changed(run: Evaluation) -> Any:
            value = operand(run)
            try:
                for operator in operators:
                    value = not value if operator == "!" else negative(value)
            except Unusable as error:
                raise self._failed(position, error) from None
            return value

        return changed

    def _choice(self, node: Choice) -> Evaluator:
        condition, second = self.evaluator(node.condition), self.evaluator(node.second)
        if node.first is None:
            return lambda run: condition(run) or second(run)
        first = self.evaluator(node.first)
        return lambda run: first(run) if condition(run) else second(run)


def _leading(steps: Sequence[Member | Index | Filter]) -> Iterator[Member]:
    for step in steps:
        if not isinstance(step, Member):
            return
        yield step


def _names(keys: tuple[str, ...]) -> Evaluator:
    """The value at a path of names."""

    def read(run: Evaluation) -> Any:
        value = run.values
        for key in keys:
            value = value.get(key) if type(value) is dict else values.member(value, key)
        return value

    return read


def _logic(operator: str, operands: list[Evaluator]) -> Evaluator:
    *others, last = operands
    stops_at = operator == "||"

    def decided(run: Evaluation) -> Any:
        for operand in others:
            value = operand(run)
            if bool(value) is stops_at:
                return value
        return last(run)

    return decided
