"""Users: the people who may sign in, and their roles."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from watchbell.actors import ROLE_PRIVILEGES, ROLES, Actor, Role, signed_in
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web.audit import Entry, Stamp
from watchbell.web.keys import Web
from watchbell.web.people import passwords, rights
from watchbell.web.people.record_changes import change
from watchbell.web.people.rights import CustomRole, Rights
from watchbell.web.people.roles import Roles
from watchbell.web.secrets import short_id

_NAME = re.compile("[a-z0-9][a-z0-9._@+-]{0,63}")
_TRIES = 5
NO_RIGHTS = Rights()


class User(Rights, frozen=True, kw_only=True):
    name: str
    id: str
    """Distinguishes this user from an earlier one with the same name."""
    role: Role
    created: int
    password: str = ""
    """The hash by argon2; empty for a user without a password."""

    def actor(self, roles: Mapping[str, CustomRole], address: str = "") -> Actor:
        """This user, signed in, with these roles, by their ids."""
        grants = rights.grants(ROLE_PRIVILEGES[self.role], self, roles)
        return signed_in(self.name, self.role, address, grants=grants)


def user_name(text: str) -> str:
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise Refused(
            "a user's name has 1 to 64 small letters, digits or . _ @ + - and begins with a letter "
            "or a digit",
            field="name",
        )
    return name


def role_of(text: str) -> Role:
    for known in ROLES:
        if known == text:
            return known
    raise Refused(f"{text[:40]!r} is not a role; expected one of {', '.join(ROLES)}")


class Users:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys = Web(store.prefix)

    async def all(self) -> list[User]:
        found = [msgspec.json.decode(raw, type=User) for raw in (await self._raw()).values()]
        return sorted(found, key=lambda user: user.name)

    async def get(self, name: str) -> User:
        user = await self.find(name)
        if user is None:
            raise NotFound(f"there is no user {name[:64]!r}")
        return user

    async def find(self, name: str) -> User | None:
        raw = await self._store.call("HGET", self._keys.users(), name)
        return None if raw is None else msgspec.json.decode(raw, type=User)

    async def sign_ins(self) -> dict[str, int]:
        """When each of them signed in last."""
        found = await self._store.call("HGETALL", self._keys.sign_ins())
        return {name.decode(): int(time) for name, time in found.items()}

    async def add(self, name: str, role: Role, by: Stamp, given: Rights = NO_RIGHTS) -> User:
        blank = User(name=user_name(name), id=short_id(), role=role, created=by.now)
        user = replace(blank, **asdict(given))
        await self._check(user)
        details = "; ".join(filter(None, (role, rights.in_words(user))))
        if not await self._changed(b"", user, by.entry("user.add", user.name, details)):
            raise Refused(f"user {user.name} already exists", field="name")
        return user

    async def set_role(self, name: str, role: Role, by: Stamp) -> User:
        return await self.update(name, {"role": role}, by)

    async def update(self, name: str, changes: Mapping[str, Any], by: Stamp) -> User:
        """`changes` are fields of `User` and their new values."""
        for _ in range(_TRIES):
            raw, user, others = await self._with_others(name)
            changed = replace(user, **changes)
            await self._check(changed)
            witness = {} if changed.role == "administrator" else self._remaining(user, others)
            if await self._changed(raw, changed, _entry(user, changed, by), witness):
                return changed
        raise Refused(f"user {name} is being changed by others; try again")

    async def set_password(self, name: str, password: str, by: Stamp) -> None:
        passwords.check(password, name)
        kept = await passwords.hashed(password)
        for _ in range(_TRIES):
            raw, user, _ = await self._with_others(name)
            entry = by.entry("user.password", name)
            revoked = [self._keys.link(user.id)]
            if await self._changed(raw, replace(user, password=kept), entry, revoked=revoked):
                return
        raise Refused(f"user {name} is being changed by others; try again")

    async def remove(self, name: str, by: Stamp) -> None:
        for _ in range(_TRIES):
            raw, user, others = await self._with_others(name)
            witness = self._remaining(user, others)
            entry, revoked = by.entry("user.remove", name), [self._keys.link(user.id)]
            if await self._changed(raw, None, entry, witness, revoked):
                await self._store.call("HDEL", self._keys.sign_ins(), name)
                return
        raise Refused(f"user {name} is being changed by others; try again")

    async def _check(self, user: User) -> None:
        rights.check(user)
        await Roles(self._store).must_exist(user.roles)

    async def _raw(self) -> dict[str, bytes]:
        found = await self._store.call("HGETALL", self._keys.users())
        return {name.decode(): raw for name, raw in found.items()}

    async def _with_others(self, name: str) -> tuple[bytes, User, dict[str, bytes]]:
        """A user, as stored and decoded, and the others."""
        everybody = await self._raw()
        if name not in everybody:
            raise NotFound(f"there is no user {name[:64]!r}")
        raw = everybody.pop(name)
        return raw, msgspec.json.decode(raw, type=User), everybody

    def _remaining(self, user: User, others: Mapping[str, bytes]) -> dict[str, bytes]:
        """Another administrator, who must exist before this one can be removed or demoted."""
        if user.role != "administrator":
            return {}
        for name, raw in others.items():
            if msgspec.json.decode(raw, type=User).role == "administrator":
                return {name: raw}
        raise Refused(f"{user.name} is the only administrator; add another one first")

    async def _changed(
        self,
        old: bytes,
        new: User | None,
        entry: Entry,
        unchanged: dict[str, bytes] | None = None,
        revoked: Sequence[str] = (),
    ) -> bool:
        """`old` is what was read, byte by byte."""
        after = msgspec.json.encode(new) if new else b""
        table = self._keys.users()
        return await change(
            self._store, table, entry.subject, old, after, entry, unchanged, revoked
        )


def _entry(old: User, new: User, by: Stamp) -> Entry:
    role = [] if new.role == old.role else [f"{old.role} to {new.role}"]
    had, has = rights.in_words(old), rights.in_words(new)
    if had == has:
        return by.entry("user.role", new.name, "".join(role))
    return by.entry("user.rights", new.name, "; ".join([*role, has or "none of their own"]))
