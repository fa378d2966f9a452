"""Time restrictions that tests talk about."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

UTC = ZoneInfo("UTC")
OFFICE: dict[str, Any] = {
    "start_time": "2013-01-28 08:00:00",
    "end_time": "2013-01-28 18:00:00",
    "rrules": [
        {
            "validations": {"day": [1, 2, 3, 4, 5]},
            "rule_type": "Weekly",
            "interval": 1,
            "week_start": 0,
        }
    ],
    "exrules": [],
    "rtimes": [],
    "extimes": [],
}


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def daily(start: str, end: str) -> dict[str, object]:
    rule = {"rule_type": "Daily", "interval": 1, "validations": {}}
    return {
        "start_time": f"2013-01-28 {start}",
        "end_time": f"2013-01-{'28' if end > start else '29'} {end}",
        "rrules": [rule],
    }


def changed(**fields: object) -> dict[str, object]:
    return {key: value for key, value in {**OFFICE, **fields}.items() if value != "absent"}


def ruled(rule_type: str, interval: int = 1, **validations: object) -> dict[str, object]:
    rule = {"rule_type": rule_type, "interval": interval, "validations": validations}
    return changed(rrules=[rule])
