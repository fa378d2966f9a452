"""Crontab files: their lines become jobs, and jobs become lines."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from watchbell.errors import Refused
from watchbell.schedule import cron_args, zones

_VARIABLE = re.compile(r"""\s*("?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*""")
_WORD = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60
_ZONE = "CRON_TZ"
_MAIL = ("MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING")
_OUR_WORDS = ("SHELL", *_MAIL, _ZONE)
"""Variables for cron itself, not for its commands. TZ is for commands: no cron reads it."""
_LIKE_OURS = ("", "sh", "bash", "dash")
"""Shells whose commands our shell can run."""
_ONLY_OURS = re.compile(r"@every.*|@never|[^@].*(#|(?<!ju)l).*", re.IGNORECASE)
"""Times that no other cron can read, such as an `l` that is not part of `jul`."""
TTL = 60


class Entry(Struct, frozen=True, kw_only=True):
    """A line of a crontab that runs a command, as a job."""

    line: int
    name: str
    definition: dict[str, Any]


class Skipped(Struct, frozen=True):
    line: int
    text: str
    reason: str


def entries(text: str, *, has_users: bool = False) -> Iterator[Entry | Skipped]:
    """The lines of a crontab in their order. With `has_users`, as in /etc/crontab, the field after
    the times names the user who runs the command."""
    variables: dict[str, str] = {}
    taken: set[str] = set()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        assigned = _VARIABLE.fullmatch(line)
        if assigned and not line.startswith(("*", "@")):
            variables[assigned[2]] = value = _unquoted(assigned[3])
            if value and assigned[2] in _MAIL:
                yield Skipped(number, line, "nothing is mailed; failures are reported by alerts")
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
    zone = variables.get(_ZONE, "")
    cron = {"cronstring": when} | ({"timezone": zone} if zone else {})
    cron_args.parse(when, zones.named(_ZONE, zone) if zone else ZoneInfo("UTC"), field="its times")
    options: dict[str, Any] = {}
    environment = {name: value for name, value in variables.items() if name not in _OUR_WORDS}
    if environment:
        options["environment"] = environment
    if has_users:
        options["user"] = words[times]
    definition: dict[str, Any] = {
        "cron_args": cron,
        "job_args": {"cmd": _cmd(command, variables.get("SHELL", "")), "lock": True, "ttl": TTL},
    }
    if options:
        definition["watchbell"] = options
    return Entry(line=number, name=_named(command, taken), definition=definition)


def _cmd(command: str, shell: str) -> str:
    """A `%` ends the command, and what follows is its input, with a line for each further one."""
    run, *lines = (part.replace(r"\%", "%") for part in re.split(r"(?<!\\)%", command))
    if shell.rpartition("/")[2] not in _LIKE_OURS:
        run = f"{shlex.quote(shell)} -c {shlex.quote(run.strip())}"
    if lines and not lines[-1]:
        lines.pop()  # the last line has its end
    if not lines:
        return run
    # What ends the command is no semicolon: it may end with & or a comment itself.
    return f"printf '%s\\n' {' '.join(map(shlex.quote, lines))} | {{ {run.strip()}\n}}"


def _named(command: str, taken: set[str]) -> str:
    """A name after the program, different from those of all other lines."""
    words = [word for word in command.split() if "=" not in word] or ["job"]
    program = words[0].rpartition("/")[2]
    base = _WORD.sub("-", program).strip("-")[:_LONGEST_NAME] or "job"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


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
        named = "" if zone == self._zone else f"{_ZONE}={zone}\n"
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
