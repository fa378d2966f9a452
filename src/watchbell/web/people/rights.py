"""What a user or an API key was given: privileges and roles, limited to categories and groups."""

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from watchbell.actors import PRIVILEGES, Grant, Privilege, grants_of
from watchbell.errors import Refused

MOST_ROLES = 100
"""Of one user or key."""
_MOST_NAMES = 1_000
_NAME = re.compile(r"\w{1,100}", re.ASCII)

# Lua: `roles_of(table, ...)` is what is stored of the roles that these records name. Each record is
# JSON, or nothing.
ROLES_OF = """
local function roles_of(table_, ...)
  local found = {}
  for i = 1, select('#', ...) do
    local record = select(i, ...)
    local ids = record and cjson.decode(record).roles
    if type(ids) == 'table' then
      for _, id in ipairs(ids) do found[#found + 1] = redis.call('HGET', table_, id) end
    end
  end
  return found
end
"""


class Rights(Struct, frozen=True, kw_only=True):
    """On top of the role of a user, or of the scopes of a key."""

    privileges: tuple[Privilege, ...] = ()
    roles: tuple[str, ...] = ()
    """The ids of custom roles."""
    categories: tuple[str, ...] = ()
    """The categories of events and jobs to which everything is limited; empty for all."""
    groups: tuple[str, ...] = ()
    """Likewise, of servers."""


class CustomRole(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    enabled: bool = True
    notes: str = ""
    privileges: tuple[Privilege, ...] = ()
    categories: tuple[str, ...] = ()
    """Where the privileges count; if empty, wherever those of its holders do."""
    groups: tuple[str, ...] = ()
    created: int = 0
    modified: int = 0

    @property
    def grant(self) -> Grant:
        return Grant(
            privileges=frozenset(self.privileges),
            categories=frozenset(self.categories),
            groups=frozenset(self.groups),
        )


def grants(
    base: frozenset[Privilege], rights: Rights, roles: Mapping[str, CustomRole]
) -> tuple[Grant, ...]:
    """What somebody may do who has the base anyway. Roles that are unknown or disabled grant
    nothing."""
    own = Grant(
        privileges=base | frozenset(rights.privileges),
        categories=frozenset(rights.categories),
        groups=frozenset(rights.groups),
    )
    held = (roles[id_] for id_ in rights.roles if id_ in roles)
    return grants_of(own, [role.grant for role in held if role.enabled])


def decoded(stored: Iterable[bytes]) -> dict[str, CustomRole]:
    """The roles by their ids, without those that another program has spoiled."""
    found = (_decoded(raw) for raw in stored)
    return {role.id: role for role in found if role is not None}


def _decoded(raw: bytes) -> CustomRole | None:
    try:
        return msgspec.json.decode(raw, type=CustomRole)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def check(rights: Rights | CustomRole) -> None:
    """Raises Refused, with the field, where a name can't be one."""
    for field in ("categories", "groups"):
        names: tuple[str, ...] = getattr(rights, field)
        if len(names) > _MOST_NAMES:
            raise Refused(f"there can be at most {_MOST_NAMES:,} {field}", field=field)
        for name in names:
            if not _NAME.fullmatch(name):
                raise Refused(
                    f"{name[:40]!r} is not an id: expected letters, digits or _", field=field
                )


def privilege_of(text: str) -> Privilege:
    for known in PRIVILEGES:
        if known == text:
            return known
    raise Refused(f"{text[:40]!r} is not a privilege; `watchbell roles privileges` lists them")


def in_words(rights: Rights | CustomRole) -> str:
    """For the audit log."""
    fields = ["privileges", "categories", "groups"]
    if isinstance(rights, Rights):
        fields.insert(0, "roles")
    parts = ((field, getattr(rights, field)) for field in fields)
    return "; ".join(f"{field} {', '.join(names)}" for field, names in parts if names)
