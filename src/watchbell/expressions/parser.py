"""Parses the text of an expression into a tree."""

from msgspec import Struct

from watchbell.expressions import functions
from watchbell.expressions.errors import ExpressionError, Unusable
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
from watchbell.expressions.numbers import literal
from watchbell.expressions.tokens import Token, slashes_at, token_at, unquoted

DEEPEST = 60
"""Most levels of brackets and operators inside each other."""
PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">=", "in"], 3),
    **dict.fromkeys(["+", "-"], 4),
    **dict.fromkeys(["*", "/", "//"], 5),
    **dict.fromkeys(["%", "^"], 6),
}
_CALL = 4
"""What a call counts, in nodes of the tree."""
_WORDS = {"true": True, "false": False, "null": None}


class Parsed(Struct, frozen=True):
    tree: Node
    names: frozenset[str]
    """The names of the input that it reads."""
    end: int
    """Where the text continues."""


def parsed(text: str) -> Parsed:
    """The whole text as an expression."""
    parser = _Parser(text, 0)
    tree = parser.expression()
    if parser.token.kind != "end":
        raise parser.unexpected("an operator or the end")
    return Parsed(tree, frozenset(parser.names), len(text))


def placeholder(text: str, start: int) -> Parsed:
    """The expression from `start` to its `}}`."""
    parser = _Parser(text, start)
    tree = parser.expression()
    if parser.token.text != "}" or not text.startswith("}}", parser.token.start):
        raise parser.unexpected("an operator or '}}'")
    return Parsed(tree, frozenset(parser.names), parser.token.start + 2)


