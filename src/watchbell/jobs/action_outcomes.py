"""What became of the actions of a job, up to the answer of a mail server or a web hook."""

from watchbell.gateways import overview, sent_messages
from watchbell.gateways.overview import AWAY
from watchbell.gateways.sent_messages import Outcome
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, Job
from watchbell.jobs.outcomes import ActionOutcome, ActionState
from watchbell.store.client import Store


async def read(store: Store, job: Job, now: float) -> list[ActionOutcome]:
    """For each action of the job."""
    return [
        ActionOutcome(n, *await _outcome(store, action, now))
        for n, action in enumerate(job.actions)
    ]


async def _outcome(store: Store, action: Action, now: float) -> tuple[ActionState, str]:
    if action.date is None and action.code is None:
        return ("idle", "")
    if action.code not in (0, None):
        return ("failed", action.description)
    sent = [await _message(store, message, now) for message in action.message.split()]
    known = [one for one in sent if one is not None]
    if not known:
        is_open = action.type == "suspend" and action.code is None
        return ("waiting" if is_open else "done", action.description)
    worst: ActionState = next(
        (one for one in ("failed", "waiting") if any(state == one for state, _ in known)), "done"
    )
    return worst, "; ".join(words for _, words in known)


async def _message(store: Store, message: str, now: float) -> tuple[ActionState, str] | None:
    """None where it is no longer known what became of it."""
    found = await sent_messages.outcome(store, Jobs(store.prefix).message(message))
    if found is None:
        return None
    if found.state == "waiting":
        return ("waiting", str(found) + await _held_up(store, found, now))
    return ("done" if found.state == "sent" else "failed", str(found))


async def _held_up(store: Store, message: Outcome, now: float) -> str:
    """Why the gateway does not send it, as far as that is the gateway's fault."""
    (status,) = await overview.statuses(store, [message.medium])
    if not status.is_alive(now):
        return f"; no gateway for {message.medium} is running"
    return f"; {status.state}" if status.state.startswith(AWAY) else ""
