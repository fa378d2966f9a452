"""Handlers for users and custom roles."""

from typing import Any

from msgspec.structs import asdict

from watchbell.actors import ROLE_PRIVILEGES, Privilege, Role
from watchbell.errors import Refused
from watchbell.web import audit
from watchbell.web.app_api import records
from watchbell.web.app_api.activity import activity_row
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.audit import AuditFilter
from watchbell.web.people import passwords
from watchbell.web.people.rights import CustomRole, Rights
from watchbell.web.people.users import User, role_of

USERS = Group("user")
ROLES = Group("role")
_MOST_ACTIVITY = 1_000
_IGNORED = ("full_name", "email", "active", "send_email", "username", "password", "new_password")
"""Of a user: what we do not store, and what is no right."""


def _user(user: User) -> dict[str, Any]:
    own = ROLE_PRIVILEGES[user.role] | frozenset(user.privileges)
    return {
        "username": user.name,
        "full_name": user.name,
        "email": "",
        "active": 1,
        "role": user.role,
        "privileges": records.privileges(own),
        "roles": list(user.roles),
        "categories": list(user.categories),
        "groups": list(user.groups),
        "created": user.created,
        "modified": user.created,
    }


def _rights(given: dict[str, Any], known: Any) -> dict[str, Any]:
    """What a call says about the rights of somebody, by our names."""
    found: dict[str, Any] = {}
    for name in ("roles", "categories", "groups"):
        if name in given:
            found[name] = records.ids_given(given[name], name)
    if "privileges" in given:
        found["privileges"] = records.privileges_given(given["privileges"])
    unknown = set(given) - {*found, *known, *_IGNORED}
    if unknown:
        raise Refused("there is no such property", field=min(unknown)[:100])
    return found


def _role(given: dict[str, Any], privileges: tuple[Privilege, ...] | None) -> Role | None:
    """Ours, if the call names one; a user with the privilege `admin` is an administrator."""
    if "role" in given:
        return role_of(str(given["role"]))
    if privileges is None:
        return None
    return "administrator" if "admin" in privileges else "viewer"


def _check_active(given: dict[str, Any]) -> None:
    if given.get("active") in (0, False, "0"):
        raise Refused("users can't be disabled; delete the user instead", field="active")


@USERS.reads(takes="offset limit", gives="rows list", needs="admin")
async def admin_get_users(call: Call) -> Answer:
    return call.listed([_user(one) for one in await call.services.users.all()], 50)


@USERS.reads(takes="username", gives="user", needs="admin")
async def admin_get_user(call: Call) -> Answer:
    return {"user": _user(await call.services.users.get(call.text("username")))}


@USERS.changes("admin", takes="username password *", gives="user")
async def admin_create(call: Call) -> Answer:
    given, name = call.record(), call.text("username")
    _check_active(given)
    found = _rights(given, ("role",))
    password = call.text("password", "")
    if password:
        passwords.check(password, name)
    role = _role(given, found.get("privileges", ())) or "viewer"
    user = await call.services.users.add(name, role, call.stamp, Rights(**_beyond(role, found)))
    if password:
        await call.services.users.set_password(user.name, password, call.stamp)
    return {"user": _user(user)}


def _beyond(role: Role, found: dict[str, Any]) -> dict[str, Any]:
    """Without privileges that the role has anyway."""
    if "privileges" not in found:
        return found
    more = tuple(one for one in found["privileges"] if one not in ROLE_PRIVILEGES[role])
    return {**found, "privileges": more}


@USERS.changes("admin", takes="username new_password *", gives="user")
async def admin_update(call: Call) -> Answer:
    given, name = call.record(), call.text("username")
    _check_active(given)
    found = _rights(given, ("role",))
    users = call.services.users
    user = await users.get(name)
    role = _role(given, found.get("privileges")) or user.role
    changes = {**_beyond(role, found), "role": role}
    password = call.text("new_password", "")
    if password:
        await users.set_password(name, password, call.stamp)
        await call.services.sessions.end_all(name, call.stamp, "new password")
    return {"user": _user(await users.update(name, changes, call.stamp))}


@USERS.changes("admin", takes="username")
async def admin_delete(call: Call) -> Answer:
    await call.services.users.remove(call.text("username"), call.stamp)
    return {}


@USERS.changes("admin", takes="username")
async def admin_logout_all(call: Call) -> Answer:
    user = await call.services.users.get(call.text("username"))
    await call.services.sessions.end_all(user.name, call.stamp, "ended by an administrator")
    return {}


@USERS.reads(takes="offset limit", gives="rows list")
async def get_user_activity(call: Call) -> Answer:
    """What the caller did, as the audit log has it."""
    wanted = AuditFilter(who=call.actor.audit_name)
    found = await audit.read(call.store, "", _MOST_ACTIVITY, wanted)
    return call.listed([activity_row(one) for one in found], 50)


def _custom(role: CustomRole) -> dict[str, Any]:
    return {**asdict(role), "privileges": records.privileges(role.privileges)}


def _role_changes(call: Call) -> dict[str, Any]:
    given = call.record("id", "username", "created", "modified", "revision", "icon")
    found = _rights(given, ("title", "enabled", "notes"))
    for name, kind in (("title", str), ("notes", str), ("enabled", bool)):
        if name in given:
            if not isinstance(given[name], kind):
                raise Refused(
                    "expected text" if kind is str else "expected true or false", field=name
                )
            found[name] = given[name]
    return found


@ROLES.reads(takes="offset limit", gives="rows list")
async def get_roles(call: Call) -> Answer:
    return call.listed([_custom(one) for one in await call.services.roles.all()])


@ROLES.reads(takes="id", gives="role")
async def get_role(call: Call) -> Answer:
    return {"role": _custom(await call.services.roles.get(call.text("id")))}


@ROLES.changes("create_roles", takes="id *", gives="role")
async def create_role(call: Call) -> Answer:
    given = {"title": "", **_role_changes(call)}
    role = CustomRole(id=call.text("id", ""), **given)
    return {"role": _custom(await call.services.roles.add(role, call.stamp))}


@ROLES.changes("edit_roles", takes="id *")
async def update_role(call: Call) -> Answer:
    await call.services.roles.update(call.text("id"), _role_changes(call), call.stamp)
    return {}


@ROLES.changes("delete_roles", takes="id")
async def delete_role(call: Call) -> Answer:
    await call.services.roles.remove(call.text("id"), call.stamp)
    return {}
