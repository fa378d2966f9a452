"""The options of `watchbell cron add` and `edit`, and how they change a definition."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

import click

from watchbell import units
from watchbell.cli.arguments import length, length_or_zero, mebibytes, storable
from watchbell.cli.formatting import plain
from watchbell.cron.model import Daemons, Overlap
from watchbell.errors import Refused
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
"""Where a definition has the value of each option."""
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


def length_or_forever(value: str) -> int | str:
    return FOREVER if value.strip() == FOREVER else length_or_zero(value)


def _when(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--at",
            metavar="EXPR",
            help="Crontab fields such as '30 2 * * *', or @daily and the like.",
        ),
        click.option(
            "--on",
            "fields",
            multiple=True,
            metavar="FIELD=VALUE",
            help="Instead of --at: second=*/10, day='2nd mon', hour=8-17 …; can be repeated.",
        ),
        click.option(
            "--tz", metavar="ZONE", help="Time zone of the schedule, such as Europe/Rome."
        ),
        click.option(
            "--from", metavar="DATE", help="Don't run before this date, such as 2026-12-01."
        ),
        click.option("--until", metavar="DATE", help="Don't run after this date."),
        click.option(
            "--jitter",
            type=length_or_zero,
            metavar="LENGTH",
            help="Delay each run by a random time up to this, to spread the load.",
        ),
    ]
    return _decorated(command, options)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--lock",
            metavar="NAME",
            help="Name of a lock; jobs with the same lock never run at the same time.",
        ),
        click.option("--everywhere", is_flag=True, default=None, help="Run on every instance."),
        click.option(
            "--ttl",
            type=length,
            metavar="LENGTH",
            help="Time after which the lock of a dead instance is released. Default: a minute.",
        ),
        click.option(
            "--host",
            multiple=True,
            metavar="HOST",
            type=storable,
            help="Run only on this host; can be repeated.",
        ),
        click.option(
            "--tag",
            multiple=True,
            metavar="TAG",
            type=storable,
            help="Run only on instances with this tag (setting cron.tags); if repeated, with all.",
        ),
    ]
    return _decorated(command, options)


def _which(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--missed",
            type=click.Choice(get_args(Missed)),
            help="Whether to make up for missed runs. Default: skip.",
        ),
        click.option(
            "--grace",
            type=length_or_zero,
            metavar="LENGTH",
            help="How late a run may start before it counts as missed.",
        ),
        click.option(
            "--overlap",
            type=click.Choice(get_args(Overlap)),
            help="What to do if the lock is still held. Default: skip the run.",
        ),
        click.option("--retries", type=int, metavar="N", help="How often to retry a failed run."),
        click.option(
            "--retry-delay",
            type=length,
            metavar="LENGTH",
            help="Time before the first retry. Default: a minute.",
        ),
        click.option(
            "--retry-factor",
            type=float,
            metavar="N",
            help="Factor by which the delay grows with each retry. Default: 2.",
        ),
        click.option(
            "--alert/--no-alert", default=None, help="Whether runs are reported as check events."
        ),
    ]
    return _decorated(command, options)


def _how(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option("--limit", type=length, metavar="LENGTH", help="Time limit for a run."),
        click.option(
            "--kill-after",
            type=length_or_zero,
            metavar="LENGTH",
            help="Time between SIGTERM and SIGKILL when a run is stopped.",
        ),
        click.option(
            "--linger",
            type=length_or_forever,
            metavar="LENGTH",
            help=f"How long background processes may outlive the command; or {FOREVER}.",
        ),
        click.option(
            "--daemons",
            type=click.Choice(get_args(Daemons)),
            help="Whether to end processes with a session of their own after the run.",
        ),
        click.option("--folder", metavar="DIR", type=storable, help="Working directory."),
        click.option("--user", metavar="USER", type=storable, help="User to run as."),
        click.option("--group", metavar="GROUP", type=storable, help="Group to run as."),
        click.option("--nice", type=int, metavar="N", help="Priority, from -20 to 19."),
        click.option(
            "--env",
            multiple=True,
            metavar="NAME=VALUE",
            help="An environment variable; can be repeated.",
        ),
        click.option(
            "--rlimit",
            multiple=True,
            metavar="NAME=VALUE",
            help=f"A resource limit ({', '.join(LIMITS)}); can be repeated. A unit is allowed: "
            "as='2 GiB', cpu='10 min'.",
        ),
        click.option(
            "--output-limit",
            type=mebibytes,
            metavar="SIZE",
            help="Size up to which the output is kept complete, in MiB, or such as '1 GiB'.",
        ),
    ]
    return _decorated(command, options)


def _decorated(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that define a job; those not given are None or empty."""
    return _when(_where(_which(_how(command))))


unsetting = click.option(
    "--unset",
    multiple=True,
    type=click.Choice(sorted(_PLACES)),
    metavar="OPTION",
    help="Remove what this option set, such as --unset retries; can be repeated.",
)


def changed(
    definition: Mapping[str, Any], line: str, given: Mapping[str, Any], unset: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The definition with what was given on the command line."""
    if given["lock"] is not None and given["everywhere"]:
        raise click.UsageError("--lock and --everywhere can't be combined")
    if given["lock"] == "":
        raise click.UsageError("--lock needs a name")
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
            parts[part][field] = _stored(option, value)
    if not parts["watchbell"]:
        del parts["watchbell"]
    kept = {key: value for key, value in definition.items() if key != "watchbell"}
    return {**kept, **parts}


def _stored(option: str, value: Any) -> Any:
    """The value as a definition has it."""
    if option == "env":
        return _pairs("--env", value)
    if option == "rlimit":
        return {name: _limit(name, text) for name, text in _pairs("--rlimit", value).items()}
    if option in ("host", "tag"):
        return list(value)
    return None if value == FOREVER else value


def _times(known: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    if given["at"] and given["fields"]:
        raise click.UsageError("--at and --on can't be combined")
    lasting = {key: value for key, value in known.items() if key not in _SCHEDULE}
    if given["at"]:
        return {"cronstring": given["at"], **lasting}
    return {**_pairs("--on", given["fields"]), **lasting} if given["fields"] else known


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise click.UsageError(f"{option} is {plain(key)!r}; write NAME=VALUE")
    return {key: value for key, _, value in pairs}


def _limit(name: str, text: str) -> int:
    """Seconds for `cpu`, a number for counts, bytes for everything else."""
    try:
        if name == "cpu":
            return units.duration(text)
        if name not in ("nofile", "nproc"):
            return units.size(text)
    except Refused as error:
        raise click.UsageError(f"--rlimit {plain(name)}: {error}") from None
    if not text.isascii() or not text.isdecimal():
        raise click.UsageError(f"--rlimit {plain(name)} is {plain(text)!r}; write a whole number")
    return int(text)
