"""Copies contacts, entities and checks from the store of a Flapjack 1.x.

What exists here already stays as it is. So a copy that was interrupted is repeated, and goes on.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.alerting import contacts, entities, known_checks
from watchbell.alerting.check_script import CheckScript, families, for_checks
from watchbell.alerting.indexes import IS_UNRECOVERED
from watchbell.alerting.keys import NOTIFICATIONS
from watchbell.alerting.mirrored_script import MirroredScript
from watchbell.alerting.model import Contact, short_id, split_id
from watchbell.alerting.validation import checked_contact, plain
from watchbell.errors import Refused
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.effects import verbatim

_AT_ONCE = 20
"""Checks that are read and written by one script, so that neither store is held up for long."""
_LARGEST = 256 * 1024
"""Bytes of checks that one script writes."""

_KINDS = msgspec.msgpack.encode(list(NOTIFICATIONS.items()))

# given[1] msgpack: the families of notifications. Everything about a check: its fields, whether it
# is enabled, when it began to fail, its changes (time, state, summary, details, count), its windows
# of both kinds (start, duration, summary) with the one that is open (start, milliseconds to live),
# the times of its notifications, the last ones, and actions of people. All that is packed, and
# followed by the numbers of changes and windows.
_READ = CheckScript("""
local function is_time(text)
  local number = tonumber(text)
  return number and number >= 0 and number < 2^53  -- not nan, of which neither is true
