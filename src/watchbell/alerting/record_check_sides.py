"""What other programs may change about a check in records: whether there is one, its maintenance,
whether it is enabled, and its own contacts."""

from collections.abc import Sequence

import msgspec

from watchbell.alerting import (
    check_settings,
    contact_links,
    entities,
    history,
    known_checks,
    maintenance,
    record_adopt,
    record_reading,
)
from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.model import split_id
from watchbell.alerting.record_keys import Records
from watchbell.alerting.record_reading import WindowRecord, made_id
from watchbell.alerting.record_sides import Sides, check_record, digest
from watchbell.alerting.windows import Kind as WindowKind
from watchbell.alerting.windows import Window
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text, text_or_none

_AT_ONCE = 500

_RECORD = """
-- The id of the record of a check; nothing where there is none, or where the check is not known.
local function known_record()
  local name = entity .. ':' .. check
  local made = string.sub(redis.sha1hex('check:' .. name), 1, 32)
  local id = redis.call('HGET', given[1], made) or made
  local is_known = redis.call('SISMEMBER', given[2], id) == 1
    and redis.call('ZSCORE', key('all_checks'), name)
  return is_known and id
end
"""

# given[1] ids of records of other programs, given[2] all records of checks; given[3] and given[4]
# what stands before and after the id in keys of checks. Returns whether the check is disabled in
# the records, and in the working layout.
_DISABLED = CheckScript(
    _RECORD
    + """
local id = known_record()
if not id then return {0, 0} end
local enabled = redis.call('HGET', given[3] .. id .. given[4], 'enabled')
local score = redis.call('ZSCORE', key('current_checks', entity), check)
return {enabled == 'true' and 0 or 1, score and 0 or 1}
"""
)

# The same with what stands before and after the id in keys of own contacts; given[5] ids of the
# records of entities by name. Returns the own contacts in the records, and in the working layout.
_CONTACTS = CheckScript(
    _RECORD
    + """
local id = known_record()
if not id then return {{}, {}} end
local owner = redis.call('HGET', key('entity_ids'), entity)
  or redis.call('GET', key('entity_id', entity)) or redis.call('HGET', given[5], entity)
local working = owner and redis.call('SMEMBERS', key('check_contacts', owner, check)) or {}
return {redis.call('SMEMBERS', given[3] .. id .. given[4]), working}
"""
)

# given[1] ids of records of other programs, given[2] all records of checks; given[3] msgpack: the
# id of the record that we would create, by check; given[4] msgpack: the one that was found, or
# nothing. Returns the record, or nothing, and whether the working layout has the check.
_PRESENCE = CheckScript("""
local name = entity .. ':' .. check
local made, record = cmsgpack.unpack(given[3])[name], cmsgpack.unpack(given[4])[name]
if record == '' then record = redis.call('HGET', given[1], made) or made end
if redis.call('SISMEMBER', given[2], record) == 0 then record = '' end
local is_known = redis.call('EXISTS', key('current', entity, check),
  key('scheduled_windows', entity, check), key('unscheduled_windows', entity, check)) > 0
  or redis.call('ZSCORE', key('all_checks'), name)
return {record, is_known and 1 or 0}
""")


class Maintenance:
    """The windows of one kind of a check, ENTITY:CHECK."""

    def __init__(self, store: Store, kind: WindowKind) -> None:
        self._store, self._kind = store, kind
        self.name: str = kind
        self.classes: tuple[str, ...] = (f"{kind}_maintenance", "check")

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]:
        working = {
            name: windows
            async for name, windows in history.windows_of(self._store, names, self._kind)
        }
        found: dict[str, Sides] = {}
        for one in names:
            try:
                record = _digest(await self._records(one))
            except Refused as error:
                record = digest(str(error))
            found[one] = Sides(record, _digest(working.get(one, ())))
        return found

    def units(self, name: str, _before: Sides, _now: Sides) -> list[Unit]:
        return [("windows", name, self._kind)]

    async def _records(self, event_id: str) -> list[WindowRecord]:
        record_id = await check_record(self._store, event_id)
        async for _, read in record_reading.WINDOWS.over(self._store, [record_id]):
            return record_reading.windows(read, self._kind)
        return []

    async def adopt(self, name: str, _before: Sides, now: int) -> None:
        found = await self._records(name)
        made = {self._named(name, one): one.id for one in found}
        wanted = [Window(one.start, one.end - one.start, one.summary) for one in found]
        known = await maintenance.windows(self._store, name, self._kind)
        before = [self._named(name, one) for one in known]
        ids = await record_adopt.commands_for_ids(self._store, made, before)
        await maintenance.replace(self._store, name, self._kind, wanted, now, ids)

    def _named(self, event_id: str, window: Window | WindowRecord) -> str:
        return f"{self._kind}:{event_id}:{window.start}"

    async def remove(self, name: str, now: int) -> None:
        await maintenance.replace(self._store, name, self._kind, [], now)


