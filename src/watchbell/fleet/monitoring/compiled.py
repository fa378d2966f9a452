"""Definitions of monitors and alerts, ready to be evaluated: each text is parsed once. Pure."""

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.expressions import Expression, Template
from watchbell.fleet.model import AlertRule, Monitor

_KEPT = 4_096
_REGEX_MEMORY = 1 << 20
_LONGEST_TEXT = 1 << 16
"""Characters of a text in which a number is searched."""

Search = Callable[[str], str | None]


@lru_cache(_KEPT)
def expression(text: str) -> Expression:
    """Raises Refused."""
    return Expression.parse(text)


@lru_cache(_KEPT)
def template(text: str) -> Template:
    """What can't be parsed in it is shown as an error, so that the alert becomes active."""
    return Template.tolerant(text)


@lru_cache(_KEPT)
def search(pattern: str) -> Search:
    """What finds the first group of a regular expression in a text, or all that matches. Raises
    Refused."""
    import re2  # type: ignore[import-untyped] # noqa: PLC0415  (few need it, and it takes a while)

    options = re2.Options()
    options.log_errors, options.max_mem = False, _REGEX_MEMORY
    try:
        found = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise Refused(f"{pattern[:100]!r} is no regular expression: {error}") from None

    def first(text: str) -> str | None:
        match = found.search(text[:_LONGEST_TEXT].encode(errors="replace"))
        if match is None:
            return None
        part = match.group(1) if found.groups else match.group(0)
        return None if part is None else part.decode(errors="replace")

    return first


class CompiledMonitor(Struct, frozen=True):
    monitor: Monitor
    source: Expression | None
    search: Search | None
    error: str
    """Why it can't be evaluated; empty where it can."""


class CompiledAlert(Struct, frozen=True):
    rule: AlertRule
    expression: Expression | None
    message: Template
    error: str
    """As above, of its expression."""


class Definitions(Struct, frozen=True):
    """All that is evaluated for a minute sample."""

    monitors: tuple[CompiledMonitor, ...] = ()
    alerts: tuple[CompiledAlert, ...] = ()


def monitor(given: Monitor) -> CompiledMonitor:
    try:
        found = search(given.data_match) if given.data_match else None
        return CompiledMonitor(given, expression(given.source), found, "")
    except Refused as error:
        return CompiledMonitor(given, None, None, str(error))


def alert(given: AlertRule) -> CompiledAlert:
    message = template(given.message)
    try:
        return CompiledAlert(given, expression(given.expression), message, "")
    except Refused as error:
        return CompiledAlert(given, None, message, str(error))


def definitions(monitors: Iterable[Monitor], alerts: Iterable[AlertRule]) -> Definitions:
    """Monitors in their order; alerts that are disabled are left out."""
    ordered = sorted(monitors, key=lambda one: (one.sort_order, one.id))
    return Definitions(
        tuple(monitor(one) for one in ordered),
        tuple(alert(one) for one in sorted(alerts, key=lambda one: one.id) if one.enabled),
    )


def concerns(groups: Iterable[str], of_server: Iterable[str]) -> bool:
    """Whether a definition with these groups is about a server of those; without any, about all."""
    wanted = set(groups)
    return not wanted or not wanted.isdisjoint(of_server)
