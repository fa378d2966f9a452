"""What a render of people's templates may still use: steps, output, and the size of a value."""

from collections.abc import Iterator
from typing import Any

from jinja2 import TemplateRuntimeError
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.utils import Namespace

STEPS = 100_000
OUTPUT = 256 * 1024
"""Characters that a template may write, or hold in one value."""
BITS = 1_024
"""Of a whole number."""
CHARACTERS_A_STEP = 256
LONGEST_LIST = 10_000
CONTAINERS = (dict, list, tuple, set)
# Each lets its holder at other values, so a list of a thousand of them can stand for a thousand
# times what is counted.
_HOLDERS = (Namespace, LoopContext, Macro, BlockReference)


class TooMuch(TemplateRuntimeError):
    """A template used up what one message may cost."""


class Meter:
    """What the present render may still use. A render never awaits, so there is one at a time."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.steps, self.output = STEPS, OUTPUT

    def step(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise TooMuch(f"it takes more than {STEPS:,} steps; does it loop without end?")

    def write(self, characters: int) -> None:
        self.output -= characters
        if self.output < 0:
            raise TooMuch(f"it writes more than {OUTPUT // 1024} KiB")

    def counted(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            self.step()
            yield item

    def sized(self, value: Any) -> Any:
        """The value, if it is of a bearable size."""
        if hasattr(value, "__next__") and not isinstance(value, LoopContext):
            return self.counted(value)
        characters = size(value)
        items = len(value) if isinstance(value, CONTAINERS) else 0
        self.step(items + characters // CHARACTERS_A_STEP)
        check_size("a value", characters)
        return value


def check_size(what: str, characters: int) -> None:
    if characters > OUTPUT:
        raise TooMuch(f"{what} has more than {OUTPUT // 1024} KiB")


def size(value: Any) -> int:
    """About how many characters the value has when it is written. Lists within lists count as
    often as they would be written, so they can't grow without end by holding each other."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(8 + _size_within(one) for one in value.values())
    if isinstance(value, CONTAINERS):
        if len(value) > LONGEST_LIST:
            raise TooMuch(f"a list has more than {LONGEST_LIST:,} items")
        return sum(8 + _size_within(one) for one in value)
    if isinstance(value, int) and value.bit_length() > BITS:
        raise TooMuch(f"a number has more than {BITS} bits")
    if isinstance(value, Namespace):
        raise TooMuch("a namespace can't be a value; use what is in it")
    return 8


def _size_within(value: Any) -> int:
    if isinstance(value, _HOLDERS):
        raise TooMuch(f"a {type(value).__name__} can't be in a list; use what is in it")
    return size(value)
