"""Jinja's own filters as people's templates may use them: their output and time are bounded."""

import functools
import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from jinja2.filters import FILTERS, make_attrgetter
from jinja2.utils import Namespace
from markupsafe import Markup, escape

from watchbell.gateways.meter import CONTAINERS, Meter, TooMuch, check_size, size

# Not among them: what pads or repeats by a number (`center`, `indent`, `batch`, `slice`, `round`,
# `wordwrap`), and what has no use in a message.
_ALLOWED = """
    abs capitalize count d default dictsort e escape filesizeformat first float forceescape format
    groupby int items join last length list lower map max min reject rejectattr replace reverse
    safe select selectattr sort string striptags title tojson trim truncate unique upper urlencode
    urlize wordcount
"""
_TAKES_ITEMS = (
    *("groupby", "join", "list", "map", "max", "min", "reject", "rejectattr", "select"),
    *("selectattr", "sort", "unique"),
)
"""What goes over a text character by character."""
_WIDE = re.compile(r"%(?:\([^)]*\))?[^a-zA-Z%]*(?:\*|\d{3})")
_MOST_INDENT = 8
_LONGEST_LINK = 1_000
"""Characters of a word up to which `urlize` looks for a link in it; its time grows with their
square."""
_SQUARE_A_STEP = 500
_SPACES = re.compile(r"(\s+)")


def filters(meter: Meter, more: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """All that templates can use, by name: Jinja's and `more`, each on the meter."""
    found = {name: metered(meter, one) for name, one in more.items()}
    for name in _ALLOWED.split():
        one = FILTERS[name]
        bounded = _BOUNDED.get(name)
        work = functools.partial(bounded, meter) if bounded else one
        found[name] = metered(meter, one, work, takes_items=name in _TAKES_ITEMS)
    return found


def metered(
    meter: Meter,
    one: Callable[..., Any],
    work: Callable[..., Any] | None = None,
    *,
    takes_items: bool = False,
) -> Callable[..., Any]:
    """`one`, or `work` in its place, with what it is given and what it gives put on the meter."""
    does = work or one

    @functools.wraps(one)  # with the mark by which a filter asks for the environment
    def on_meter(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, (int, str, Namespace, *CONTAINERS)):
                meter.sized(value)
                if takes_items and isinstance(value, str):
                    meter.step(len(value))
        meter.step()
        return meter.sized(does(*args, **kwargs))

    return on_meter


def check_format(pattern: str, given: Any) -> None:
    """Refuses a `%` format whose result would be too long. A mapping's values can each be used as
    often as there are conversions, those of a tuple once."""
    if _WIDE.search(pattern):
        raise TooMuch("a width of more than 99 characters in a format")
    if isinstance(given, Mapping):
        used = pattern.count("%") * max(map(size, given.values()), default=0)
    else:
        used = size(given)
    check_size("a formatted text", len(pattern) + used)


def _format(_: Meter, value: str, *args: Any, **kwargs: Any) -> Any:
    check_format(value, kwargs or args)
    return FILTERS["format"](value, *args, **kwargs)


def _join(_: Meter, eval_ctx: Any, value: Any, d: Any = "", attribute: Any = None) -> Any:
    items = list(value)
    if attribute is not None:
        items = list(map(make_attrgetter(eval_ctx.environment, attribute), items))
    between = d if isinstance(d, str) else str(d)
    check_size("a joined text", sum(size(item) + len(between) for item in items))
    return FILTERS["join"](eval_ctx, items, between)


def _replace(_: Meter, eval_ctx: Any, s: Any, old: Any, new: Any, count: int | None = None) -> Any:
    text, new = str(s), new if isinstance(new, str) else str(new)
    check_size("a text after replacing", len(text) + text.count(str(old)) * len(new))
    return FILTERS["replace"](eval_ctx, s, old, new, count)


def _tojson(_: Meter, eval_ctx: Any, value: Any, indent: Any = None) -> Any:
    if indent is not None:
        if not isinstance(indent, int) or not 0 <= indent <= _MOST_INDENT:
            raise TooMuch(f"an indent that is no number from 0 to {_MOST_INDENT}")
        lines, depth = _shape(value)
        check_size("an indented text", lines * depth * indent)
    return FILTERS["tojson"](eval_ctx, value, indent)


def _shape(value: Any) -> tuple[int, int]:
    """How many values there are in it, itself included, and how deep they lie."""
    if not isinstance(value, CONTAINERS):
        return 1, 0
    within = [_shape(one) for one in (value.values() if isinstance(value, dict) else value)]
    return 2 + sum(count for count, _ in within), 1 + max((depth for _, depth in within), default=0)


def _urlize(
    meter: Meter,
    eval_ctx: Any,
    value: Any,
    trim_url_limit: int | None = None,
    nofollow: bool = False,
    target: str | None = None,
    rel: str | None = None,
    extra_schemes: Any = None,
) -> Any:
    """Words that are too long for a link stay as they are."""
    pieces = _SPACES.split(value if isinstance(value, str) else str(value))
    schemes = None if extra_schemes is None else list(extra_schemes)
    meter.step(len(pieces) * (1 + len(schemes or ())))
    meter.step(sum(len(p) ** 2 for p in pieces if len(p) <= _LONGEST_LINK) // _SQUARE_A_STEP)
    attributes = len(str(target or "")) + len(str(rel or ""))
    check_size("a text with links", 2 * sum(map(len, pieces)) + len(pieces) * attributes)
    escaped = Markup if isinstance(value, Markup) else escape
    more = (trim_url_limit, nofollow, target, rel, schemes)
    found = []
    for is_short, run in groupby(pieces, lambda piece: len(piece) <= _LONGEST_LINK):
        text = escaped("".join(run))
        found.append(str(FILTERS["urlize"](eval_ctx, text, *more) if is_short else text))
    return Markup("".join(found)) if eval_ctx.autoescape else "".join(found)  # noqa: S704  (it is)


_BOUNDED: dict[str, Callable[..., Any]] = {
    "format": _format,
    "join": _join,
    "replace": _replace,
    "tojson": _tojson,
    "urlize": _urlize,
}
