"""Brings Flapjack's records of a store into the working layout.

What is invalid is reported and stays as it is. An adoption that was interrupted is repeated, and
goes on.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import msgspec
from msgspec import Struct

from watchbell.alerting import (
    contact_links,
    contacts,
    entities,
    flapjack_import,
    known_checks,
    record_blocks,
    record_keeping,
    record_reading,
    record_units,
    record_verify,
)
from watchbell.alerting.keys import NOTIFICATIONS, AlertingOwn
from watchbell.alerting.record_keys import Records
from watchbell.alerting.record_mirror import Refusal
from watchbell.alerting.record_reading import (
    CheckRecord,
    ContactRecord,
    StateRecord,
    WindowRecord,
    made_id,
)
from watchbell.alerting.validation import plain
from watchbell.alerting.windows import Command, current_window
from watchbell.errors import NotFound, Refused
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.replies import text

_AT_ONCE = 20

Progress = Callable[[str, int, int], None]
"""What is adopted, how many of it are done, and how many there are."""


class Invalid(Struct, frozen=True):
    """A record that stays as it is."""

    key: str
    reason: str


class Adopted(Struct):
    contacts: int = 0
    rules: int = 0
    entities: int = 0
    checks: int = 0
    changes: int = 0
    windows: int = 0
    blocks: int = 0
    known: int = 0
    """Checks that the working layout has already."""
    invalid: list[Invalid] = []
    refused: list[Refusal] = []
    """Parts whose records can't be kept, since a key has a wrong type."""


