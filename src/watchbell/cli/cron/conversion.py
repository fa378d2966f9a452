"""What a cron job is as an event."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from watchbell.cron.model import Job, RunOptions
from watchbell.jobs.imports.crontab import id_of, timings_like
from watchbell.schedule.calendars import ALL_HOURS, SIXTY, Calendar
from watchbell.schedule.firing import Limited, Never, Schedule

_DEFAULTS = RunOptions()
_POLICIES = {"once": "latest", "all": "all"}
"""Policies of catching up, by what a cron job does about missed runs."""
_SHELL_PLUGIN = "watchbell-plugin shell"
_PATH = re.compile(r"/[\w./-]+")


class Conversion(Struct, frozen=True):
    event: dict[str, Any]
    plugin: dict[str, Any] | None
    """A plugin that the event needs, because it runs as another user."""
    omissions: tuple[str, ...]
    """What an event can't do, or does otherwise."""


def converted(job: Job, shell: str, targets: Mapping[str, str]) -> Conversion:
    """`targets` has the ids of the servers that are known, by host name. Raises Refused where an
    event can't have the schedule."""
    options = job.options
    account = _account(options)
    event: dict[str, Any] = {
        "id": id_of(job.name),
        "title": job.name,
        "notes": f"Converted from the cron job {job.name}.",
        "enabled": not job.is_paused,
        "plugin": account["id"] if account else "shellplug",
        "params": {"script": _script(job, shell), "json": False},
        "timings": [*_timings(job), {"type": "manual"}],
        "limits": [*_limits(job)],
    }
    known = [targets[host] for host in options.hosts if host in targets]
    if known:
        event["targets"] = known
    return Conversion(event, account, tuple(_omissions(job, targets)))


def _account(options: RunOptions) -> dict[str, Any] | None:
    if not options.user and not options.group:
        return None
    words = [one for one in (options.user, options.group) if one]
    return {
        "id": id_of(f"shell_as_{'_'.join(words)}"),
        "title": f"Shell script as {':'.join(words)}",
        "command": _SHELL_PLUGIN,
        "uid": options.user,
        "gid": options.group,
        "params": [
            {"id": "script", "type": "code", "title": "Script", "required": True},
            {"id": "json", "type": "checkbox", "title": "JSON messages", "value": True},
        ],
    }


def _script(job: Job, shell: str) -> str:
    options = job.options
    is_path = _PATH.fullmatch(shell)
    first = [f"#!{shell if is_path else '/bin/sh'}"]
    setup = [f"export {name}={shlex.quote(value)}" for name, value in options.environment.items()]
    if options.folder:
        setup.append(f"cd {shlex.quote(options.folder)} || exit 1")
    if options.nice:
        setup.append(f"renice -n {options.nice} -p $$ >/dev/null || exit 1")
    # Without a path, the shell is found by env, as cron finds it.
    line = job.cmd if is_path else f"exec {shlex.quote(shell)} -c {shlex.quote(job.cmd)}"
    return "\n".join([*first, *setup, line, ""])


def _timings(job: Job) -> Iterator[dict[str, Any]]:
    schedule = _unlimited(job.schedule)
    if not isinstance(schedule, Never):
        zone = schedule.zone.key if isinstance(schedule, Calendar) else ""
        yield from timings_like(schedule, schedule.describes(), zone)
    if isinstance(job.schedule, Limited) and (job.schedule.start or job.schedule.end):
        bounds = {"start": job.schedule.start, "end": job.schedule.end}
        yield {"type": "range", **{name: each for name, each in bounds.items() if each}}
    if job.options.missed in _POLICIES:
        yield {"type": "catchup", "policy": _POLICIES[job.options.missed]}


def _unlimited(schedule: Schedule) -> Schedule:
    return schedule.schedule if isinstance(schedule, Limited) else schedule


def _limits(job: Job) -> Iterator[dict[str, Any]]:
    options = job.options
    if options.time_limit:
        yield {"type": "time", "duration": options.time_limit}
    if options.retries:
        yield {"type": "retry", "amount": options.retries, "duration": options.retry_delay}
    if job.lock and job.overlap != "allow":
        yield {"type": "job", "amount": 1}
    if job.lock and job.overlap == "queue":
        yield {"type": "queue", "amount": 1}


def _omissions(job: Job, targets: Mapping[str, str]) -> Iterator[str]:
    yield from _lock_omissions(job)
    yield from _schedule_omissions(job)
    yield from _place_omissions(job.options, targets)
    yield from _process_omissions(job.options)


def _lock_omissions(job: Job) -> Iterator[str]:
    if not job.lock:
        yield "it ran on every instance; each job of an event runs on one server"
    elif job.lock != job.name:
        yield f"its lock {job.lock!r} is not shared with other jobs any more"
    if job.lock and job.overlap == "skip":
        yield "a run that is due while another one is in progress is recorded as aborted"


def _schedule_omissions(job: Job) -> Iterator[str]:
    options, schedule = job.options, _unlimited(job.schedule)
    if job.schedule.jitter:
        yield "its runs are not delayed by a random time any more"
    if isinstance(schedule, Calendar):
        is_once = schedule.hours != ALL_HOURS and schedule.minutes != SIXTY
        if schedule.once != is_once and schedule.zone.key != "UTC":
            yield "on days of clock changes it can run at another time or another number of times"
    if options.retries > 1 and options.retry_factor != 1:
        yield "the delay before a retry does not grow; it is always the first one"
    if options.grace is not None:
        yield "how late a run may start is a minute, or without limit if it catches up"


def _place_omissions(options: RunOptions, targets: Mapping[str, str]) -> Iterator[str]:
    if unknown := [host for host in options.hosts if host not in targets]:
        yield f"no agent runs on {', '.join(unknown)}, where it ran; add one, and the target"
    if options.tags:
        yield f"it ran on instances tagged {', '.join(options.tags)}; set the targets of the event"


def _process_omissions(options: RunOptions) -> Iterator[str]:
    if not options.alert:
        yield "it sent no check events; the jobs of an event always do"
    if options.limits:
        yield f"its resource limits are not set: {', '.join(sorted(options.limits))}"
    if options.output_limit is not None:
        yield "the log of a job is limited by the settings, or by a limit that aborts it"
    for name in ("kill_after", "linger", "daemons"):
        if getattr(options, name) != getattr(_DEFAULTS, name):
            yield f"{name.replace('_', '-')} is not used"
