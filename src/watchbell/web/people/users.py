"""Users: the people who may sign in, and their roles."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.actors import ROLES, Role
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store
from watchbell.web.audit import Entry, Stamp
from watchbell.web.keys import Web
from watchbell.web.people import passwords
from watchbell.web.people.record_changes import change
from watchbell.web.secrets import short_id

_NAME = re.compile("[a-z0-9][a-z0-9._@+-]{0,63}")
_TRIES = 5


class User(Struct, frozen=True, kw_only=True):
    name: str
    id: str
    """Distinguishes this user from an earlier one with the same name."""
    role: Role
    created: int
    password: str = ""
    """The hash by argon2; empty for a user without a password."""


def user_name(text: str) -> str:
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise Refused(
            "a user's name has 1 to 64 small letters, digits or . _ @ + - and begins with a letter "
            "or a digit"
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
        return sorted((await self._all()).values(), key=lambda user: user.name)

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

    async def add(self, name: str, role: Role, by: Stamp) -> User:
        user = User(name=user_name(name), id=short_id(), role=role, created=by.now)
        if not await self._changed(None, user, by.entry("user.add", user.name, role)):
            raise Refused(f"user {user.name} already exists")
        return user

    async def set_role(self, name: str, role: Role, by: Stamp) -> User:
        for _ in range(_TRIES):
            user, others = await self._with_others(name)
            changed = replace(user, role=role)
            witness = {} if role == "administrator" else self._remaining(user, others)
            entry = by.entry("user.role", name, f"{user.role} to {role}")
            if await self._changed(user, changed, entry, witness):
                return changed
        raise Refused(f"user {name} is being changed by others; try again")

    async def set_password(self, name: str, password: str, by: Stamp) -> None:
        passwords.check(password, name)
        kept = await passwords.hashed(password)
        for _ in range(_TRIES):
            user = await self.get(name)
            entry = by.entry("user.password", name)
            revoked = [self._keys.link(user.id)]
            if await self._changed(user, replace(user, password=kept), entry, revoked=revoked):
                return
        raise Refused(f"user {name} is being changed by others; try again")

    async def remove(self, name: str, by: Stamp) -> None:
        for _ in range(_TRIES):
            user, others = await self._with_others(name)
            witness = self._remaining(user, others)
            entry, revoked = by.entry("user.remove", name), [self._keys.link(user.id)]
            if await self._changed(user, None, entry, witness, revoked):
                await self._store.call("HDEL", self._keys.sign_ins(), name)
                return
        raise Refused(f"user {name} is being changed by others; try again")

    async def _all(self) -> dict[str, User]:
        found = await self._store.call("HGETALL", self._keys.users())
        return {name.decode(): msgspec.json.decode(raw, type=User) for name, raw in found.items()}

    async def _with_others(self, name: str) -> tuple[User, list[User]]:
        everybody = await self._all()
        if name not in everybody:
            raise NotFound(f"there is no user {name[:64]!r}")
        return everybody.pop(name), list(everybody.values())

    def _remaining(self, user: User, others: list[User]) -> dict[str, bytes]:
        """Another administrator, who must exist before this one can be removed or demoted."""
        if user.role != "administrator":
            return {}
        for other in others:
            if other.role == "administrator":
                return {other.name: msgspec.json.encode(other)}
        raise Refused(f"{user.name} is the only administrator; add another one first")

    async def _changed(
        self,
        old: User | None,
        new: User | None,
        entry: Entry,
        unchanged: dict[str, bytes] | None = None,
        revoked: Sequence[str] = (),
    ) -> bool:
        before = msgspec.json.encode(old) if old else b""
        after = msgspec.json.encode(new) if new else b""
        table = self._keys.users()
        return await change(
            self._store, table, entry.subject, before, after, entry, unchanged, revoked
        )
