"""The readers of monitors and alert definitions."""

from typing import Any, get_args

from watchbell.fleet.model import DataType, Monitor
from watchbell.jobs import action_rules
from watchbell.jobs import value_readers as read_value
from watchbell.jobs.model import AlertDef
from watchbell.jobs.record_readers import COMMON, ENABLED, record_reader, regex
from watchbell.jobs.value_readers import LARGEST, Reader

_GROUPS = read_value.array(read_value.target)
MOST_SAMPLES = 10_080
"""Of an alert: those of a week."""


def monitor(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        **COMMON,
        "source": read_value.text,
        "data_match": regex,
        "data_type": read_value.one_of(get_args(DataType)),
        "suffix": read_value.line(),
        "groups": _GROUPS,
        "display": read_value.yes_or_no,
        "min_vert_scale": read_value.number(0, LARGEST),
        "delta": read_value.yes_or_no,
        "divide_by_delta": read_value.yes_or_no,
        "delta_min_value": _least_delta,
        "sort_order": read_value.whole(-LARGEST, LARGEST),
    }
    return record_reader(Monitor, readers, strict=strict)


def _least_delta(field: str, value: Any) -> float | None:
    """False means none, as in xyOps."""
    if value is False or value == "":
        return None
    found: float = read_value.number(-LARGEST, LARGEST)(field, value)
    return found


def alert(*, strict: bool) -> Reader:
    readers: dict[str, Reader] = {
        **ENABLED,
        "expression": read_value.text,
        "message": read_value.text,
        "groups": _GROUPS,
        "samples": read_value.whole(1, MOST_SAMPLES),
        "monitor_id": read_value.optional_identifier,
        "limit_jobs": read_value.yes_or_no,
        "abort_jobs": read_value.yes_or_no,
        "actions": read_value.items(action_rules.reader(strict=strict, of_alert=True)),
        "exclusive_actions": read_value.yes_or_no,
    }
    return record_reader(AlertDef, readers, strict=strict)
