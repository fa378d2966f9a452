"""The check table in columns: compact, for pages that show all of it."""

import gzip
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from watchbell.alerting.model import SEVERITY
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow

MOST = 50_000
"""Rows that a page gets at once."""
_LEVEL = 1
"""The level of gzip: a higher one takes three times as long to save a tenth."""


class Columns(Struct, frozen=True, kw_only=True):
    """All checks that match, the worst first, in a form for pages that show very many.

    The first lists have one item for each check, and name others by their places in `entities`,
    `names` and `tag_sets`. Times are seconds before `now`. What few checks have is under their
    places in the lists.
    """

    moment: str
    now: int
    count: int
    """All that match; more than are listed where there are very many."""
    counts: CheckCounts
    entity: list[int]
    name: list[int]
    tags: list[int]
    state: list[int]
    """0 for ok, 1 for unknown, 2 for warning, 3 for critical."""
    since: list[int | None]
    last_update: list[int | None]
    summary: list[str]
    failing_since: dict[int, int]
    scheduled_until: dict[int, int]
    unscheduled_until: dict[int, int]
    disabled: list[int]
    entities: list[str]
    names: list[str]
    tag_sets: list[tuple[str, ...]]


class _Index:
    """Distinct values and their positions."""

    def __init__(self) -> None:
        self.places: dict[object, int] = {}

    def __call__(self, thing: object) -> int:
        return self.places.setdefault(thing, len(self.places))


def columns(rows: Sequence[CheckRow], counts: CheckCounts, moment: str, now: int) -> Columns:
    entities, names, tags = _Index(), _Index(), _Index()
    first = rows[:MOST]
    numbered = list(enumerate(first))
    return Columns(
        moment=moment,
        now=now,
        count=len(rows),
        counts=counts,
        entity=[entities(row.entity) for row in first],
        name=[names(row.check) for row in first],
        tags=[tags(row.tags) for row in first],
        state=[SEVERITY[row.state] for row in first],
        since=[None if row.since is None else now - row.since for row in first],
        last_update=[None if row.last_update is None else now - row.last_update for row in first],
        summary=[row.summary for row in first],
        failing_since={i: now - row.failing_since for i, row in numbered if row.failing_since},
        scheduled_until={i: row.scheduled_until for i, row in numbered if row.scheduled_until},
        unscheduled_until={
            i: row.unscheduled_until for i, row in numbered if row.unscheduled_until
        },
        disabled=[i for i, row in numbered if not row.enabled],
        entities=list(entities.places),  # type: ignore[arg-type]
        names=list(names.places),  # type: ignore[arg-type]
        tag_sets=list(tags.places),  # type: ignore[arg-type]
    )


def packed(
    rows: Sequence[CheckRow], counts: CheckCounts, moment: str, now: int
) -> tuple[bytes, bytes]:
    """As JSON, plain and compressed."""
    plain = msgspec.json.encode(columns(rows, counts, moment, now))
    return plain, gzip.compress(plain, _LEVEL)
