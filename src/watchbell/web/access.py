"""Who may do what: roles of people, scopes of keys, and what each endpoint asks for."""

from typing import Literal, get_args

from msgspec import Struct

Role = Literal["viewer", "operator", "editor", "administrator"]
Scope = Literal["intake", "metrics", "read", "operate", "write", "admin"]
KeyScope = Literal["intake", "metrics", "read", "operate", "write", "admin", "ping"]
ROLES: tuple[Role, ...] = get_args(Role)
SESSION_COOKIES = ("watchbell", "__Host-watchbell")
"""The cookie of a session over HTTP, and over HTTPS."""

COVERS: dict[str, frozenset[Scope]] = {
    "ping": frozenset(),
    "intake": frozenset({"intake"}),
    "metrics": frozenset({"metrics"}),
    "read": frozenset({"metrics", "read"}),
    "operate": frozenset({"intake", "metrics", "read", "operate"}),
    "write": frozenset({"intake", "metrics", "read", "operate", "write"}),
    "admin": frozenset({"intake", "metrics", "read", "operate", "write", "admin"}),
}
"""What a scope lets its holder do. One of `ping` is used by its URL, and nowhere else."""

ROLE_SCOPE: dict[Role, Scope] = {
    "viewer": "read",
    "operator": "operate",
    "editor": "write",
    "administrator": "admin",
}


class Access(Struct, frozen=True):
    """What an endpoint asks for: a scope, or nothing where it is public."""

    scope: Scope | None


PUBLIC = {"access": Access(None)}


def needs(scope: Scope) -> dict[str, Access]:
    """The `opt` of an endpoint. One without any is refused to everybody."""
    return {"access": Access(scope)}


def granted(scopes: tuple[KeyScope, ...], role: Role) -> frozenset[Scope]:
    """What a key may do: what its scopes say, and no more than its owner may."""
    wanted = frozenset[Scope]().union(*(COVERS[scope] for scope in scopes))
    return wanted & COVERS[ROLE_SCOPE[role]]


def may_ping(role: Role) -> bool:
    """Whether a key for pings works whose owner has this role."""
    return "operate" in COVERS[ROLE_SCOPE[role]]


def may_give(role: Role, scopes: tuple[KeyScope, ...]) -> bool:
    """Whether somebody of this role may make a key of these scopes."""
    own = COVERS[ROLE_SCOPE[role]]
    needed = frozenset[Scope]().union(*(COVERS[scope] for scope in scopes))
    return needed <= own and ("ping" not in scopes or may_ping(role))


class Identity(Struct, frozen=True, kw_only=True):
    """Who asks, and what they may do."""

    name: str
    role: Role
    grants: frozenset[Scope]
    session: str = ""
    """The session's id, where it is one."""
    csrf: str = ""
    may_forget: bool = False
    """Whether a new password may be set without the old one."""
    key: str = ""
    """The API key's id, where it is one."""

    def may(self, scope: Scope) -> bool:
        return scope in self.grants

    @property
    def told(self) -> str:
        """As the audit log names them."""
        return f"{self.name or 'command line'} (key {self.key})" if self.key else self.name
