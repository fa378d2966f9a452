"""Commands from a chat: carried out and answered, whichever chat it is."""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from watchbell import __version__
from watchbell.actors import Actor, in_chat, may
from watchbell.alerting import (
    contact_links,
    contacts,
    entities,
    event,
    history,
    maintenance,
    patterns,
)
from watchbell.alerting.check_writes import CheckWrites
from watchbell.alerting.decide import acknowledgement
from watchbell.alerting.decide.check_facts import Verdict
from watchbell.alerting.decide.routing import zone_of
from watchbell.alerting.history import Status
from watchbell.alerting.intake import submit
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import FAILING, Contact, Decision, short_id, split_id
from watchbell.errors import DeliveryFailed, NotFound, Refused
from watchbell.gateways import commands
from watchbell.gateways.commands import FORMS, Command, Which
from watchbell.gateways.keys import Gateways
from watchbell.gateways.message_texts import in_title_case, one_line
from watchbell.schedule import spoken
from watchbell.store import replies
from watchbell.store.client import Store

MOST = 30
"""Lines of a list in an answer."""
_COMMENT = "Set via chatbot"
_CLAIMED = 60
"""Seconds for which a message is known to be answered."""
_REMEMBERED = 30
"""Seconds for which contacts are cached."""


class Speaker(Struct, frozen=True):
    actor: Actor
    zone: ZoneInfo

    @classmethod
    def of(cls, contact: Contact, zone: ZoneInfo) -> "Speaker":
        """A contact, in its own time zone if it has one."""
        name = f"{contact.first_name} {contact.last_name}".strip()
        return cls(in_chat(name), zone_of(contact, zone.key))


class ContactFinder:
    """Finds contacts by their addresses for one medium. `plain` normalises an address, or raises
    DeliveryFailed."""

    def __init__(self, medium: str, plain: Callable[[str], str]) -> None:
        self._medium, self._plain = medium, plain
        self._known: dict[str, Contact] = {}
        self._until = 0

    async def find(self, store: Store, address: str, now: int) -> Contact | None:
        if now >= self._until:
            everybody = await contacts.load(store, await contacts.all_ids(store))
            self._known = dict(self._addresses(everybody.values()))
            self._until = now + _REMEMBERED
        return self._known.get(address)

    def _addresses(self, people: Iterable[Contact]) -> Iterable[tuple[str, Contact]]:
        for contact in people:
            if self._medium in contact.media:
                with suppress(DeliveryFailed):
                    yield self._plain(contact.media[self._medium].address), contact


class Chat:
    """The messages that one medium receives; several gateways may receive the same ones."""

    def __init__(self, store: Store, medium: str, names: Sequence[str]) -> None:
        self._store, self._medium, self.names = store, medium, names

    async def is_first(self, sender: str, message: str) -> bool:
        """Whether this gateway is the first to claim the message, and so the one to answer it."""
        digest = hashlib.sha1(
            f"{sender}\n{message}".encode(errors="replace"), usedforsecurity=False
        )
        key = Gateways(self._store.prefix).heard(self._medium, digest.hexdigest())
        return await self._store.call("SET", key, "", "NX", "EX", _CLAIMED) is not None

    async def answer(self, line: str, speaker: Speaker, now: int) -> str:
        command = commands.parse(line, now, speaker.zone)
        request = Request(self._store, self.names, speaker, now)
        permission = may(speaker.actor, "operate" if isinstance(command, _CHANGES) else "read")
        if not permission:
            return f"I can't: {permission.reason}"
        try:
            return "\n".join(await _ACTIONS[type(command)](request, command))
        except (Refused, NotFound) as error:
            return f"I can't: {one_line(str(error), 500)}"


class Request(Struct, frozen=True):
    """The context of a command."""

    store: Store
    names: Sequence[str]
    speaker: Speaker
    now: int


async def _acknowledge(request: Request, command: commands.Acknowledge) -> list[str]:
    key = Alerting(request.store.prefix).checks_by_hash()
    found = await request.store.call("HGET", key, command.short_id)
    if found is None:
        raise NotFound(f"no check has the id {command.short_id}")
    event_id = replies.text(found)
    status = await _status(request, event_id)
    refusal = acknowledgement.refusal(status.state, status.maintenance)
    if refusal is not None:
        raise Refused(f"{event_id}: {refusal.value}")
    await submit(
        request.store,
        event.acknowledge(
            *split_id(event_id),
            summary=acknowledgement.summary(request.speaker.actor, command.comment),
            duration=command.duration,
            acknowledgement_id=command.short_id,
            time=request.now,
        ),
    )
    return [f"{_named(event_id)} is acknowledged for {spoken.in_words(command.duration)}."]


