"""The lines of a crontab file: times, commands, and the variables that hold for them."""

import re
import shlex
from collections.abc import Iterator, Mapping

from msgspec import Struct

from watchbell.errors import Refused

ZONE = "CRON_TZ"
MAIL = ("MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING")
_FOR_CRON = ("SHELL", *MAIL, ZONE)
"""Variables for cron itself, not for its commands. TZ is for commands: no cron reads it."""
_VARIABLE = re.compile(r"""\s*("?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*""")
_LIKE_OURS = ("", "sh", "bash", "dash")
"""Shells whose commands our shell can run."""
_WORD = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60


class Line(Struct, frozen=True, kw_only=True):
    """A line that runs a command."""

    number: int
    text: str
    when: str
    command: str
    user: str = ""
    variables: Mapping[str, str] = {}
    """Those above it, with those for cron itself."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the command."""
        return {name: value for name, value in self.variables.items() if name not in _FOR_CRON}


class Variable(Struct, frozen=True):
    """A line that sets a variable."""

    number: int
    text: str
    name: str
    value: str


class Skipped(Struct, frozen=True):
    line: int
    text: str
    reason: str


def lines(text: str, *, has_users: bool = False) -> Iterator[Line | Variable | Skipped]:
    """The lines in their order, without comments. With `has_users`, as in /etc/crontab, the field
    after the times names the user who runs the command."""
    variables: dict[str, str] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        assigned = _VARIABLE.fullmatch(line)
        if assigned and not line.startswith(("*", "@")):
            variables = variables | {assigned[2]: _unquoted(assigned[3])}
            yield Variable(number, line, assigned[2], variables[assigned[2]])
            continue
        try:
            yield _line(number, line, variables, has_users=has_users)
        except Refused as error:
            yield Skipped(number, line, str(error))


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _line(number: int, line: str, variables: Mapping[str, str], *, has_users: bool) -> Line:
    times = 1 if line.startswith("@") else 5
    words = line.split(None, times + has_users)
    if len(words) <= times + has_users:
        expected = "a word such as @daily" if times == 1 else "five fields of time"
        user = ", a user" if has_users else ""
        raise Refused(f"expected {expected}{user} and a command")
    return Line(
        number=number,
        text=line,
        when=" ".join(words[:times]),
        command=words[-1],
        user=words[times] if has_users else "",
        variables=variables,
    )


def shell_command(command: str, shell: str) -> str:
    """The command for a shell like ours. A `%` ends it, and what follows is its input, with a line
    for each further one."""
    run, *lines = (part.replace(r"\%", "%") for part in re.split(r"(?<!\\)%", command))
    if shell.rpartition("/")[2] not in _LIKE_OURS:
        run = f"{shlex.quote(shell)} -c {shlex.quote(run.strip())}"
    if lines and not lines[-1]:
        lines.pop()  # the last line has its end
    if not lines:
        return run
    # What ends the command is no semicolon: it may end with & or a comment itself.
    return f"printf '%s\\n' {' '.join(map(shlex.quote, lines))} | {{ {run.strip()}\n}}"


def unique_name(command: str, taken: set[str]) -> str:
    """A name after the program, different from those that are taken, which it joins."""
    words = [word for word in command.split() if "=" not in word] or ["job"]
    program = words[0].rpartition("/")[2]
    base = _WORD.sub("-", program).strip("-")[:_LONGEST_NAME] or "job"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name
