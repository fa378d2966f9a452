"""What the API accepts and returns for users, sessions and API keys."""

from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict

from watchbell.actors import KeyScope, Privilege, Role
from watchbell.web.ping_check import Ping

Id = Annotated[str, Meta(min_length=1, max_length=100)]
Privileges = Annotated[tuple[Privilege, ...], Meta(max_length=100)]
RoleIds = Annotated[tuple[Id, ...], Meta(max_length=100)]
Names = Annotated[tuple[Id, ...], Meta(max_length=1_000)]
Text = Annotated[str, Meta(min_length=1, max_length=1_000)]


class Credentials(Struct, frozen=True, forbid_unknown_fields=True):
    user: Text
    password: Text


class NewPassword(Struct, frozen=True, forbid_unknown_fields=True):
    new: Text
    old: Annotated[str, Meta(max_length=1_000)] = ""
    """Needed where `asks_old` says so."""


class Me(Struct, frozen=True, kw_only=True):
    """Who you are, and what you may do."""

    user: str
    role: Role
    scopes: list[KeyScope]
    privileges: list[Privilege]
    """All of them; some may be limited to categories and server groups."""
    csrf: str
    """Send it as `X-CSRF-Token` with every request that changes something; empty for API keys."""
    has_password: bool
    asks_old: bool
    """Whether a new password needs the old one: not at once after a sign-in by link."""


class NewUser(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Text
    role: Role = "viewer"
    privileges: Privileges = ()
    """On top of those of the role."""
    roles: RoleIds = ()
    """Custom roles."""
    categories: Names = ()
    """The categories of events and jobs that the user has access to; empty for all."""
    groups: Names = ()
    """The server groups that the user has access to; empty for all."""


class UserChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    role: Role | None = None
    privileges: Privileges | None = None
    roles: RoleIds | None = None
    categories: Names | None = None
    groups: Names | None = None


class UserView(Struct, frozen=True, kw_only=True):
    name: str
    role: Role
    privileges: tuple[Privilege, ...]
    roles: tuple[str, ...]
    categories: tuple[str, ...]
    groups: tuple[str, ...]
    effective: list[Privilege]
    """All privileges, with those of the roles."""
    created: int
    has_password: bool
    last_sign_in: int | None = None


class NewRole(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: Text
    id: Annotated[str, Meta(max_length=64)] = ""
    """Small letters, digits and `_`; made up where it is left out."""
    enabled: bool = True
    """A role that is not enabled grants nothing."""
    notes: Annotated[str, Meta(max_length=10_000)] = ""
    privileges: Privileges = ()
    categories: Names = ()
    """Where the privileges count; if empty, wherever those of its holders do."""
    groups: Names = ()


class RoleChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    title: Text | None = None
    enabled: bool | None = None
    notes: Annotated[str, Meta(max_length=10_000)] | None = None
    privileges: Privileges | None = None
    categories: Names | None = None
    groups: Names | None = None


class RoleView(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    enabled: bool
    notes: str
    privileges: tuple[Privilege, ...]
    categories: tuple[str, ...]
    groups: tuple[str, ...]
    created: int
    modified: int


class SignInLink(Struct, frozen=True, kw_only=True):
    user: str
    link: str
    """Lets its holder sign in, once, within a day."""


class SessionView(Struct, frozen=True, kw_only=True):
    id: str
    user: str
    began: int
    seen: int
    ends: int
    address: str
    agent: str
    is_this: bool
    """Whether this request uses it."""


class NewPing(Struct, frozen=True, forbid_unknown_fields=True):
    check: Text
    """`ENTITY:CHECK`."""
    ttl: Annotated[int, Meta(ge=1, le=1 << 32)]
    """Seconds after which silence is a failure."""


Scopes = Annotated[tuple[KeyScope, ...], Meta(max_length=7)]


class NewKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Text
    scopes: Scopes = ()
    privileges: Privileges = ()
    """On top of those of the scopes."""
    roles: RoleIds = ()
    categories: Names = ()
    groups: Names = ()
    days: Annotated[int, Meta(ge=1, le=36_500)] | None = None
    """Days until it expires; by default never."""
    ping: NewPing | None = None


class KeyChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    name: Text | None = None
    scopes: Scopes | None = None
    privileges: Privileges | None = None
    roles: RoleIds | None = None
    categories: Names | None = None
    groups: Names | None = None


class KeyView(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    owner: str
    scopes: tuple[KeyScope, ...]
    privileges: tuple[Privilege, ...]
    roles: tuple[str, ...]
    categories: tuple[str, ...]
    groups: tuple[str, ...]
    created: int
    expires: int | None = None
    last_use: int | None = None
    ping: Ping | None = None


class CreatedKey(Struct, frozen=True, kw_only=True):
    """A new key; `secret` is never shown again."""

    key: KeyView
    secret: str
    ping_url: str | None = None


def given_of(change: UserChange | KeyChange | RoleChange) -> dict[str, Any]:
    """The fields of a change that were not left out."""
    return {name: value for name, value in asdict(change).items() if value is not None}
