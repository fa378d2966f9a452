"""Reads Flapjack's records of contacts, entities and checks, each with all that belongs to it."""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.alerting import rule_format
from watchbell.alerting.entities import Entity
from watchbell.alerting.keys import ALL
from watchbell.alerting.model import LARGEST, SEVERITY, Contact, Medium, Rule
from watchbell.alerting.record_keys import Records
from watchbell.errors import Refused
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import RAISE_NOT_NOW, Script

_AT_ONCE = 20
"""Records that one script reads, with what belongs to them."""
_RULE_SETS = ("entities", "tags", "unknown_media", "warning_media", "critical_media")

Fields = dict[str, str]


class RecordScript(Script):
    """Lua that reads one record by its `id`, for each of many."""

    def __init__(self, lua: str) -> None:
        # KEYS[1] any key of ours; ARGV[1] msgpack: what stands between the parts of the keys of
        # each family, ARGV[2…] ids. Returns for each what was read, or the reason why it can't be.
        super().__init__(
            RAISE_NOT_NOW
            + """
local families = cmsgpack.unpack(ARGV[1])
local function key(name, id) return families[name][1] .. id .. families[name][2] end
local function hash(name, id) return redis.call('HGETALL', key(name, id)) end
local function set(name, id)
  local found = redis.call('SMEMBERS', key(name, id))
  table.sort(found)
  return found
end
local function ordered(name, id) return redis.call('ZRANGE', key(name, id), 0, -1) end
local function each(name, ids)
  local found = {}
  for i, id in ipairs(ids) do found[i] = {id, hash(name, id)} end
  return found
end
"""
            + f"local function record(id) {lua}\nend\n"
            + """
local answers = {}
for i = 2, #ARGV do
  local is_read, found = pcall(record, ARGV[i])
  if not is_read and type(found) == 'table' and found.err then raise_not_now(found) end
  answers[i - 1] = is_read and found or (type(found) == 'table' and found.err or tostring(found))
end
return answers
"""
        )

    async def over(self, store: Store, ids: Sequence[str]) -> AsyncIterator[tuple[str, Any]]:
        """Each id with what was read, which is text where the store refused it."""
        keys = Records(store.prefix)
        literals = {one.name: getattr(keys, one.name).literals for one in keys.families()}
        packed = msgspec.msgpack.encode(literals)
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            names = [one.encode(errors="surrogateescape") for one in some]
            args: list[Argument] = [packed, *names]
            answers = await self(store, [keys.contacts()], args)
            for one, answer in zip(some, answers, strict=True):
                yield one, answer


# A contact's fields, PagerDuty account and tags; its media and rules with their ids and fields,
# rules with their sets too.
CONTACTS = RecordScript("""
local rules = each('rule', set('contact_rules', id))
for _, rule in ipairs(rules) do
  for i, name in ipairs({'entities', 'tags', 'unknown_media', 'warning_media', 'critical_media'}) do
    rule[2 + i] = set('rule_' .. name, rule[1])
  end
end
return {hash('contact', id), hash('contact_pagerduty', id), set('contact_tags', id),
  each('medium', set('contact_media', id)), rules}
""")

# An entity's fields, tags and contacts; its checks with their ids, names and contacts.
ENTITIES = RecordScript("""
local checks = set('entity_checks', id)
for i, check in ipairs(checks) do
  checks[i] = {check, redis.call('HGET', key('check', check), 'name') or '',
    set('check_contacts', check)}
end
return {hash('entity', id), set('entity_tags', id), set('entity_contacts', id), checks}
""")

# A check's fields and contacts; its states and its windows of both kinds with ids and fields.
CHECKS = RecordScript("""
return {hash('check', id), set('check_contacts', id), each('state', ordered('check_states', id)),
  each('scheduled_window', ordered('check_scheduled_by_start', id)),
  each('unscheduled_window', ordered('check_unscheduled_by_start', id))}
""")

