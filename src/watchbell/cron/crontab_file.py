"""Crontab files: their lines become jobs, and jobs become lines."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.schedule import cron_args

_VARIABLE = re.compile(r"""\s*("?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*""")
_WORD = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60
_ZONES = ("CRON_TZ", "TZ")
_OUR_WORDS = ("SHELL", "MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", *_ZONES)
"""Variables that are for cron itself, not for its commands."""
TTL = 60


class Entry(Struct, frozen=True, kw_only=True):
    """A line that runs something, as a job."""

    line: int
    name: str
    definition: dict[str, Any]


class Skipped(Struct, frozen=True):
    line: int
    text: str
    reason: str


def entries(text: str, *, has_users: bool = False) -> Iterator[Entry | Skipped]:
    """The lines of a crontab in their order. With `has_users`, as in /etc/crontab, the field after
    the times names who runs the command."""
    variables: dict[str, str] = {}
    taken: set[str] = set()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        assigned = _VARIABLE.fullmatch(line)
        if assigned and not line.startswith(("*", "@")):
            variables[assigned[2]] = _unquoted(assigned[3])
            continue
        try:
            yield _entry(number, line, variables, taken, has_users)
        except Refused as error:
            yield Skipped(number, line, str(error))


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _entry(
    number: int, line: str, variables: Mapping[str, str], taken: set[str], has_users: bool
) -> Entry:
    times = 1 if line.startswith("@") else 5
    words = line.split(None, times + has_users)
    if len(words) <= times + has_users:
        expected = "a word such as @daily" if times == 1 else "five fields of time"
        user = ", a user" if has_users else ""
        raise Refused(f"expected {expected}{user} and a command")
    when, command = " ".join(words[:times]), words[-1]
    zone = next((variables[name] for name in _ZONES if variables.get(name)), "")
    cron = {"cronstring": when} | ({"timezone": zone} if zone else {})
    cron_args.from_cron_args(cron)
    conduct: dict[str, Any] = {}
    environment = {name: value for name, value in variables.items() if name not in _OUR_WORDS}
    if environment:
        conduct["environment"] = environment
    if has_users:
        conduct["user"] = words[times]
    definition: dict[str, Any] = {
        "cron_args": cron,
        "job_args": {"cmd": _with_input(command), "lock": True, "ttl": TTL},
    }
    if conduct:
        definition["watchbell"] = conduct
    return Entry(line=number, name=_named(command, taken), definition=definition)


def _with_input(command: str) -> str:
    """A `%` ends the command, and what follows is its input, with a line for each further one."""
    run, *lines = (part.replace(r"\%", "%") for part in re.split(r"(?<!\\)%", command))
    if not lines:
        return run
    return f"printf '%s\\n' {' '.join(map(shlex.quote, lines))} | {{ {run.strip()}; }}"


def _named(command: str, taken: set[str]) -> str:
    """A name by what is run, that no other line has."""
    words = [word for word in command.split() if "=" not in word] or ["job"]
    said = words[0].rpartition("/")[2]
    base = _WORD.sub("-", said).strip("-")[:_LONGEST_NAME] or "job"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


def line_of(name: str, definition: Mapping[str, Any]) -> str:
    """The job as a line, after a comment with its name; Refused where a crontab can't say it."""
    cron, args = definition["cron_args"], definition["job_args"]
    text = cron.get("cronstring")
    extra = sorted(set(cron) - {"cronstring", "timezone"})
    if not text or extra:
        what = ", ".join(extra) if text else "single fields"
        raise Refused(f"a crontab has no {what}")
    command = " ".join(str(args["cmd"]).split("\n")).replace("%", r"\%")
    zone = f"CRON_TZ={cron['timezone']}\n" if cron.get("timezone") else ""
    return f"# {name}\n{zone}{text} {command}"
