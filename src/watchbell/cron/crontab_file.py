"""Crontab files: their lines become jobs, and jobs become lines."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.schedule import cron_args, crontab_lines, zones
from watchbell.schedule.crontab_lines import MAIL, ZONE, Line, Skipped, Variable

_ONLY_OURS = re.compile(r"@every.*|@never|[^@].*(#|(?<!ju)l).*", re.IGNORECASE)
"""Times that no other cron can read, such as an `l` that is not part of `jul`."""
TTL = 60


class Entry(Struct, frozen=True, kw_only=True):
    """A line of a crontab that runs a command, as a job."""

    line: int
    name: str
    definition: dict[str, Any]


def entries(text: str, *, has_users: bool = False) -> Iterator[Entry | Skipped]:
    """The lines of a crontab in their order. With `has_users`, as in /etc/crontab, the field after
    the times names the user who runs the command."""
    taken: set[str] = set()
    for one in crontab_lines.lines(text, has_users=has_users):
        if isinstance(one, Skipped):
            yield one
        elif isinstance(one, Variable):
            if one.value and one.name in MAIL:
                reason = "nothing is mailed; failures are reported by alerts"
                yield Skipped(one.number, one.text, reason)
        else:
            try:
                yield _entry(one, taken)
            except Refused as error:
                yield Skipped(one.number, one.text, str(error))


def _entry(line: Line, taken: set[str]) -> Entry:
    zone = line.variables.get(ZONE, "")
    cron = {"cronstring": line.when} | ({"timezone": zone} if zone else {})
    known = zones.named(ZONE, zone) if zone else ZoneInfo("UTC")
    cron_args.parse(line.when, known, field="its times")
    options: dict[str, Any] = {}
    if line.environment:
        options["environment"] = line.environment
    if line.user:
        options["user"] = line.user
    cmd = crontab_lines.shell_command(line.command, line.variables.get("SHELL", ""))
    definition: dict[str, Any] = {
        "cron_args": cron,
        "job_args": {"cmd": cmd, "lock": True, "ttl": TTL},
    }
    if options:
        definition["watchbell"] = options
    name = crontab_lines.unique_name(line.command, taken)
    return Entry(line=line.number, name=name, definition=definition)


class Writer:
    """Writes jobs as lines, one after the other: a time zone holds until the next is named."""

    def __init__(self) -> None:
        self._zone = ""

    def lines(self, name: str, definition: Mapping[str, Any], zone: str) -> str:
        """The job's line after a comment with its name. `zone` is used where the job names none.
        Raises Refused for a job that a crontab can't express."""
        cron, args = definition["cron_args"], definition["job_args"]
        times, command = _times(cron), _one_line(args["cmd"])
        zone = cron.get("timezone") or zone
        named = "" if zone == self._zone else f"{ZONE}={zone}\n"
        self._zone = zone
        left_out = ", ".join(definition.get("watchbell") or {})
        more = f"; a crontab can't express its {left_out}" if left_out else ""
        return f"# {name}{more}\n{named}{times} {command}"


def _times(cron: Mapping[str, Any]) -> str:
    text = " ".join(str(cron.get("cronstring") or "").split())
    extra = sorted(set(cron) - {"cronstring", "timezone"})
    if not text or extra:
        what = ", ".join(extra) if text else "single fields"
        raise Refused(f"a crontab has no {what}")
    if _ONLY_OURS.fullmatch(text):
        raise Refused(f"a crontab has no {text}")
    return cron_args.WORDS["@minutely"] if text.lower() == "@minutely" else text


def _one_line(command: str) -> str:
    if "\n" in command.strip():
        raise Refused("a crontab has no commands of several lines")
    return command.strip().replace("%", r"\%")
