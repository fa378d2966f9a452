"""API keys: shown once, stored as digests, with scopes, an expiry and their last use."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from watchbell.actors import (
    Actor,
    Grant,
    KeyScope,
    Role,
    privileges_of,
    signed_in,
    with_key,
)
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.store.script import Script
from watchbell.web.audit import Stamp
from watchbell.web.keys import Web
from watchbell.web.people import rights
from watchbell.web.people.record_changes import change
from watchbell.web.people.rights import ROLES_OF, CustomRole, Rights
from watchbell.web.people.roles import Roles
from watchbell.web.people.users import NO_RIGHTS, User
from watchbell.web.ping_check import Ping
from watchbell.web.secrets import digest, same, secret, short_id

_TOKEN = re.compile("wb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_REMEMBERED = 1.0
"""Seconds for which a key is cached: so late a revocation may take effect."""
_MOST_REMEMBERED = 1_000
_USE_NOTED = 60

# KEYS keys, users, roles; ARGV[1] id. Returns the key, its owner and the roles of both. The key and
# the owner may be missing.
_FIND = Script(
    ROLES_OF
    + """
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then return false end
local owner = redis.call('HGET', KEYS[2], cjson.decode(key).owner)
return {key, owner, roles_of(KEYS[3], key, owner)}
"""
)
_TRIES = 5


class ApiKey(Rights, frozen=True, kw_only=True):
    id: str
    name: str
    owner: str
    """The user whose key it is; empty where it was made on the command line."""
    owner_id: str
    scopes: tuple[KeyScope, ...]
    digest: str
    created: int
    expires: int | None = None
    ping: Ping | None = None

    def grants(self, roles: Mapping[str, CustomRole]) -> tuple[Grant, ...]:
        return rights.grants(privileges_of(self.scopes), self, roles)


class Known(Struct, frozen=True):
    """A valid key, with its owner and the roles of both."""

    key: ApiKey
    role: Role
    """Of the owner."""
    owner: Actor
    roles: dict[str, CustomRole]

    def actor(self, address: str) -> Actor:
        return with_key(self.owner, self.key.id, self.key.grants(self.roles), address)


class ApiKeys:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._keys = Web(store.prefix)
        self._remembered: dict[str, tuple[float, Known]] = {}
        self._noted: dict[str, int] = {}

    async def make(
        self,
        name: str,
        scopes: tuple[KeyScope, ...],
        by: Stamp,
        *,
        owner: User | None = None,
        expires: int | None = None,
        ping: Ping | None = None,
        given: Rights = NO_RIGHTS,
    ) -> tuple[str, ApiKey]:
        """The key as its holder sees it once, and the record that is stored."""
        password = secret()
        blank = ApiKey(
            id=short_id(),
            name=name.strip(),
            owner=owner.name if owner else "",
            owner_id=owner.id if owner else "",
            scopes=scopes,
            digest=digest(password),
            created=by.now,
            expires=expires,
            ping=ping,
        )
        key = replace(blank, **asdict(given))
        await self._check(key)
        entry = by.entry("key.add", key.id, f"{key.name}: {_in_words(key)}")
        table = self._keys.api_keys()
        if not await change(self._store, table, key.id, b"", msgspec.json.encode(key), entry):
            raise Refused("this id is already used; try again")
        return f"wb_{key.id}_{password}", key

    async def get(self, id_: str, owner: str | None = None) -> ApiKey:
        return (await self._read(id_, owner))[1]

    async def update(
        self, id_: str, changes: Mapping[str, Any], by: Stamp, owner: str | None = None
    ) -> ApiKey:
        for _ in range(_TRIES):
            raw, key = await self._read(id_, owner)
            changed = replace(key, **changes)
            await self._check(changed)
            entry = by.entry("key.change", id_, f"{changed.name}: {_in_words(changed)}")
            table, new = self._keys.api_keys(), msgspec.json.encode(changed)
            if await change(self._store, table, id_, raw, new, entry):
                return changed
        raise Refused(f"key {id_} is being changed by others; try again")

    async def _check(self, key: ApiKey) -> None:
        if ("ping" in key.scopes) != (key.ping is not None) or (key.ping and len(key.scopes) > 1):
            raise Refused("a ping key needs a check and can't have other scopes", field="scopes")
        has_more = bool(key.privileges or key.roles)
        if key.ping and has_more:
            raise Refused("a ping key can't have privileges or roles", field="privileges")
        if not key.scopes and not has_more:
            raise Refused("a key needs a scope, a privilege or a role", field="scopes")
        _check_name(key.name)
        rights.check(key)
        await Roles(self._store).must_exist(key.roles)

    async def _read(self, id_: str, owner: str | None) -> tuple[bytes, ApiKey]:
        """As stored, and decoded. NotFound also where the key is not of that owner."""
        raw = await self._store.call("HGET", self._keys.api_keys(), id_)
        key = None if raw is None else msgspec.json.decode(raw, type=ApiKey)
        if key is None or owner not in (None, key.owner):
            raise NotFound("there is no such key")
        return raw, key

    async def all(self, owner: str | None = None) -> list[ApiKey]:
        """By id; of everybody, or of one."""
        found = await self._store.call("HVALS", self._keys.api_keys())
        keys = [msgspec.json.decode(raw, type=ApiKey) for raw in found]
        return sorted((k for k in keys if owner in (None, k.owner)), key=lambda key: key.id)

    async def uses(self) -> dict[str, int]:
        found = await self._store.call("HGETALL", self._keys.key_uses())
        return {name.decode(): int(time) for name, time in found.items()}

    async def revoke(self, id_: str, by: Stamp, owner: str | None = None) -> None:
        """NotFound also where the key is not of that owner."""
        raw, key = await self._read(id_, owner)
        entry = by.entry("key.revoke", id_, key.name)
        if not await change(self._store, self._keys.api_keys(), id_, raw, b"", entry):
            raise NotFound("there is no such key")
        await self._store.call("HDEL", self._keys.key_uses(), id_)
        await self._store.call("HDEL", self._keys.pings(), id_)

    async def find(self, given: str, now: int) -> Known | None:
        """The key, unless it is unknown, expired, or its owner was removed."""
        kept = self._remembered.get(given)
        if kept is None or kept[0] < self._clock.monotonic():
            known = await self._looked_up(given)
            if known is None:
                self._remembered.pop(given, None)
                return None
            self._remember(given, known)
        else:
            known = kept[1]
        if known.key.expires is not None and known.key.expires <= now:
            return None
        await self._note(known.key.id, now)
        return known

    async def _looked_up(self, given: str) -> Known | None:
        form = _TOKEN.fullmatch(given)
        if form is None:
            return None
        places = [self._keys.api_keys(), self._keys.users(), self._keys.roles()]
        found = await _FIND(self._store, places, [form[1]])
        if not found:
            return None
        key = msgspec.json.decode(found[0], type=ApiKey)
        if not same(key.digest, digest(form[2])):
            return None
        roles = rights.decoded(found[2])
        if not key.owner:
            return Known(key, "administrator", signed_in("", "administrator"), roles)
        owner = None if found[1] is None else msgspec.json.decode(found[1], type=User)
        if owner is None or owner.id != key.owner_id:
            return None
        return Known(key, owner.role, owner.actor(roles), roles)

    def _remember(self, given: str, known: Known) -> None:
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[given] = self._clock.monotonic() + _REMEMBERED, known

    async def _note(self, id_: str, now: int) -> None:
        if self._noted.get(id_, 0) + _USE_NOTED <= now:
            self._noted[id_] = now
            await self._store.call("HSET", self._keys.key_uses(), id_, now)


def _in_words(key: ApiKey) -> str:
    return "; ".join(filter(None, (", ".join(key.scopes), rights.in_words(key))))


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise Refused("a key's name has 1 to 100 printable characters", field="name")
