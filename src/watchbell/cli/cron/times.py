"""When jobs run, as dates for people."""

from datetime import datetime

from watchbell.cli.formatting import when, zone
from watchbell.schedule import dst_notes
from watchbell.schedule.firing import Never, Schedule

_DATE = "%a %Y-%m-%d %H:%M:%S %Z"


def never(schedule: Schedule) -> str:
    """Text for a schedule without a next run; empty if its description says so already."""
    return "" if isinstance(schedule, Never) else "This schedule never runs."


def dated(schedule: Schedule, fire: int) -> str:
    """The time in the schedule's zone, in the reader's zone if it differs, and notes on DST."""
    place, here = dst_notes.zone_of(schedule), zone()
    if place is None:
        return f"{datetime.fromtimestamp(fire, here):{_DATE}}"
    there = datetime.fromtimestamp(fire, place)
    is_here = there.utcoffset() == there.astimezone(here).utcoffset()
    read_here = "" if is_here else f"{when(fire)} local time"
    return "   ".join(
        filter(None, [f"{there:{_DATE}}", read_here, dst_notes.remark(schedule, fire)])
    )
