"""The tree of a parsed expression. Positions are columns, counted from 1."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Literal(Struct, frozen=True):
    value: Any


class Array(Struct, frozen=True):
    items: tuple[Node, ...]


class Object(Struct, frozen=True):
    pairs: tuple[tuple[str, Node], ...]


class Name(Struct, frozen=True):
    """A value of the input."""

    name: str


class Item(Struct, frozen=True):
    """The item that the filter around it looks at: `.`."""


class Member(Struct, frozen=True):
    """`.name`"""

    name: str


class Index(Struct, frozen=True):
    """`[index]`"""

    index: Node


class Filter(Struct, frozen=True):
    """`[.cpu > 3]`"""

    condition: Node
    size: int
    """Nodes of the condition."""
    position: int


class Path(Struct, frozen=True):
    base: Node
    steps: tuple[Member | Index | Filter, ...]


class Call(Struct, frozen=True):
    name: str
    arguments: tuple[Node, ...]
    position: int


class Operation(Struct, frozen=True):
    operator: str
    operand: Node
    position: int


class Chain(Struct, frozen=True):
    """Operators of the same precedence, from left to right: `1 + 2 - 3`."""

    first: Node
    rest: tuple[Operation, ...]


class Logic(Struct, frozen=True):
    """Operands of `&&` or `||`."""

    operator: str
    operands: tuple[Node, ...]


class Unary(Struct, frozen=True):
    """`!` or `-`, possibly several."""

    operators: str
    operand: Node
    position: int


class Choice(Struct, frozen=True):
    """`condition ? first : second`; without `first`, `condition ?: second`."""

    condition: Node
    first: Node | None
    second: Node


Node = Literal | Array | Object | Name | Item | Path | Call | Chain | Logic | Unary | Choice
