"""Who acts, how they came in, and what they may do."""

from collections.abc import Iterable
from typing import Literal, get_args

from msgspec import Struct

Privilege = Literal[
    # Ours: what the endpoints and commands of Watchbell need.
    "intake",
    "metrics",
    "read",
    "operate",
    "write",
    "admin",
    # The document's.
    "run_jobs",
    "abort_jobs",
    "tag_jobs",
    "delete_jobs",
    "create_events",
    "edit_events",
    "delete_events",
    "create_categories",
    "edit_categories",
    "delete_categories",
    "create_channels",
    "edit_channels",
    "delete_channels",
    "create_plugins",
    "edit_plugins",
    "delete_plugins",
    "create_tags",
    "edit_tags",
    "delete_tags",
    "create_groups",
    "edit_groups",
    "delete_groups",
    "create_monitors",
    "edit_monitors",
    "delete_monitors",
    "create_alerts",
    "edit_alerts",
    "delete_alerts",
    "create_dashboards",
    "edit_dashboards",
    "delete_dashboards",
    "create_roles",
    "edit_roles",
    "delete_roles",
    "create_snapshots",
    "delete_snapshots",
    "add_servers",
    "update_servers",
    "send_emails",
    "bulk_export",
]
Verb = Literal["create", "edit", "delete"]
Kind = Literal[
    "event",
    "category",
    "channel",
    "plugin",
    "tag",
    "group",
    "monitor",
    "alert",
    "dashboard",
    "role",
]
Role = Literal["viewer", "operator", "editor", "administrator"]
KeyScope = Literal["intake", "metrics", "read", "operate", "write", "admin", "ping"]
Way = Literal["session", "key", "command line", "chat", "link", "system"]
PRIVILEGES: tuple[Privilege, ...] = get_args(Privilege)
KINDS: tuple[Kind, ...] = get_args(Kind)
ROLES: tuple[Role, ...] = get_args(Role)
EVERYTHING: frozenset[Privilege] = frozenset(PRIVILEGES)

_BY_TEXT: dict[str, Privilege] = {one: one for one in PRIVILEGES}


def privilege_to(verb: Verb, kind: Kind) -> Privilege:
    """`edit_categories` for `edit` and `category`."""
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return _BY_TEXT[f"{verb}_{plural}"]


_VERBS: tuple[Verb, ...] = get_args(Verb)
_DEFINITIONS = frozenset(
    privilege_to(verb, kind) for verb in _VERBS for kind in KINDS if kind != "role"
)
_READ: frozenset[Privilege] = frozenset({"metrics", "read"})
_ACTS: frozenset[Privilege] = frozenset(
    {
        *("intake", "operate", "run_jobs", "abort_jobs", "tag_jobs", "create_snapshots"),
        *("create_dashboards", "edit_dashboards"),
    }
)
_WRITES: frozenset[Privilege] = frozenset({"write", "delete_snapshots"})

SCOPE_PRIVILEGES: dict[KeyScope, frozenset[Privilege]] = {
    "ping": frozenset(),
    "intake": frozenset({"intake"}),
    "metrics": frozenset({"metrics"}),
    "read": _READ,
    "operate": _READ | _ACTS,
    "write": _READ | _ACTS | _WRITES | _DEFINITIONS,
    "admin": EVERYTHING,
}
"""What a key of each scope may do. One of `ping` is used by its URL, and nowhere else."""

ROLE_PRIVILEGES: dict[Role, frozenset[Privilege]] = {
    "viewer": SCOPE_PRIVILEGES["read"],
    "operator": SCOPE_PRIVILEGES["operate"],
    "editor": SCOPE_PRIVILEGES["write"],
    "administrator": EVERYTHING,
}


class Subject(Struct, frozen=True):
    """What somebody wants to do something with, as far as that decides whether they may."""

    category: str = ""
    """Empty for what has none."""
    groups: frozenset[str] | None = None
    """The server groups of its targets; null for what does not run on servers."""


ANYTHING = Subject()


class Permission(Struct, frozen=True):
    reason: str = ""
    """Why it is refused; empty where it is allowed."""

    @property
    def allowed(self) -> bool:
        return not self.reason

    def __bool__(self) -> bool:
        return self.allowed


ALLOWED = Permission()


class Grant(Struct, frozen=True, kw_only=True):
    """Privileges, and what they are limited to."""

    privileges: frozenset[Privilege] = frozenset()
    categories: frozenset[str] = frozenset()
    """Empty for all."""
    groups: frozenset[str] = frozenset()
    """Of servers; empty for all."""

    def permission(self, privilege: Privilege, subject: Subject) -> Permission:
        if "admin" in self.privileges:
            return ALLOWED
        if privilege not in self.privileges:
            return Permission(f"this needs the privilege {privilege}, which you do not have")
        if self.categories and subject.category and subject.category not in self.categories:
            return Permission(f"you have no access to the category {subject.category}")
        if self.groups and subject.groups is not None:
            return self._permission_for_groups(privilege, subject.groups)
        return ALLOWED

    def _permission_for_groups(self, privilege: Privilege, targets: frozenset[str]) -> Permission:
        """Whoever may run jobs on one of the targets may run them; but a definition must not reach
        servers to which its author has no access."""
        beyond = targets - self.groups
        if beyond and privilege.startswith(("create_", "edit_")):
            return Permission(f"you have no access to the server group {min(beyond)}")
        if not targets & self.groups:
            return Permission("you have no access to its server groups")
        return ALLOWED

    def covers(self, privilege: Privilege, other: "Grant") -> bool:
        """Whether this grants a privilege wherever the other one does."""
        if "admin" in self.privileges:
            return True
        return (
            privilege in self.privileges
            and _within(other.categories, self.categories)
            and _within(other.groups, self.groups)
        )


