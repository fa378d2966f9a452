"""The options of `watchbell events add` and `edit`, and how they change a definition."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any, get_args

import click

from watchbell import units
from watchbell.cli.arguments import length, length_or_none, moment, storable
from watchbell.cli.definitions import read_fields, read_params, set_option
from watchbell.errors import Refused
from watchbell.jobs.imports.crontab import timings_of
from watchbell.jobs.model import Algorithm

_LAUNCHING = ("schedule", "single", "interval", "continuous", "startup")
"""Timings that --at, --once, --every, --continuous and --at-start replace together."""
_BASH = "#!/bin/sh\n"

Values = Mapping[str, Any]


def _size(value: str) -> int | str:
    return value if value == "none" else units.size(value)


def _count(value: str) -> int | str:
    if value == "none":
        return value
    if not value.isdecimal():
        raise click.BadParameter(f"{value!r} is not a whole number, nor none")
    return int(value)


_WHAT = [
    click.option("--category", metavar="ID", type=storable, help="Default: general."),
    click.option("--plugin", metavar="ID", type=storable, help="Default: shellplug."),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        type=storable,
        help="A parameter of the plugin; can be repeated.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="ID", type=storable),
    click.option("--notes", type=storable, help="What the event is for."),
]
_WHERE = [
    click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="ID",
        type=storable,
        help="A server or group to run on; can be repeated. Default: main.",
    ),
    click.option(
        "--algo",
        type=click.Choice(get_args(Algorithm)),
        help="How one of several servers is selected. Default: random.",
    ),
]
_WHEN = [
    click.option(
        "--at",
        multiple=True,
        metavar="EXPR",
        help="Crontab fields such as '30 2 * * *', or @daily; can be repeated.",
    ),
    click.option("--tz", default="", metavar="ZONE", help="Time zone of --at."),
    click.option("--once", type=moment, metavar="TIME", help="Run once, at 'tomorrow 08:00'."),
    click.option("--every", type=length, metavar="LENGTH", help="Run every '90 seconds'."),
    click.option("--continuous", is_flag=True, help="Run again as soon as a job has ended."),
    click.option("--at-start", is_flag=True, help="Run when Watchbell starts."),
    click.option("--catch-up/--no-catch-up", default=None, help="Run what was missed."),
    click.option(
        "--manual/--no-manual", default=None, help="Allow `events run`. Default for `add`: yes."
    ),
]
_HOW = [
    click.option(
        "--time-limit", type=length_or_none, metavar="LENGTH", help="Abort jobs that take longer."
    ),
    click.option("--max-jobs", type=_count, metavar="N", help="Jobs at the same time, at most."),
    click.option(
        "--queue", type=_count, metavar="N", help="Jobs above --max-jobs that wait, at most."
    ),
    click.option("--retries", type=_count, metavar="N", help="Further attempts after a failure."),
    click.option("--retry-delay", type=length, metavar="LENGTH", help="Time between attempts."),
    click.option(
        "--mem-limit", type=_size, metavar="SIZE", help="Abort jobs that use more memory."
    ),
    click.option("--log-limit", type=_size, metavar="SIZE", help="Abort jobs that print more."),
    click.option(
        "--mail-on-error", metavar="ADDRESSES", type=storable, help="Send a mail if a job fails."
    ),
]


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe an event."""
    for option in reversed([*_WHAT, *_WHERE, *_WHEN, *_HOW, set_option]):
        command = option(command)
    return command


def script_of(words: tuple[str, ...]) -> str:
    """The script of a command: one argument is a shell command line or a script, of several each is
    quoted."""
    line = words[0] if len(words) == 1 else shlex.join(words)
    return line if line.startswith("#!") else f"{_BASH}{line}\n"


def changed(old: Values, words: tuple[str, ...], given: Values) -> dict[str, Any]:
    """The fields that the options change, of an event that has the values `old`."""
    plain = ("category", "plugin", "notes", "algo", "tags", "targets")
    changes = {name: given[name] for name in plain if given[name] not in (None, ())}
    params = read_params(given["params"]) | ({"script": script_of(words)} if words else {})
    if params:
        changes["params"] = {**old.get("params", {}), **params}
    timings = _timings(list(old.get("timings", ())), given)
    limits = _limits(list(old.get("limits", ())), given)
    actions = _actions(list(old.get("actions", ())), given)
    found = {"timings": timings, "limits": limits, "actions": actions}
    changes |= {name: value for name, value in found.items() if value != list(old.get(name, ()))}
    return changes | read_fields(given["fields"])


def _timings(timings: list[dict[str, Any]], given: Values) -> list[dict[str, Any]]:
    launching = [one for each in given["at"] for one in _schedule(each, given["tz"])]
    if given["once"]:
        launching.append({"type": "single", "epoch": given["once"]})
    if given["every"]:
        launching.append({"type": "interval", "duration": given["every"]})
    launching += [{"type": "continuous"}] * given["continuous"]
    launching += [{"type": "startup"}] * given["at_start"]
    if launching:
        timings = [one for one in timings if one["type"] not in _LAUNCHING] + launching
    for option, kind in (("catch_up", "catchup"), ("manual", "manual")):
        if given[option] is not None:
            timings = [one for one in timings if one["type"] != kind]
            timings += [{"type": kind}] * given[option]
    return timings


def _schedule(expression: str, zone: str) -> list[dict[str, Any]]:
    try:
        return timings_of(expression, zone)
    except Refused as error:
        field = "--tz" if zone and zone in error.reason else "--at"
        raise Refused(error.reason, field=field) from None


def _limits(limits: list[dict[str, Any]], given: Values) -> list[dict[str, Any]]:
    options = {
        "time": ("time_limit", "duration"),
        "job": ("max_jobs", "amount"),
        "queue": ("queue", "amount"),
        "retry": ("retries", "amount"),
        "mem": ("mem_limit", "amount"),
        "log": ("log_limit", "amount"),
    }
    for kind, (option, field) in options.items():
        if (value := given[option]) is not None:
            known: dict[str, Any] = next((one for one in limits if one["type"] == kind), {})
            limits = [one for one in limits if one["type"] != kind]
            if value != "none":
                limits.append({**known, "type": kind, field: value})
    if given["retry_delay"] is not None:
        if not any(one["type"] == "retry" for one in limits):
            raise click.UsageError("--retry-delay needs --retries")
        limits = [
            {**one, "duration": given["retry_delay"]} if one["type"] == "retry" else one
            for one in limits
        ]
    return limits


def _actions(actions: list[dict[str, Any]], given: Values) -> list[dict[str, Any]]:
    address = given["mail_on_error"]
    if address is None:
        return actions
    kept = [one for one in actions if (one["trigger"], one["type"]) != ("error", "email")]
    if address == "none":
        return kept
    return [*kept, {"trigger": "error", "type": "email", "email": address}]
