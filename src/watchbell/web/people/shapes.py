"""What the API accepts and returns for users, sessions and API keys."""

from typing import Annotated

from msgspec import Meta, Struct

from watchbell.actors import KeyScope, Privilege, Role
from watchbell.web.ping_check import Ping

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


class NewUser(Struct, frozen=True, forbid_unknown_fields=True):
    name: Text
    role: Role = "viewer"


class UserChange(Struct, frozen=True, forbid_unknown_fields=True):
    role: Role


class UserView(Struct, frozen=True, kw_only=True):
    name: str
    role: Role
    created: int
    has_password: bool
    last_sign_in: int | None = None


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


class NewKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Text
    scopes: Annotated[tuple[KeyScope, ...], Meta(min_length=1, max_length=7)]
    days: Annotated[int, Meta(ge=1, le=36_500)] | None = None
    """Days until it expires; by default never."""
    ping: NewPing | None = None


class KeyView(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    owner: str
    scopes: tuple[KeyScope, ...]
    created: int
    expires: int | None = None
    last_use: int | None = None
    ping: Ping | None = None


class CreatedKey(Struct, frozen=True, kw_only=True):
    """A new key; `secret` is never shown again."""

    key: KeyView
    secret: str
    ping_url: str | None = None
