"""Why a job waits, ended as it did, or was tried again; why an event runs or does not. Pure.

The sentences are those of the functions that decide.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from watchbell.jobs import outcomes
from watchbell.jobs.action_texts import launched_by
from watchbell.jobs.decide import actions, concurrency, placement, retrying
from watchbell.jobs.decide.placement import FleetState
from watchbell.jobs.decide.workflow_view import RunView
from watchbell.jobs.model import Action, Category, Event, EventState, Job
from watchbell.jobs.outcomes import ActionOutcome
from watchbell.jobs.timetable import Timetable
from watchbell.units import counted


class Line(Struct, frozen=True, omit_defaults=True):
    text: str
    at: float | None = None
    """The time that the text ends with, where it is about one."""


class Explained(Struct, frozen=True):
    headline: str
    lines: list[Line]


class JobFacts(Struct, frozen=True, kw_only=True):
    job: Job
    event: Event | None
    category: Category | None = None
    fleet: FleetState = FleetState()
    is_suspended: bool = False
    queue_place: int | None = None
    """How many jobs are before it in the queue of its event; None where it is not there."""
    slot_place: int | None = None
    """How many are before it that wait for a slot; None where it does not."""
    is_aborting: bool = False
    outcomes: Sequence[ActionOutcome] = ()
    run: RunView | None = None
    """Of a run of a workflow: how its nodes go."""


class EventFacts(Struct, frozen=True, kw_only=True):
    event: Event
    category: Category | None
    obstacle: str
    """Why it can't run jobs at all."""
    fleet: FleetState = FleetState()
    state: EventState = EventState()
    in_progress: int = 0
    queued: int = 0
    timetable: Timetable = Timetable()
    next_run: float | None = None
    is_stopped: bool = False
    """Whether it would run continuously, and somebody aborted it."""
    left_out: Line | None = None
    """The last scheduled runs that launched nothing."""


def job(facts: JobFacts) -> Explained:
    one = facts.job
    title = facts.event.title if facts.event else one.event
    state = _ended(one) if one.state == "complete" else _progress(facts)
    return Explained(f"Job {one.id} of {title} {state}", list(_job_lines(facts)))


def _ended(one: Job) -> str:
    if not outcomes.has_failed(one.code):
        return "succeeded" + (f": {one.description}" if one.description else "")
    verb = "was aborted" if one.code == "abort" else "failed"
    return f"{verb}: {outcomes.phrase(one)}"


def _progress(facts: JobFacts) -> str:
    one = facts.job
    if facts.is_suspended:
        return f"waits: {actions.SUSPENDED}"
    match one.state:
        case "start_delay":
            return "waits until its start delay is over"
        case "retry_delay":
            return f"waits before attempt {one.retry_count + 1}"
        case "queued":
            return f"waits: {_queue_reason(facts)}"
        case "ready":
            return "is about to be given a server"
        case "active":
            return _activity(facts)
        case _:
            return "has ended, and its record is being written"


def _queue_reason(facts: JobFacts) -> str:
    if facts.queue_place is not None:
        limits = concurrency.of_event(facts.event, facts.category)
        if limits.jobs is not None:
            return placement.limit_reason(limits.jobs, facts.queue_place)
    if facts.slot_place is not None:
        return placement.waiting_reason(facts.job.targets, facts.fleet, facts.slot_place)
    return facts.job.reason or "its turn comes next"


def _activity(facts: JobFacts) -> str:
    one = facts.job
    if facts.run is not None:
        return _run_activity(facts, facts.run)
    server = facts.fleet.servers.get(one.server)
    host = server.name if server else one.server
    if facts.is_aborting:
        return f"is being aborted on {host}"
    if server is None or server.is_online:
        return f"runs on {host}" if one.remote else f"is being handed over to {host}"
    if one.remote:
        return f"was running on {host}, which can't be reached; it goes on if the server comes back"
    return f"waits for {host}, which can't be reached"


def _run_activity(facts: JobFacts, run: RunView) -> str:
    if facts.is_aborting:
        return "is being aborted, and waits for the end of its jobs"
    if run.suspended:
        return f"waits: {run.suspended}"
    busy = [node.label for node in run.nodes if node.active]
    return f"runs {', '.join(busy)}" if busy else "runs"