class RecordAdoption:
    def __init__(self, store: Store, now: int) -> None:
        self._store, self._now, self._keys = store, now, Records(store.prefix)
        self.adopted = Adopted()
        self._only_new = False
        self._seen: set[str] = set()
        """Records that belong to a contact or a check."""
        self._names: dict[str, str] = {}
        """The record of each entity and check, by name."""

    async def run(self, progress: Progress) -> Adopted:
        """Contacts before entities, which link to them, and entities before their checks. Then the
        records are kept, with the ids that they have."""
        keeping = await record_keeping.keeping(self._store)
        if keeping == "off":
            raise Refused(
                "these records were kept by Watchbell once and are stale now; `watchbell records "
                "build` brings them up to date"
            )
        if keeping == "never" and not any((await record_keeping.counts(self._store)).values()):
            raise Refused("there are no records; `watchbell records build` creates them")
        self._only_new = keeping == "on"
        await self._contacts(progress)
        await self._entities(progress)
        await self._checks(progress)
        await self._orphans()
        await self._blocks()
        await record_keeping.switch_on(self._store)
        await self._build(progress)
        return self.adopted

    def _is_invalid(self, key: str, reason: object) -> None:
        self.adopted.invalid.append(Invalid(key.removeprefix(self._store.prefix), str(reason)))

    async def _ids(self, key: str) -> list[str]:
        return sorted(map(text, await self._store.call("SMEMBERS", key)))

    async def _contacts(self, progress: Progress) -> None:
        ids, done = await self._ids(self._keys.contacts()), 0
        known, tags = await contacts.load(self._store, ids), await contacts.tags(self._store)
        async for one, read in record_reading.CONTACTS.over(self._store, ids):
            done += 1
            progress("contacts", done, len(ids))
            if isinstance(read, list):
                self._seen.update(text(part[0]) for part in (*read[3], *read[4]))
            if one in known and self._only_new:
                continue
            before = known.get(one)
            rules = {rule.id: rule for rule in before.rules} if before else {}
            media = before.media if before else ()
            try:
                record = record_reading.contact(one, read, rules)
                await adopt_contact(self._store, record, tags.get(one, ()), media)
            except Refused as error:
                self._is_invalid(self._keys.contact(one), error)
                continue
            self.adopted.contacts += 1
            self.adopted.rules += len(record.contact.rules)

    async def _entities(self, progress: Progress) -> None:
        ids, done = await self._ids(self._keys.entities()), 0
        known, seen = await entities.names(self._store), await entities.survey(self._store)
        async for one, read in record_reading.ENTITIES.over(self._store, ids):
            done += 1
            progress("entities", done, len(ids))
            if one in known and self._only_new:
                continue
            try:
                entity = record_reading.entity(one, read)
                self._claim(entities.named(entity.name) if one != "ALL" else one, one)
                await entities.save(self._store, entity, with_checks=True, seen=seen)
            except Refused as error:
                self._is_invalid(self._keys.entity(one), error)
                continue
            self.adopted.entities += 1

    def _claim(self, name: str, record_id: str) -> None:
        if (other := self._names.setdefault(name, record_id)) != record_id:
            raise Refused(f"the record {other} has the name {name!r}, too", field="name")

    async def _checks(self, progress: Progress) -> None:
        ids = await self._ids(self._keys.checks())
        for first in range(0, len(ids), _AT_ONCE):
            some: list[CheckRecord] = []
            page = ids[first : first + _AT_ONCE]
            async for one, read in record_reading.CHECKS.over(self._store, page):
                if isinstance(read, list):
                    self._seen.update(text(part[0]) for kind in read[2:] for part in kind)
                try:
                    record = checked_check(record_reading.check(one, read))
                    self._claim(record.event_id, one)
                    some.append(record)
                except Refused as error:
                    self._is_invalid(self._keys.check(one), error)
            await self._write(some)
            progress("checks", first + len(page), len(ids))

    async def _write(self, some: Sequence[CheckRecord]) -> None:
        written = await adopt_checks(self._store, some, self._now)
        for one in some:
            if one.event_id not in written:
                reason = "keys of the working layout have wrong types"
                self._is_invalid(self._keys.check(one.id), reason)
            elif not written[one.event_id]:
                self.adopted.known += 1
            else:
                self.adopted.checks += 1
                self.adopted.changes += len(one.states)
                self.adopted.windows += len(one.scheduled) + len(one.unscheduled)
            if written.get(one.event_id) and one.contacts and one.entity not in self._names:
                await self._link(one)

    async def _link(self, check: CheckRecord) -> None:
        """The contacts of a check whose entity has no record."""
        entity_id = await entities.ensure(self._store, check.entity)
        for contact in check.contacts:
            try:
                await contact_links.link(self._store, contact, entity_id, check.name)
            except NotFound as error:
                self._is_invalid(self._keys.check_contacts(check.id), error)

    async def _orphans(self) -> None:
        """Records that belong to no contact and no check."""
        for ids, family, owner in (
            (self._keys.media(), self._keys.medium, "contact"),
            (self._keys.rules(), self._keys.rule, "contact"),
            (self._keys.states(), self._keys.state, "check"),
            (self._keys.scheduled(), self._keys.scheduled_window, "check"),
            (self._keys.unscheduled(), self._keys.unscheduled_window, "check"),
        ):
            for one in await self._ids(ids):
                if one not in self._seen:
                    self._is_invalid(family(one), f"no {owner} lists it")

    async def _blocks(self) -> None:
        """The keys that suppress alerts, as the records say."""
        ids = await self._ids(self._keys.blocks())
        invalid = await record_blocks.adopt(self._store, ids, self._now)
        for one, reason in invalid.items():
            self._is_invalid(self._keys.block(one), reason)
        self.adopted.blocks = len(ids) - len(invalid)

    async def _build(self, progress: Progress) -> None:
        """Checks are first. What nothing accounts for goes, unless there is something invalid."""
        for source in (record_units.units, *(() if self.adopted.invalid else (_strays,))):
            built = await record_keeping.write(
                self._store,
                source(self._store),
                lambda done: progress("records", done, done),
                "all" if self._only_new else "no",
            )
            self.adopted.refused += built.refused


_strays = record_verify.strays


async def adopt_contact(
    store: Store, record: ContactRecord, tags_before: Iterable[str], media_before: Iterable[str]
) -> None:
    """Saves the contact; its media keep the ids of their records."""
    contact = record.contact

    def named(kind: str) -> str:
        return f"medium:{contact.id}:{kind}"

    made = {named(kind): one for kind, one in record.media_ids.items()}
    await remember_ids(store, made, map(named, media_before))
    probe("record_adopt.ids")
    await contacts.save(store, contact, with_rules=True, tags_before=tuple(tags_before))


async def remember_ids(store: Store, records: dict[str, str], before: Iterable[str] = ()) -> None:
    """Records that another program created keep their ids; each by what it is about."""
    for command in await commands_for_ids(store, records, before):
        await store.call(*command)


async def commands_for_ids(
    store: Store, records: dict[str, str], before: Iterable[str] = ()
) -> list[Command]:
    """`before` is what these records were about until now: where another program changed that, what
    comes there next gets another id."""
    names = list(dict.fromkeys((*records, *before)))
    if not names:
        return []
    key, made = AlertingOwn(store.prefix).record_ids(), [made_id(name) for name in names]
    found, taken = await store.call("HMGET", key, *made), set(records.values())
    flat: list[str] = []
    for name, own, given in zip(names, made, found, strict=True):
        now = own if given is None else text(given)
        free = made_id(f"{name}:{now}") if now in taken else now
        wanted = records.get(name, free)
        if wanted != now:
            flat += (own, wanted)
    return [["HSET", key, *flat]] if flat else []


