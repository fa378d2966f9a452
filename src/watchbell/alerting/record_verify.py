"""Compares Flapjack's records with the working layout, in both directions."""

from collections.abc import AsyncIterator, Iterable, Iterator

from watchbell.alerting import record_mirror, record_units
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.record_keys import Records
from watchbell.alerting.record_mirror import Difference
from watchbell.alerting.record_reading import made_id
from watchbell.alerting.record_units import is_of_type, suppressing
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.replies import text
from watchbell.store.search import scanned

_SLICE = 100
"""Units that one step compares."""

_CLASSES = (
    *("entities", "checks", "states", "scheduled", "unscheduled"),
    *("contacts", "media", "rules", "rollup_alerts"),
)
"""The sets of ids of records that say themselves what accounts for them."""

_INDEXES = {
    "entities_by_enabled": ("entity", "enabled"),
    "checks_by_entity_name": ("check", "entity_name"),
    "checks_by_name": ("check", "name"),
    "checks_by_enabled": ("check", "enabled"),
    "checks_by_state": ("check", "state"),
    "states_by_state": ("state", "state"),
    "states_by_notified": ("state", "notified"),
    "unscheduled_by_notified": ("unscheduled_window", "notified"),
    "media_by_type": ("medium", "type"),
    "blocks_by_rollup": ("block", "rollup"),
    "blocks_by_state": ("block", "state"),
    "rollup_alerts_by_state": ("rollup_alert", "state"),
}
"""Indexes with a set for each value: the family of the records, and the field."""
_UNIQUE = {"entities_by_name": ("entity", "name"), "states_by_count": ("state", "count")}
"""Indexes with one record for each value."""


async def differences(store: Store) -> AsyncIterator[Difference]:
    """Where records are not what the working layout says, first from there, then from the records.

    It takes many steps, between which both may change together; each step compares them at one
    moment. A unit that can't be read is a difference of its own. One may come twice.
    """
    async for page in record_units.units(store):
        async for found in _looked_at(store, page):
            yield found
    async for page in strays(store):
        async for found in _looked_at(store, page):
            yield found


async def _looked_at(store: Store, units: list[Unit]) -> AsyncIterator[Difference]:
    for some in _slices(units):
        looked = await record_mirror.look(store, some)
        for difference in looked.differences:
            yield difference
        for refusal in looked.refused:
            yield Difference(refusal.unit, "", None, refusal.reason)


def _slices(units: list[Unit]) -> Iterator[list[Unit]]:
    return (units[first : first + _SLICE] for first in range(0, len(units), _SLICE))


async def strays(store: Store) -> AsyncIterator[list[Unit]]:
    """The units that start from the records: each record and each entry of an index."""
    keys = Records(store.prefix)
    for name in _CLASSES:
        async for ids in _members(store, getattr(keys, name)()):
            yield [("stray", name, one) for one in ids]
    yield [("stray", "blocks", one) for one in await stray_blocks(store)]
    yield [("unqueued", one) for one in await _unqueued(store)]
    async for entries in _index_entries(store):
        yield entries


async def _index_entries(store: Store) -> AsyncIterator[list[Unit]]:
    keys = Records(store.prefix)
    for index, about in _INDEXES.items():
        begin = getattr(keys, index).literals[0]
        async for _, page in scanned(store, begin, "set"):
            for key in map(text, page):
                value = key.removeprefix(begin)
                async for ids in _members(store, key):
                    yield [("indexed", index, *about, value, one) for one in ids]
    for index, about in _UNIQUE.items():
        key = getattr(keys, index)()
        if await is_of_type(store, key, "hash"):
            values = map(text, await replies.hash_fields(store, key))
            yield [("unique", index, *about, value) for value in values]


async def _members(store: Store, key: str) -> AsyncIterator[list[str]]:
    cursor = 0
    while await is_of_type(store, key, "set"):
        cursor, page = await store.call("SSCAN", key, cursor, "COUNT", replies.PAGE)
        yield [text(member) for member in page]
        if cursor == 0:
            return


async def stray_blocks(store: Store) -> set[str]:
    """Blocks without a key that suppresses alerts. They are read first: one is gone before its
    key is."""
    blocks = Records(store.prefix).blocks()
    found = {one async for page in _members(store, blocks) for one in page}
    async for drops in suppressing(store):
        found -= await _block_ids(store, drops)
    return found


async def _unqueued(store: Store) -> set[str]:
    """Records of notifications and alerts, and JSON of such, which no queue seems to have."""
    keys = Records(store.prefix)
    found = {one async for page in record_units.payloads(store) for one in page}
    for ids in (keys.notifications(), keys.alerts()):
        found |= {one async for page in _members(store, ids) for one in page}
    if found:
        async for queued in record_units.queued(store):
            found.difference_update(queued)
    return found


async def _block_ids(store: Store, drops: Iterable[str]) -> set[str]:
    made = [made_id(f"block:{drop}") for drop in drops]
    if not made:
        return set()
    given = await store.call("HMGET", AlertingOwn(store.prefix).record_ids(), *made)
    return {text(other) if other else one for one, other in zip(made, given, strict=True)}
