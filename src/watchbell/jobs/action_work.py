"""Carries out the actions of jobs. Each may be repeated, and then finds what it did before."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from watchbell import actors, ids
from watchbell.clock import Clock
from watchbell.errors import Changed, FilesUnavailable, NotFound, Refused
from watchbell.fleet import servers, snapshots
from watchbell.jobs import (
    action_ways,
    definition_removal,
    definitions,
    job_records,
    links,
    parameters,
    snapshot_taker,
)
from watchbell.jobs.action_texts import JobFacts
from watchbell.jobs.action_ways import Attempt, Done
from watchbell.jobs.decide import actions, launch
from watchbell.jobs.decide.actions import ActionItem
from watchbell.jobs.decide.launch import NO_DEFAULTS, Defaults, Wish
from watchbell.jobs.job_messages import JobMessages, Occasion
from watchbell.jobs.model import Action, Channel, Job, Parent
from watchbell.settings import Settings
from watchbell.store.client import Store

NO_SERVER = "the job has no server that a snapshot could show"
_ONLY_BEFORE = "a job can be suspended only before it starts"


class Definitions(launch.Definitions, Protocol):
    @property
    def channels(self) -> Mapping[str, Channel]: ...


class Task(NamedTuple):
    """An action to be carried out."""

    about: Occasion
    name: str
    """Names it for all time; what it creates is named after it."""
    now: float

    @property
    def job(self) -> Job:
        return self.about.job

    @property
    def action(self) -> Action:
        return self.about.action


class ActionWork:
    def __init__(
        self,
        store: Store,
        known: Definitions,
        settings: Settings,
        clock: Clock,
        *,
        base_url: str,
        log_end: Callable[[str], Awaitable[str]],
        defaults: Defaults = NO_DEFAULTS,
    ) -> None:
        """`log_end` reads the last lines of a job's log."""
        self._defaults = defaults
        self._store, self._known, self._clock = store, known, clock
        self._timezone, self._base_url, self._log_end = settings.jobs.timezone, base_url, log_end
        self._messages = JobMessages(store, settings)
        self._kinds: dict[str, Callable[[Task], Awaitable[Done]]] = {
            "email": self._email,
            "web_hook": self._web_hook,
            "run_event": self._run_event,
            "channel": self._channel,
            "disable": self._disable,
            "delete": self._delete,
            "suspend": self._announce,
            "tag": self._tag,
            "snapshot": self._snapshot,
        }

    async def carried_out(self, item: ActionItem) -> ActionItem | None:
        """The item with its results; None where its job is gone, or it was done before."""
        job = await job_records.read(self._store, item.job)
        if job is None:
            return None
        named = _named(job, item)
        if not named:
            return None
        facts = await self._facts(job)
        results, launched = [], list[str]()
        for name, action in named:
            result, more = await self._result(Occasion(job, action, facts, item.text), name)
            results.append(result)
            launched += more
        return replace(item, results=tuple(results), launched=tuple(launched))

    async def given_up(self, item: ActionItem) -> ActionItem | None:
        """The item with the result that it failed, without another attempt."""
        job = await job_records.read(self._store, item.job)
        if job is None:
            return None
        reason = f"given up: {item.error or 'processes ended while they carried it out'}"
        now = self._clock.now()
        results = tuple(actions.failed(one, now, 0, reason) for _, one in _named(job, item))
        return replace(item, results=results) if results else None

    async def _result(self, about: Occasion, name: str) -> tuple[Action, tuple[str, ...]]:
        now, begun = self._clock.now(), self._clock.monotonic()
        action = about.action
        try:
            done = await self._kinds[action.type](Task(about, name, now))
        except (Refused, NotFound, Changed) as error:
            return actions.failed(action, now, self._since(begun), str(error)), ()
        message = " ".join(done.messages)
        result = actions.done(action, now, self._since(begun), done.words, message)
        if action.type == "suspend" and action.trigger == "start":
            result = replace(result, code=None)  # until somebody resumes it
        return result, done.launched

    def _since(self, begun: float) -> int:
        return round((self._clock.monotonic() - begun) * 1000)

    async def _facts(self, job: Job) -> JobFacts:
        known = self._known
        event, plugin = known.events.get(job.event), known.plugins.get(job.plugin)
        category = known.categories.get(job.category)
        return JobFacts(
            title=event.title if event else job.event,
            category=category.title if category else job.category,
            plugin=plugin.title if plugin else job.plugin,
            host=await self._host(job.server),
            link=links.job_page(self._base_url, job.id),
            log_end=await self._end_of_log(job.id),
            params=parameters.masked(plugin, job.params) if plugin else {},
        )

    async def _end_of_log(self, job: str) -> str:
        """A message goes out although the log can't be read now."""
        try:
            return await self._log_end(job)
        except (FilesUnavailable, NotFound) as error:
            return f"(the log can't be read: {error})"

    async def _host(self, server: str) -> str:
        try:
            return (await servers.get(self._store, server)).hostname if server else ""
        except NotFound:
            return server

    async def _email(self, task: Task) -> Done:
        action = task.action
        sent = await self._messages.mail(
            task.name, task.about, action.email, action.users, task.now
        )
        return Done(f"queued: {sent.words}", (sent.message,))

    async def _web_hook(self, task: Task) -> Done:
        sent = await self._messages.web_hook(task.name, task.about, task.action.url, task.now)
        return Done(f"queued: {sent.words}", (sent.message,))

    async def _run_event(self, task: Task) -> Done:
        job, event = task.job, task.action.event_id
        if target := self._known.events.get(event):
            action_ways.check_on_demand(target, self._timezone)
            if reason := actions.pushed_refusal(task.action, job, target):
                raise Refused(reason)
        wish = Wish(
            event=event,
            source="action",
            username=job.username,
            params=task.action.params,
            data=job.data,
            files=job.files,
            parent=Parent(
                id=job.id,
                data=job.data,
                files=job.files,
                event=job.event,
                code=job.code,
                description=job.description,
            ),
        )
        child = ids.derived_id("j", job.completed or job.started or job.launched, task.name)
        new = launch.prepare(self._known, wish, child, task.now, self._defaults)
        return await action_ways.launched(self._store, new, self._timezone)

    async def _channel(self, task: Task) -> Done:
        channels, attempt = self._known.channels, self._attempt(task)
        return await action_ways.through_channel(
            self._store, channels, task.action, task.name, task.now, attempt
        )

    def _attempt(self, task: Task) -> Attempt:
        async def attempt(use: Action, name: str) -> Done:
            part = Task(task.about._replace(action=use), name, task.now)
            return await self._kinds[use.type](part)

        return attempt

    async def _disable(self, task: Task) -> Done:
        event = self._known.events.get(task.job.event)
        title = event.title if event else task.job.event
        if event is not None and not event.enabled:
            return Done(f"{title} is disabled already")
        await definitions.update(
            self._store, "event", task.job.event, {"enabled": False}, _who(task), task.now
        )
        return Done(f"disabled {title}")

    async def _delete(self, task: Task) -> Done:
        try:
            await definition_removal.remove(
                self._store, "event", task.job.event, _who(task), task.now, force=True
            )
        except NotFound:
            return Done(f"the event {task.job.event} is deleted already")
        return Done(f"deleted the event {task.job.event}")

    async def _announce(self, task: Task) -> Done:
        """The dispatcher has suspended the job; this tells people."""
        action = task.action
        if action.trigger != "start" and not action.trigger.startswith(actions.NODE_TRIGGER):
            raise Refused(_ONLY_BEFORE)
        ways = actions.ways(action, action.email, action.users, action.url)
        done, refused = await action_ways.each(ways, task.name, self._attempt(task))
        words = [actions.SUSPENDED, *(one.words for one in done), *refused]
        return Done("; ".join(words), tuple(one for each in done for one in each.messages))

    async def _tag(self, task: Task) -> Done:
        return Done(actions.tagged(task.action.tags))  # the record of the result adds them

    async def _snapshot(self, task: Task) -> Done:
        job = task.job
        if not job.server:
            raise Refused(NO_SERVER)
        at = job.completed or job.started or job.launched
        head, _ = await snapshot_taker.take(
            self._store,
            "server",
            job.server,
            source="job",
            now=task.now,
            username=job.username,
            cause=job.id,
            id=ids.derived_id(snapshots.LETTERS, at, task.name),
        )
        return Done(f"took the snapshot {head.id} of {head.hostname}")


def _named(job: Job, item: ActionItem) -> list[tuple[str, Action]]:
    """The actions of an item that are not done yet, each with its name."""
    if item.limit is not None:
        if not 0 <= item.limit < len(job.limits):
            return []
        found = actions.undone(job, item.limit)
        return [(f"{job.id}-limit{item.limit}-{one.type}", one) for one in found]
    if item.n is None or not 0 <= item.n < len(job.actions):
        return []
    action = job.actions[item.n]
    is_done = action.code is not None or action.date is not None
    return [] if is_done else [(f"{job.id}-{item.n}", action)]


def _who(task: Task) -> actors.Actor:
    return actors.system(f"an action of job {task.job.id}")
