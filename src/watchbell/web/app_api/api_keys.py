"""Handlers for API keys. All of them are for administrators, as in xyOps."""

from typing import Any

from watchbell.actors import KeyScope, Privilege, privileges_of
from watchbell.errors import Refused
from watchbell.web.app_api import records
from watchbell.web.app_api.calls import Answer, Call, Group
from watchbell.web.people.api_keys import ApiKey
from watchbell.web.people.rights import Rights
from watchbell.web.problems import HttpProblem

API_KEYS = Group("api_key")
_SENT_BACK = ("id", "key", "username", "created", "modified", "revision", "description", "icon")
_NAMES = ("roles", "categories", "groups")


def _shown(key: ApiKey) -> dict[str, Any]:
    own = privileges_of(key.scopes) | frozenset(key.privileges)
    return {
        "id": key.id,
        "title": key.name,
        "active": 1,
        "username": key.owner,
        "expires": key.expires or 0,
        "privileges": records.privileges(own),
        "roles": list(key.roles),
        "categories": list(key.categories),
        "groups": list(key.groups),
        "created": key.created,
        "modified": key.created,
    }


def _given(call: Call) -> dict[str, Any]:
    """What a call says about a key, by our names."""
    given = call.record(*_SENT_BACK)
    _check_active(given.pop("active", 1))
    found: dict[str, Any] = {}
    if "title" in given:
        found["name"] = str(given.pop("title"))
    if "expires" in given:
        found["expires"] = _time(given.pop("expires"))
    if "privileges" in given:
        found |= _split(records.privileges_given(given.pop("privileges")))
    for name in _NAMES:
        if name in given:
            found[name] = records.ids_given(given.pop(name), name)
    if given:
        raise Refused("there is no such property", field=min(given)[:100])
    return found


def _check_active(value: Any) -> None:
    if value in (0, False, "0"):
        raise Refused("keys can't be disabled; delete the key instead", field="active")


def _split(privileges: tuple[Privilege, ...]) -> dict[str, Any]:
    """Every key may read. One with the privilege `admin` has the scope of that name."""
    scope: KeyScope = "admin" if "admin" in privileges else "read"
    have = privileges_of((scope,))
    more = tuple(one for one in privileges if one not in have)
    return {"scopes": (scope,), "privileges": more}


def _time(value: Any) -> int | None:
    if not value:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 40:
        raise Refused("expected a time", field="expires")
    return value


@API_KEYS.reads(takes="offset limit", gives="rows list", needs="admin")
async def get_api_keys(call: Call) -> Answer:
    return call.listed([_shown(one) for one in await call.services.api_keys.all()])


@API_KEYS.reads(takes="id", gives="api_key", needs="admin")
async def get_api_key(call: Call) -> Answer:
    return {"api_key": _shown(await call.services.api_keys.get(call.text("id")))}


@API_KEYS.changes("admin", takes="title *", gives="api_key plain_key")
async def create_api_key(call: Call) -> Answer:
    """The key itself is made here, and shown in this answer alone."""
    if not call.identity.session:
        raise HttpProblem(403, "an API key can't create keys; sign in first")
    given, name = _given(call), call.text("title")
    scopes = given.pop("scopes", ("read",))
    expires, owner = given.pop("expires", None), await call.services.users.get(call.actor.name)
    given.pop("name")
    secret, key = await call.services.api_keys.make(
        name, scopes, call.stamp, owner=owner, expires=expires, given=Rights(**given)
    )
    return {"api_key": _shown(key), "plain_key": secret}


@API_KEYS.changes("admin", takes="id *")
async def update_api_key(call: Call) -> Answer:
    await call.services.api_keys.update(call.text("id"), _given(call), call.stamp)
    return {}


@API_KEYS.changes("admin", takes="id")
async def delete_api_key(call: Call) -> Answer:
    await call.services.api_keys.revoke(call.text("id"), call.stamp)
    return {}
