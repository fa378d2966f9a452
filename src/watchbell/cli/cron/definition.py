"""The options of `watchbell cron add` and `edit`: all that a definition can say."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

import click

from watchbell.cli.arguments import length, storable
from watchbell.cli.formatting import plain
from watchbell.cron.model import Daemons, Overlap
from watchbell.process.command import LIMITS
from watchbell.schedule.due import Missed

FOREVER = "forever"

_PLACES = {
    "tz": ("cron_args", "timezone"),
    "jitter": ("cron_args", "jitter"),
    "from": ("cron_args", "start_date"),
    "until": ("cron_args", "end_date"),
    **{
        name: ("watchbell", name.replace("-", "_"))
        for name in (
            *("alert", "missed", "grace", "overlap", "retries", "retry-delay", "retry-factor"),
            *("kill-after", "linger", "daemons", "folder", "user", "group", "nice"),
            "output-limit",
        )
    },
    "limit": ("watchbell", "time_limit"),
    "env": ("watchbell", "environment"),
    "rlimit": ("watchbell", "limits"),
    "host": ("watchbell", "hosts"),
    "tag": ("watchbell", "tags"),
}
"""Where the value of each option stands in a definition."""
_OPTIONS = {
    "name": "JOB",
    "cron_args.cronstring": "--at",
    "job_args.cmd": "COMMAND",
    "job_args.lock": "--lock",
    "job_args.ttl": "--ttl",
    **{".".join(place): f"--{option}" for option, place in _PLACES.items()},
}
_SCHEDULE = (
    "cronstring",
    "year",
    "month",
    "day",
    "week",
    "day_of_week",
    "hour",
    "minute",
    "second",
)


def option_of(field: str) -> str:
    """What the command line calls a field of a definition."""
    part, _, name = field.partition(".")
    if part == "cron_args" and name in _SCHEDULE[1:]:
        return f"--on {name}"
    return _OPTIONS.get(".".join(field.split(".")[:2]), field)


def seconds(value: str) -> int:
    """As `length`, but 0 is allowed."""
    return 0 if value.strip() == "0" else length(value)


def seconds_or_forever(value: str) -> int | str:
    return FOREVER if value.strip() == FOREVER else seconds(value)


def _when(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option("--at", metavar="EXPR", help='Five crontab fields, or "@daily" and the like.'),
        click.option(
            "--on",
            "fields",
            multiple=True,
            metavar="FIELD=VALUE",
            help="In place of --at: second=*/10, day='2nd mon', hour=8-17 …; may be repeated.",
        ),
        click.option("--tz", metavar="ZONE", help="Its time zone, such as Europe/Rome."),
        click.option("--from", metavar="DATE", help="It does not fire before, such as 2026-12-01."),
        click.option("--until", metavar="DATE", help="It does not fire after."),
        click.option(
            "--jitter",
            type=seconds,
            metavar="LENGTH",
            help="Delay each fire by up to this long, to spread the load.",
        ),
    ]
    return _decorated(command, options)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option("--lock", metavar="NAME", help="A lock that it shares with other jobs."),
        click.option("--everywhere", is_flag=True, default=None, help="Run it on every instance."),
        click.option(
            "--ttl",
            type=length,
            metavar="LENGTH",
            help="After how long the lock of an instance that died is free; a minute unless set.",
        ),
        click.option(
            "--host",
            multiple=True,
            metavar="HOST",
            type=storable,
            help="Run it only on this host; may be repeated.",
        ),
        click.option(
            "--tag",
            multiple=True,
            metavar="TAG",
            type=storable,
            help="Run it only on instances with this tag (cron.tags); of several, with all.",
        ),
    ]
    return _decorated(command, options)


def _which(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--missed",
            type=click.Choice(get_args(Missed)),
            help="What becomes of fires that come too late; skip unless set.",
        ),
        click.option(
            "--grace",
            type=seconds,
            metavar="LENGTH",
            help="By how much a fire may be late and run all the same.",
        ),
        click.option(
            "--overlap",
            type=click.Choice(get_args(Overlap)),
            help="What becomes of a fire while a run holds the lock; skip unless set.",
        ),
        click.option(
            "--retries", type=int, metavar="N", help="How often a failed run is tried again."
        ),
        click.option(
            "--retry-delay",
            type=length,
            metavar="LENGTH",
            help="From a failure to the first retry; a minute unless set.",
        ),
        click.option(
            "--retry-factor",
            type=float,
            metavar="N",
            help="By which the delay grows from one retry to the next; 2 unless set.",
        ),
        click.option(
            "--alert/--no-alert", default=None, help="Whether its runs are reported to alerting."
        ),
    ]
    return _decorated(command, options)


def _how(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option("--limit", type=length, metavar="LENGTH", help="How long a run may take."),
        click.option(
            "--kill-after",
            type=seconds,
            metavar="LENGTH",
            help="From SIGTERM to SIGKILL for a run that has to end.",
        ),
        click.option(
            "--linger",
            type=seconds_or_forever,
            metavar="LENGTH",
            help=f"How long processes that the command left may go on; or {FOREVER}.",
        ),
        click.option(
            "--daemons",
            type=click.Choice(get_args(Daemons)),
            help="Whether processes with a session of their own end with the run.",
        ),
        click.option("--folder", metavar="DIR", type=storable, help="The folder it runs in."),
        click.option("--user", metavar="USER", type=storable, help="The user it runs as."),
        click.option("--group", metavar="GROUP", type=storable, help="The group it runs as."),
        click.option("--nice", type=int, metavar="N", help="Its priority, from -20 to 19."),
        click.option(
            "--env",
            multiple=True,
            metavar="NAME=VALUE",
            help="A variable of its environment; may be repeated.",
        ),
        click.option(
            "--rlimit",
            multiple=True,
            metavar="NAME=N",
            help=f"A limit on a resource ({', '.join(LIMITS)}); may be repeated.",
        ),
        click.option(
            "--output-limit",
            type=int,
            metavar="MIB",
            help="Up to which its output is kept complete.",
        ),
    ]
    return _decorated(command, options)


def _decorated(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say what a job is; those that are not given are None, or empty."""
    return _when(_where(_which(_how(command))))


