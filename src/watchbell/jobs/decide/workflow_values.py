"""What jobs of a workflow pass on: joined, split, and asked by expressions. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from watchbell.expressions import Expression, ExpressionError
from watchbell.jobs.decide.workflow_state import Input, Values
from watchbell.jobs.model import Usage

FILES = "files"
"""The expression of a split that takes the files one by one."""


class NeedsValues(Exception):
    """A decision needs what earlier jobs of the run passed on."""


def combined(parts: Sequence[Values]) -> Values:
    """Of a join: the data of each as `items`, all properties together as `combined`, all files."""
    objects = [one.data if isinstance(one.data, dict) else {} for one in parts]
    items = [one.data if one.data is not None else {} for one in parts]
    both: dict[str, Any] = {}
    for one in objects:
        both |= one
    files = tuple(file for one in parts for file in one.files)
    return Values({"items": items, "combined": both}, files)


def merged(parts: Iterable[Values], shared: Mapping[str, Any]) -> Values:
    """What a run passes on: the data of all its jobs, lists joined, then what they shared."""
    data: dict[str, Any] = {}
    files: list[Any] = []
    for one in parts:
        files += one.files
        for name, value in one.data.items() if isinstance(one.data, dict) else ():
            old = data.get(name)
            is_joined = isinstance(old, list) and isinstance(value, list)
            data[name] = [*old, *value] if is_joined and isinstance(old, list) else value
    return Values({**data, **shared} or None, tuple(files))


def merged_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    return Usage(
        min=min(one.min, other.min),
        max=max(one.max, other.max),
        total=one.total + other.total,
        count=one.count + other.count,
    )


def truth(text: str, context: dict[str, Any]) -> bool | str:
    """Whether an expression is true, or why that can't be said."""
    try:
        return Expression.parse(text).is_true(context)
    except ExpressionError as error:
        return error.reason


def too_many(count: int, most: int) -> str:
    return f"it would launch {count:,} jobs; a workflow launches at most {most:,}"


def split_items(
    settings: Mapping[str, Any], passed: Values, context: dict[str, Any], most: int
) -> list[Input] | str:
    """What each job of a split gets, or why there is nothing to split, or more than `most`."""
    text = str(settings.get("split", ""))
    found = list(passed.files) if text == FILES else _listed(text, context)
    if isinstance(found, str):
        return found
    kept = _filtered(str(settings.get("filter", "")), found, context)
    if isinstance(kept, str):
        return kept
    if not kept:
        return f"{text} has no items to split"
    size = int(settings.get("chunk", 1))
    if len(kept) > most * size:
        return too_many(-(-len(kept) // size), most)
    chunks = [kept[at : at + size] for at in range(0, len(kept), size)]
    if text == FILES:
        return [Input(data=passed.data, files=tuple(chunk)) for chunk in chunks]
    name = "items" if "chunk" in settings else "item"
    return [Input(data={name: chunk if name == "items" else chunk[0]}) for chunk in chunks]


def _listed(text: str, context: dict[str, Any]) -> list[Any] | str:
    try:
        value = Expression.parse(text).evaluate(context)
    except ExpressionError as error:
        return error.reason
    if isinstance(value, str):
        value = value.strip().splitlines()
    return value if isinstance(value, list) else f"{text} is no list"


def _filtered(text: str, items: list[Any], context: dict[str, Any]) -> list[Any] | str:
    if not text:
        return items
    try:
        expression = Expression.parse(text)
        return [
            item
            for index, item in enumerate(items)
            if expression.is_true({**context, "item": to_builtins(item), "index": index})
        ]
    except ExpressionError as error:
        return error.reason