async def adopt_checks(
    store: Store, records: Sequence[CheckRecord], now: int
) -> dict[str, bool | None]:
    """Writes the checks that the working layout does not have, with all that they went through.
    Returns whether each was new; not one whose keys have wrong types."""
    named: dict[str, str] = {}
    known = await known_checks.known(store, [one.event_id for one in records])
    for one in records:
        named[f"check:{one.event_id}"] = one.id
        if one.event_id not in known:
            named |= _parts(one)
    await remember_ids(store, named)
    probe("record_adopt.ids")
    packed = {one.event_id: packed_check(one, now) for one in records}
    return {name: is_new async for name, is_new in flapjack_import.written(store, packed, now, {})}


def _parts(one: CheckRecord) -> dict[str, str]:
    name = one.event_id
    return {
        **{f"state:{name}:{state.time}": state.id for state in one.states},
        **{f"scheduled:{name}:{window.start}": window.id for window in one.scheduled},
        **{f"unscheduled:{name}:{window.start}": window.id for window in one.unscheduled},
    }


def checked_check(record: CheckRecord) -> CheckRecord:
    """Raises Refused where the names are not allowed."""
    entities.named(record.entity)
    plain("name", record.name)
    return record


def packed_check(one: CheckRecord, now: int) -> bytes:
    """The check as it is written with its whole history."""
    states = _all_states(one, now)
    last = states[-1] if states else None
    updated = one.last_update or (last.time if last else None)
    fields = {
        "state": last.state if last else None,
        "last_change": str(last.time) if last else None,
        "last_update": str(updated) if updated is not None else None,
        "summary": one.summary,
        "details": one.details,
        "count": str(last.count if last else 0),
    }
    flat = [part for pair in fields.items() if pair[1] is not None for part in pair]
    is_failing = last is not None and last.state != "ok"
    return msgspec.msgpack.encode(
        [
            flat,
            str(updated or now) if one.is_enabled else "",
            str(_failing_since(states)) if is_failing else "",
            [_change(state) for state in states],
            _windows(one.scheduled, now),
            _windows(one.unscheduled, now),
            *_notifications(one, states),
            [],
        ]
    )


def _all_states(one: CheckRecord, now: int) -> list[StateRecord]:
    """With the present state, where the last record is of another."""
    last = one.states[-1] if one.states else None
    if one.state is None or (last is not None and last.state == one.state):
        return one.states
    time = max(one.last_update or now, last.time + 1 if last else 0)
    count = last.count if last else 0
    return [*one.states, StateRecord("", time, one.state, one.summary, one.details, count)]


def _failing_since(states: Sequence[StateRecord]) -> int:
    since = states[-1].time
    for state in reversed(states):
        if state.state == "ok":
            break
        since = state.time
    return since


def _change(state: StateRecord) -> list[object]:
    texts = [text if text is not None else False for text in (state.summary, state.details)]
    return [str(state.time), state.state, *texts, str(state.count)]


def _windows(found: Sequence[WindowRecord], now: int) -> list[object]:
    listed = [[str(one.start), str(one.end - one.start), one.summary] for one in found]
    window = current_window(found, now)
    if window is None:
        return [listed, "", 0]
    return [listed, str(window.start), (window.end - now) * 1000]


def _notifications(
    one: CheckRecord, states: Sequence[StateRecord]
) -> tuple[list[list[str]], list[str]]:
    """The times of notifications of each kind, and the last ones: a state that was notified was so
    when it began, or at the last alert if that was later."""
    times: dict[str, list[int]] = {kind: [] for kind in NOTIFICATIONS}
    for state, after in pairwise([*states, None]):
        if state is None or not state.is_notified:
            continue
        alerted = one.last_problem_alert or 0
        if state.state == "ok":
            times["recovery"].append(state.time)
            continue
        is_in_it = alerted >= state.time and (after is None or alerted < after.time)
        for kind in ("problem", state.state):
            times[kind].append(alerted if is_in_it else state.time)
    times["acknowledgement"] = [window.start for window in one.unscheduled if window.is_notified]
    last = {kind: str(found[-1]) if found else "" for kind, found in times.items()}
    if one.last_problem_alert is not None:
        last["problem"] = str(one.last_problem_alert)
    return [list(map(str, found)) for found in times.values()], list(last.values())
