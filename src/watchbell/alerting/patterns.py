"""Patterns over checks: ENTITY[:CHECK] with shell globs, /regex/ for either, or for the whole."""

import fnmatch
import re
from collections.abc import Callable

from msgspec import Struct

from watchbell.alerting import expressions
from watchbell.alerting.model import split_id
from watchbell.errors import Refused

_GLOB = re.compile(r"[*?\[]")


class Pattern(Struct, frozen=True):
    text: str
    entity: str | None
    """The entity, where only one can match."""
    matches: Callable[[str, str], bool]
    """Whether an entity and a check match the pattern."""


def compiled(text: str) -> Pattern:
    """A pattern without a colon matches every check of the entity. Raises Refused for an invalid
    expression."""
    inner = text.find("/:", 1)
    if text.startswith("/") and inner > 0:
        entity, check = text[: inner + 1], text[inner + 2 :]
    elif _is_expression(text):
        search = _expression(text)
        return Pattern(text, None, lambda e, c: search(f"{e}:{c}"))
    else:
        entity, check = split_id(text)
        check = check if ":" in text else "*"
    name = entity if _is_expression(entity) else entity.lower()
    of_entity, of_check = _matcher(name), _matcher(check)
    is_one = not _is_expression(name) and not _GLOB.search(name)
    return Pattern(text, name if is_one else None, lambda e, c: of_entity(e) and of_check(c))


def _matcher(text: str) -> Callable[[str], bool]:
    if _is_expression(text):
        return _expression(text)
    match = re.compile(fnmatch.translate(text)).match
    return lambda name: match(name) is not None


def _is_expression(text: str) -> bool:
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def _expression(text: str) -> Callable[[str], bool]:
    try:
        return expressions.compiled(text[1:-1])
    except Refused as error:
        raise Refused(f"the pattern {text!r} is no regular expression: {error}") from None
