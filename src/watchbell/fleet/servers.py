"""Servers: machines with an agent. They are listed from the time they join until they are
removed, whether their agent is connected or not."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import grouping, records, tokens, validation
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Server
from watchbell.fleet.monitoring import latest
from watchbell.fleet.records import Change
from watchbell.store.client import Store
from watchbell.store.script import Script

slots = grouping.slots

# KEYS links, seen, samples, machines, watches, watched, orders, minutes, hours, quick; ARGV[1]
# server, ARGV[2] the field of its watch.
_FORGET = Script("""
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
for i = 3, 4 do redis.call('HDEL', KEYS[i], ARGV[1]) end
for i = 5, 6 do redis.call('HDEL', KEYS[i], ARGV[2]) end
for i = 7, 10 do redis.call('DEL', KEYS[i]) end
""")


async def every(store: Store) -> list[Server]:
    """By title or hostname."""
    return sorted((await records.every(store, Server)).values(), key=lambda one: label(one).lower())


def label(server: Server) -> str:
    return server.title or server.hostname


async def get(store: Store, id_: str) -> Server:
    server, _ = await records.find(store, Server, id_)
    if server is None:
        raise NotFound(f"there is no server {id_[:100]!r}")
    return server


async def named(store: Store, name: str) -> Server:
    """By id or hostname."""
    found = await records.every(store, Server)
    server = found.get(name) or next(
        (one for one in found.values() if one.hostname == name.lower()), None
    )
    if server is None:
        raise NotFound(f"there is no server {name[:100]!r}")
    return server


async def update(
    store: Store, id_: str, changes: Mapping[str, Any], now: int, revision: int | None = None
) -> Server:
    """Changes fields by the document's names. With `revision`, only that revision is changed."""
    while True:
        known = await records.load(store)
        server = known.servers.get(id_)
        if server is None:
            raise NotFound(f"there is no server {id_[:100]!r}")
        if revision not in (None, server.revision):
            raise Changed(f"the server {label(server)} was changed by somebody else meanwhile")
        changed = validation.changed_server(server, changes, known.groups)
        changed = grouping.regrouped(changed, known.groups)
        if any(
            one.hostname == changed.hostname and one.id != id_ for one in known.servers.values()
        ):
            raise Refused(f"another server is named {changed.hostname}", field="hostname")
        changed = replace(changed, modified=now, revision=server.revision + 1)
        change = Change(Server, id_, known.server_text(id_), changed)
        # Another server may get the same hostname meanwhile.
        alone = known.server_texts if changed.hostname != server.hostname else None
        if await records.write(
            store, [change], servers=alone, groups=known.group_texts, published=[id_]
        ):
            return changed


async def remove(store: Store, id_: str) -> None:
    """Also deletes its tokens, so that its agent can't come back. Jobs that it runs are not
    touched here; see `jobs.server_removal`."""
    while True:
        _, text = await records.find(store, Server, id_)
        if not text:
            raise NotFound(f"there is no server {id_[:100]!r}")
        change = Change(Server, id_, text, None)
        revoked = await tokens.deletions(store, id_)
        if await records.write(store, [change, *revoked], published=[id_]):
            break
    keys = Fleet(store.prefix)
    names = [keys.links(), keys.seen(), keys.samples(), keys.machines()]
    names += [keys.watches(), keys.watched(), keys.orders(id_)]
    names += [keys.sample_minutes(id_), keys.sample_hours(id_), keys.quick(id_)]
    await _FORGET(store, names, [id_, f"server:{id_}"])
    await latest.forget(store, id_)
