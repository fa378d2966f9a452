"""What to run, when to start it, and when to end it."""

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
    """How long processes that outlive the main one may go on before they are terminated; None for
    no limit but the time limit."""
    escaped: Literal["end", "leave"] = "end"
    """Whether processes that began a session of their own (daemons) are part of the run."""
    first: Literal["all", "main"] = "all"
    """Who gets SIGTERM: all processes, or the main process and the others once that has ended."""


class Terms(Struct, frozen=True, kw_only=True):
    """The conditions under which a run starts."""

    not_before: float = 0.0
    """Monotonic time of the start. All preparation is done before it, so it is kept precisely."""
    lease_until: float | None = None
    """The end of its first lease, monotonic time; see `Run.lease`."""
    keep_until: float | None = None
    """Until when it may go on after this process's death, monotonic time."""
    note: str = ""
    """Text for a supervisor that adopts the run."""


def check(command: Command) -> None:
    """Refuses what no system could run, with the field that is wrong."""
    for field_name, reason in _problems(command):
        raise Refused(reason, field=field_name)


def _problems(command: Command) -> Iterator[tuple[str, str]]:
    if not command.argv or not command.argv[0].strip():
        yield "command", "it is empty; expected a program and its arguments"
    texts = [*command.argv, *command.environment, *command.environment.values()]
    if sum(map(len, texts)) > _LONGEST:
        yield "command", f"it is longer than {_LONGEST:,} bytes, with its environment"
    words = (*texts, command.folder, command.user, command.group)
    if not _is_text("".join(words)):  # one look at all of them is much quicker
        for field_name, subject, text in _texts(command):
            if not _is_text(text):
                yield field_name, f"{subject} is {text!r}; expected text without NUL"
    for name in command.environment:
        if not name or "=" in name:
            yield "environment", f"{name!r} is not a variable's name; expected one without ="
    yield from _number_problems(command)


def _texts(command: Command) -> Iterator[tuple[str, str, str]]:
    for number, argument in enumerate(command.argv):
        yield "command", f"argument {number}", argument
    for name, value in command.environment.items():
        yield "environment", "a variable's name", name
        yield "environment", name, value
    for field_name in ("folder", "user", "group"):
        yield field_name, "it", getattr(command, field_name)


def _number_problems(command: Command) -> Iterator[tuple[str, str]]:
    if command.nice is not None and not -20 <= command.nice <= 19:
        yield "nice", f"{command.nice} is not a number from -20 to 19"
    if command.umask is not None and not 0 <= command.umask <= 0o777:
        yield "umask", f"{command.umask:o} is not an octal number from 0 to 777"
    for name, value in command.limits.items():
        if name not in LIMITS:
            yield "limits", f"there is no limit {name!r}; expected one of {', '.join(LIMITS)}"
        if not 0 <= value < 1 << 63:
            yield "limits", f"{name} is {value}; expected a number from 0 to {(1 << 63) - 1}"


def _is_text(text: str) -> bool:
    try:
        return b"\0" not in text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