async def _acknowledge_many(request: Request, command: commands.AcknowledgeMany) -> list[str]:
    failing = {event_id for event_id, _ in await history.failing(request.store)}
    found = [one for one in await _matching(request, command.which) if one in failing]
    if not found:
        raise Refused("none of these checks is failing")
    states = await history.check_states(request.store, found, request.now)
    ids = [one.id for one in states if not acknowledgement.refusal(one.state, one.maintenance)]
    if not ids:
        raise Refused("all that fail are in scheduled maintenance; nobody is notified anyway")
    comment = command.comment or _COMMENT
    summary = acknowledgement.summary(request.speaker.actor, comment)
    await submit(
        request.store,
        *(
            event.acknowledge(
                *split_id(one), summary=summary, duration=command.duration, time=request.now
            )
            for one in ids
        ),
    )
    length = spoken.in_words(command.duration)
    return _listed(f"{_counted(ids)} acknowledged for {length}:", [_named(i) for i in ids])


async def _maintain(request: Request, command: commands.Maintain) -> list[str]:
    ids = await _matching(request, command.which)
    start, duration = command.start, command.duration
    summary = f"{request.speaker.actor.name}: {command.comment or _COMMENT}"
    for one in ids:
        await maintenance.create_scheduled(
            request.store, one, start, duration, summary, request.now
        )
    begins = "now" if start <= request.now else _when(start, request.speaker.zone)
    head = f"maintenance from {begins}, for {spoken.in_words(duration)}, of {_counted(ids)}:"
    return _listed(head, [_named(one) for one in ids])


async def _show_status(request: Request, command: commands.ShowStatus) -> list[str]:
    ids = await _matching(request, command.which)
    return await _statuses(request, ids)


async def _find_entities(request: Request, command: commands.FindEntities) -> list[str]:
    pattern = patterns.compiled(f"{command.entity}:*")
    names = (await entities.names(request.store)).values()
    found = sorted(name for name in names if pattern.matches(name.lower(), ""))
    if not found:
        return ["No entity has a name like that."]
    count = f"{len(found):,} entit{'y' if len(found) == 1 else 'ies'}:"
    return _listed(count, [one_line(name) for name in found])


async def _find_checks(request: Request, command: commands.FindChecks) -> list[str]:
    ids = await _matching(request, command.which)
    return _listed(f"{_counted(ids)}:", [_named(one) for one in ids])


async def _try_notifications(request: Request, command: commands.TryNotifications) -> list[str]:
    await _entity_id(request, command.entity)
    summary = f"Testing notifications to all contacts, requested by {request.speaker.actor.name}"
    tested = event.try_notifications(
        command.entity, command.check, summary=summary, time=request.now
    )
    await submit(request.store, tested)
    return [f"A test of the notifications of {_named(tested.id)} is on its way."]


async def _tell_about(request: Request, command: commands.TellAbout) -> list[str]:
    entity_id = await _entity_id(request, command.entity)
    if not command.check:
        ids = await history.find(request.store, f"{command.entity}:*")
        recipients = await _recipients(request, entity_id, "")
        return [*(await _statuses(request, ids) or ["It has no checks."]), recipients]
    event_id = f"{command.entity}:{command.check}"
    status = await _status(request, event_id)
    lines = [
        _described(status, request.now),
        *_maintained(status, request.speaker.zone),
        *_last_sent(status, request.speaker.zone),
        await _recipients(request, entity_id, command.check),
        *await _decided(request, event_id),
    ]
    if status.state in FAILING:
        lines.append(f"To acknowledge it: ACKID {short_id(event_id)} <comment>")
    return lines


async def _identify(request: Request, _: Command) -> list[str]:
    return [f"I am Watchbell {__version__}, and answer to {' or '.join(request.names)}."]


async def _help(_: Request, __: Command) -> list[str]:
    lines = [f"{form.usage}\n    {form.does}" for form in FORMS]
    return ["I understand:", *lines, "Names with * and ? work as well as /expressions/."]


async def _hint(_: Request, command: commands.Hint) -> list[str]:
    return [command.text]


async def _matching(request: Request, which: Which) -> list[str]:
    ids = await history.find(request.store, which.pattern)
    if not ids:
        raise NotFound("no check has a name like that")
    return ids


async def _status(request: Request, event_id: str) -> Status:
    found = await history.check_states(request.store, [event_id], request.now)
    if not found or found[0].state is None:
        raise NotFound(f"there is no check {event_id}")
    return found[0]