def _within(names: frozenset[str], limit: frozenset[str]) -> bool:
    return not limit or (bool(names) and names <= limit)


class Actor(Struct, frozen=True, kw_only=True):
    name: str
    """Empty where nobody has signed in, or for an API key made on the command line."""
    way: Way
    """How they came in."""
    grants: tuple[Grant, ...] = ()
    """What any of these allows is allowed."""
    owner: "Actor | None" = None
    """Of an API key: who owns it. It may do nothing that they may not."""
    address: str = ""
    """The network address, where there is one."""
    key: str = ""
    """The id of the API key, where it is one."""
    note: str = ""
    """How they came in, for the audit log, where `way` does not say everything."""

    @property
    def privileges(self) -> frozenset[Privilege]:
        """All of them; some may be limited to categories and groups."""
        own = frozenset[Privilege]().union(*(grant.privileges for grant in self.grants))
        if "admin" in own:
            own = EVERYTHING
        return own & self.owner.privileges if self.owner else own

    @property
    def display_name(self) -> str:
        """As other people read it."""
        return f"{self.name or 'command line'} (key {self.key})" if self.key else self.name

    @property
    def audit_name(self) -> str:
        if self.name and self.way in ("link", "command line"):
            return f"{self.name} ({self.note or self.way})"
        return self.display_name


def may(actor: Actor, privilege: Privilege, subject: Subject = ANYTHING) -> Permission:
    if actor.owner is not None and not (permission := may(actor.owner, privilege, subject)):
        return permission
    refusal = Grant().permission(privilege, subject)
    for grant in actor.grants:
        permission = grant.permission(privilege, subject)
        if permission:
            return permission
        if privilege in grant.privileges:
            refusal = permission  # says more than that the privilege is missing
    return refusal


def may_give(actor: Actor, grants: Iterable[Grant]) -> Permission:
    """Whether somebody has everything that they want to give to a key or a role."""
    for grant in grants:
        for privilege in sorted(grant.privileges):
            if not _covered(actor, privilege, grant):
                return Permission(f"you can't give the privilege {privilege}: {_LACKING}")
    return ALLOWED


_LACKING = "you do not have it, or only for some categories or server groups"


def _covered(actor: Actor, privilege: Privilege, grant: Grant) -> bool:
    if actor.owner is not None and not _covered(actor.owner, privilege, grant):
        return False
    return any(own.covers(privilege, grant) for own in actor.grants)


def grants_of(own: Grant, roles: Iterable[Grant]) -> tuple[Grant, ...]:
    """Somebody's own grant and those of their roles. A role without limits of its own takes over
    the person's."""
    inherited = (
        Grant(
            privileges=role.privileges,
            categories=role.categories or own.categories,
            groups=role.groups or own.groups,
        )
        for role in roles
    )
    return own, *inherited


def signed_in(name: str, role: Role, address: str = "", *, grants: Iterable[Grant] = ()) -> Actor:
    """Somebody with one of our roles, or with just these grants, which then include it."""
    given = tuple(grants) or (Grant(privileges=ROLE_PRIVILEGES[role]),)
    return Actor(name=name, way="session", grants=given, address=address)


def with_key(owner: Actor, key: str, grants: tuple[Grant, ...], address: str = "") -> Actor:
    """A key may do what its grants say, and no more than its owner may."""
    return Actor(name=owner.name, way="key", grants=grants, owner=owner, address=address, key=key)


def visitor(address: str = "") -> Actor:
    """Somebody who has not signed in."""
    return Actor(name="", way="session", address=address)


def on_command_line(account: str, note: str = "") -> Actor:
    return Actor(name=account, way="command line", grants=_ALL, note=note)


def in_chat(name: str) -> Actor:
    return Actor(name=name, way="chat", grants=_OPERATING)


def by_link(name: str, address: str = "") -> Actor:
    """The contact to whom a link for acknowledging was sent."""
    return Actor(name=name, way="link", grants=_OPERATING, address=address)


def system(name: str) -> Actor:
    """Watchbell itself."""
    return Actor(name=name, way="system", grants=_ALL)


_ALL = (Grant(privileges=EVERYTHING),)
_OPERATING = (Grant(privileges=SCOPE_PRIVILEGES["operate"]),)


def privileges_of(scopes: Iterable[KeyScope]) -> frozenset[Privilege]:
    return frozenset[Privilege]().union(*(SCOPE_PRIVILEGES[scope] for scope in scopes))


def scopes_of(actor: Actor) -> list[KeyScope]:
    """The scopes of which somebody has the privilege of the same name."""
    held = actor.privileges
    scopes: tuple[KeyScope, ...] = get_args(KeyScope)
    return sorted(scope for scope in scopes if scope in held)


def may_create_key(owner: Actor, scopes: Iterable[KeyScope], grants: Iterable[Grant]) -> Permission:
    """Whether somebody may create a key. Limits do not matter: those of its owner bind a key."""
    if "ping" in scopes:
        return may_ping(owner)
    for grant in grants:
        if lacking := sorted(grant.privileges - owner.privileges):
            return Permission(f"a key can't have the privilege {lacking[0]}, which you do not have")
    return ALLOWED


def may_ping(owner: Actor) -> Permission:
    """Whether a key for pings works that this person owns."""
    return may(owner, "operate")
