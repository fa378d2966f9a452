"""All units of the mirror that a store has, in slices."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

from watchbell.alerting import contacts, entities
from watchbell.alerting.check_script import CheckScript
from watchbell.alerting.keys import ALL, Alerting, AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.record_keys import is_record
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.keys import StoreKeys, tagged
from watchbell.store.replies import text
from watchbell.store.search import memberships, scanned

_AT_ONCE = 500
_KINDS = ("scheduled", "unscheduled")
_STORE_KEYS = StoreKeys()


async def units(store: Store) -> AsyncIterator[list[Unit]]:
    """Checks come first, since an entity finds its checks in their index. A unit may come twice;
    one that is made meanwhile need not come."""
    async for ids in checks(store):
        yield [unit for event_id in ids for unit in units_of_check(event_id)]
    async for ids in _alerting_checks(store):
        yield [("alerting", event_id) for event_id in ids]
    async for drops in suppressing(store):
        yield [("block", drop) for drop in drops]
    async for some in of_people(store):
        yield some
    async for ids in payloads(store):
        yield [("queued", one) for one in ids]


def units_of_check(event_id: str) -> Iterable[Unit]:
    yield ("check", event_id)
    yield ("states", event_id)
    for kind in _KINDS:
        yield ("windows", event_id, kind)
    yield ("alerting", event_id)


async def checks(store: Store) -> AsyncIterator[list[str]]:
    """Checks that have a state or a maintenance window, or are only announced, ENTITY:CHECK."""
    keys = Alerting(store.prefix)
    begin = keys.current.literals[0]
    async for _, page in scanned(store, begin, "hash"):
        found = [one for key in _texts(page) if _is_check(one := key.removeprefix(begin))]
        if found:
            yield found
    for kind in _KINDS:
        async for some in in_maintenance(store, kind):
            yield some
    async for announced in _announced(store):
        yield announced


# Returns whether a check has a state.
_HAS_STATE = CheckScript("return redis.call('EXISTS', key('current', entity, check))")


async def _announced(store: Store) -> AsyncIterator[list[str]]:
    """Checks that are listed without having a state."""
    listed = Alerting(store.prefix).all_checks()
    if not await is_of_type(store, listed, "zset"):
        return
    async for page in replies.scored_members(store, listed):
        names = [one for one, _ in page if _is_check(one)]
        found = [one async for one, has in _HAS_STATE.over(store, names, (), _AT_ONCE) if not has]
        if found:
            yield found


async def in_maintenance(store: Store, kind: str) -> AsyncIterator[list[str]]:
    """Checks that have, or had, a window of this kind of maintenance."""
    first, _, last = getattr(Alerting(store.prefix), f"{kind}_windows").literals
    async for windows in _ending(store, first, last, "zset"):
        yield [key.removeprefix(first).removesuffix(last) for key in windows]


def _is_check(name: str) -> bool:
    entity, _, check = name.partition(":")
    return bool(entity and check) and not is_record(entity, check)


async def _ending(store: Store, begin: str, end: str, kind: str) -> AsyncIterator[list[str]]:
    """The keys of a type that begin and end so."""
    match = re.sub(r"([\\*?\[\]])", r"\\\1", begin) + "*" + end
    for primary in await store.primaries():
        cursor: bytes | int = 0
        while True:
            cursor, page = await primary.call(
                *("SCAN", cursor, "MATCH", match, "COUNT", 1000, "TYPE", kind)
            )
            if found := list(_texts(page)):
                yield found
            if int(cursor) == 0:
                break


async def _alerting_checks(store: Store) -> AsyncIterator[list[str]]:
    begin = AlertingOwn(store.prefix).alerting_media.literals[0]
    async for _, page in scanned(store, begin, "set"):
        yield [key.removeprefix(begin) for key in _texts(page)]


async def suppressing(store: Store) -> AsyncIterator[list[str]]:
    """The keys that suppress alerts: those that are recorded as ours, and those that there are."""
    key = AlertingOwn(store.prefix).drops()
    if await is_of_type(store, key, "zset"):
        async for page in replies.scored_members(store, key):
            yield [drop for drop, _ in page]
    keys = Alerting(store.prefix)
    for family in (keys.contact_drop, keys.rollup_drop):
        async for _, found in scanned(store, family.literals[0], "string"):
            yield list(_texts(found))


async def payloads(store: Store) -> AsyncIterator[list[str]]:
    """The ids of queued notifications and alerts whose JSON is kept."""
    begin = AlertingOwn(store.prefix).payload("")
    async for _, page in scanned(store, begin, "string"):
        yield [key.removeprefix(begin) for key in _texts(page)]


async def queued(store: Store) -> AsyncIterator[list[str]]:
    """What waits in the queues of notifications and alerts, or was taken and not yet
    acknowledged. One that moves meanwhile need not come."""
    keys = Alerting(store.prefix)
    end = keys.queue.literals[-1]
    yield await _in_queue(store, keys.notifications())
    async for queues in _ending(store, store.prefix, end, "list"):
        for queue in queues:
            yield await _in_queue(store, queue)


async def _in_queue(store: Store, queue: str) -> list[str]:
    base, found = tagged(queue), list[str]()
    takers = await store.call("ZRANGE", _STORE_KEYS.takers(base), 0, -1)
    for key in (queue, *(_STORE_KEYS.taken(base, text(taker)) for taker in takers)):
        if await is_of_type(store, key, "list"):
            found += map(text, await store.call("LRANGE", key, 0, -1))
    return found


async def is_of_type(store: Store, key: str, kind: str) -> bool:
    """Whether the key can be read so; false also where there is none."""
    return bool(await store.call("TYPE", key) == kind.encode())


async def of_people(store: Store) -> AsyncIterator[list[Unit]]:
    """Contacts and entities, with their tags."""
    keys = Alerting(store.prefix)
    yield [("contact", one) for one in await contacts.all_ids(store)]
    yield [("entity", one) for one in {*await entities.names(store), ALL}]
    for unit, family in (("contact_tag", keys.contact_tag), ("entity_tag", keys.entity_tag)):
        tags = await memberships(store, family(""))
        yield [(unit, one, tag) for tag, members in tags.items() for one in members]


def _texts(names: Iterable[bytes]) -> Iterable[str]:
    for name in names:
        with suppress(UnicodeDecodeError):  # what is no text is none of ours
            yield name.decode()
