"""Filters and orders of checks, for lists, streams and actions."""

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from watchbell.alerting.decide.maintenance import Maintenance
from watchbell.alerting.model import SEVERITY, State
from watchbell.web.alerting.check_rows import CheckRow
from watchbell.web.live.views import Key

Sort = Literal["severity", "age", "name", "update"]
Enabled = Literal["yes", "no", "any"]

Text = Annotated[str, Meta(max_length=200)]
Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
Names = Annotated[tuple[Name, ...], Meta(max_length=100)]
States = Annotated[tuple[State, ...], Meta(max_length=10)]


class CheckFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out matches everything."""

    text: Text = ""
    """Words that all occur in the name or the summary, in upper or lower case."""
    state: States = ()
    """One of these."""
    failing: bool | None = None
    tag: Names = ()
    """All of these."""
    entity: Names = ()
    """One of these, by its whole name."""
    acknowledged: bool | None = None
    """Whether it fails and somebody acknowledged it."""
    maintenance: bool | None = None
    """Whether it is in scheduled maintenance."""
    enabled: Enabled = "yes"

    def normal(self) -> "CheckFilter":
        """The same for all filters that match the same checks."""
        return msgspec.structs.replace(
            self,
            text=" ".join(sorted(set(self.text.lower().split()))),
            state=tuple(sorted(set(self.state))),
            tag=tuple(sorted(set(self.tag))),
            entity=tuple(sorted({name.lower() for name in self.entity})),
        )

    def without_state(self) -> "CheckFilter":
        return msgspec.structs.replace(self, state=(), failing=None)


Test = Callable[[CheckRow], bool]


def matching(wanted: CheckFilter) -> Test:
    """The test whether a row matches a filter in its normal form."""
    tests = [test for test in _tests(wanted) if test is not None]

    def matches(row: CheckRow) -> bool:
        for test in tests:  # noqa: SIM110 a generator would take twice as long
            if not test(row):
                return False
        return True

    return matches


def _tests(wanted: CheckFilter) -> list[Test | None]:
    states, entities, tags = set(wanted.state), set(wanted.entity), set(wanted.tag)
    enabled = {"yes": True, "no": False, "any": None}[wanted.enabled]
    return [
        _flag(enabled, lambda row: row.enabled),
        (lambda row: row.state in states) if states else None,
        _flag(wanted.failing, lambda row: row.is_failing),
        (lambda row: row.entity in entities) if entities else None,
        _flag(wanted.acknowledged, lambda row: row.acknowledged),
        _flag(wanted.maintenance, lambda row: row.in_maintenance is Maintenance.SCHEDULED),
        (lambda row: tags.issubset(row.tags)) if tags else None,
        _text(wanted.text.split()),
    ]


def _flag(wanted: bool | None, of: Test) -> Test | None:
    if wanted is None:
        return None
    return of if wanted else lambda row: not of(row)


def _text(words: list[str]) -> Test | None:
    if not words:
        return None

    def contains(row: CheckRow) -> bool:
        text = f"{row.id}\n{row.summary}".lower()
        for word in words:  # noqa: SIM110 as above
            if word not in text:
                return False
        return True

    return contains


KEYS: dict[str, Callable[[CheckRow], Key]] = {
    "severity": lambda row: (-SEVERITY[row.state], -(row.since or 0), row.id),
    "age": lambda row: (-(row.since or 0), 0, row.id),
    "name": lambda row: (0, 0, row.id),
    "update": lambda row: (-(row.last_update or 0), 0, row.id),
}
"""By `Sort`: the worst first and of these the latest; the latest to change; by name; the latest to
report."""
