"""Functions on arrays and objects."""

from collections.abc import Callable, Sequence
from typing import Any

from watchbell.expressions import numbers, values
from watchbell.expressions.errors import Unusable
from watchbell.expressions.evaluation import Evaluation
from watchbell.expressions.numbers import Number


def _array(value: Any, run: Evaluation, each: int = 1) -> list[Any]:
    """The items, for so many steps each; null has none."""
    if value is None:
        return []
    if type(value) is not list:
        raise Unusable(f"expected an array, found {numbers.kind_of(value)}")
    run.charge(each * len(value))
    return value


def _numbers(given: Sequence[Any], run: Evaluation) -> list[Number]:
    """The numbers in an array, or in the values themselves; null is left out."""
    items = _array(given[0], run) if len(given) == 1 and type(given[0]) is list else given
    return [each for each in map(numbers.number, items) if each is not None]


def _folded(fold: Callable[[list[Number]], Number]) -> Callable[..., Number | None]:
    def folded(run: Evaluation, *given: Any) -> Number | None:
        found = _numbers(given, run)
        try:
            return numbers.finite(fold(found)) if found else None
        except OverflowError:
            raise Unusable("the number is too large") from None

    return folded


least = _folded(min)
greatest = _folded(max)
average = _folded(lambda found: numbers.short(sum(found) / len(found)))


def total(run: Evaluation, *given: Any) -> Number:
    try:
        return numbers.finite(sum(_numbers(given, run)))
    except OverflowError:
        raise Unusable("the number is too large") from None


def count(_run: Evaluation, value: Any) -> int:
    if value is None:
        return 0
    if type(value) not in {list, dict, str}:
        raise Unusable(f"expected an array, an object or a text, found {numbers.kind_of(value)}")
    return len(value)


def find(run: Evaluation, items: Any, key: Any, part: Any) -> list[Any]:
    """The items with a part in the text of their key."""
    part, name = values.text(part, run), values.key_of(key)
    found = []
    for item in _array(items, run, each=4):
        value = values.member(item, name)
        if value is not None and values.includes(values.text(value, run), part, run):
            found.append(item)
    return found


def includes(run: Evaluation, container: Any, item: Any) -> bool:
    return values.includes(container, item, run)


def _object(value: Any, run: Evaluation) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise Unusable(f"expected an object, found {numbers.kind_of(value)}")
    run.charge(len(value))
    return value


def keys(run: Evaluation, value: Any) -> list[str]:
    return list(_object(value, run))


def members(run: Evaluation, value: Any) -> list[Any]:
    return list(_object(value, run).values())


def arranged(run: Evaluation, items: Any, key: Any = None) -> list[Any]:
    """From the lowest to the highest: null, numbers, texts. With a key, by that of the items; with
    `-` before it, from the highest."""
    found = _array(items, run)
    if key is not None and type(key) is not str:
        raise Unusable(f"expected the name of a key, found {numbers.kind_of(key)}")
    name = (key or "").removeprefix("-")
    by = [values.member(item, name) for item in found] if name else found
    ranks = [_rank(value) for value in by]
    turns = (len(found).bit_length() >> 2) + 1
    run.charge(len(found) * turns)
    run.charge_text(sum(len(rank[2]) for rank in ranks) * turns)
    order = sorted(range(len(found)), key=ranks.__getitem__, reverse=name != (key or ""))
    return [found[place] for place in order]


def _rank(value: Any) -> tuple[int, Number, str]:
    if value is None:
        return 0, 0, ""
    if type(value) is str:
        return 2, 0, value
    if type(value) in {int, float, bool}:
        return 1, value, ""
    raise Unusable(f"expected numbers or texts to sort, found {numbers.kind_of(value)}")


def unique(run: Evaluation, items: Any) -> list[Any]:
    """Each item once, in the order of the array."""
    seen = set()
    found = []
    for item in _array(items, run, each=2):
        key = (type(item) is str, values.text(item, run)) if item is not None else None
        if type(item) is str:
            run.charge_text(len(item))
        if key not in seen:
            seen.add(key)
            found.append(item)
    return found


def joined(run: Evaluation, items: Any, separator: Any = ",") -> str:
    between = values.text(separator, run)
    texts = [values.text(item, run) for item in _array(items, run)]
    run.fits(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)
