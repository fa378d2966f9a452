"""Servers as people name them: by id or host name."""

from collections.abc import Iterable

from watchbell.errors import NotFound
from watchbell.fleet import groups, servers
from watchbell.store.client import Store


async def target_ids(store: Store, names: Iterable[str]) -> tuple[str, ...]:
    """The ids of groups and servers; a name that nothing has stays as it is."""
    known = {group.id for group in await groups.every(store)}
    return tuple([one if one in known else await server_id(store, one) for one in names])


async def server_id(store: Store, name: str) -> str:
    try:
        return (await servers.named(store, name)).id
    except NotFound:
        return name