class _Parser:
    def __init__(self, text: str, start: int) -> None:
        self.text, self._first = text, start
        self.token = token_at(text, start, start)
        self.names: set[str] = set()
        self._depth = 0
        self._size = 0
        self._brackets = 0
        self._reads_item = False
        """Whether the brackets that are open mention the item, which makes them a filter."""

    def unexpected(self, expected: str) -> ExpressionError:
        return self._error(f"expected {expected}, found {self.token.shown}", self.token)

    def _error(self, problem: str, token: Token) -> ExpressionError:
        return ExpressionError(self.text, token.position, problem)

    def _next(self) -> Token:
        """Take the current token."""
        taken = self.token
        self.token = token_at(self.text, taken.start + len(taken.text), self._first)
        return taken

    def _is(self, *symbols: str) -> bool:
        return self.token.kind == "symbol" and self.token.text in symbols

    def _taken(self, symbol: str) -> bool:
        if not self._is(symbol):
            return False
        self._next()
        return True

    def _expect(self, symbol: str, instead: str = "") -> None:
        if not self._taken(symbol):
            raise self.unexpected(f"{instead}'{symbol}'")

    def expression(self) -> Node:
        condition = self._binary(1)
        if self._taken("?:"):
            return Choice(condition, None, self.expression_inside())
        if not self._taken("?"):
            return condition
        if self._taken(":"):
            return Choice(condition, None, self.expression_inside())
        first = self.expression_inside()
        self._expect(":", "an operator or ")
        return Choice(condition, first, self.expression_inside())

    def expression_inside(self) -> Node:
        self._enter()
        node = self.expression()
        self._depth -= 1
        return node

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"nested deeper than {DEEPEST} levels", self.token)

    def _binary(self, least: int) -> Node:
        """Operators that bind at least as strongly as `least`."""
        left = self._unary()
        while (level := self._level()) >= least:
            left = self._logic(left, level) if level <= 2 else self._chain(left, level)
        return left

    def _level(self) -> int:
        if self.token.kind not in {"symbol", "name"}:
            return 0
        return PRECEDENCE.get(self.token.text, 0)

    def _operand(self, level: int) -> Node:
        self._size += 1
        self._enter()
        node = self._binary(level + 1)
        self._depth -= 1
        return node

    def _logic(self, left: Node, level: int) -> Node:
        operator = self.token.text
        operands = [left]
        while self._level() == level:
            self._next()
            operands.append(self._operand(level))
        return Logic(operator, tuple(operands))

    def _chain(self, left: Node, level: int) -> Node:
        rest = []
        while self._level() == level:
            operator = self._next()
            rest.append(Operation(operator.text, self._operand(level), operator.position))
        return Chain(left, tuple(rest))

    def _unary(self) -> Node:
        operators = ""
        position = self.token.position
        while self._is("!", "-"):
            operators += self._next().text
            self._size += 1
        operand = self._path()
        return Unary(operators, operand, position) if operators else operand

    def _path(self) -> Node:
        base = self._primary()
        steps: list[Member | Index | Filter] = []
        if isinstance(base, Item) and self.token.kind == "name" and self.token.text != "in":
            steps.append(Member(self._member_name()))
        while self._is(".", "["):
            self._size += 1
            if self._taken("."):
                steps.append(Member(self._member_name()))
            else:
                steps.append(self._brackets_step())
        return Path(base, tuple(steps)) if steps else base

    def _member_name(self) -> str:
        if self.token.kind != "name":
            raise self.unexpected("a name after '.'")
        name = self._next().text
        if self._is("("):
            raise self._error(f"a value has no functions: write {name}(value)", self.token)
        return name

    def _brackets_step(self) -> Index | Filter:
        position = self._next().position
        outer, self._reads_item = self._reads_item, False
        before = self._size
        self._brackets += 1
        inner = self.expression_inside()
        self._brackets -= 1
        is_filter, self._reads_item = self._reads_item, outer
        self._expect("]", "an operator or ")
        if is_filter:
            return Filter(inner, self._size - before + 1, position)
        return Index(inner)

    def _primary(self) -> Node:
        self._size += 1
        match self.token.kind, self.token.text:
            case "number", _:
                return Literal(self._number())
            case "text", _:
                return Literal(unquoted(self._next().text))
            case "name", _:
                return self._named()
            case "symbol", "(":
                return self._group()
            case "symbol", "[":
                return self._array()
            case "symbol", "{":
                return self._object()
            case "symbol", ".":
                return self._item()
        raise self.unexpected("a value")

    def _group(self) -> Node:
        self._next()
        inner = self.expression_inside()
        self._expect(")", "an operator or ")
        return inner

    def _number(self) -> float:
        try:
            value = literal(self.token.text)
        except Unusable as error:
            raise self._error(str(error), self.token) from None
        self._next()
        return value

    def _named(self) -> Node:
        token = self._next()
        if token.text == "in":
            raise self._error("expected a value, found 'in'", token)
        if self._is("("):
            return self._call(token)
        if token.text in _WORDS:
            return Literal(_WORDS[token.text])
        self.names.add(token.text)
        return Name(token.text)

    def _call(self, name: Token) -> Call:
        function = functions.TABLE.get(name.text)
        if function is None:
            raise self._error(functions.unknown(name.text), name)
        self._next()
        arguments = self._listed(")")
        self._size += _CALL
        if problem := function.wrong_count(name.text, len(arguments)):
            raise self._error(problem, name)
        self.names |= function.reads
        return Call(name.text, arguments, name.position)

    def _listed(self, end: str) -> tuple[Node, ...]:
        """Expressions separated by commas, to the symbol at their end."""
        nodes = []
        while not self._taken(end):
            nodes.append(self.expression_inside())
            if not self._is(end):
                self._expect(",", f"an operator, '{end}' or ")
        return tuple(nodes)

    def _array(self) -> Node:
        if found := slashes_at(self.text, self.token.start):
            (first, *others), end = found
            self.token = token_at(self.text, end, self._first)
            self.names.add(first)
            return Path(Name(first), tuple(_slash_step(name) for name in others))
        self._next()
        return Array(self._listed("]"))

    def _object(self) -> Node:
        self._next()
        pairs = []
        while not self._taken("}"):
            if self.token.kind not in {"name", "text"}:
                raise self.unexpected("a name or '}'")
            key = self._next()
            self._expect(":")
            name = unquoted(key.text) if key.kind == "text" else key.text
            pairs.append((name, self.expression_inside()))
            if not self._is("}"):
                self._expect(",", "an operator, '}' or ")
        return Object(tuple(pairs))

    def _item(self) -> Node:
        dot = self._next()
        if not self._brackets:
            raise self._error("'.' is only possible inside [ ], where it means the item", dot)
        self._reads_item = True
        return Item()


def _slash_step(name: str) -> Member | Index:
    return Index(Literal(name)) if name.isdigit() else Member(name)