end
local function windows(kind)
  local found, open = {}, key(kind, entity, check)
  local flat = redis.call('ZRANGE', key(kind .. '_windows', entity, check), 0, -1, 'WITHSCORES')
  for i = 1, #flat, 2 do
    if is_time(flat[i]) and is_time(flat[i + 1]) then
      local summary = redis.call('GET', key(kind .. '_summary', entity, check, flat[i]))
      found[#found + 1] = {flat[i], flat[i + 1], summary or ''}
    end
  end
  return {found, redis.call('GET', open) or '', redis.call('PTTL', open)}
end
local times = redis.call('ZRANGE', key('state_times', entity, check), 0, -1)
if #times == 0 then times = redis.call('LRANGE', key('states', entity, check), 0, -1) end
local changes = {}
for _, time in ipairs(times) do
  local function of(name) return redis.call('GET', key(name, entity, check, time)) or false end
  if is_time(time) then
    changes[#changes + 1] = {time, of('state'), of('summary'), of('details'), of('count')}
  end
end
local told, last = {}, {}
for i, name in ipairs(cmsgpack.unpack(given[1])) do
  told[i] = redis.call('LRANGE', key(name[2], entity, check), 0, -1)
  last[i] = redis.call('GET', key('last_' .. name[1], entity, check)) or ''
end
local planned, open = windows('scheduled'), windows('unscheduled')
local packed = cmsgpack.pack({
  redis.call('HGETALL', key('current', entity, check)),
  redis.call('ZSCORE', key('current_checks', entity), check) or '',
  redis.call('ZSCORE', key('failed_checks'), entity .. ':' .. check) or '',
  changes, planned, open, told, last, redis.call('HGETALL', key('actions', entity, check)),
})
return {packed, #changes, #planned[1] + #open[1]}
""")

# given[1] msgpack: the families of notifications, given[2] now, given[3] msgpack: what was read of
# each check, by its name; given[4] msgpack: short ids by name, given[5] msgpack: tags by name.
# Returns whether it was written: not where the check is known here.
_WRITE = MirroredScript(
    for_checks(
        IS_UNRECOVERED
        + """
local id = entity .. ':' .. check
if redis.call('ZSCORE', key('all_checks'), id)
    or redis.call('EXISTS', key('current', entity, check)) == 1 then
  return 0
end
local fields, enabled, failed, changes, planned, open, told, last, actions =
  unpack(cmsgpack.unpack(cmsgpack.unpack(given[3])[id]), 1, 9)
local function put(command, name, flat)
  for i = 1, #flat, 1000 do
    redis.call(command, name, unpack(flat, i, math.min(i + 999, #flat)))
  end
end
local function windows(kind, found)
  for _, window in ipairs(found[1]) do
    redis.call('ZADD', key(kind .. '_windows', entity, check), window[2], window[1])
    redis.call('ZADD', key(kind .. '_times', entity, check), window[1], window[1])
    redis.call('SET', key(kind .. '_summary', entity, check, window[1]), window[3])
  end
  if found[2] ~= '' and found[3] > 0 then
    redis.call('SET', key(kind, entity, check), found[2], 'PX', found[3])
  end
end
redis.call('DEL', key('states', entity, check))  -- what an attempt that was refused left
for _, change in ipairs(changes) do
  local time = change[1]
  redis.call('RPUSH', key('states', entity, check), time)
  redis.call('ZADD', key('state_times', entity, check), time, time)
  for i, name in ipairs({'state', 'summary', 'details', 'count'}) do
    if change[i + 1] then redis.call('SET', key(name, entity, check, time), change[i + 1]) end
  end
end
windows('scheduled', planned)
windows('unscheduled', open)
for i, name in ipairs(cmsgpack.unpack(given[1])) do
  redis.call('DEL', key(name[2], entity, check))
  put('RPUSH', key(name[2], entity, check), told[i])
  if last[i] ~= '' then redis.call('SET', key('last_' .. name[1], entity, check), last[i]) end
end
local at = {}
for i, name in ipairs(cmsgpack.unpack(given[1])) do at[name[1]] = last[i] ~= '' and last[i] end
if is_unrecovered({at.unknown, at.warning, at.critical, at.acknowledgement, at.recovery}) then
  redis.call('SADD', key('open_problems'), id)
end
put('HSET', key('actions', entity, check), actions)
put('HSET', key('current', entity, check), fields)
redis.call('ZADD', key('all_checks'), given[2], id)
redis.call('ZADD', key('entity_checks', entity), given[2], check)
if enabled ~= '' then
  redis.call('ZADD', key('current_checks', entity), enabled, check)
  redis.call('ZADD', key('current_entities'), 'GT', enabled, entity)
end
if failed ~= '' then
  local short = cmsgpack.unpack(given[4])[id]
  redis.call('ZADD', key('failed_checks'), failed, id)
  redis.call('HSET', key('checks_by_hash'), short, id)
  redis.call('HSET', key('hashes_by_check'), id, short)
end
for _, tag in ipairs(cmsgpack.unpack(given[5])[id] or {}) do
  redis.call('SADD', key('check_tag', tag), id)
  redis.call('SADD', key('known_tags', 'check_tag'), tag)
end
for _, unit in ipairs({'check', 'states'}) do mark(unit, id) end
for _, kind in ipairs({'scheduled', 'unscheduled'}) do mark('windows', id, kind) end
mark('reported_entity', entity)
return 1
"""
    )
)


class Skipped(Struct, frozen=True):
    """What was not copied."""

    kind: str
    """`contact`, `entity` or `check`."""
    name: str
    reason: str


class Copied(Struct):
    """How much was copied, or would be."""

    contacts: int = 0
    rules: int = 0
    entities: int = 0
    checks: int = 0
    changes: int = 0
    windows: int = 0
    skipped: list[Skipped] = []

    @property
    def refused(self) -> list[Skipped]:
        """Without what was there before."""
        return [one for one in self.skipped if one.reason != EXISTS]


Tags = Mapping[str, Sequence[str]]
"""The tags of checks."""
EXISTS = "it exists here already"
Progress = Callable[[str, int, int], None]
"""What is copied, how many of it are done, and how many there are."""


class FlapjackImport:
    def __init__(self, source: Store, target: Store, now: int, *, dry_run: bool = False) -> None:
        self._source, self._target, self._now, self._dry_run = source, target, now, dry_run
        self.copied = Copied()

    async def run(self, progress: Progress) -> Copied:
        """Contacts before entities, which link to them, and entities before their checks."""
        await self._contacts(progress)
        await self._entities(progress)
        await self._checks(progress)
        return self.copied

    def _skip(self, kind: str, name: str, reason: str) -> None:
        self.copied.skipped.append(Skipped(kind, name, reason))

    async def _contacts(self, progress: Progress) -> None:
        everybody = await contacts.everybody(self._source)
        known = await contacts.load(self._target, [one.id for one in everybody])
        for number, contact in enumerate(everybody, 1):
            progress("contacts", number, len(everybody))
            if contact.id in known:
                self._skip("contact", contact.id, EXISTS)
                continue
            try:
                await self._save(contact)
            except Refused as error:
                self._skip("contact", contact.id, str(error))
                continue
            probe("import.contact")
            self.copied.contacts += 1
            self.copied.rules += len(contact.rules)

    async def _save(self, contact: Contact) -> None:
        if self._dry_run:
            checked_contact(contact)
        else:
            await contacts.save(self._target, contact, with_rules=True, tags_before=())

    async def _entities(self, progress: Progress) -> None:
        found, known = await entities.find(self._source), await entities.names(self._target)
        names, seen = set(known.values()), await entities.survey(self._target)
        for number, entity in enumerate(found, 1):
            progress("entities", number, len(found))
            if entity.id in known or entity.name in names:
                self._skip("entity", entity.name, EXISTS)
                continue
            try:
                entities.checked(entity)
            except Refused as error:
                self._skip("entity", entity.name, str(error))
                continue
            if not self._dry_run:
                given = replace(entity, name=entity.name.lower())
                await entities.save(self._target, given, with_checks=True, seen=seen)
            probe("import.entity")
            self.copied.entities += 1

    async def _checks(self, progress: Progress) -> None:
        known = await known_checks.every(self._source)
        ids = sorted({*known, *await known_checks.reported(self._source)})
        tags = await known_checks.tags(self._source)
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            good = [one for one in some if self._is_valid(one)]
            read = {
                event_id: Read(*answer)
                async for event_id, answer in _READ.over(self._source, good, [_KINDS], _AT_ONCE)
            }
            for one in good:
                if one not in read:
                    self._skip("check", one, "its keys there have wrong types")
            done, given = set[str](), {one: tags[one] for one in read if one in tags}
            async for event_id, is_new in self._written(read, given):
                if is_new:
                    self.copied.checks += 1
                    self.copied.changes += read[event_id].changes
                    self.copied.windows += read[event_id].windows
                else:
                    self._skip("check", event_id, EXISTS)
                done.add(event_id)
            for event_id in read.keys() - done:
                self._skip("check", event_id, "its keys here have wrong types")
            progress("checks", first + len(some), len(ids))

    def _is_valid(self, event_id: str) -> bool:
        entity, _, check = event_id.partition(":")
        try:
            entities.named(entity)
            plain("check", check)
        except Refused as error:
            self._skip("check", event_id, str(error))
            return False
        return True

    async def _written(
        self, read: "dict[str, Read]", tags: Tags
    ) -> AsyncIterator[tuple[str, bool]]:
        """Each check with whether it is new here."""
        if self._dry_run:
            known = await known_checks.known(self._target, list(read))
            for event_id in read:
                yield event_id, event_id not in known
            return
        packed = {event_id: one.packed for event_id, one in read.items()}
        async for event_id, is_new in written(self._target, packed, self._now, tags):
            yield event_id, is_new


async def written(
    store: Store, packed: dict[str, bytes], now: int, tags: Tags
) -> AsyncIterator[tuple[str, bool]]:
    """Writes checks in the form in which they are read, each with its tags, and yields each with
    whether it is new."""
    literals, route = families(store.prefix)
    for some in _pieces(packed):
        raw = {event_id: verbatim(packed[event_id]) for event_id in some}
        short = {event_id: short_id(event_id) for event_id in some}
        checks = [split_id(event_id) for event_id in some]
        tagged = {event_id: tags[event_id] for event_id in some if event_id in tags}
        packs = map(msgspec.msgpack.encode, (raw, short, tagged))
        args: list[Argument] = [literals, msgspec.msgpack.encode(checks), _KINDS, now, *packs]
        answers = await _WRITE(store, [route], args)
        probe("import.checks")
        for event_id, is_new in zip(some, answers, strict=True):
            if is_new is not None:  # its keys have the right types
                yield event_id, bool(is_new)


def _pieces(packed: dict[str, bytes]) -> Iterable[list[str]]:
    """Checks that one script writes: a few, fewer of those that went through much."""
    piece, size = list[str](), 0
    for event_id, one in packed.items():
        if piece and (len(piece) == _AT_ONCE or size + len(one) > _LARGEST):
            yield piece
            piece, size = [], 0
        piece.append(event_id)
        size += len(one)
    if piece:
        yield piece


class Read(Struct, frozen=True):
    """A check as the other store has it."""

    packed: bytes
    changes: int
    windows: int
