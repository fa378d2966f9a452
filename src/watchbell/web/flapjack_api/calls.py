"""A call of Flapjack's API, what is answered, and the table of endpoints."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from watchbell.actors import Actor, Privilege
from watchbell.clock import Clock
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.web.alerting.directory_cache import DirectoryCache
from watchbell.web.audit import Stamp, record
from watchbell.web.people.api_keys import ApiKeys

MOST_IDS = 10_000
"""Ids in one path. Clients ask for a thousand."""
MOST_NEW = 10_000
"""Objects of one body, counted once for each id of the path."""
_LATEST = (1 << 33) - 1
_IDS = ("IDS", "REST")
_LONGEST = 2_000
"""The longest Location."""


class Failed(Exception):
    """What a client is told, as Flapjack's own API does: a status and sentences."""

    def __init__(self, status: int, *errors: str) -> None:
        super().__init__(errors)
        self.status, self.errors = status, errors


class Answer(Struct, frozen=True):
    body: Any = None
    status: int = 200
    location: str = ""
    """Where what was created can be read: a path, without what the server's address begins with."""


DONE = Answer(status=204)


class Backend(Struct, frozen=True):
    """What endpoints work with, created once for a server."""

    settings: Settings
    store: Store
    clock: Clock
    api_keys: ApiKeys
    directory: DirectoryCache

    @classmethod
    def opened(cls, settings: Settings, store: Store, clock: Clock) -> "Backend":
        return cls(settings, store, clock, ApiKeys(store, clock), DirectoryCache(store, clock))

    def now(self) -> int:
        return int(self.clock.now())


class Call(Struct, frozen=True, kw_only=True):
    backend: Backend
    actor: Actor
    ids: tuple[str, ...]
    """Those of the path; empty where it names none, which means all."""
    name: str
    """The rest of the path that the endpoint needs, such as `status_report`."""
    query: dict[str, str]
    body: Any

    @property
    def store(self) -> Store:
        return self.backend.store

    @property
    def now(self) -> int:
        return self.backend.now()

    @property
    def directory(self) -> DirectoryCache:
        return self.backend.directory

    def items(self, name: str, *, is_optional: bool = False) -> list[dict[str, Any]]:
        """The objects that a body has under a name: `{"contacts": [{…}, …]}`. Where they are
        optional, a body without any asks for one that has its defaults."""
        found = self.body.get(name) if isinstance(self.body, dict) else None
        if found is None and is_optional and self.body in (None, {}):
            found = {}
        if isinstance(found, dict):
            found = [found]
        if not isinstance(found, list) or not found or not all(isinstance(o, dict) for o in found):
            raise Failed(422, f"expected an array of objects under {name!r}")
        if len(found) * max(len(self.ids), 1) > MOST_NEW:
            raise Failed(422, f"these are too many at once; expected {MOST_NEW:,} at most")
        return found

    async def audit(self, action: str, subject: str, details: str = "") -> None:
        await record(self.store, Stamp(self.actor, self.now).entry(action, subject, details))


Run = Callable[[Call], Awaitable[Answer]]


class Endpoint(Struct, frozen=True):
    method: str
    path: tuple[str, ...]
    """Segments: a word, words apart by `|`, or `IDS` for ids, which may be left out at the end;
    `REST` is ids up to the end, since clients do not escape the slashes in those of checks."""
    run: Run
    needs: Privilege

    def match(self, path: str) -> tuple[str, str] | None:
        """The ids and the word of the path, or nothing where this is another endpoint's."""
        ids, chosen, segments = "", "", self._split(path)
        for at, wanted in enumerate(self.path):
            if wanted in _IDS:
                if at >= len(segments) and at == len(self.path) - 1:
                    return ids, chosen
                ids = segments[at] if at < len(segments) else ""
                if not ids:
                    return None
            elif at >= len(segments) or segments[at] not in wanted.split("|"):
                return None
            elif "|" in wanted:
                chosen = f"{chosen}/{segments[at]}".lstrip("/")
        return (ids, chosen) if len(segments) == len(self.path) else None

    def _split(self, path: str) -> list[str]:
        if self.path[-1] != "REST":
            return path.rstrip("/").split("/")
        *segments, rest = path.split("/", len(self.path) - 1)
        return [*segments, rest] if rest else segments

    @property
    def place(self) -> str:
        """The path, for people."""
        words = ("ID,…" if word in _IDS else word for word in self.path)
        return "/" + "/".join(word for word in words if "|" not in word)


ENDPOINTS: list[Endpoint] = []


def endpoint(method: str, path: str, needs: Privilege) -> Callable[[Run], Run]:
    def add(run: Run) -> Run:
        ENDPOINTS.append(Endpoint(method, tuple(path.strip("/").split("/")), run, needs))
        return run

    return add


def created(ids: Sequence[str], place: str) -> Answer:
    """With the place of what was created; of many, that of all, since clients and proxies refuse
    long headers."""
    location = f"/{place}/{','.join(quote(one, safe=':') for one in ids)}"
    return Answer(list(ids), 201, location if len(location) <= _LONGEST else f"/{place}")


def repeated(ids: Sequence[str]) -> set[str]:
    return {one for one, count in Counter(ids).items() if count > 1}


def moment(field: str, given: object) -> int:
    """Seconds since 1970 of a time such as 2026-09-28T11:13:56+02:00; without a zone, UTC. In a
    query the plus may have become a space."""
    for form in (given, given.replace(" ", "+")) if isinstance(given, str) else ():
        with suppress(ValueError, OverflowError):
            found = datetime.fromisoformat(form.strip())
            seconds = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
            if not 0 <= seconds <= _LATEST:
                raise Failed(422, f"{field}: {_shown(given)} is too far away")
            return seconds
    expected = "a time such as 2026-09-28T11:13:56+02:00"
    raise Failed(422, f"{field}: {_shown(given)} is no time; expected {expected}")


def texts(field: str, value: object) -> tuple[str, ...]:
    """A list of texts; null is none."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Failed(422, f"{field}: {_shown(value)} is not allowed; expected an array of texts")
    return tuple(dict.fromkeys(value))


def text(field: str, value: object, default: str | None = None) -> str:
    if value is None and default is not None:
        return default
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # clients send ids as numbers, too
    if not isinstance(value, str):
        raise Failed(422, f"{field}: {_shown(value)} is not allowed; expected a text")
    return value


def whole(field: str, value: object, default: int | None = None) -> int:
    if value is None and default is not None:
        return default
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 12:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 33:
        raise Failed(422, f"{field}: {_shown(value)} is not allowed; expected a whole number")
    return value


def truth(field: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise Failed(422, f"{field}: {_shown(value)} is not allowed; expected true or false")


def _shown(value: object) -> str:
    try:
        found = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        found = "this"
    return found if len(found) <= 60 else f"{found[:60]}…"
