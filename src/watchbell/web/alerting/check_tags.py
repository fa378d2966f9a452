"""Tags of checks: those that were given to a check or its entity, and those of its reports."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from watchbell.alerting.keys import Alerting
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.families import Named
from watchbell.store.search import MEMBERS

_AT_ONCE = 50


class Tags(Struct, frozen=True):
    entities: dict[str, tuple[str, ...]] = {}
    """By name."""
    checks: dict[str, tuple[str, ...]] = {}

    def of(self, event_id: str, entity: str, reported: tuple[str, ...]) -> tuple[str, ...]:
        own, shared = self.checks.get(event_id, ()), self.entities.get(entity, ())
        return tuple(sorted({*own, *shared, *reported})) if own or reported else shared


async def read(store: Store) -> Tags:
    """Reads the sets of known tags; does not search all keys for others."""
    keys = Alerting(store.prefix)
    checks = await _tagged(store, keys.check_tag, keys.known_tags("check_tag"))
    by_id = await _tagged(store, keys.entity_tag, keys.known_tags("entity_tag"))
    if not by_id:
        return Tags({}, checks)
    names = await replies.hash_fields(store, keys.entity_names())
    named = {replies.text(id_): replies.text(name) for id_, name in names.items()}
    entities = {named[id_]: tags for id_, tags in by_id.items() if id_ in named}
    return Tags(entities, checks)


async def _tagged(store: Store, family: Named, known: str) -> dict[str, tuple[str, ...]]:
    """The tags of each member."""
    tags = sorted(map(replies.text, await store.call("SMEMBERS", known)))
    found: dict[str, list[str]] = {}
    for first in range(0, len(tags), _AT_ONCE):
        some = tags[first : first + _AT_ONCE]
        sets = await MEMBERS(store, [family(tag) for tag in some])
        for tag, members in zip(some, sets, strict=True):
            for member in members:
                found.setdefault(replies.text(member), []).append(tag)
    return _shared(found.items())


def _shared(pairs: Iterable[tuple[str, Sequence[str]]]) -> dict[str, tuple[str, ...]]:
    """One tuple for all that have the same tags."""
    tuples: dict[tuple[str, ...], tuple[str, ...]] = {}
    return {name: tuples.setdefault(tuple(tags), tuple(tags)) for name, tags in pairs}
