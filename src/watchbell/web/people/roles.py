"""Custom roles: sets of privileges under a name, which users and API keys can have."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from watchbell.actors import PRIVILEGES, ROLES, may_give
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web.audit import Stamp
from watchbell.web.keys import Web
from watchbell.web.people import rights
from watchbell.web.people.record_changes import change
from watchbell.web.people.rights import CustomRole, Rights
from watchbell.web.secrets import short_id

_ID = re.compile("[a-z0-9][a-z0-9_]{0,63}")
_TRIES = 5


class Roles:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys = Web(store.prefix)

    async def all(self) -> list[CustomRole]:
        found = await self._store.call("HVALS", self._keys.roles())
        return sorted(rights.decoded(found).values(), key=lambda role: role.id)

    async def get(self, id_: str) -> CustomRole:
        return (await self._read(id_))[1]

    async def of(self, holder: Rights) -> dict[str, CustomRole]:
        """Those that a user or key has, by their ids."""
        if not holder.roles:
            return {}
        found = await self._store.call("HMGET", self._keys.roles(), *holder.roles)
        return rights.decoded(raw for raw in found if raw is not None)

    async def must_exist(self, ids: tuple[str, ...]) -> None:
        if len(ids) > rights.MOST_ROLES:
            raise Refused(f"there can be at most {rights.MOST_ROLES} roles", field="roles")
        known = {role.id for role in await self.all()} if ids else set()
        for id_ in ids:
            if id_ not in known:
                raise Refused(f"there is no role {id_[:64]!r}", field="roles")

    async def add(self, role: CustomRole, by: Stamp) -> CustomRole:
        """With an id of our own where it has none."""
        made = replace(role, id=role.id or f"r{short_id()}", created=by.now, modified=by.now)
        if not _ID.fullmatch(made.id):
            reason = "a role's id has 1 to 64 small letters, digits or _ and does not begin with _"
            raise Refused(reason, field="id")
        if made.id in (*ROLES, *PRIVILEGES):
            raise Refused(f"{made.id} is already the name of a role or privilege", field="id")
        _check(made, by)
        entry = by.entry("role.add", made.id, rights.in_words(made))
        table = self._keys.roles()
        if not await change(self._store, table, made.id, b"", msgspec.json.encode(made), entry):
            raise Refused(f"role {made.id} already exists", field="id")
        return made

    async def update(self, id_: str, changes: Mapping[str, Any], by: Stamp) -> CustomRole:
        """`changes` are fields of `CustomRole` and their new values. Nobody may change a role that
        can do more than they."""
        for _ in range(_TRIES):
            raw, old = await self._read(id_)
            _givable(old, by)
            new = replace(old, **changes, modified=by.now)
            _check(new, by)
            words = [] if new.enabled == old.enabled else ["enabled" if new.enabled else "disabled"]
            details = "; ".join([*words, rights.in_words(new)])
            entry = by.entry("role.change", new.id, details)
            table = self._keys.roles()
            if await change(self._store, table, new.id, raw, msgspec.json.encode(new), entry):
                return new
        raise Refused(f"role {id_} is being changed by others; try again")

    async def remove(self, id_: str, by: Stamp) -> None:
        """Refused while anybody has it, so that a new role of this id is nobody's."""
        raw, role = await self._read(id_)
        _givable(role, by)
        if holders := await self._holders(id_):
            names = ", ".join(holders[:3]) + (", …" if len(holders) > 3 else "")
            raise Refused(f"role {id_} is used by {names}; take it from them first")
        entry = by.entry("role.remove", id_, role.title)
        if not await change(self._store, self._keys.roles(), id_, raw, b"", entry):
            raise Refused(f"role {id_} is being changed by others; try again")

    async def _read(self, id_: str) -> tuple[bytes, CustomRole]:
        raw = await self._store.call("HGET", self._keys.roles(), id_)
        role = rights.decoded([raw]).get(id_) if raw is not None else None
        if role is None:
            raise NotFound(f"there is no role {id_[:64]!r}")
        return raw, role

    async def _holders(self, id_: str) -> list[str]:
        users = await self._store.call("HGETALL", self._keys.users())
        keys = await self._store.call("HGETALL", self._keys.api_keys())
        named = [(name.decode(), raw) for name, raw in users.items()]
        named += [(f"the API key {name.decode()}", raw) for name, raw in keys.items()]
        return sorted(
            name for name, raw in named if id_ in msgspec.json.decode(raw).get("roles", ())
        )


def _check(role: CustomRole, by: Stamp) -> None:
    title = role.title.strip()
    if not title or len(title) > 100 or not title.isprintable():
        raise Refused("a role's title has 1 to 100 printable characters", field="title")
    rights.check(role)
    _givable(role, by)


def _givable(role: CustomRole, by: Stamp) -> None:
    permission = may_give(by.actor, [role.grant])
    if not permission:
        raise Refused(permission.reason, field="privileges")
