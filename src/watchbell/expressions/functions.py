"""The functions of expressions: what they are called, and how many values they take."""

import difflib
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from watchbell.expressions import array_functions, text_functions

_Function = Callable[..., Any]


class Function(Struct, frozen=True):
    call: _Function
    """Takes the evaluation, then the values."""
    least: int = 1
    most: int = 1
    reads: frozenset[str] = frozenset()
    """The names of the input that it reads."""

    def wrong_count(self, name: str, given: int) -> str:
        """What is wrong with the number of values; empty if nothing is."""
        if self.least <= given <= self.most:
            return ""
        if self.least == self.most:
            expected = str(self.least)
        elif self.most == MANY:
            expected = f"at least {self.least}"
        else:
            expected = f"{self.least} to {self.most}"
        return (
            f"{name}() takes {expected} value{'' if expected.endswith('1') else 's'}, not {given}"
        )


MANY = 1_000
TABLE: dict[str, Function] = {
    "min": Function(array_functions.least, 1, MANY),
    "max": Function(array_functions.greatest, 1, MANY),
    "sum": Function(array_functions.total, 1, MANY),
    "avg": Function(array_functions.average, 1, MANY),
    "count": Function(array_functions.count),
    "length": Function(array_functions.count),
    "find": Function(array_functions.find, 3, 3),
    "keys": Function(array_functions.keys),
    "values": Function(array_functions.members),
    "sort": Function(array_functions.arranged, 1, 2),
    "unique": Function(array_functions.unique),
    "join": Function(array_functions.joined, 1, 2),
    "includes": Function(array_functions.includes, 2, 2),
    "include": Function(array_functions.includes, 2, 2),
    "floor": Function(text_functions.floor),
    "ceil": Function(text_functions.ceil),
    "round": Function(text_functions.rounded, 1, 2),
    "abs": Function(text_functions.absolute),
    "clamp": Function(text_functions.clamp, 3, 3),
    "integer": Function(text_functions.integer),
    "float": Function(text_functions.short_float),
    "bytes": Function(text_functions.in_bytes),
    "number": Function(text_functions.with_commas),
    "pct": Function(text_functions.percent, 1, 3),
    "lower": Function(text_functions.lower),
    "upper": Function(text_functions.upper),
    "trim": Function(text_functions.trimmed),
    "split": Function(text_functions.split, 2, 2),
    "match": Function(text_functions.match, 2, 2),
    "encode": Function(text_functions.encoded),
    "stringify": Function(text_functions.stringify),
    "server": Function(text_functions.server, reads=frozenset({"servers"})),
    "event": Function(text_functions.event, reads=frozenset({"events"})),
}


def unknown(name: str) -> str:
    shown = name if len(name) <= 40 else name[:40] + "…"
    near = difflib.get_close_matches(shown, TABLE, n=1)
    return f"there is no function {shown}()" + (f" (did you mean {near[0]}()?)" if near else "")
