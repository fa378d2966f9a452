"""Reads, saves and removes entities: their names, ids, tags and contacts."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from watchbell import ids
from watchbell.alerting import change_feed, contact_links
from watchbell.alerting.keys import ALL, Alerting, is_reserved
from watchbell.alerting.mirrored_script import MirroredScript
from watchbell.alerting.patterns import compiled
from watchbell.alerting.record_keys import Records
from watchbell.alerting.validation import identifier, plain
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script
from watchbell.store.search import MEMBERS, memberships, scanned, turned

KIND = "entity_tag"
"""The kind of tag that entities have."""


class Entity(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    contacts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    check_contacts: dict[str, tuple[str, ...]] = {}
    """Contacts of single checks."""


class Link(Struct, frozen=True, kw_only=True):
    """What a contact is notified about: an entity, one check of it, or everything."""

    entity: str
    """Its name, or ALL."""
    check: str | None = None

    @property
    def words(self) -> str:
        if self.entity == ALL:
            return "everything"
        return self.entity if self.check is None else f"{self.entity}:{self.check}"


def links(found: Iterable[Entity], contact_id: str) -> list[Link]:
    """The links of a contact, in the order of the entities."""
    linked = []
    for entity in found:
        if contact_id in entity.contacts:
            linked.append(Link(entity=entity.name))
        checks = entity.check_contacts.items()
        linked += [Link(entity=entity.name, check=one) for one, who in checks if contact_id in who]
    return linked


# ARGV: keys of this server. Returns the names of those that are entities.
_NAMES = Script("""
local found = {}
for i, key in ipairs(ARGV) do
  local name = redis.pcall('HGET', key, 'name')
  found[i] = type(name) == 'string' and name
end
return found
""")


def named(name: str) -> str:
    """The name as it is stored: in lower case. Raises Refused for a reserved one."""
    kept = identifier("name", name, "a name").lower()
    if is_reserved(kept):
        raise Refused(
            f"{kept!r} is not allowed; expected a name that no other keys begin with", field="name"
        )
    return kept


# KEYS[1] ids by name, KEYS[2] names by id, KEYS[3] the name's id; ARGV[1] name, ARGV[2] an id for
# it if it has none, ARGV[3] what keys of entities begin with. Returns the entity's id.
_ENSURE = MirroredScript("""
local ids, names, key = unpack(KEYS)
local name = ARGV[1]
local id = redis.call('HGET', ids, name)
if not id or id == '' then id = redis.call('GET', key) end
if not id or id == '' then id = ARGV[2] end
redis.call('HSET', ids, name, id)
redis.call('HSET', names, id, name)
redis.call('SET', key, id)
redis.call('HSET', ARGV[3] .. id, 'name', name)
mark('entity', id)
return id
""")


async def ensure(store: Store, name: str) -> str:
    """The id of the entity with this name, which is created if missing."""
    name, keys = named(name), Alerting(store.prefix)
    places = [keys.entity_ids(), keys.entity_names(), keys.entity_id(name)]
    raw: bytes = await _ENSURE(store, places, [name, ids.token(), keys.entity("")])
    return raw.decode(errors="replace")


async def id_of(store: Store, name_or_id: str) -> str:
    """The id of an entity that is given by name or by id."""
    if name_or_id == ALL:
        return ALL
    found = await holder(store, name_or_id.lower())
    if found:
        return found
    if await store.call("HEXISTS", Alerting(store.prefix).entity(name_or_id), "name"):
        return name_or_id
    raise NotFound(f"there is no entity {name_or_id}")


async def id_or_new(store: Store, name_or_id: str) -> tuple[str, bool]:
    """The id of an entity, which is created if missing; and whether it is new."""
    try:
        return await id_of(store, name_or_id), False
    except NotFound:
        return await ensure(store, name_or_id), True


async def holder(store: Store, name: str) -> str:
    """The id of the entity with this name; empty if there is none."""
    keys = Alerting(store.prefix)
    raw: bytes = await store.call("HGET", keys.entity_ids(), name) or b""
    raw = raw or await store.call("GET", keys.entity_id(name)) or b""
    return raw.decode(errors="replace")


# KEYS[1] ids by name, KEYS[2] names by id, KEYS[3] known tags; ARGV[1…5] what keys of entities, of
# names' ids, of contacts of entities and of tags begin with, and the entity's id, ARGV[6] how many
# tags it has had, those; in _SAVE then one JSON: `name`, `contacts`, `tags`, `checks` (false,
# or a list of check and contacts), `had` (checks with contacts of their own, each with the id that
# they are under: its own, or that of the one whose name it takes).
_COMMON = """
local ids, names, known = unpack(KEYS)
local entity_at, id_at, contacts_at, tag_at, id = unpack(ARGV, 1, 5)
local count = tonumber(ARGV[6])
local function forget_name(of)
  local name = redis.call('HGET', names, of) or redis.call('HGET', entity_at .. of, 'name')
  if name then
    if redis.call('HGET', ids, name) == of then redis.call('HDEL', ids, name) end
    if redis.call('GET', id_at .. name) == of then redis.call('DEL', id_at .. name) end
  end
  redis.call('HDEL', names, of)
  return redis.call('DEL', entity_at .. of)