# A check's windows of both kinds alone.
WINDOWS = RecordScript("""
return {each('scheduled_window', ordered('check_scheduled_by_start', id)),
  each('unscheduled_window', ordered('check_unscheduled_by_start', id))}
""")


class ContactRecord(Struct, frozen=True):
    contact: Contact
    media_ids: dict[str, str]
    """The record of each medium, by its type."""


class StateRecord(Struct, frozen=True):
    id: str
    time: int
    state: str
    summary: str | None
    details: str | None
    count: int
    is_notified: bool = False


class WindowRecord(Struct, frozen=True):
    id: str
    start: int
    end: int
    summary: str
    is_notified: bool


class CheckRecord(Struct, frozen=True, kw_only=True):
    id: str
    entity: str
    name: str
    state: str | None
    summary: str | None
    details: str | None
    last_update: int | None
    last_problem_alert: int | None
    is_enabled: bool
    contacts: tuple[str, ...]
    states: list[StateRecord]
    """Oldest first, each at another second."""
    scheduled: list[WindowRecord]
    unscheduled: list[WindowRecord]

    @property
    def event_id(self) -> str:
        return f"{self.entity}:{self.name}"


def made_id(name: str) -> str:
    """The id of a record that Watchbell creates."""
    raw = name.encode(errors="surrogateescape")
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()[:32]


def contact(contact_id: str, read: Any, known: Mapping[str, Rule]) -> ContactRecord:
    """Raises Refused for what is no contact. A record of a rule has no regular expressions; those
    of a known rule stay."""
    raw, account, tags, media, rules = answered(read)
    fields, kinds = table(raw), dict[str, str]()
    if "first_name" not in fields:
        raise Refused("it has no first_name")
    found: dict[str, Medium] = {}
    for medium_id, flat in media:
        if not flat:  # it is listed, and gone
            continue
        attributes = table(flat)
        kind = attributes.get("type", "")
        if kind in kinds:
            raise Refused(f"it has two media {kind}: {kinds[kind]} and {text(medium_id)}")
        kinds[kind] = text(medium_id)
        found[kind] = _medium(kind, attributes)
    return ContactRecord(
        Contact(
            id=contact_id,
            first_name=fields["first_name"],
            last_name=fields.get("last_name", ""),
            email=fields.get("email", ""),
            timezone=fields.get("timezone", ""),
            tags=_texts(tags),
            media=found,
            pagerduty=table(account),
            rules=tuple(
                _rule(contact_id, text(one), rest, known) for one, *rest in rules if rest[0]
            ),
        ),
        kinds,
    )


def _medium(kind: str, fields: Fields) -> Medium:
    if "address" not in fields:
        raise Refused(f"its medium {kind!r} has no address")
    return Medium(
        address=fields["address"],
        interval=whole(fields, "interval") or Medium(address="").interval,
        rollup_threshold=whole(fields, "rollup_threshold") or 0,
    )


def _rule(contact_id: str, rule_id: str, read: list[Any], known: Mapping[str, Rule]) -> Rule:
    fields, sets = table(read[0]), map(_texts, read[1:])
    stored = {
        name: msgspec.json.encode(several) for name, several in zip(_RULE_SETS, sets, strict=True)
    }
    stored["time_restrictions"] = fields.pop("time_restrictions_json", "").encode()
    stored |= {name: value.encode() for name, value in fields.items() if "blackhole" in name}
    if before := known.get(rule_id):
        stored["regex_entities"] = msgspec.json.encode(before.regex_entities)
        stored["regex_tags"] = msgspec.json.encode(before.regex_tags)
    stored |= {"id": rule_id.encode(), "contact_id": contact_id.encode()}
    return rule_format.parse({name.encode(): value for name, value in stored.items()})


