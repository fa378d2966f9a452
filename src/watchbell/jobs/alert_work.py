"""Carries out what changes of alerts set off. Each may be repeated, and then finds what it did
before."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from watchbell import actors, ids
from watchbell.clock import Clock
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import groups, snapshots
from watchbell.fleet.model import AlertRecord
from watchbell.fleet.monitoring import alerts
from watchbell.gateways.message import Message, Thread
from watchbell.jobs import (
    aborts,
    action_ways,
    alert_results,
    alert_texts,
    definitions,
    group_actions,
    links,
    snapshot_taker,
)
from watchbell.jobs.action_ways import Done
from watchbell.jobs.alert_texts import AlertFacts
from watchbell.jobs.decide import actions, alert_actions, launch
from watchbell.jobs.decide.actions import ActionItem
from watchbell.jobs.decide.alert_actions import Named
from watchbell.jobs.decide.launch import NO_DEFAULTS, Defaults, Wish
from watchbell.jobs.message_queue import MessageQueue, Queued
from watchbell.jobs.model import Action, AlertDef, Channel
from watchbell.settings import Settings
from watchbell.store.client import Store


class Definitions(launch.Definitions, Protocol):
    @property
    def channels(self) -> Mapping[str, Channel]: ...
    @property
    def alert_defs(self) -> Mapping[str, AlertDef]: ...


class Task(NamedTuple):
    """An action to be carried out."""

    alert: AlertRecord
    action: Action
    facts: AlertFacts
    name: str
    """Names it for all time; what it creates is named after it."""
    now: float


class AlertWork:
    def __init__(
        self,
        store: Store,
        known: Definitions,
        settings: Settings,
        clock: Clock,
        *,
        base_url: str,
        defaults: Defaults = NO_DEFAULTS,
    ) -> None:
        self._store, self._known, self._clock = store, known, clock
        self._timezone, self._base_url = settings.jobs.timezone, base_url
        self._defaults, self._queue = defaults, MessageQueue(store, settings)
        self._kinds: dict[str, Callable[[Task], Awaitable[Done]]] = {
            "email": self._email,
            "web_hook": self._web_hook,
            "run_event": self._run_event,
            "channel": self._channel,
            "disable": self._disable,
            "snapshot": self._snapshot,
        }

    async def carried_out(self, item: ActionItem) -> ActionItem | None:
        """The item with its results; None where its alert is gone, or there is nothing to do."""
        alert = await self._alert(item.alert)
        if alert is None:
            return None
        definition = self._known.alert_defs.get(alert.alert)
        if item.trigger in ("alert_new", "alert_snoozed"):
            alert = await self._with_jobs(alert, definition)
        results, launched = [], list[str]()
        for name, action in await self._due(alert, definition, item.trigger):
            facts = self._facts(alert, definition)
            result, more = await self._result(Task(alert, action, facts, name, self._clock.now()))
            results.append(result)
            launched += more
        if not results:
            return None
        return replace(item, results=tuple(results), launched=tuple(launched))

    async def given_up(self, item: ActionItem) -> ActionItem | None:
        """The item with the result that it failed, without another attempt."""
        alert = await self._alert(item.alert)
        if alert is None:
            return None
        reason = f"given up: {item.error or 'processes ended while they carried it out'}"
        definition, now = self._known.alert_defs.get(alert.alert), self._clock.now()
        due = await self._due(alert, definition, item.trigger)
        results = tuple(actions.failed(one.action, now, 0, reason) for one in due)
        return replace(item, results=results) if results else None

    async def _due(
        self, alert: AlertRecord, definition: AlertDef | None, trigger: str
    ) -> list[Named]:
        """With the actions of the server's groups, and of the settings."""
        known = [one for one in await groups.every(self._store) if one.id in alert.groups]
        more = [*group_actions.of(known), *self._defaults.alert_actions]
        return alert_actions.due(alert, definition, more, trigger)

    async def _alert(self, id_: str) -> AlertRecord | None:
        try:
            return await alerts.get(self._store, id_)
        except NotFound:
            return None

    async def _with_jobs(self, alert: AlertRecord, definition: AlertDef | None) -> AlertRecord:
        """Notes the jobs that run, and aborts them if the definition says so. They may be retried
        on other servers. When a snooze ends, those that ran when the alert became active count."""
        found = await alert_results.jobs_then(self._store, alert.id, alert.server)
        if definition is not None and definition.abort_jobs:
            reason = f"Alert: {alert.title}"
            for job in found:
                try:
                    await aborts.abort(
                        self._store, job, reason, None, now=self._clock.now(), retry_ok=True
                    )
                except NotFound:  # it has ended
                    continue
        return replace(alert, jobs=found)

    def _facts(self, alert: AlertRecord, definition: AlertDef | None) -> AlertFacts:
        link = links.server_page(self._base_url, alert.server) if self._base_url else ""
        return AlertFacts(link=link, notes=definition.notes if definition else "")

    async def _result(self, task: Task) -> tuple[Action, tuple[str, ...]]:
        begun, action = self._clock.monotonic(), task.action
        try:
            done = await self._kinds[action.type](task)
        except (Refused, NotFound, Changed) as error:
            return actions.failed(action, task.now, self._since(begun), str(error)), ()
        message = " ".join(done.messages)
        since = self._since(begun)
        return actions.done(action, task.now, since, done.words, message), done.launched

    def _since(self, begun: float) -> int:
        return round((self._clock.monotonic() - begun) * 1000)

    async def _email(self, task: Task) -> Done:
        alert, action, facts = task.alert, task.action, task.facts
        message = Message(
            id=task.name,
            address="",
            subject=alert_texts.subject(alert, action),
            text=alert_texts.text(alert, action, facts),
            html=alert_texts.html(alert, action, facts),
            topic=_topic(alert),
            tone="ok" if alert_texts.is_over(action) else "critical",
            thread=Thread(_topic(alert), f"{alert.title} on {alert.hostname}"),
        )
        return _queued(await self._queue.mail(message, action.email, action.users, task.now))

    async def _web_hook(self, task: Task) -> Done:
        alert, action = task.alert, task.action
        message = Message(
            id=task.name,
            address=action.url,
            subject=alert_texts.subject(alert, action),
            payload=alert_texts.payload(alert, action, task.facts),
            topic=_topic(alert),
            reach=self._queue.reach,
        )
        return _queued(await self._queue.web_hook(message, task.now))

    async def _run_event(self, task: Task) -> Done:
        event, alert = task.action.event_id, task.alert
        if target := self._known.events.get(event):
            action_ways.check_on_demand(target, self._timezone)
        data = {"alert": msgspec.to_builtins(replace(alert, actions=()))}
        wish = Wish(event=event, source="alert", params=task.action.params, data=data)
        job = ids.derived_id("j", alert.date, task.name)
        new = launch.prepare(self._known, wish, job, task.now, self._defaults)
        return await action_ways.launched(self._store, new, self._timezone)

    async def _channel(self, task: Task) -> Done:
        async def attempt(use: Action, name: str) -> Done:
            used = replace(use, trigger=task.action.trigger, text=task.action.text)
            return await self._kinds[use.type](task._replace(action=used, name=name))

        channels = self._known.channels
        return await action_ways.through_channel(
            self._store, channels, task.action, task.name, task.now, attempt
        )

    async def _disable(self, task: Task) -> Done:
        alert = task.alert
        known = self._known.alert_defs.get(alert.alert)
        if known is not None and not known.enabled:
            return Done(f"the definition {alert.title} is disabled already")
        who = actors.system(f"an action of the alert {alert.id}")
        changes = {"enabled": False}
        await definitions.update(self._store, "alert", alert.alert, changes, who, task.now)
        return Done(f"disabled the definition {alert.title}")

    async def _snapshot(self, task: Task) -> Done:
        alert = task.alert
        head, _ = await snapshot_taker.take(
            self._store,
            "server",
            alert.server,
            source="alert",
            now=task.now,
            cause=alert.id,
            id=ids.derived_id(snapshots.LETTERS, alert.date, task.name),
        )
        return Done(f"took the snapshot {head.id} of {head.hostname}")


def _topic(alert: AlertRecord) -> str:
    return f"{alert.hostname}:{alert.alert}"


def _queued(message: Queued) -> Done:
    return Done(f"queued: {message.words}", (message.message,))
