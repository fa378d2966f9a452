"""The values that a field may have, by the type of the request. Pure."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import inspect

_PART = re.compile(r"\[[^\]]*\]|[^.\[]+")


def choices(kind: Any, path: str) -> list[str]:
    """The values for a path such as `filter.state[...]`; none where any is allowed."""
    try:
        found = list(_plain(inspect.type_info(kind)))
    except TypeError:  # a type that only the framework knows
        return []
    for part in _PART.findall(path):
        found = [inner for one in found for inner in _within(one, part)]
    literals = [one for one in found if isinstance(one, inspect.LiteralType)]
    return [str(word) for one in literals for word in one.values]


def _plain(kind: inspect.Type) -> Iterator[inspect.Type]:
    """A type without its annotations; of a union each of its types."""
    if isinstance(kind, inspect.Metadata):
        yield from _plain(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from _plain(one)
    else:
        yield kind


def _within(kind: inspect.Type, part: str) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            if field.encode_name == part:
                yield from _plain(field.type)
    elif isinstance(kind, inspect.CollectionType):
        yield from _plain(kind.item_type)
    elif isinstance(kind, inspect.DictType):
        yield from _plain(kind.value_type)
