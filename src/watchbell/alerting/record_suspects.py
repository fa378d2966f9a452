"""What may have been changed by another program, found from the keys that changed."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from redis.exceptions import ResponseError

from watchbell.alerting import intake, record_mirror, record_searches
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import SEVERITY, CheckEvent, split_id
from watchbell.alerting.record_check_sides import Checks
from watchbell.alerting.record_keys import Records
from watchbell.alerting.record_sides import Kind, Sides, owners, window_owners
from watchbell.alerting.record_units import in_maintenance
from watchbell.errors import Refused
from watchbell.probes import probe
from watchbell.store.client import Store
from watchbell.store.replies import number, text, text_or_none
from watchbell.store.search import memberships, turned

RECORDS, WORKING, UNDECIDED = "records", "working", "undecided"

_AT_ONCE = 200
_OF_CONTACTS = (
    *("contact_media", "contact_tz", "contact_media_intervals", "contact_pagerduty"),
    *("contact_media_rollup_thresholds", "contact_notification_rules"),
)
_DROPS = ("drop_alerts_for_contact", "drop_rollup_alerts_for_contact")
_BEGINNINGS = tuple(
    one.encode()
    for one in (
        *("contact:", "medium:", "notification_rule:", "entity:", "contacts_for:", "entity_tag:"),
        *("contact_tag:", "scheduled_maintenance:", "unscheduled_maintenance:"),
        *("check::by_entity_name:", "check::by_enabled:false", "check::ids", "current_checks:"),
        *(f"{one}:" for one in _DROPS),
        *(f"{one}:" for one in _OF_CONTACTS),
    )
)
_KINDS = ("scheduled", "unscheduled")
_ENDINGS = {
    **{f":{kind}_maintenances": kind for kind in _KINDS},
    **{f":{kind}_maintenance:summary": kind for kind in _KINDS},
}
"""How the keys of maintenance end, which begin with the name of an entity."""
_RAW_ENDINGS = tuple(one.encode() for one in _ENDINGS)
_OWN_CONTACTS = ":contacts_ids"


def watched(keys: Iterable[bytes], prefix: bytes) -> list[bytes]:
    """The keys that tell of changes, without the prefix."""
    cut = len(prefix)
    return [
        key
        for key in (key[cut:] for key in keys)
        if key.startswith(_BEGINNINGS)
        or key.endswith(_RAW_ENDINGS)
        or (key.startswith(b"check:") and key.endswith(b":contacts_ids"))
        # A notification changes the other keys of a state.
        or (key.startswith(b"check_state:") and key.endswith(b":belongs_to"))
    ]


class Suspects:
    def __init__(self, store: Store, checks: Checks, settings: Iterable[Kind]) -> None:
        """`settings` are the kinds of which each check has one."""
        self._store, self._checks, self._settings = store, checks, tuple(settings)
        self._keys, self._working = Records(store.prefix), Alerting(store.prefix)
        self._changed: dict[str, dict[str, str]] = {}
        """The side that was reported last, by kind and name; empty for both."""
        self._windows: dict[str, str] = {}
        """The check of each record of maintenance, which says it no longer once it is gone."""
        self._by_entity: dict[str, set[str]] = {}
        self._indexes: set[str] = set()
        """Indexes of checks that were reported; each is read once for all reports."""
        self._left: set[str] = set()
        """Checks that are in no index any more, but may still have a record."""
        self._disabled: set[str] = set()
        """Records of checks that are disabled."""
        self._own_contacts: set[str] = set()
        """Records of checks whose own contacts were reported."""
        self._entities: set[str] = set()
        """Entities whose enabled checks were reported."""
        self.drops: set[str] = set()
        """Keys that suppress alerts and were reported."""
        self.states: set[str] = set()
        self.tags: dict[tuple[str, str], set[str]] = {}
        """Tags in which the sides may differ, by kind and name."""

    def __bool__(self) -> bool:
        return bool(self.states or self._entities) or any(self._changed.values())

    def put_back(self, kind: str, changed: Mapping[str, str]) -> None:
        """What has to wait; a later report counts more."""
        self._changed[kind] = {**changed, **self._changed.get(kind, {})}

    def take(self, kind: str) -> dict[str, str]:
        return self._changed.pop(kind, {})

    async def add(self, keys: Iterable[bytes]) -> None:
        """Keys of one report, without the prefix and in no order. One that the store refuses to
        read is raised when the others are noted."""
        before, self._changed = self._changed, {}
        refused: ResponseError | None = None
        for raw in keys:
            try:
                await self._add(raw.decode())
            except UnicodeDecodeError:
                pass
            except ResponseError as error:
                refused = error
        records, self._own_contacts = self._own_contacts, set()
        for event_id in (await owners(self._store, records)).values():
            self._note("own_contacts", event_id, RECORDS)
        for kind, names in self._changed.items():
            before.setdefault(kind, {}).update(names)
        self._changed = before
        if refused is not None:
            raise refused

    async def add_checks(self) -> None:
        """What the indexes of checks that were reported have now."""
        indexes, self._indexes = self._indexes, set()
        for key in sorted(indexes):
            await self._add_checks_of(key)

    async def add_enabled(self) -> None:
        """Where entities that were reported have other checks enabled than their records have."""
        entities, self._entities = sorted(self._entities), set()
        for entity, checks, ids in await record_searches.miscounted(self._store, entities):
            names = {f"{entity}:{check}" for check in checks if check}
            names.update((await owners(self._store, ids)).values())
            for event_id in names:
                for kind in ("enabled", "check"):
                    self._note(kind, event_id, WORKING)

    def _note(self, kind: str, name: str, side: str) -> None:
        names = self._changed.setdefault(kind, {})
        names[name] = side if names.get(name, side) == side else ""

    async def _add(self, key: str) -> None:
        first, _, rest = key.partition(":")
        name, _, _ = rest.partition(":")
        if first == "check":
            self._add_of_check(key, rest)
        elif first in (*_DROPS, "current_checks", "check_state"):
            self._add_own(first, rest)
        elif first in ("scheduled_maintenance", "unscheduled_maintenance") and name:
            await self._add_windows(first.removesuffix("_maintenance"), [name])
        elif first in ("contact_tag", "entity_tag"):
            await self._add_tagged(first.removesuffix("_tag"), rest)
        elif f"{first}:".encode() not in _BEGINNINGS:
            self._add_maintenance(key)
        elif name:
            await self._add_person(first, rest)

    def _add_own(self, first: str, rest: str) -> None:
        """What the processor and the notifier change themselves all the time."""
        if first in _DROPS:
            self.drops.add(f"{self._store.prefix}{first}:{rest}")
        elif first == "current_checks":
            self._entities.add(rest)
        elif state := rest.partition(":")[0]:
            self.states.add(state)

    def _add_of_check(self, key: str, rest: str) -> None:
        if key.endswith(_OWN_CONTACTS):
            self._own_contacts.add(rest.removesuffix(_OWN_CONTACTS))
        else:
            self._indexes.add(key)

    def _add_maintenance(self, key: str) -> None:
        """A window of the working layout: ENTITY:CHECK, its time where it is a summary, the end."""
        for ending, kind in _ENDINGS.items():
            if key.endswith(ending):
                event_id = key.removesuffix(ending)
                if ending.endswith(":summary"):
                    event_id = event_id.rpartition(":")[0]
                if all(split_id(event_id)):
                    self._note(kind, event_id, WORKING)
                    self._note("check", event_id, WORKING)

    async def _add_own_contacts(self, rest: str) -> None:
        """Of a check that is given by the id of its entity."""
        entity_id, _, check = rest.partition(":")
        name = await self._store.call("HGET", self._working.entity_names(), entity_id)
        if name is not None:
            self._note("own_contacts", f"{text(name)}:{check}", WORKING)

    async def _add_person(self, first: str, rest: str) -> None:
        name, colon, _ = rest.partition(":")
        side = RECORDS if colon else WORKING
        if first in ("contact", "entity"):
            self._note(first, name, side)
            if (first, side) == ("entity", WORKING):
                await self._add_contacts_of_checks(name)
        elif first in ("medium", "notification_rule"):
            await self._add_part(first, name, is_record=side == RECORDS)
        elif first == "contacts_for" and colon:
            await self._add_own_contacts(rest)
        elif first == "contacts_for":
            self._note("entity", name, WORKING)
        elif first in _OF_CONTACTS:
            self._note("contact", name, WORKING)

    async def _add_part(self, name: str, part: str, *, is_record: bool) -> None:
        if is_record:
            at = f"{self._store.prefix}{name}:{part}:belongs_to"
        else:
            at = self._working.rule(part)
        contact = text_or_none(await self._store.call("HGET", at, "contact_id"))
        if contact:
            self._note("contact", contact, RECORDS if is_record else WORKING)

    async def _add_contacts_of_checks(self, entity_id: str) -> None:
        """Where own contacts of an entity's checks are not what its name says."""
        looked = await record_mirror.look(self._store, [("entity", entity_id)])
        begin, end = self._keys.check_contacts.literals
        places = [one.key for one in looked.differences]
        ids = {
            one.removeprefix(begin).removesuffix(end)
            for one in places
            if one.startswith(begin) and one.endswith(end)
        }
        for event_id in (await owners(self._store, ids)).values():
            self._note("own_contacts", event_id, WORKING)

    async def _add_windows(self, kind: str, windows: Iterable[str]) -> None:
        """Records of maintenance."""
        found = await window_owners(self._store, kind, windows)
        for window, check in found.items():
            event_id = check or self._windows.get(window)
            if event_id:
                self._windows[window] = event_id
                self._note(kind, event_id, RECORDS)

    async def _add_checks_of(self, key: str) -> None:
        if self._store.prefix + key == self._keys.checks():
            for event_id in self._left:
                self._note("check", event_id, RECORDS)
            self._left = set()
            return
        if self._store.prefix + key == self._keys.checks_by_enabled("false"):
            await self._add_disabled()
            return
        begin = self._keys.checks_by_entity_name.literals[0]
        entity = (self._store.prefix + key).removeprefix(begin)
        entity = entity.replace("%20", " ").replace("%3A", ":").lower()
        ids = map(text, await self._members(self._store.prefix + key))
        names = await owners(self._store, ids)
        self._checks.records |= {event_id: one for one, event_id in names.items()}
        found, before = set(names.values()), self._by_entity.get(entity, set())
        self._left |= before - found
        for event_id in found ^ before:
            self._note("check", event_id, RECORDS)
        self._by_entity[entity] = found

    async def _add_disabled(self) -> None:
        before = self._disabled
        self._disabled = set(map(text, await self._members(self._keys.checks_by_enabled("false"))))
        for event_id in (await owners(self._store, self._disabled ^ before)).values():
            self._note("enabled", event_id, RECORDS)

    async def _add_tagged(self, kind: str, tag: str) -> None:
        """Those whose record has a tag of the working layout wrongly, or lacks it."""
        ids = self._keys.contacts() if kind == "contact" else self._keys.entities()
        units = [(f"{kind}_tag", one, tag) for one in map(text, await self._members(ids))]
        for first in range(0, len(units), _AT_ONCE):
            looked = await record_mirror.look(self._store, units[first : first + _AT_ONCE])
            for one in looked.differences:
                name = one.key.removeprefix(self._store.prefix).split(":")[1]
                self.tags.setdefault((kind, name), set()).add(tag)
                self._note(kind, name, WORKING)

    async def _members(self, key: str) -> set[bytes]:
        try:
            return set(await self._store.call("SMEMBERS", key))
        except ResponseError:  # another program left a key of a wrong type
            return set()

    async def add_all(
        self, stamps: Mapping[str, Sides], working: Mapping[str, Iterable[str]]
    ) -> None:
        """Everything that either side has, or had."""
        self._changed = {}
        found = [(kind, name) for kind, names in working.items() for name in names]
        for stamped in stamps:
            kind, _, name = stamped.partition(" ")
            found.append((kind, name))
        for kind, ids in (("contact", self._keys.contacts()), ("entity", self._keys.entities())):
            found += [(kind, text(one)) for one in await self._members(ids)]
        for kind, name in found:
            self._note(kind, name, "")
        for kind, tag in (
            ("contact", self._working.contact_tag),
            ("entity", self._working.entity_tag),
        ):
            for name, tags in turned(await memberships(self._store, tag(""))).items():
                self.tags.setdefault((kind, name), set()).update(tags)
        await self._add_all_checks(working["check"])
        for several in self._changed.values():
            several.update(dict.fromkeys(several, ""))

    async def _add_all_checks(self, working: Iterable[str]) -> None:
        names = await owners(self._store, map(text, await self._members(self._keys.checks())))
        self._checks.records = {event_id: one for one, event_id in names.items()}
        self._by_entity = {}
        for event_id in names.values():
            self._note("check", event_id, "")
            self._by_entity.setdefault(split_id(event_id)[0], set()).add(event_id)
        await self._add_settings(sorted({*working, *names.values()}))
        self.states.update(await record_searches.latest_states(self._store, list(names)))
        for kind, ids in zip(
            _KINDS, (self._keys.scheduled(), self._keys.unscheduled()), strict=True
        ):
            await self._add_windows(kind, map(text, await self._members(ids)))
            async for some in in_maintenance(self._store, kind):
                for event_id in some:
                    self._note(kind, event_id, "")

    async def _add_settings(self, names: list[str]) -> None:
        """Of checks that have other ones than most."""
        self._disabled = set(map(text, await self._members(self._keys.checks_by_enabled("false"))))
        for kind in self._settings:
            for event_id, sides in (await kind.sides(names)).items():
                if sides.record or sides.working:
                    self._note(kind.name, event_id, "")

    async def foreign_drops(self) -> list[str]:
        """The keys that suppress alerts, were reported, and are not recorded as ours."""
        drops, self.drops = sorted(self.drops), set()
        found, key = list[str](), AlertingOwn(self._store.prefix).drops()
        for first in range(0, len(drops), _AT_ONCE):
            some = drops[first : first + _AT_ONCE]
            ends = await self._store.call("ZMSCORE", key, *some)
            found += [one for one, end in zip(some, ends, strict=True) if end is None]
        return found

    async def foreign_states(self) -> list[list[bytes]]:
        """The records of states that were reported and are not ours."""
        ids, self.states = sorted(self.states), set()
        return await record_searches.foreign_states(self._store, ids)

    async def report_states(self, found: Iterable[list[bytes]]) -> None:
        """A state that another program recorded becomes an event, whose record takes its place."""
        for _, entity, check, state, summary, details, time in found:
            await self._report(text(entity), text(check), text(state), summary, details, time)

    async def _report(
        self,
        entity: str,
        check: str,
        state: str,
        summary: bytes | None,
        details: bytes | None,
        time: bytes,
    ) -> None:
        current = self._working.current(entity.lower(), check)
        last = number(await self._store.call("HGET", current, "last_change"))
        if last is None or state not in SEVERITY:
            return
        if (number(time) or 0) >= last:
            event = CheckEvent(
                type="service",
                state=state,  # type: ignore[arg-type]
                entity=entity,
                check=check,
                time=number(time),
                summary=text_or_none(summary),
                details=text_or_none(details),
            )
            with suppress(Refused):
                await intake.submit(self._store, event)
            probe("record_watch.reported")
        event_id = f"{entity.lower()}:{check}"
        await record_mirror.write(self._store, [("check", event_id), ("states", event_id)])
