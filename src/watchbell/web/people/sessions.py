"""Sessions, which end by time, by their owner, or by an administrator."""

from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from watchbell.errors import NotFound
from watchbell.settings import Web as Settings
from watchbell.store.client import Store
from watchbell.store.script import Script
from watchbell.web import audit
from watchbell.web.audit import Entry, Stamp
from watchbell.web.keys import Web
from watchbell.web.people import rights
from watchbell.web.people.rights import ROLES_OF, CustomRole
from watchbell.web.people.users import User
from watchbell.web.secrets import digest, secret

_REFRESH = 60
"""Seconds between two updates of a session's last use."""
_AGENT = 200
_FORGETTING = 900
"""Seconds after a sign-in by link during which the old password is not required."""

# KEYS session, sessions, sign-ins, audit, sign-in link of the user, which any sign-in revokes;
# ARGV[1] id, ARGV[2] session, ARGV[3] seconds it lasts unused, ARGV[4] its end, ARGV[5] user,
# ARGV[6] now, ARGV[7] entry, ARGV[8] entries kept.
_BEGIN = Script("""
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[6])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[5], ARGV[6])
redis.call('DEL', KEYS[5])
redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[8], '*', 'e', ARGV[7])
""")

# KEYS session, users, roles. Returns the session, its user and their roles, or nothing.
_FIND = Script(
    ROLES_OF
    + """
local session = redis.call('GET', KEYS[1])
if not session then return false end
local user = redis.call('HGET', KEYS[2], cjson.decode(session).user)
return {session, user, roles_of(KEYS[3], user)}
"""
)

# KEYS session, sessions, audit; ARGV[1] id, ARGV[2] entry, ARGV[3] entries kept. Returns whether
# there was one.
_END = Script("""
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'e', ARGV[2])
return 1
""")


class Session(Struct, frozen=True, kw_only=True):
    user: str
    user_id: str
    csrf: str
    began: int
    seen: int
    ends: int
    address: str = ""
    agent: str = ""
    by_link: bool = False
    """Whether it began with a link, not with a password."""

    def may_forget(self, now: int) -> bool:
        """Whether a password can be set without the old one, as after a sign-in by link."""
        return self.by_link and now < self.began + _FORGETTING


class Found(Struct, frozen=True):
    """A session that has not ended."""

    id: str
    session: Session
    user: User
    roles: dict[str, CustomRole]
    """The custom roles of the user."""


class Sessions:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._keys = Web(store.prefix)
        self._idle = settings.session_idle_hours * 3_600
        self._length = settings.session_days * 86_400

    async def begin(
        self, user: User, agent: str, entry: Entry, *, by_link: bool = False
    ) -> tuple[str, Session]:
        """A new session, after the secret that identifies it."""
        given = secret()
        session = Session(
            user=user.name,
            user_id=user.id,
            csrf=secret(),
            began=entry.time,
            seen=entry.time,
            ends=entry.time + self._length,
            address=entry.address,
            agent=agent[:_AGENT],
            by_link=by_link,
        )
        name, keys = digest(given), self._keys
        places = [keys.session(name), keys.sessions(), keys.sign_ins(), keys.audit()]
        places += [keys.link(user.id)]
        lasts = min(self._idle, self._length)
        text, logged = msgspec.json.encode(session), audit.encoded(entry)
        arguments = (name, text, lasts, session.ends, user.name, entry.time, logged, audit.MOST)
        await _BEGIN(self._store, places, arguments)
        return given, session

    async def find(self, given: str, now: int, *, touch: bool = True) -> Found | None:
        """The session of a secret, with its user, unless either is gone.

        It counts as used by that, unless not to `touch` it.
        """
        return await self.find_by_id(digest(given), now, touch=touch)

    async def find_by_id(self, name: str, now: int, *, touch: bool = False) -> Found | None:
        key = self._keys.session(name)
        found = await _FIND(self._store, [key, self._keys.users(), self._keys.roles()])
        if not found or found[1] is None:
            return None
        session = msgspec.json.decode(found[0], type=Session)
        user = msgspec.json.decode(found[1], type=User)
        is_over = session.ends <= now or session.seen + self._idle <= now
        if is_over or session.user_id != user.id:
            return None
        if touch and session.seen + _REFRESH <= now:
            session = replace(session, seen=now)
            lasts = min(self._idle, session.ends - now)
            text = msgspec.json.encode(session)
            await self._store.call("SET", key, text, "EX", lasts, "XX")
        return Found(name, session, user, rights.decoded(found[2]))

    async def all(self, now: int, user: str | None = None) -> dict[str, Session]:
        """By id; of everybody, or of one."""
        names = await self._store.call("ZRANGEBYSCORE", self._keys.sessions(), now, "+inf")
        ids = [name.decode() for name in names]
        if not ids:
            return {}
        found = await self._store.call("MGET", *map(self._keys.session, ids))
        sessions = {
            name: msgspec.json.decode(raw, type=Session)
            for name, raw in zip(ids, found, strict=True)
            if raw is not None
        }
        return {name: one for name, one in sessions.items() if user in (None, one.user)}

    async def remember(self, name: str) -> None:
        """From now on this session needs the old password to set a new one."""
        key = self._keys.session(name)
        raw = await self._store.call("GET", key)
        if raw is not None:
            session = replace(msgspec.json.decode(raw, type=Session), by_link=False)
            text = msgspec.json.encode(session)
            await self._store.call("SET", key, text, "XX", "KEEPTTL")

    async def end_all(self, user: str, by: Stamp, why: str, keep: str = "") -> None:
        """Ends the sessions of a user, except the one with the id `keep`."""
        for name in await self.all(by.now, user):
            if name != keep:
                with suppress(NotFound):  # it has just ended
                    await self.end(name, by.entry("session.end", user, why))

    async def end(self, name: str, entry: Entry) -> None:
        keys = self._keys
        places = [keys.session(name), keys.sessions(), keys.audit()]
        if not await _END(self._store, places, [name, audit.encoded(entry), audit.MOST]):
            raise NotFound("there is no such session")
