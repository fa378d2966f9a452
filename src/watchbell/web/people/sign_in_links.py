"""Sign-in links: each user has at most one, which works once, for a day."""

import re

import msgspec

from watchbell.actors import system
from watchbell.errors import Refused
from watchbell.store.client import Store
from watchbell.store.script import Script
from watchbell.web import audit
from watchbell.web.audit import Stamp
from watchbell.web.keys import Web
from watchbell.web.people.users import User, Users
from watchbell.web.secrets import digest, secret

LASTS = 86_400
OVER = (
    "this sign-in link is not valid: it was used, revoked by a sign-in or a new password, "
    "replaced by a newer link, or is older than a day; ask for a new one"
)
FIRST = "admin"
"""The name of the first administrator."""
_TOKEN = re.compile("([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
"""The id of the user, then the secret."""

# KEYS link, audit; ARGV[1] digest and name of the user, ARGV[2] seconds it lasts, ARGV[3] entry,
# ARGV[4] entries kept. The key is the user's, so a new link takes the place of the one before.
_MAKE = Script("""
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '*', 'e', ARGV[3])
""")

# KEYS link, users; ARGV[1] digest, ARGV[2] 1 to use the link up. Returns the user, or nothing.
_FIND = Script("""
local digest, name = string.match(redis.call('GET', KEYS[1]) or '', '^(%x+) (.+)$')
if digest ~= ARGV[1] then return false end
if ARGV[2] == '1' then redis.call('DEL', KEYS[1]) end
return redis.call('HGET', KEYS[2], name)
""")


async def make(store: Store, user: User, by: Stamp) -> str:
    """The path of a new link by which its holder signs in as this user; it revokes earlier ones."""
    given, keys = secret(), Web(store.prefix)
    entry = audit.encoded(by.entry("link.add", user.name))
    arguments = (f"{digest(given)} {user.name}", LASTS, entry, audit.MOST)
    await _MAKE(store, [keys.link(user.id), keys.audit()], arguments)
    return f"/sign-in/{user.id}_{given}"


async def peek(store: Store, token: str) -> User | None:
    """The user of a link. Does not use it up, because mail servers open links."""
    return await _user_of(store, token, is_used=False)


async def use(store: Store, token: str) -> User | None:
    """The user of a link, which is used up: of several uses at once only one gets the user."""
    return await _user_of(store, token, is_used=True)


async def _user_of(store: Store, token: str, *, is_used: bool) -> User | None:
    form = _TOKEN.fullmatch(token)
    if form is None:
        return None
    keys, (id_, given) = Web(store.prefix), form.groups()
    raw = await _FIND(store, [keys.link(id_), keys.users()], [digest(given), int(is_used)])
    user = None if raw is None else msgspec.json.decode(raw, type=User)
    return user if user is not None and user.id == id_ else None


async def first(store: Store, now: int) -> str | None:
    """The path of a new link for the first administrator, until somebody has signed in."""
    users = Users(store)
    if await users.sign_ins():
        return None
    by = Stamp(system("first start"), now)
    known = [user for user in await users.all() if user.role == "administrator"]
    if any(user.password for user in known):
        return None
    if known:
        return await make(store, known[0], by)
    try:
        return await make(store, await users.add(FIRST, "administrator", by), by)
    except Refused:  # another process has just started, too
        return await make(store, await users.get(FIRST), by)