def _digest(windows: Sequence[Window | WindowRecord]) -> str:
    return digest([(w.start, w.end, w.summary) for w in windows]) if windows else ""


class Enabled:
    """Whether a check is enabled; the sides are empty where it is, as most are."""

    name: str = "enabled"
    classes: tuple[str, ...] = ("check", "entity")

    def __init__(self, store: Store) -> None:
        self._store = store

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]:
        given = _given(self._store, Records(self._store.prefix).check.literals)
        return {
            one: Sides("disabled" if record else "", "disabled" if working else "")
            async for one, (record, working) in _DISABLED.over(self._store, names, given, _AT_ONCE)
        }

    def units(self, name: str, _before: Sides, _now: Sides) -> list[Unit]:
        return [("enabled", name)]

    async def adopt(self, name: str, _before: Sides, _now: int) -> None:
        await check_settings.disable(self._store, name)

    async def remove(self, name: str, _now: int) -> None:
        await check_settings.enable(self._store, name)


class OwnContacts:
    """The contacts of a check beside those of its entity."""

    name: str = "own_contacts"
    classes: tuple[str, ...] = ("check", "contact")

    def __init__(self, store: Store) -> None:
        self._store, self._keys = store, Records(store.prefix)

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]:
        given = _given(self._store, self._keys.check_contacts.literals)
        given.append(self._keys.entities_by_name())
        return {
            one: Sides(_digest_of_ids(record), _digest_of_ids(working))
            async for one, (record, working) in _CONTACTS.over(self._store, names, given, _AT_ONCE)
        }

    def units(self, name: str, _before: Sides, _now: Sides) -> list[Unit]:
        return [("own_contacts", name)]

    async def adopt(self, name: str, _before: Sides, _now: int) -> None:
        record_id = await check_record(self._store, name)
        given = await self._store.call("SMEMBERS", self._keys.check_contacts(record_id))
        await self._replace(name, sorted(map(text, given)))

    async def remove(self, name: str, _now: int) -> None:
        await self._replace(name, [])

    async def _replace(self, event_id: str, contacts: Sequence[str]) -> None:
        entity, check = split_id(event_id)
        owner = await entities.holder(self._store, entity)
        if not owner:  # its record may not have been adopted yet
            found = await self._store.call("HGET", self._keys.entities_by_name(), entity)
            owner = text_or_none(found) or await entities.ensure(self._store, entity)
        await contact_links.replace(self._store, owner, check, contacts)


def _digest_of_ids(ids: Sequence[bytes]) -> str:
    return digest(sorted(map(text, ids))) if ids else ""


def _given(store: Store, literals: Sequence[str]) -> list[Argument]:
    ids, checks = AlertingOwn(store.prefix).record_ids(), Records(store.prefix).checks()
    return [ids, checks, *literals]


class Checks:
    """Which checks there are, ENTITY:CHECK."""

    name: str = "check"
    classes: tuple[str, ...] = ("check",)

    def __init__(self, store: Store) -> None:
        self._store, self._own_contacts = store, OwnContacts(store)
        self.records: dict[str, str] = {}
        """Records of checks that another program created, by ENTITY:CHECK."""

    async def sides(self, names: Sequence[str]) -> dict[str, Sides]:
        made = {one: made_id(f"check:{one}") for one in names}
        given: list[Argument] = [
            AlertingOwn(self._store.prefix).record_ids(),
            Records(self._store.prefix).checks(),
            msgspec.msgpack.encode(made),
            msgspec.msgpack.encode({one: self.records.get(one, "") for one in names}),
        ]
        return {
            one: Sides(text(record), "known" if is_known else "")
            async for one, (record, is_known) in _PRESENCE.over(self._store, names, given, _AT_ONCE)
        }

    def units(self, _name: str, _before: Sides, _now: Sides) -> list[Unit]:
        return []

    async def adopt(self, name: str, _before: Sides, now: int) -> None:
        record_id = self.records.pop(name, "") or await check_record(self._store, name)
        async for _, read in record_reading.CHECKS.over(self._store, [record_id]):
            record = record_adopt.checked_check(record_reading.check(record_id, read))
            await record_adopt.adopt_checks(self._store, [record], now)
            if record.contacts:
                await self._own_contacts.adopt(record.event_id, Sides(), now)

    async def remove(self, name: str, _now: int) -> None:
        await known_checks.forget(self._store, name)
