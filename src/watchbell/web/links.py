"""Sign-in links: for one user, used once, and not for long."""

from watchbell.errors import Refused
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.keys import Web
from watchbell.web.secrets import digest, secret
from watchbell.web.users import Actor, User, Users

LASTS = 86_400
OVER = "this link was used already, or is over; ask for a new one"
FIRST = "admin"
"""What the first administrator is called."""


def address(settings: Settings) -> str:
    """Where people find us."""
    web = settings.web
    if web.url:
        return web.url.rstrip("/")
    host = f"[{web.host}]" if ":" in web.host else web.host
    return f"{'https' if web.tls_cert else 'http'}://{host}:{web.port}"


async def make(store: Store, user: User, by: Actor) -> str:
    """The path of a new link, which lets its holder sign in as this user."""
    given = secret()
    await audit.record(store, by.entry("link.add", user.name))
    key = Web(store.prefix).link(digest(given))
    await store.call("SET", key, f"{user.name} {user.id}", "EX", LASTS)
    return f"/sign-in/{given}"


async def peek(store: Store, given: str) -> User | None:
    """Whom a link is for. Looking at it does not use it up, since mail servers look at links."""
    return await _user(store, await store.call("GET", Web(store.prefix).link(digest(given))))


async def use(store: Store, given: str) -> User | None:
    return await _user(store, await store.call("GETDEL", Web(store.prefix).link(digest(given))))


async def _user(store: Store, kept: bytes | None) -> User | None:
    if kept is None:
        return None
    name, _, id_ = kept.decode().partition(" ")
    user = await Users(store).find(name)
    return user if user is not None and user.id == id_ else None


async def first(store: Store, now: int) -> str | None:
    """The path of a link for the first administrator, as long as nobody ever signed in."""
    users = Users(store)
    if await users.sign_ins():
        return None
    by = Actor("first start", now)
    known = [user for user in await users.all() if user.role == "administrator"]
    if any(user.password for user in known):
        return None
    if known:
        return await make(store, known[0], by)
    try:
        return await make(store, await users.add(FIRST, "administrator", by), by)
    except Refused:  # somebody else has just started, too
        return await make(store, await users.get(FIRST), by)