end
local function untag(of)
  for i = 7, 6 + count do
    redis.pcall('SREM', tag_at .. ARGV[i], of)
    mark('entity_tag', of, ARGV[i])
    if redis.call('EXISTS', tag_at .. ARGV[i]) == 0 then redis.call('SREM', known, ARGV[i]) end
  end
end
"""

_SAVE = MirroredScript(
    _COMMON
    + """
local new = cjson.decode(ARGV[7 + count])
local name = new.name
if id ~= 'ALL' then
  local other = redis.call('HGET', ids, name) or redis.call('GET', id_at .. name)
  if other and other ~= '' and other ~= id then
    forget_name(other)
    untag(other)
    redis.call('DEL', contacts_at .. other)
    mark('entity', other)
  end
  forget_name(id)
  redis.call('HSET', ids, name, id)
  redis.call('HSET', names, id, name)
  redis.call('SET', id_at .. name, id)
  redis.call('HSET', entity_at .. id, 'name', name)
  untag(id)
  for _, tag in ipairs(new.tags) do
    redis.call('SADD', tag_at .. tag, id)
    redis.call('SADD', known, tag)
    mark('entity_tag', id, tag)
  end
end
redis.call('DEL', contacts_at .. id)
for _, contact in ipairs(new.contacts) do redis.call('SADD', contacts_at .. id, contact) end
for _, had in ipairs(new.had) do
  local from, to = contacts_at .. had[1] .. ':' .. had[2], contacts_at .. id .. ':' .. had[2]
  if not new.checks and from ~= to then redis.call('SUNIONSTORE', to, to, from) end
  if new.checks or from ~= to then redis.call('DEL', from) end
end
for _, check in ipairs(new.checks or {}) do
  for _, contact in ipairs(check[2]) do
    redis.call('SADD', contacts_at .. id .. ':' .. check[1], contact)
  end
end
return ''
"""
)

# After the tags: keys that are removed too. Returns whether there was such an entity.
_REMOVE = MirroredScript(
    _COMMON
    + """
untag(id)
for i = 7 + count, #ARGV do redis.call('DEL', ARGV[i]) end
return forget_name(id) + redis.call('DEL', contacts_at .. id)
"""
)


class Survey(Struct):
    """What only a scan can find: tags of entities, and contacts of single checks."""

    tags: dict[str, set[str]]
    check_contacts: dict[str, set[str]]
    """What follows `contacts_for:` in keys, by its part before the first colon."""

    def tags_of(self, entity_ids: Iterable[str]) -> set[str]:
        return {tag for one in entity_ids for tag in self.tags.get(one, ())}

    def checks_of(self, entity_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Id and check."""
        found = (
            _split(rest, {one})
            for one in entity_ids
            for rest in self.check_contacts.get(one.partition(":")[0], ())
        )
        return sorted(split for split in found if split and split[1])


async def survey(store: Store) -> Survey:
    keys = Alerting(store.prefix)
    tags = turned(await memberships(store, keys.entity_tag("")))
    seen = Survey({one: set(several) for one, several in tags.items()}, {})
    for rest in await memberships(store, keys.entity_contacts("")):
        seen.check_contacts.setdefault(rest.partition(":")[0], set()).add(rest)
    return seen


async def save(
    store: Store,
    entity: Entity,
    *,
    with_checks: bool = False,
    seen: Survey | None = None,
    unit: str = "entity",
) -> None:
    """Stores an entity in place of the one with its id; the name may be new.

    A name that another id had moves to this one, with the contacts of its single checks. To save
    many, pass a survey, which is kept up to date. `unit` is what changes in the records.
    """
    checked(entity)
    name, keys = named(entity.name), Alerting(store.prefix)
    seen = seen or await survey(store)
    holders = {entity.id, entity.id if entity.id == ALL else await holder(store, name)} - {""}
    had, tags = seen.checks_of(holders), seen.tags_of(holders)
    linked = await _linked(store, holders, had)
    before = await store.call("HGET", keys.entity_names(), entity.id)
    if before == name.encode():  # contacts that stay linked lose nothing
        linked -= set(entity.contacts)
    new = {
        "name": name,
        "contacts": entity.contacts,
        "tags": entity.tags,
        "had": had,
        "checks": with_checks and list(entity.check_contacts.items()),
    }
    args = [*_begins(keys), entity.id, len(tags), *tags, msgspec.json.encode(new)]
    await _SAVE(store, _index(keys), args, [(unit, entity.id)])
    await contact_links.remove_unlinked(store, linked)
    await change_feed.publish(store, [f"{name}:"])
    seen.tags[entity.id] = set(entity.tags)
    checks = {check for _, check in had}.union(entity.check_contacts)
    seen.check_contacts.setdefault(entity.id, set()).update(
        f"{entity.id}:{check}" for check in checks
    )


