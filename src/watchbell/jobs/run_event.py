"""Runs events on demand: checks who may, and launches a job, or one like an earlier job."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from watchbell import ids
from watchbell.actors import Actor
from watchbell.errors import NotFound, Refused
from watchbell.jobs import launches, permissions, run_overrides, timetable, workflow_runs
from watchbell.jobs import value_readers as read
from watchbell.jobs.decide import launch
from watchbell.jobs.decide.launch import HIGHEST_PRIORITY, NO_DEFAULTS, Defaults, Definitions, Wish
from watchbell.jobs.model import Algorithm, Event, Job, JobFile
from watchbell.jobs.timetable import Timetable
from watchbell.jobs.value_readers import Reader
from watchbell.jobs.workflow_model import Workflow
from watchbell.store.client import Store

IGNORED = frozenset(
    {
        *("session_id", "api_key", "csrf_token", "type", "category", "enabled"),
        *("timings", "triggers", "username", "created", "modified", "revision"),
        *("command", "script", "uid", "gid", "cwd", "env", "kill", "runner"),
    }
)
"""What a caller can't set: how they signed in, and what comes from the event and its plugin. It is
no error, so that a program can send back an event as it read it."""

_READERS: dict[str, Reader] = {
    "id": read.identifier,
    "event": read.identifier,
    "title": read.line(),
    "params": read.mapping,
    "tags": read.array(read.identifier),
    "targets": read.array(read.target),
    "algo": read.one_of(get_args(Algorithm)),
    "plugin": read.identifier,
    **dict.fromkeys(run_overrides.REPLACED, read.anything),
    "data": read.anything,
    "delay": read.number(0, read.LONGEST_TIME),
    "priority": read.whole(-HIGHEST_PRIORITY, HIGHEST_PRIORITY),
    "test": read.yes_or_no,
    "test_actions": read.yes_or_no,
    "test_limits": read.yes_or_no,
    "test_conditions": read.yes_or_no,
}
_NOT_PASSED_ON = ("id", "event", "title", "delay", "plugin")


async def run(
    store: Store,
    definitions: Definitions,
    actor: Actor,
    request: Mapping[str, Any],
    now: float,
    *,
    timezone: str,
    defaults: Defaults = NO_DEFAULTS,
    files: Sequence[JobFile] = (),
) -> Job:
    """Launches the job that somebody asks for. The request names the event by `id` (or `event`, or
    `title`), and may override some of its properties. `timezone` is that of the settings. Raises
    NotFound, and Refused with the code `forbidden` where the actor may not run it."""
    given = {name: value for name, value in request.items() if name not in IGNORED}
    found = read.fields("", read.plain(given), _READERS, strict=True)
    event = _event(definitions, found)
    overrides = {name: value for name, value in found.items() if name not in _NOT_PASSED_ON}
    if found.get("delay"):
        overrides["until"] = now + found["delay"]
    overrides["files"] = tuple(files)
    await _check_permission(store, actor, event, overrides.get("targets"))
    await permissions.check_workflow(store, actor, event, definitions.events)
    if found.get("plugin", event.plugin) != event.plugin:
        raise Refused("the plugin of an event can't be replaced for one job", field="plugin")
    overrides |= await run_overrides.read(store, actor, event, found)
    times = timetable.of(event.timings, timezone)
    job = _prepared(definitions, actor, event, times, overrides, now, defaults)
    return await _launched(store, event, times, job, timezone)


async def rerun(
    store: Store,
    definitions: Definitions,
    actor: Actor,
    job: Job,
    now: float,
    *,
    timezone: str,
    defaults: Defaults = NO_DEFAULTS,
    from_node: str = "",
) -> Job:
    """Launches a job like an earlier one: its event as it is now, with the job's parameters,
    targets and input. A run of a workflow may begin at a node, with the results that the earlier
    run has of all that do not follow it."""
    event = definitions.events.get(job.event)
    if event is None:
        raise NotFound(f"the event {job.event!r} of the job was deleted")
    if job.type == "adhoc" and job.workflow is not None:
        run, node = job.workflow.job, job.workflow.node
        reason = f"job {job.id} runs no event: repeat job {run} from the node {node}"
        raise Refused(reason, code="no_event")
    overrides: dict[str, Any] = {
        "params": job.params,
        "tags": tuple(tag for tag in job.tags if not tag.startswith("_")),
        "algo": job.algo,
        "data": job.input.get("data"),
        "files": _files(job),
        "test": job.test,
    }
    if job.targets != event.targets:
        overrides["targets"] = job.targets
    await _check_permission(store, actor, event, overrides.get("targets"))
    await permissions.check_workflow(store, actor, event, definitions.events)
    if job.workflow is not None:
        overrides["timing"] = job.workflow.start
    if from_node:
        graph = event.workflow or Workflow()
        overrides["workflow"] = await workflow_runs.repetition(store, job, graph, from_node)
    times = timetable.of(event.timings, timezone)
    again = _prepared(definitions, actor, event, times, overrides, now, defaults)
    return await _launched(store, event, times, again, timezone)


def _files(job: Job) -> tuple[JobFile, ...]:
    """The files that a job was launched with, which are not typed in its record."""
    try:
        return msgspec.convert(
            job.input.get("files", ()), tuple[JobFile, ...], from_attributes=True
        )
    except msgspec.ValidationError as error:
        raise Refused(f"the input files of job {job.id} can't be read: {error}") from None


def _prepared(
    definitions: Definitions,
    actor: Actor,
    event: Event,
    times: Timetable,
    overrides: Mapping[str, Any],
    now: float,
    defaults: Defaults,
) -> Job:
    is_exempt = overrides.get("test") and not overrides.get("test_conditions")
    if not times.is_manual and not is_exempt:
        reason = f"{event.title} may not be run on demand: its manual timing is disabled"
        raise Refused(reason, code="not_manual")
    wish = Wish(
        event=event.id,
        source="key" if actor.key else "user",
        username=actor.name,
        key=actor.key,
        is_admin="admin" in actor.privileges,
        **overrides,
    )
    return launch.prepare(definitions, wish, ids.record_id("j", now), now, defaults)


async def _launched(store: Store, event: Event, times: Timetable, job: Job, timezone: str) -> Job:
    continuous = [event.id] if times.continuous else []
    await launches.launch(store, [job], timezone, continuous)
    return job


def _event(definitions: Definitions, found: Mapping[str, Any]) -> Event:
    name = found.get("id") or found.get("event")
    if name:
        event = definitions.events.get(name)
        if event is None:
            raise NotFound(f"there is no event {name!r}")
        return event
    title = found.get("title")
    if not title:
        raise Refused("expected the id or the title of an event", field="id")
    named = [one for one in definitions.events.values() if one.title == title]
    if len(named) > 1:
        raise Refused(f"{len(named)} events have the title {title!r}; use an id", field="title")
    if not named:
        raise NotFound(f"there is no event with the title {title!r}")
    return named[0]


async def _check_permission(
    store: Store, actor: Actor, event: Event, targets: tuple[str, ...] | None
) -> None:
    """Whoever selects other targets needs access to each of them."""
    if targets == ():
        raise Refused("expected at least one server or group", field="targets")
    wanted: list[tuple[str, ...]] = [(one,) for one in targets or ()]
    for some in wanted or [event.targets]:
        await permissions.check_run(store, actor, event.category, some)
