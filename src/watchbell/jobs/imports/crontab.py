"""Reads a crontab: each line becomes an event that runs a shell script."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from watchbell.errors import Refused
from watchbell.jobs import value_readers
from watchbell.jobs.imports.found import Found, Gathering, Item, bare
from watchbell.schedule import bitsets, cron_args, crontab_lines, zones
from watchbell.schedule.bitsets import ANY
from watchbell.schedule.calendars import ALL_HOURS, ALL_MONTHS, SIXTY, Calendar
from watchbell.schedule.crontab_lines import MAIL, ZONE, Line, Skipped, Variable
from watchbell.schedule.days import FIRST_YEAR, Days
from watchbell.schedule.firing import Every, Schedule

_LONGEST_ID = value_readers.LONGEST_ID - 8
"""Leaves room for a number."""
_FIRST_SECOND = 1
"""The seconds of a schedule by the minute, as a set."""
_NO_ID = re.compile(r"\W+", re.ASCII)


def read(
    text: str, *, has_users: bool = False, targets: Sequence[str] = ("main",), zone: str = ""
) -> Found:
    """The events. `zone` is that of lines for which the file names none; empty for the one of the
    settings. With `has_users`, lines have a user after the times, as in /etc/crontab."""
    gathering = Gathering()
    titles: set[str] = set()
    for one in crontab_lines.lines(text, has_users=has_users):
        if isinstance(one, Skipped):
            gathering.omit(f"line {one.line}", one.reason)
        elif isinstance(one, Variable):
            if one.value and one.name in MAIL[1:]:
                gathering.omit(f"line {one.number}", f"{one.name} is not used")
        else:
            try:
                values = _event(one, titles, gathering, zone)
            except Refused as error:
                gathering.omit(f"line {one.number}", str(error))
            else:
                gathering.items.append(Item("event", {**values, "targets": list(targets)}))
    return gathering.found()


def _event(line: Line, titles: set[str], gathering: Gathering, zone: str) -> dict[str, Any]:
    subject = f"line {line.number}"
    zone = line.variables.get(ZONE, zone)
    timings = timings_of(line.when, zone)
    title = crontab_lines.unique_name(line.command, titles)
    values: dict[str, Any] = {
        "id": id_of(title, {one.values["id"] for one in gathering.items}),
        "title": title,
        "notes": f"Imported from a crontab: {line.text}",
        "plugin": "shellplug",
        "params": {"script": _script(line), "json": False},
        "timings": [*timings, {"type": "manual"}],
        "actions": _mails(line, subject, gathering),
    }
    if line.user:
        values["enabled"] = False
        reason = (
            f"it is disabled, because it ran as {line.user}: define a plugin with that account, "
            "or let a server's agent run as it"
        )
        gathering.omit(subject, reason)
    return bare(values)


def id_of(title: str, taken: Collection[str] = ()) -> str:
    """An id that is like the title."""
    base = _NO_ID.sub("_", title.lower()).strip("_")[:_LONGEST_ID] or "job"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def _script(line: Line) -> str:
    shell = line.variables.get("SHELL", "")
    is_path = re.fullmatch(r"/[\w./-]+", shell)
    exports = [f"export {name}={shlex.quote(each)}" for name, each in line.environment.items()]
    # With its own shell in the first line, the command needs no other one.
    command = crontab_lines.shell_command(line.command, "" if is_path else shell)
    return "\n".join([f"#!{shell if is_path else '/bin/sh'}", "", *exports, command.strip(), ""])


def _mails(line: Line, subject: str, gathering: Gathering) -> list[dict[str, Any]]:
    to = line.variables.get("MAILTO", "")
    if not to:
        return []
    try:
        addresses = value_readers.addresses("MAILTO", to)
    except Refused:
        gathering.omit(subject, f"{to!r} is no mail address, so its output is mailed to nobody")
        return []
    gathering.omit(subject, "cron mails all output; a mail is sent only if a job fails")
    return [{"trigger": "error", "type": "email", "email": addresses}]


def timings_of(when: str, zone: str = "") -> list[dict[str, Any]]:
    """The timings that mean the same as five fields or a word. Raises Refused where none do."""
    known = zones.named(ZONE, zone) if zone else ZoneInfo("UTC")
    return timings_like(cron_args.parse(when, known, field="its times"), when, zone)


def timings_like(schedule: Schedule, when: str, zone: str) -> list[dict[str, Any]]:
    """The timings that mean the same as a schedule. `when` is what people call it."""
    if isinstance(schedule, Every):
        return [{"type": "interval", "duration": schedule.seconds}]
    if not isinstance(schedule, Calendar):
        raise Refused(f"events have no {when}")
    if schedule.weeks != ANY:
        raise Refused(f"events have no weeks of the year such as in {when!r}")
    common = {
        "type": "schedule",
        "hours": _some(schedule.hours, ALL_HOURS),
        "minutes": _some(schedule.minutes, SIXTY),
        "months": _some(schedule.months, ALL_MONTHS),
        "years": [FIRST_YEAR + each for each in _some(schedule.years, ANY)],
        "timezone": zone,
    }
    found = [bare(common | days) for days in _days(when, schedule.days)]
    if schedule.seconds != _FIRST_SECOND:
        found.append({"type": "precision", "seconds": bitsets.numbers(schedule.seconds)})
    return found


def _some(bits: int, every: int) -> list[int]:
    return [] if bits == every else bitsets.numbers(bits)


def _days(when: str, restrictions: tuple[Days, ...]) -> Iterator[dict[str, list[int]]]:
    """A date or a weekday that is enough alone needs a timing of its own; where both have to
    match, one timing has both."""
    if any(days.nth or days.last or days.last_workday for days in restrictions):
        raise Refused(f"events have no days such as in {when!r}")
    if len(restrictions) > 1:
        yield {name: each for days in restrictions for name, each in _named(days).items()}
        return
    named = _named(restrictions[0]) if restrictions else {}
    if not named:
        yield {}
    for name, each in named.items():
        yield {name: each}


def _named(days: Days) -> dict[str, list[int]]:
    dates = [*bitsets.numbers(days.dates), *(-day for day in bitsets.numbers(days.from_end))]
    weekdays = bitsets.numbers(days.weekdays)
    return ({"days": dates} if dates else {}) | ({"weekdays": weekdays} if weekdays else {})
