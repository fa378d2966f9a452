"""When jobs run, as dates for people."""

from datetime import datetime

from watchbell.cli.formatting import when, zone
from watchbell.schedule import dst_notes
from watchbell.schedule.firing import Never, Schedule

_DATE = "%a %Y-%m-%d %H:%M:%S %Z"


def never(schedule: Schedule) -> str:
    """Of one that has no next fire, where its description does not say so."""
    return "" if isinstance(schedule, Never) else "its times never come"


def dated(schedule: Schedule, fire: int) -> str:
    """As the clocks of its zone show it, and the reader's, and what is special about it."""
    place, here = dst_notes.zone_of(schedule), zone()
    if place is None:
        return f"{datetime.fromtimestamp(fire, here):{_DATE}}"
    there = datetime.fromtimestamp(fire, place)
    is_here = there.utcoffset() == there.astimezone(here).utcoffset()
    read_here = "" if is_here else f"{when(fire)} here"
    return "   ".join(
        filter(None, [f"{there:{_DATE}}", read_here, dst_notes.remark(schedule, fire)])
    )
