"""The stream of a list of checks."""

import msgspec
from msgspec import Struct

from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow
from watchbell.web.alerting.check_table import CheckTable
from watchbell.web.live import table_stream
from watchbell.web.live.events import Source
from watchbell.web.live.table_stream import Changed


class Heard(Struct, frozen=True, array_like=True):
    """A check that reported the same state again."""

    id: str
    last_update: int | None
    summary: str


class ChangedChecks(Struct, frozen=True, kw_only=True):
    rows: list[CheckRow]
    gone: list[str]
    heard: list[Heard]
    """Checks of which only the summary, or the time of the last report, has changed."""
    counts: CheckCounts


def changes(table: CheckTable, wanted: CheckFilter, since: str) -> Source:
    return table_stream.changes(table, wanted, since, _encoded)


def _encoded(change: Changed[CheckRow, CheckCounts]) -> bytes:
    heard = [Heard(row.id, row.last_update, row.summary) for row in change.refreshed]
    return msgspec.json.encode(
        ChangedChecks(rows=change.rows, gone=change.gone, heard=heard, counts=change.counts)
    )
