"""Generates trees of expressions, and writes them as text."""

import json
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

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
    Operation,
    Path,
    Unary,
)
from watchbell.expressions.parser import PRECEDENCE

_NAMES = st.sampled_from(["a", "cpu", "avgLoad", "x1", "_", "ünder", "$d"])
_KEYS = _NAMES | st.text(max_size=5)
_SCALARS = (
    st.integers(0, 10**20)
    | st.floats(0, 1e300, allow_nan=False).filter(lambda value: not value.is_integer())
    | st.text(max_size=8)
    | st.booleans()
    | st.none()
)
_LEAVES = st.builds(Literal, _SCALARS) | st.builds(Name, _NAMES)
_CHOICE, _UNARY, _PATH = 0, 7, 8


def trees(levels: int = 3) -> st.SearchStrategy[Node]:
    """Trees of so many levels, at most."""
    if not levels:
        return _LEAVES
    inner = st.deferred(lambda: trees(levels - 1))
    return st.deferred(lambda: _LEAVES | _larger(inner))


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    nodes = st.lists(inner, max_size=3).map(tuple)
    steps = (
        st.builds(Member, _NAMES)
        | st.builds(Index, inner)
        | st.builds(Filter, st.builds(_condition, _NAMES, inner), st.just(0), st.just(0))
    )
    return st.one_of(
        st.builds(Array, nodes),
        st.builds(Object, st.lists(st.tuples(_KEYS, inner), max_size=3).map(tuple)),
        st.builds(_path, inner, st.lists(steps, min_size=1, max_size=3).map(tuple)),
        st.builds(Call, st.just("min"), st.tuples(inner, inner), st.just(0)),
        *(_chains(inner, level) for level in range(3, 7)),
        *(_logic(inner, operator) for operator in ("&&", "||")),
        st.builds(_unary, st.text("!-", min_size=1, max_size=3), inner),
        st.builds(Choice, inner, st.none() | inner, inner),
    )


def _condition(name: str, other: Node) -> Node:
    return Chain(Path(Item(), (Member(name),)), (Operation("==", other, 0),))


def _path(base: Node, steps: tuple[Member | Index | Filter, ...]) -> Path:
    if isinstance(base, Path):
        return Path(base.base, base.steps + steps)
    return Path(base, steps)


def _unary(operators: str, operand: Node) -> Unary:
    if isinstance(operand, Unary):
        return Unary(operators + operand.operators, operand.operand, 0)
    return Unary(operators, operand, 0)


def _chains(inner: st.SearchStrategy[Node], level: int) -> st.SearchStrategy[Node]:
    operators = st.sampled_from([each for each, at in PRECEDENCE.items() if at == level])
    operation = st.builds(Operation, operators, inner, st.just(0))
    return st.builds(Chain, inner, st.lists(operation, min_size=1, max_size=3).map(tuple))


def _logic(inner: st.SearchStrategy[Node], operator: str) -> st.SearchStrategy[Node]:
    operands = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(Logic, st.just(operator), operands)


def _level(node: Node) -> int:
    """How strongly the node binds as it is written."""
    match node:
        case Choice():
            return _CHOICE
        case Logic(operator):
            return PRECEDENCE[operator]
        case Chain(_, rest):
            return PRECEDENCE[rest[0].operator]
        case Unary():
            return _UNARY
        case _:
            return _PATH


def _part(node: Node, least: int) -> str:
    """The text of an operand, in parentheses if it binds less strongly than `least`."""
    return written(node) if _level(node) >= least else f"({written(node)})"


def written(node: Node) -> str:  # noqa: C901  (a case for each node)
    match node:
        case Literal(value):
            return _quoted(value) if isinstance(value, str) else json.dumps(value)
        case Name(name):
            return name
        case Item():
            return "."
        case Array(items):
            return f"[ {', '.join(map(written, items))}]"
        case Object(pairs):
            return "{" + ", ".join(f"{_quoted(k)}: {written(v)}" for k, v in pairs) + "}"
        case Path(base, steps):
            return _part(base, _PATH) + "".join(map(_step, steps))
        case Call(name, arguments):
            return f"{name}({', '.join(map(written, arguments))})"
        case Chain(first, rest):
            level = _level(node)
            parts = [f" {each.operator} {_part(each.operand, level + 1)}" for each in rest]
            return _part(first, level + 1) + "".join(parts)
        case Logic(operator, operands):
            parts = [_part(each, _level(node) + 1) for each in operands]
            return f" {operator} ".join(parts)
        case Unary(operators, operand):
            return operators + _part(operand, _PATH)
        case Choice(condition, None, second):
            return f"{_part(condition, 1)} ?: {written(second)}"
        case Choice(condition, first, second):
            assert first is not None
            return f"{_part(condition, 1)} ? {written(first)} : {written(second)}"


def _step(step: Member | Index | Filter) -> str:
    match step:
        case Member(name):
            return f".{name}"
        case Index(index):
            return f"[{written(index)}]"
        case Filter(condition):
            return f"[{written(condition)}]"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def bare(value: Any) -> Any:
    """A tree without positions and sizes, in which 1, 1.0 and true differ."""
    if isinstance(value, Struct):
        fields = [name for name in value.__struct_fields__ if name not in {"position", "size"}]
        return [type(value), *(bare(getattr(value, name)) for name in fields)]
    return [bare(each) for each in value] if isinstance(value, tuple) else (type(value), value)