def checked(entity: Entity) -> None:
    """Raises Refused with the field where an entity is invalid."""
    identifier("id", entity.id)
    named(entity.name)
    of_checks = entity.check_contacts
    for field, texts in (
        ("contacts", entity.contacts),
        ("tags", entity.tags),
        (
            "check_contacts",
            (*of_checks, *(one for several in of_checks.values() for one in several)),
        ),
    ):
        for text in texts:
            plain(field, text)


async def remove(store: Store, entity_id: str) -> None:
    """Removes an entity's names, tags and contacts; states of its checks stay."""
    keys, seen = Alerting(store.prefix), await survey(store)
    checks = seen.checks_of([entity_id])
    linked = await _linked(store, [entity_id], checks)
    gone = [keys.check_contacts(*split) for split in checks]
    tags = seen.tags_of([entity_id])
    args = [*_begins(keys), entity_id, len(tags), *tags, *gone]
    name = await store.call("HGET", keys.entity_names(), entity_id)
    if not await _REMOVE(store, _index(keys), args, [("entity", entity_id)]):
        raise NotFound(f"there is no entity {entity_id}")
    await contact_links.remove_unlinked(store, linked)
    if name is not None:
        await change_feed.publish(store, [f"{name.decode(errors='replace')}:"])


async def _linked(
    store: Store, entity_ids: Iterable[str], checks: Iterable[tuple[str, str]]
) -> set[str]:
    """Contacts of the entities and of these of their checks."""
    keys = Alerting(store.prefix)
    sets = [*map(keys.entity_contacts, entity_ids), *(keys.check_contacts(*c) for c in checks)]
    found = await MEMBERS(store, sets) if sets else []
    return {one.decode(errors="replace") for members in found for one in members}


def _index(keys: Alerting) -> list[str]:
    return [keys.entity_ids(), keys.entity_names(), keys.known_tags(KIND)]


def _begins(keys: Alerting) -> list[Argument]:
    named = (keys.entity, keys.entity_id, keys.entity_contacts, keys.entity_tag)
    return [family("") for family in named]


def _split(rest: str, known: Collection[str]) -> tuple[str, str] | None:
    """Entity and check of what follows `contacts_for:`, split after a known id."""
    at = len(rest)
    while at >= 0:
        if rest[:at] in known:
            return rest[:at], rest[at + 1 :]
        at = rest.rfind(":", 0, at)
    return None


async def names(store: Store) -> dict[str, str]:
    """All entities, id to name, with those that other programs wrote without the indexes."""
    keys = Alerting(store.prefix)
    begin, record = keys.entity(""), Records.entity.literals[-1].encode()
    found: dict[str, str] = {}
    async for primary, page in scanned(store, begin, "hash"):
        for key, name in zip(page, await _NAMES.on(primary, page), strict=True):
            if name is not None and not key.endswith(record):
                with suppress(UnicodeDecodeError):
                    found[key[len(begin.encode()) :].decode()] = name.decode()
    for raw_id, raw_name in (await store.call("HGETALL", keys.entity_names())).items():
        with suppress(UnicodeDecodeError):
            found[raw_id.decode()] = raw_name.decode()
    return found


# KEYS: the checks of entities. Returns how many each has.
_COUNTS = Script("""
local counts = {}
for i, key in ipairs(KEYS) do
  local count = redis.pcall('ZCARD', key)
  counts[i] = type(count) == 'number' and count or 0
end
return counts
""")


async def check_counts(store: Store, entities: Sequence[str]) -> list[int]:
    """How many checks of each of the entities have ever reported."""
    keys = [Alerting(store.prefix).entity_checks(name) for name in entities]
    return await _COUNTS(store, keys) if keys else []


async def find(store: Store, pattern: str = "*") -> list[Entity]:
    """Entities by name: a pattern with * and ?, or a regular expression as /…/."""
    matches, keys = compiled(f"{pattern}:*").matches, Alerting(store.prefix)
    known = await names(store)
    tags = turned(await memberships(store, keys.entity_tag("")))
    links: dict[str, dict[str, tuple[str, ...]]] = {}
    for rest, members in (await memberships(store, keys.entity_contacts(""))).items():
        split = _split(rest, known.keys() | {ALL})
        if split and not rest.endswith(":"):
            links.setdefault(split[0], {})[split[1]] = tuple(sorted(members))
    everyone = {ALL: ALL} if ALL in links and ALL not in known else {}
    return [
        Entity(
            id=entity_id,
            name=name,
            contacts=links.get(entity_id, {}).pop("", ()),
            tags=tags.get(entity_id, ()),
            check_contacts=dict(sorted(links.get(entity_id, {}).items())),
        )
        for entity_id, name in sorted((known | everyone).items(), key=lambda item: item[1])
        if matches(name.lower(), "")
    ]
