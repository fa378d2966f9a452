"""What is to be run and how it is to end, as a caller asks for it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from watchbell.errors import Refused

LIMITS = (
    *("as", "core", "cpu", "data", "fsize", "memlock"),
    *("nofile", "nproc", "rss", "stack"),
)
"""The resources that can be limited, by their names in setrlimit(2)."""

_LONGEST = 6 << 20  # bytes; no Linux takes more, however its limits are set


class Command(Struct, frozen=True, kw_only=True):
    argv: Sequence[str]
    """The program, found on PATH where it has no slash, and its arguments; no shell is implied."""
    environment: Mapping[str, str] = field(default_factory=dict)
    inherit: bool = True
    """Whether `environment` is added to the supervisor's own, or is all there is."""
    folder: str = ""
    """The working directory; empty for the supervisor's own."""
    user: str = ""
    """A name or number; sets HOME, USER and LOGNAME too. Empty for the supervisor's own."""
    group: str = ""
    """A name or number; empty for the groups of `user`."""
    nice: int | None = None
    """The priority itself, from -20 to 19, not a change of it."""
    umask: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    """A resource of `LIMITS` to how much of it each process of the run may use."""
    stdin: bytes = b""


class Ending(Struct, frozen=True, kw_only=True):
    """When a run that does not end by itself is ended. All in seconds."""

    time_limit: float | None = None
    """From the start, after which the run is terminated."""
    grace: float = 10.0
    """From SIGTERM to SIGKILL."""
    linger: float | None = 10.0
    """For which what the main process left behind may go on before it is terminated; None for as
    long as it likes, within the time limit."""
    escaped: Literal["end", "leave"] = "end"
    """Whether processes that began a session of their own (daemons) are part of the run."""


class Terms(Struct, frozen=True, kw_only=True):
    """On which a run is begun."""

    not_before: float = 0.0
    """Monotonic time at which it is; all else is done before, so that it is to the millisecond."""
    lease_until: float | None = None
    """The end of its first lease, monotonic time; see `Run.lease`."""
    keep_until: float | None = None
    """Until when it may go on after this process's death, likewise."""
    note: str = ""
    """What an adopter is to know of it."""


def check(command: Command) -> None:
    """Refuses what no system could run, in a line that names the field."""
    wrong = next(_problems(command), None)
    if wrong:
        raise Refused(wrong)


def _problems(command: Command) -> Iterator[str]:
    if not command.argv or not command.argv[0].strip():
        yield "the command is empty; expected a program and its arguments"
    texts = [*command.argv, *command.environment, *command.environment.values()]
    if sum(map(len, texts)) > _LONGEST:
        yield f"the command and its environment are too long; expected at most {_LONGEST:,} bytes"
    for what, text in _texts(command):
        if not _is_text(text):
            yield f"{what} is {text!r}; expected text without NUL"
    for name in command.environment:
        if not name or "=" in name:
            yield f"the environment has a variable {name!r}; expected a name without ="
    yield from _number_problems(command)


def _texts(command: Command) -> Iterator[tuple[str, str]]:
    for number, argument in enumerate(command.argv):
        yield f"the command's argument {number}", argument
    for name, value in command.environment.items():
        yield "a variable's name in the environment", name
        yield f"the environment's {name}", value
    for what in ("folder", "user", "group"):
        yield what, getattr(command, what)


def _number_problems(command: Command) -> Iterator[str]:
    if command.nice is not None and not -20 <= command.nice <= 19:
        yield f"nice is {command.nice}; expected a number from -20 to 19"
    if command.umask is not None and not 0 <= command.umask <= 0o777:
        yield f"umask is {command.umask:o}; expected an octal number from 0 to 777"
    for name, value in command.limits.items():
        if name not in LIMITS:
            yield f"there is no limit {name!r}; expected one of {', '.join(LIMITS)}"
        if not 0 <= value < 1 << 63:
            yield f"the limit {name} is {value}; expected a number from 0 to {(1 << 63) - 1}"


def _is_text(text: str) -> bool:
    try:
        return b"\0" not in text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
