"""Which actions a job sets off, and what belongs to the job's own record right away. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.jobs.model import (
    ABORTED,
    PUSHED,
    Action,
    Channel,
    Code,
    Event,
    Job,
    JobReference,
    Limit,
)
from watchbell.jobs.outcomes import has_failed

SUSPENDED = "suspended by an action until somebody resumes it"
"""Why a job waits."""
LIMIT = "limit:"
"""What the trigger of an action begins with that a limit set off; the limit's type follows."""
NODE_TRIGGER = "node:"
"""Of an action that a node of a workflow carries out; the id of the node follows."""
_SOURCES = {"": 0, "category": 1, "settings": 2}
"""Of several actions that do the same, the event's is carried out, then the category's."""


class ActionItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is queued on `actions`: an action of a job, a limit that was reached, or a change of an
    alert."""

    job: str = ""
    alert: str = ""
    trigger: str = ""
    """Of an alert: which of its actions are carried out."""
    n: int | None = None
    """The place of the action among those of the job."""
    limit: int | None = None
    """The place of the limit."""
    text: str = ""
    """How the limit was reached."""
    results: tuple[Action, ...] = ()
    """What was carried out, and is only to be recorded."""
    launched: tuple[str, ...] = ()
    """Jobs that were launched, likewise."""
    tries: int = 0
    """Attempts that failed."""
    error: str = ""
    """Why the last one failed."""


class Selected(NamedTuple):
    n: int
    """Its place among the actions of the job."""
    action: Action


class Completed(NamedTuple):
    job: Job
    """With the tags that actions add, and the results of those actions."""
    items: list[bytes]
    """For the queue `actions`."""


def triggers(job: Job) -> list[str]:
    """What the end of a job sets off, in order."""
    return [] if job.retried else conditions(job.code, job.tags)


def conditions(code: Code, tags: Iterable[str]) -> list[str]:
    """What a result with these tags sets off, in order."""
    if not has_failed(code):
        outcome = ["success"]
    else:
        is_named = code in ("warning", "critical", ABORTED)
        outcome = ["error", *([str(code)] if is_named else [])]
    return ["complete", *outcome, *(f"tag:{tag}" for tag in tags)]


def selected(job: Job, fired: Sequence[str]) -> list[Selected]:
    """The actions that these triggers set off and that are not done yet. Of those that do the same,
    only one: the event's rather than the category's, that rather than the settings'; of one source,
    that of the trigger that comes first."""
    return [one for one in _distinct(job, fired).values() if one.action.code is None]


def _distinct(job: Job, fired: Sequence[str]) -> dict[tuple[object, ...], Selected]:
    """The actions that these triggers set off, by what they do."""
    order = {trigger: place for place, trigger in enumerate(fired)}
    able = [
        Selected(n, action)
        for n, action in enumerate(job.actions)
        if action.enabled and action.trigger in order
    ]
    able.sort(key=lambda one: (_SOURCES.get(one.action.source, 0), order[one.action.trigger]))
    distinct: dict[tuple[object, ...], Selected] = {}
    for one in able:
        distinct.setdefault(effect(one.action), one)
    return distinct


def idle_reasons(job: Job) -> list[str]:
    """For each action of a job that is over: why it was not carried out; empty if it was."""
    fired = triggers(job)
    chosen = {effect(one.action): one.n for one in _distinct(job, fired).values()}
    reasons = []
    for n, action in enumerate(job.actions):
        if action.code is not None or action.date is not None:
            reason = ""
        elif not action.enabled:
            reason = "it is disabled"
        elif job.retried and action.trigger != "start":
            reason = "the job was retried"
        elif action.trigger not in fired:
            reason = f"its trigger is {action.trigger}"
        else:
            first = chosen.get(effect(action), n)
            reason = f"action {first + 1} does the same" if first != n else ""
        reasons.append(reason)
    return reasons


def effect(action: Action) -> tuple[object, ...]:
    """Equal for actions that do the same."""
    match action.type:
        case "email":
            return ("email", addresses(action.email), frozenset(action.users))
        case "web_hook":
            return ("web_hook", action.url)
        case "run_event":
            return ("run_event", action.event_id)
        case "channel":
            return ("channel", action.channel_id)
        case "tag":
            return ("tag", frozenset(action.tags))
        case kind:
            return (kind,)


def ways(action: Action, email: str, users: tuple[str, ...], url: str) -> list[Action]:
    """The ways in which people are reached, each as an action."""
    found = []
    if email or users:
        found.append(replace(action, type="email", email=email, users=users))
    if url:
        found.append(replace(action, type="web_hook", url=url))
    return found


def uses(channel: Channel) -> list[Action]:
    """What a channel does, as actions."""
    bare = Action(trigger="complete", type="run_event", event_id=channel.run_event)
    found = ways(bare, channel.email, channel.users, channel.url)
    return [*found, bare] if channel.run_event else found


def addresses(text: str) -> frozenset[str]:
    return frozenset(one.strip().casefold() for one in text.split(",") if one.strip())


def suspension(job: Job) -> int | None:
    """The place of the action that holds this job back before it starts, if one does."""
    held = (one.n for one in selected(job, ["start"]) if one.action.type == "suspend")
    return next(held, None)


def started(job: Job) -> list[bytes]:
    """The items to queue when a job becomes active."""
    chosen = selected(job, ["start"])
    return [item(job.id, one.n) for one in chosen if one.action.type != "suspend"]


def completed(job: Job, now: float) -> Completed:
    """What the end of a job sets off. Tags that actions add may set off further actions."""
    while True:
        chosen = selected(job, triggers(job))
        tagging = [one for one in chosen if one.action.type == "tag"]
        if not tagging:
            return Completed(job, [item(job.id, one.n) for one in chosen])
        actions = list(job.actions)
        for one in tagging:
            actions[one.n] = done(one.action, now, 0, tagged(one.action.tags))
        tags = with_tags(job.tags, (tag for one in tagging for tag in one.action.tags))
        job = replace(job, actions=tuple(actions), tags=tags)


def with_tags(tags: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*tags, *more]))


def tagged(tags: Sequence[str]) -> str:
    return f"added the tag{'s' if len(tags) > 1 else ''} {', '.join(tags)}"


def done(
    action: Action, date: float, elapsed_ms: int, description: str, message: str = ""
) -> Action:
    """The action with the result that it was carried out."""
    return replace(
        action,
        date=date,
        elapsed_ms=elapsed_ms,
        code=0,
        description=description,
        message=message,
    )


def failed(action: Action, date: float, elapsed_ms: int, reason: str) -> Action:
    return replace(action, date=date, elapsed_ms=elapsed_ms, code=1, description=reason)


def item(job: str, n: int) -> bytes:
    """What is queued for an action."""
    return msgspec.json.encode(ActionItem(job=job, n=n))


def limit_item(job: str, limit: int, description: str) -> bytes:
    """What is queued for a limit that was reached."""
    return msgspec.json.encode(ActionItem(job=job, limit=limit, text=description))


def of_limit(limit: Limit) -> list[Action]:
    """What a limit does besides aborting the job."""
    bare = Action(trigger=LIMIT + limit.type, type="snapshot", source=limit.source, text=limit.text)
    found = []
    if limit.tags:
        found.append(replace(bare, type="tag", tags=limit.tags))
    if limit.email or limit.users:
        found.append(replace(bare, type="email", email=limit.email, users=limit.users))
    if limit.url:
        found.append(replace(bare, type="web_hook", url=limit.url))
    if limit.snapshot:
        found.append(bare)
    return found


def limited(job: Job, limit: int | None, now: float) -> Completed:
    """What the limit sets off that aborted the job: its tags at once, and an item for the rest."""
    if limit is None or not 0 <= limit < len(job.limits):
        return Completed(job, [])
    wanted = of_limit(job.limits[limit])
    tagging = [done(one, now, 0, tagged(one.tags)) for one in wanted if one.type == "tag"]
    tags = with_tags(job.tags, (tag for one in tagging for tag in one.tags))
    marked = replace(job, actions=(*job.actions, *tagging), tags=tags)
    is_all = len(tagging) == len(wanted)
    return Completed(marked, [] if is_all else [limit_item(job.id, limit, job.description)])


def undone(job: Job, limit: int) -> list[Action]:
    """What a limit that was reached does, without the tags that the end of the job has added."""
    added = [one for one in job.actions if one.type == "tag" and one.code == 0]
    known = {(one.trigger, one.tags) for one in added}
    found = of_limit(job.limits[limit])
    return [one for one in found if one.type != "tag" or (one.trigger, one.tags) not in known]


def recorded(job: Job, item: ActionItem) -> Job:
    """The job with these results. Recording them again changes nothing."""
    actions, tags, jobs = list(job.actions), job.tags, list(job.jobs)
    for result in item.results:
        if item.n is not None:
            if item.n < len(actions):
                actions[item.n] = _merged(actions[item.n], result)
        elif result not in actions:
            actions.append(result)
        if result.type == "tag" and result.code == 0:
            tags = with_tags(tags, result.tags)
    known = {one.id for one in jobs}
    jobs += [JobReference(one, "action") for one in item.launched if one not in known]
    return replace(job, actions=tuple(actions), tags=tags, jobs=tuple(jobs))


def _merged(known: Action, result: Action) -> Action:
    """Somebody may have resumed a job before it is recorded whom its suspension was announced
    to."""
    if known.type == "suspend" and known.code is not None:
        return replace(known, message=result.message)
    return result


def fresh(found: Iterable[Action]) -> tuple[Action, ...]:
    """The actions for another attempt at a job: as if none had been carried out, except that a job
    that was resumed once is not suspended again."""
    return tuple(
        one
        if one.type == "suspend" and one.code is not None
        else replace(one, date=None, elapsed_ms=None, code=None, description="", message="")
        for one in found
        if not one.trigger.startswith(LIMIT)
    )


def pushed_refusal(action: Action, job: Job, event: Event) -> str:
    """Why an action that a job has pushed does not run this event; empty if it does. Its server is
    not trusted with other servers, so it can't decide what they run."""
    if action.source != PUSHED:
        return ""
    if action.params:
        return f"a job can't push parameters for the event {event.title}"
    if event.category != job.category:
        return f"a job can't run {event.title}, which is in another category"
    return ""
