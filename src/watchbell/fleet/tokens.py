"""Tokens by which agents authenticate: shown once, stored as digests, revocable.

A server joins with a token that a person has created. It then gets one of its own, and a newer one
from time to time. A token that is to be replaced stays valid until the next one is used, since the
agent may die before it has stored that.
"""

import hashlib
import re
import secrets
from collections.abc import Collection

from msgspec.structs import replace

from watchbell.errors import NotFound, Refused
from watchbell.fleet import records, validation
from watchbell.fleet.model import AgentToken, Group
from watchbell.fleet.records import Change
from watchbell.store.client import Store

REPLACED_AFTER = 30 * 86_400
"""Seconds after which a server gets a new token when it connects."""
MOST_JOINING = 1_000

_FORM = re.compile("wba_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


async def create_join(
    store: Store,
    by: str,
    now: int,
    *,
    hostname: str = "",
    groups: Collection[str] = (),
    expires: int = 0,
) -> tuple[str, AgentToken]:
    """A token with which one server joins: the text that is shown once, and its record. One for a
    hostname may also take the place of the server of that name."""
    known = await records.every(store, Group)
    validation.check_groups(groups, known)
    if expires and expires <= now:
        raise Refused("expected a time in the future", field="expires")
    if len(await joining(store)) >= MOST_JOINING:
        raise Refused(f"no server has joined with {MOST_JOINING:,} other tokens; revoke some first")
    text, token = _made(
        hostname=validation.hostname(hostname) if hostname else "",
        groups=tuple(dict.fromkeys(groups)),
        created=now,
        created_by=by,
        expires=expires,
    )
    await records.write(store, [Change(AgentToken, token.id, b"", token)])
    return text, token


async def authenticate(store: Store, text: str, now: float) -> AgentToken | None:
    """The token, unless it is unknown, revoked or expired."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    token, _ = await records.find(store, AgentToken, form[1])
    if token is None or not secrets.compare_digest(token.digest, _digest(form[2])):
        return None
    return None if is_expired(token, now) else token


def is_expired(token: AgentToken, now: float) -> bool:
    """A token that has become a server's own does not expire."""
    return bool(token.expires) and not token.server and token.expires <= now


def is_replaced(token: AgentToken, now: float) -> bool:
    """Whether the server is to get a new one: it has joined with this one, or this one is old."""
    return not token.previous or token.created + REPLACED_AFTER <= now


async def rotate(store: Store, id_: str, now: int) -> tuple[str, AgentToken]:
    """A new token for the server of this one, which stays valid until the new one is used."""
    while True:
        token, old = await records.find(store, AgentToken, id_)
        if token is None or not token.server:
            raise NotFound("the token was revoked")
        text, new = _made(server=token.server, created=now, previous=id_)
        changes = [
            Change(AgentToken, id_, old, replace(token, following=new.id)),
            Change(AgentToken, new.id, b"", new),
        ]
        if token.following:
            changes += await _deletion(store, token.following)
        if await records.write(store, changes):
            return text, new


async def confirm(store: Store, id_: str) -> None:
    """The agent uses this token from now on: the one before it is deleted."""
    token, _ = await records.find(store, AgentToken, id_)
    if token is not None:
        await records.write(store, await _deletion(store, token.previous))


async def superseded(store: Store, token: AgentToken) -> list[Change]:
    """Deletions of the tokens before and after the one that an agent has come with: it needs the
    former no more, and has not stored the latter."""
    before = await _deletion(store, token.previous)
    return before + await _deletion(store, token.following)


async def every(store: Store) -> list[AgentToken]:
    found = (await records.every(store, AgentToken)).values()
    return sorted(found, key=lambda one: (one.created, one.id))


async def joining(store: Store) -> list[AgentToken]:
    """Those that no server has joined with."""
    return [token for token in await every(store) if not token.server]


async def of_server(store: Store, server: str) -> list[AgentToken]:
    """One, and for a short time also the one that replaces it."""
    return [token for token in await every(store) if token.server == server]


async def current(store: Store, id_: str) -> AgentToken:
    """The token, or the one that has replaced it."""
    token, _ = await records.find(store, AgentToken, id_)
    found = token or next((one for one in await every(store) if one.previous == id_), None)
    if found is None:
        raise NotFound(f"there is no token {id_[:100]!r}")
    return found


async def request_rotation(store: Store, server: str) -> bool:
    """Lets the server get a new token when it connects the next time. False if it has none."""
    while True:
        found = await of_server(store, server)
        if len(found) != 1:  # two: its agent is getting a new one already
            return bool(found)
        token, old = await records.find(store, AgentToken, found[0].id)
        if token is not None:
            change = Change(AgentToken, token.id, old, replace(token, previous=""))
            if await records.write(store, [change]):
                return True


async def revoke(store: Store, id_: str) -> AgentToken:
    """The connection of an agent that uses it is closed."""
    while True:
        token, old = await records.find(store, AgentToken, id_)
        if token is None:
            raise NotFound(f"there is no token {id_[:100]!r}")
        published = [token.server] if token.server else []
        change = Change(AgentToken, id_, old, None)
        if await records.write(store, [change], published=published):
            return token


async def revoke_of(store: Store, server: str) -> int:
    """Revokes all tokens of a server. Returns how many there were."""
    while True:
        changes = await deletions(store, server)
        if await records.write(store, changes, published=[server]):
            return len(changes)


async def deletions(store: Store, server: str) -> list[Change]:
    """The deletion of each token of the server."""
    found = await of_server(store, server)
    return [change for token in found for change in await _deletion(store, token.id)]


async def _deletion(store: Store, id_: str) -> list[Change]:
    _, old = await records.find(store, AgentToken, id_) if id_ else (None, b"")
    return [Change(AgentToken, id_, old, None)] if old else []


def _made(**fields: object) -> tuple[str, AgentToken]:
    id_, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = AgentToken(id=id_, digest=_digest(secret), **fields)  # type: ignore[arg-type]
    return f"wba_{id_}_{secret}", token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