unsetting = click.option(
    "--unset",
    multiple=True,
    type=click.Choice(sorted(_PLACES)),
    metavar="OPTION",
    help="Take back what this option set, such as --unset retries; may be repeated.",
)


def changed(
    definition: Mapping[str, Any], line: str, given: Mapping[str, Any], unset: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The definition with what was given on the command line."""
    if given["lock"] is not None and given["everywhere"]:
        raise click.UsageError("--lock and --everywhere exclude each other")
    if given["lock"] == "":
        raise click.UsageError("--lock: expected a name")
    parts = {key: dict(definition.get(key) or {}) for key in ("cron_args", "job_args", "watchbell")}
    parts["cron_args"] = _times(parts["cron_args"], given)
    args = {"cmd": line or None, "lock": given["lock"], "ttl": given["ttl"]}
    if given["everywhere"]:
        args["lock"] = False
    parts["job_args"] |= {key: value for key, value in args.items() if value is not None}
    for option, (part, field) in _PLACES.items():
        value = given[option.replace("-", "_")]
        if option in unset:
            parts[part].pop(field, None)
        if value not in (None, ()):
            parts[part][field] = _meant(option, value)
    if not parts["watchbell"]:
        del parts["watchbell"]
    kept = {key: value for key, value in definition.items() if key != "watchbell"}
    return {**kept, **parts}


def _meant(option: str, value: Any) -> Any:
    """The value as a definition has it."""
    if option == "env":
        return _pairs("--env", value)
    if option == "rlimit":
        return {name: _number("--rlimit", text) for name, text in _pairs("--rlimit", value).items()}
    if option in ("host", "tag"):
        return list(value)
    return None if value == FOREVER else value


def _times(known: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    if given["at"] and given["fields"]:
        raise click.UsageError("--at and --on exclude each other")
    lasting = {key: value for key, value in known.items() if key not in _SCHEDULE}
    if given["at"]:
        return {"cronstring": given["at"], **lasting}
    return {**_pairs("--on", given["fields"]), **lasting} if given["fields"] else known


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise click.UsageError(f"{option}: expected NAME=VALUE, not {plain(key)!r}")
    return {key: value for key, _, value in pairs}


def _number(option: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise click.UsageError(f"{option}: expected a whole number, not {plain(text)!r}")
    return int(text)