def entity(entity_id: str, read: Any) -> Entity:
    """Raises Refused for what is no entity."""
    raw, tags, contacts, checks = answered(read)
    fields = table(raw)
    if "name" not in fields:
        raise Refused("it has no name")
    own = {text(name): _texts(several) for _, name, several in checks if name and several}
    is_all = entity_id == ALL
    return Entity(
        id=entity_id,
        name=fields["name"],
        contacts=_texts(contacts),
        tags=() if is_all else _texts(tags),
        check_contacts={} if is_all else own,
    )


def check(record_id: str, read: Any) -> CheckRecord:
    """Raises Refused for what is no check."""
    raw, contacts, states, scheduled, unscheduled = answered(read)
    fields = table(raw)
    for name in ("entity_name", "name"):
        if name not in fields:
            raise Refused(f"it has no {name}")
    if (state := fields.get("state")) not in (None, *SEVERITY):
        raise Refused(f"{state!r} is no state", field="state")
    return CheckRecord(
        id=record_id,
        entity=fields["entity_name"].lower(),
        name=fields["name"],
        state=state,
        summary=fields.get("summary"),
        details=fields.get("details"),
        last_update=whole(fields, "last_update"),
        last_problem_alert=whole(fields, "last_problem_alert"),
        is_enabled=fields.get("enabled") == "true",
        contacts=_texts(contacts),
        states=_states(states),
        scheduled=_windows(scheduled),
        unscheduled=_windows(unscheduled),
    )


def _states(read: Iterable[Any]) -> list[StateRecord]:
    """Of two states at one second, the later takes the next second."""
    found: list[StateRecord] = []
    for raw_id, raw in read:
        if not raw:
            continue
        record_id, fields = text(raw_id), table(raw)
        time, state = whole(fields, "timestamp"), fields.get("state")
        if time is None or state not in SEVERITY:
            raise Refused(f"its check_state {record_id} has the state {state!r} at {time}")
        found.append(
            StateRecord(
                record_id,
                time,
                state,
                fields.get("summary"),
                fields.get("details"),
                whole(fields, "count") or 0,
                fields.get("notified") == "true",
            )
        )
    found.sort(key=lambda one: (one.time, one.count))
    times = _distinct([one.time for one in found])
    return [msgspec.structs.replace(one, time=at) for one, at in zip(found, times, strict=True)]


def windows(read: Any, kind: str) -> list[WindowRecord]:
    """The windows of one kind; raises Refused where one is invalid."""
    scheduled, unscheduled = answered(read)
    return _windows(scheduled if kind == "scheduled" else unscheduled)


def _windows(read: Iterable[Any]) -> list[WindowRecord]:
    found: list[WindowRecord] = []
    for raw_id, raw in read:
        if not raw:
            continue
        record_id, fields = text(raw_id), table(raw)
        start, end = whole(fields, "start_time"), whole(fields, "end_time")
        if start is None or end is None or end < start:
            raise Refused(f"its maintenance {record_id} lasts from {start} to {end}")
        is_notified = fields.get("notified") == "true"
        found.append(WindowRecord(record_id, start, end, fields.get("summary", ""), is_notified))
    found.sort(key=lambda one: one.start)
    starts = _distinct([one.start for one in found])
    return [
        msgspec.structs.replace(one, start=start, end=max(start, one.end))
        for one, start in zip(found, starts, strict=True)
    ]


def _distinct(times: list[int]) -> list[int]:
    found: list[int] = []
    for time in times:
        found.append(max(time, found[-1] + 1) if found else time)
    return found


def answered(read: Any) -> Any:
    if isinstance(read, bytes):
        raise Refused(f"the store can't read it: {text(read)}")
    return read


def table(flat: Sequence[bytes]) -> Fields:
    return dict(zip(map(text, flat[::2]), map(text, flat[1::2]), strict=True))


def _texts(raw: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(map(text, raw))


def whole(fields: Fields, name: str) -> int | None:
    """A number of a record, which may have a fraction."""
    given = fields.get(name, "")
    if not given:
        return None
    digits = given.partition(".")[0]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and int(digits) <= LARGEST):
        raise Refused(f"{given!r} is no number", field=name)
    return int(digits)