async def _statuses(request: Request, ids: Sequence[str]) -> list[str]:
    """Failing checks first. Only those that are shown are read."""
    if not ids:
        return []
    failing = {event_id for event_id, _ in await history.failing(request.store)}
    ids = sorted(ids, key=lambda one: (one not in failing, one))
    shown = await history.check_states(request.store, ids[:MOST], request.now)
    count = sum(one in failing for one in ids)
    head = f"{_counted(ids)}, {count:,} failing:" if count else f"{_counted(ids)}, none failing:"
    return _listed(head, [_described(status, request.now) for status in shown], len(ids))


async def _entity_id(request: Request, entity: str) -> str:
    found = await entities.holder(request.store, entity)
    if not found:
        raise NotFound(f"there is no entity {entity}")
    return found


async def _recipients(request: Request, entity_id: str, check: str) -> str:
    ids = await contact_links.interested(request.store, entity_id, check)
    people = (await contacts.load(request.store, ids[:MOST])).values()
    names = [one_line(f"{one.first_name} {one.last_name}") for one in people]
    more = f" and {len(ids) - MOST:,} more" if len(ids) > MOST else ""
    return f"Notified: {', '.join(names) or 'nobody'}{more}."


async def _decided(request: Request, event_id: str) -> list[str]:
    """The processor's last decision and its reason."""
    key, zone = (
        CheckWrites(request.store.prefix).own.decisions(*split_id(event_id)),
        request.speaker.zone,
    )
    for raw in await request.store.call("LRANGE", key, 0, MOST - 1):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
            decision = msgspec.json.decode(raw, type=Decision)
            if decision.by == "processor":
                until = f", until {_when(decision.until, zone)}" if decision.until else ""
                reason = Verdict[decision.verdict].value
                return [f"Decided {_when(decision.time, zone)}: {reason}{until}."]
    return []


_CHANGES = (
    *(commands.Acknowledge, commands.AcknowledgeMany),
    *(commands.Maintain, commands.TryNotifications),
)
_ACTIONS: dict[type, Callable[[Request, Any], Awaitable[list[str]]]] = {
    commands.Acknowledge: _acknowledge,
    commands.AcknowledgeMany: _acknowledge_many,
    commands.Maintain: _maintain,
    commands.ShowStatus: _show_status,
    commands.FindEntities: _find_entities,
    commands.FindChecks: _find_checks,
    commands.TryNotifications: _try_notifications,
    commands.TellAbout: _tell_about,
    commands.Identify: _identify,
    commands.Help: _help,
    commands.Hint: _hint,
}


def _described(status: Status, now: int) -> str:
    long = spoken.in_words(max(now - status.last_change, 0)) if status.last_change else ""
    lasts = f" for {', '.join(long.split(', ')[:2])}" if long else ""
    summary = f", {one_line(status.summary, 200)}" if status.summary else ""
    kinds = (("acknowledged", status.unscheduled), ("in maintenance", status.scheduled))
    quiet = "".join(f" ({kind})" for kind, window in kinds if window is not None)
    state = in_title_case(status.state) or "not reported yet"
    return f"{_named(status.id)} is {state}{lasts}{quiet}{summary}"


def _maintained(status: Status, zone: ZoneInfo) -> Iterable[str]:
    for kind, window in (("Acknowledged", status.unscheduled), ("Maintenance", status.scheduled)):
        if window is not None:
            summary = f": {one_line(window.summary, 200)}" if window.summary else ""
            yield f"{kind} until {_when(window.end, zone)}{summary}."


def _last_sent(status: Status, zone: ZoneInfo) -> Iterable[str]:
    for kind in ("problem", "recovery", "acknowledgement"):
        if kind in status.last_notifications:
            yield f"Last {kind} sent {_when(status.last_notifications[kind], zone)}."


def _named(event_id: str) -> str:
    return one_line(event_id, 200)


def _counted(ids: Sequence[str]) -> str:
    return f"{len(ids):,} check{'' if len(ids) == 1 else 's'}"


def _listed(head: str, lines: Sequence[str], count: int | None = None) -> list[str]:
    """The first lines, and how many more of `count` there are."""
    left = (len(lines) if count is None else count) - MOST
    return [head, *lines[:MOST], *([f"and {left:,} more"] if left > 0 else [])]


def _when(time: int, zone: ZoneInfo) -> str:
    try:
        return f"{datetime.fromtimestamp(time, zone):%Y-%m-%d %H:%M %Z}"
    except (ValueError, OverflowError, OSError):
        return f"@{time}"  # beyond the year 9999