def _node_lines(run: RunView) -> Iterator[Line]:
    for node in run.nodes:
        if node.condition == "idle" and node.reason:
            yield Line(f"{node.label} has not run: {node.reason}")
        elif node.reason:
            yield Line(f"{node.label}: {node.reason}")


def _job_lines(facts: JobFacts) -> Iterator[Line]:
    one = facts.job
    yield Line(f"launched by {launched_by(one)}", one.launched or None)
    if one.until is not None and one.state in ("start_delay", "retry_delay"):
        yield Line("it waits until", one.until)
    if one.retry_prev:
        yield Line(f"it is attempt {one.retry_count + 1}, after job {one.retry_prev} failed")
    if one.started:
        yield Line("started", one.started)
    if one.state == "complete":
        yield Line(f"ended, after {outcomes.seconds(one.elapsed)}", one.completed)
        yield Line(_retry_words(one))
    if facts.run is not None:
        yield from _node_lines(facts.run)
    yield from _action_lines(facts)
    yield from (Line(entry.msg, entry.epoch) for entry in one.activity)


def _retry_words(one: Job) -> str:
    following = next((ref.id for ref in one.jobs if ref.reason == "retry"), "")
    verdict = retrying.verdict(one)
    if following:
        return f"retried as job {following}: {verdict.reason}"
    return f"not retried: {verdict.reason}"


def _action_lines(facts: JobFacts) -> Iterator[Line]:
    idle = actions.idle_reasons(facts.job) if facts.job.state == "complete" else []
    for outcome in facts.outcomes:
        action = facts.job.actions[outcome.n]
        if outcome.state != "idle":
            yield Line(f"action {outcome.n + 1}, {named(action)}: {outcome.words}", action.date)
        elif idle:
            reason = idle[outcome.n]
            words = f"not carried out, {reason}" if reason else "it is queued"
            yield Line(f"action {outcome.n + 1}, {named(action)}: {words}")


def named(action: Action) -> str:
    """`email to alice@example.com on error`."""
    target = {
        "email": f" to {', '.join(filter(None, [action.email, *action.users]))}",
        "web_hook": f" to {action.url}",
        "run_event": f" {action.event_id}",
        "channel": f" {action.channel_id}",
        "tag": f" {', '.join(action.tags)}",
    }.get(action.type, "")
    return f"{action.type}{target} on {action.trigger}"


def event(facts: EventFacts) -> Explained:
    one = facts.event
    return Explained(f"{one.title} {_event_state(facts)}", list(_event_lines(facts)))


def _event_state(facts: EventFacts) -> str:
    if facts.obstacle:
        return f"does not run: {facts.obstacle}"
    timings = facts.timetable
    if facts.is_stopped:
        return "does not run: somebody aborted it; it runs again once it is changed or run by hand"
    if timings.continuous or timings.startup or facts.next_run is not None:
        return f"runs {timings.describes()}"
    if not timings.schedules:
        return "runs only on demand: it has no timing that starts it"
    return f"runs {timings.describes()}: there is no further run"


def _event_lines(facts: EventFacts) -> Iterator[Line]:
    one = facts.event
    if facts.next_run is not None and not facts.obstacle:
        yield Line("next run", facts.next_run)
    if one.workflow is not None:
        yield Line(f"it is a workflow of {counted(len(one.workflow.nodes), 'node')}")
    elif reason := placement.no_target(one.targets, facts.fleet):
        yield Line(reason)
    elif all(found.obstacle for found in placement.candidates(one.targets, facts.fleet)):
        reason = placement.waiting_reason(one.targets, facts.fleet)
        yield Line(f"its jobs would wait: {reason}")
    limits = concurrency.of_event(one, facts.category)
    most = f" of at most {limits.jobs}" if limits.jobs is not None else ""
    if facts.in_progress:
        yield Line(f"{facts.in_progress}{most} in progress")
    if facts.queued:
        yield Line(f"{facts.queued} in the queue")
    yield from _last(facts.state)
    if facts.left_out:
        yield facts.left_out


def _last(state: EventState) -> Iterator[Line]:
    if not state.last_job:
        yield Line("no job of it has ended yet")
        return
    words = outcomes.verb(state.last_code)
    yield Line(f"its last job, {state.last_job}, {words}", state.last_completed)
    if state.failures > 1:
        yield Line(f"its last {state.failures} jobs failed")
