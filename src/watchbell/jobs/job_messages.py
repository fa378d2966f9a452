"""The mails and web hooks of the actions of jobs."""

from typing import NamedTuple

from watchbell.gateways.message import Message, Thread
from watchbell.jobs import action_texts, outcomes
from watchbell.jobs.action_texts import JobFacts
from watchbell.jobs.message_queue import MessageQueue, Queued
from watchbell.jobs.model import Action, Job
from watchbell.settings import Settings
from watchbell.store.client import Store


class Occasion(NamedTuple):
    """What a message is about."""

    job: Job
    action: Action
    facts: JobFacts
    reason: str = ""
    """How a limit was reached."""


class JobMessages:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._queue = MessageQueue(store, settings)

    async def mail(
        self, message_id: str, about: Occasion, email: str, users: tuple[str, ...], now: float
    ) -> Queued:
        """Raises Refused where there is nobody to send it to, or no gateway that could."""
        job, action, facts, reason = about
        message = Message(
            id=message_id,
            address="",
            subject=action_texts.subject(job, action, facts),
            text=action_texts.text(job, action, facts, reason),
            html=action_texts.html(job, action, facts, reason),
            topic=f"jobs:{job.event}",
            tone=outcomes.check_state(job) if job.completed else "",
            thread=Thread(f"jobs:{job.event}", facts.title),
        )
        return await self._queue.mail(message, email, users, now)

    async def web_hook(self, message_id: str, about: Occasion, url: str, now: float) -> Queued:
        job, action, facts, reason = about
        message = Message(
            id=message_id,
            address=url,
            subject=action_texts.subject(job, action, facts),
            payload=action_texts.payload(job, action, facts, reason),
            topic=f"jobs:{job.event}",
            reach=self._queue.reach,
        )
        return await self._queue.web_hook(message, now)
