"""API keys: shown once, stored as digests, with scopes, an expiry and their last use."""

import re

import msgspec
from msgspec import Struct

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
from watchbell.web.people.record_changes import change
from watchbell.web.people.users import User
from watchbell.web.ping_check import Ping
from watchbell.web.secrets import digest, same, secret, short_id

_TOKEN = re.compile("wb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_REMEMBERED = 1.0
"""Seconds for which a key is cached: so late a revocation may take effect."""
_MOST_REMEMBERED = 1_000
_USE_NOTED = 60

# KEYS keys, users; ARGV[1] id. Returns the key and its owner, either of which may be missing.
_FIND = Script("""
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then return false end
return {key, redis.call('HGET', KEYS[2], cjson.decode(key).owner)}
""")


class ApiKey(Struct, frozen=True, kw_only=True):
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


class Known(Struct, frozen=True):
    """A valid key, with the role of its owner."""

    key: ApiKey
    role: Role

    @property
    def owner(self) -> Actor:
        return signed_in(self.key.owner, self.role)

    def actor(self, address: str) -> Actor:
        grants = (Grant(privileges=privileges_of(self.key.scopes)),)
        return with_key(self.owner, self.key.id, grants, address)


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
    ) -> tuple[str, ApiKey]:
        """The key as its holder sees it once, and the record that is stored."""
        if ("ping" in scopes) != (ping is not None) or (ping and len(scopes) > 1):
            raise Refused("a ping key needs a check and can't have other scopes")
        given = secret()
        key = ApiKey(
            id=short_id(),
            name=_named(name),
            owner=owner.name if owner else "",
            owner_id=owner.id if owner else "",
            scopes=scopes,
            digest=digest(given),
            created=by.now,
            expires=expires,
            ping=ping,
        )
        entry = by.entry("key.add", key.id, f"{key.name}: {', '.join(scopes)}")
        table = self._keys.api_keys()
        if not await change(self._store, table, key.id, b"", msgspec.json.encode(key), entry):
            raise Refused("this id is already used; try again")
        return f"wb_{key.id}_{given}", key

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
        table = self._keys.api_keys()
        raw = await self._store.call("HGET", table, id_)
        key = None if raw is None else msgspec.json.decode(raw, type=ApiKey)
        if key is None or owner not in (None, key.owner):
            raise NotFound("there is no such key")
        entry = by.entry("key.revoke", id_, key.name)
        if not await change(self._store, table, id_, raw, b"", entry):
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
        places = [self._keys.api_keys(), self._keys.users()]
        found = await _FIND(self._store, places, [form[1]])
        if not found:
            return None
        key = msgspec.json.decode(found[0], type=ApiKey)
        if not same(key.digest, digest(form[2])):
            return None
        if not key.owner:
            return Known(key, "administrator")
        owner = None if found[1] is None else msgspec.json.decode(found[1], type=User)
        return Known(key, owner.role) if owner and owner.id == key.owner_id else None

    def _remember(self, given: str, known: Known) -> None:
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[given] = self._clock.monotonic() + _REMEMBERED, known

    async def _note(self, id_: str, now: int) -> None:
        if self._noted.get(id_, 0) + _USE_NOTED <= now:
            self._noted[id_] = now
            await self._store.call("HSET", self._keys.key_uses(), id_, now)


def _named(name: str) -> str:
    text = name.strip()
    if not text or len(text) > 100 or not text.isprintable():
        raise Refused("a key's name has 1 to 100 printable characters")
    return text
