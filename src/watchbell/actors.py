"""Who acts, how they came in, and what they may do."""

from typing import Literal, get_args

from msgspec import Struct

Privilege = Literal["intake", "metrics", "read", "operate", "write", "admin"]
Role = Literal["viewer", "operator", "editor", "administrator"]
KeyScope = Literal["intake", "metrics", "read", "operate", "write", "admin", "ping"]
Way = Literal["session", "key", "command line", "chat", "link", "system"]
ROLES: tuple[Role, ...] = get_args(Role)
EVERYTHING: frozenset[Privilege] = frozenset(get_args(Privilege))

SCOPE_PRIVILEGES: dict[KeyScope, frozenset[Privilege]] = {
    "ping": frozenset(),
    "intake": frozenset({"intake"}),
    "metrics": frozenset({"metrics"}),
    "read": frozenset({"metrics", "read"}),
    "operate": frozenset({"intake", "metrics", "read", "operate"}),
    "write": frozenset({"intake", "metrics", "read", "operate", "write"}),
    "admin": EVERYTHING,
}
"""What a key of each scope may do. One of `ping` is used by its URL, and nowhere else."""

ROLE_PRIVILEGES: dict[Role, frozenset[Privilege]] = {
    "viewer": SCOPE_PRIVILEGES["read"],
    "operator": SCOPE_PRIVILEGES["operate"],
    "editor": SCOPE_PRIVILEGES["write"],
    "administrator": EVERYTHING,
}


class Actor(Struct, frozen=True, kw_only=True):
    name: str
    """Empty where nobody has signed in, or for an API key made on the command line."""
    way: Way
    """How they came in."""
    privileges: frozenset[Privilege] = frozenset()
    categories: frozenset[str] = frozenset()
    """The categories that the privileges are limited to; empty for all."""
    groups: frozenset[str] = frozenset()
    """The server groups that the privileges are limited to; empty for all."""
    address: str = ""
    """The network address, where there is one."""
    key: str = ""
    """The id of the API key, where it is one."""
    note: str = ""
    """How they came in, for the audit log, where `way` does not say everything."""

    @property
    def display_name(self) -> str:
        """As other people read it."""
        return f"{self.name or 'command line'} (key {self.key})" if self.key else self.name

    @property
    def audit_name(self) -> str:
        if self.name and self.way in ("link", "command line"):
            return f"{self.name} ({self.note or self.way})"
        return self.display_name


class Subject(Struct, frozen=True):
    """What somebody wants to do something with, as far as that decides whether they may."""

    category: str = ""
    groups: frozenset[str] = frozenset()


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


def may(actor: Actor, privilege: Privilege, subject: Subject = ANYTHING) -> Permission:
    if privilege not in actor.privileges:
        return Permission(f"this needs the scope {privilege}, which you do not have")
    if "admin" in actor.privileges:
        return ALLOWED
    if actor.categories and subject.category and subject.category not in actor.categories:
        return Permission(f"you have no access to the category {subject.category}")
    if actor.groups and subject.groups and not actor.groups & subject.groups:
        return Permission("you have no access to its server groups")
    return ALLOWED


def signed_in(name: str, role: Role, address: str = "") -> Actor:
    return Actor(name=name, way="session", privileges=ROLE_PRIVILEGES[role], address=address)


def with_key(
    owner: str, role: Role, key: str, scopes: tuple[KeyScope, ...], address: str = ""
) -> Actor:
    """A key may do what its scopes say, and no more than its owner may."""
    privileges = _covered(scopes) & ROLE_PRIVILEGES[role]
    return Actor(name=owner, way="key", privileges=privileges, address=address, key=key)


def visitor(address: str = "") -> Actor:
    """Somebody who has not signed in."""
    return Actor(name="", way="session", address=address)


def on_command_line(account: str, note: str = "") -> Actor:
    return Actor(name=account, way="command line", privileges=EVERYTHING, note=note)


def in_chat(name: str) -> Actor:
    return Actor(name=name, way="chat", privileges=SCOPE_PRIVILEGES["operate"])


def by_link(name: str, address: str = "") -> Actor:
    """The contact to whom a link for acknowledging was sent."""
    privileges = SCOPE_PRIVILEGES["operate"]
    return Actor(name=name, way="link", privileges=privileges, address=address)


def system(name: str) -> Actor:
    """Watchbell itself."""
    return Actor(name=name, way="system", privileges=EVERYTHING)


def may_create_key(role: Role, scopes: tuple[KeyScope, ...]) -> bool:
    """Whether somebody of this role may create a key of these scopes."""
    owner = signed_in("", role)
    return _covered(scopes) <= owner.privileges and ("ping" not in scopes or bool(may_ping(owner)))


def may_ping(owner: Actor) -> Permission:
    """Whether a key for pings works that this person owns."""
    return may(owner, "operate")


def _covered(scopes: tuple[KeyScope, ...]) -> frozenset[Privilege]:
    return frozenset[Privilege]().union(*(SCOPE_PRIVILEGES[scope] for scope in scopes))
