"""The readers of dashboards and their panels."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from watchbell.errors import Refused
from watchbell.jobs import value_readers as read_value
from watchbell.jobs.dashboards import COLUMNS, Dashboard, Height, Panel, PanelType, Span
from watchbell.jobs.record_readers import COMMON, record_reader
from watchbell.jobs.value_readers import Reader

MOST_PANELS = 60
MOST_ROWS = 50
MOST_LINES = 10
"""Servers of one plot: more lines can't be told apart."""
LONGEST_WORDS = 20_000

_REQUIRED = {"plot": "monitor", "text": "text"}


def dashboard(*, strict: bool) -> Reader:
    panels = read_value.items(_panel(strict=strict), MOST_PANELS)
    return record_reader(Dashboard, {**COMMON, "panels": panels}, strict=strict)


def references(record: Dashboard) -> Iterator[tuple[str, str, str]]:
    """The monitors of its plots: field, kind and id."""
    for place, panel in enumerate(record.panels):
        if panel.monitor:
            yield f"panels[{place}].monitor", "monitor", panel.monitor


def _panel(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        "type": read_value.one_of(get_args(PanelType)),
        "title": read_value.line(),
        "width": read_value.whole(1, COLUMNS),
        "height": read_value.one_of(get_args(Height)),
        "monitor": read_value.optional_identifier,
        "servers": read_value.array(read_value.target, MOST_LINES),
        "group": _optional_group,
        "span": read_value.one_of(get_args(Span)),
        "count": read_value.whole(1, MOST_ROWS),
        "filter": read_value.line(),
        "text": _words,
    }

    def reader(field: str, value: Any) -> Panel:
        found = read_value.fields(field, read_value.mapping(field, value), readers, strict=strict)
        if "type" not in found:
            raise Refused("enter one", field=f"{field}.type")
        _check(field, found)
        return Panel(**found)

    return reader


def _check(field: str, found: Mapping[str, Any]) -> None:
    required = _REQUIRED.get(found["type"])
    if required and not found.get(required, "").strip():
        raise Refused(f"a panel of the type {found['type']} needs one", field=f"{field}.{required}")
    if found["type"] == "plot" and found.get("count", 0) > MOST_LINES:
        raise Refused(f"a plot shows at most {MOST_LINES} servers", field=f"{field}.count")


def _optional_group(field: str, value: Any) -> str:
    return "" if value == "" else read_value.target(field, value)


def _words(field: str, value: Any) -> str:
    text = read_value.text(field, value)
    if len(text) > LONGEST_WORDS:
        raise Refused(f"expected at most {LONGEST_WORDS:,} characters", field=field)
    return text
