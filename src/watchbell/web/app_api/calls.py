"""A call of the app API, and the handlers that answer calls."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from litestar import Response
from msgspec import Struct

from watchbell.actors import Actor, Privilege, Subject, may
from watchbell.errors import Refused
from watchbell.fleet import servers
from watchbell.fleet.model import Server
from watchbell.jobs import permissions
from watchbell.jobs.catalogue import Catalogue
from watchbell.web.access import Identity
from watchbell.web.audit import Stamp
from watchbell.web.call_parameters import CallParameters
from watchbell.web.services import Asked, audited, identity_of, services_of, stamp_of

Answer = Mapping[str, Any] | Response[Any]
"""Properties beside `code`, or a response that is not JSON."""
ANYTHING = "*"
"""Among what a handler takes: the properties of a record."""
MOST_ROWS = 1_000
_WORDS = {"1": True, "true": True, "yes": True, "": False, "0": False, "false": False, "no": False}


class Handler(Struct, frozen=True, kw_only=True):
    name: str
    run: Callable[["Call"], Awaitable[Answer]]
    needs: Privilege
    is_change: bool
    word: str
    """The code of its errors, where no other word fits."""
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    suffixes: tuple[str, ...] = ("",)
    """What may follow the version in its URL."""


Run = Callable[["Call"], Awaitable[Answer]]


class Group:
    """Handlers of one subject."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.handlers: list[Handler] = []

    def reads(
        self, *, takes: str = "", gives: str = "", needs: Privilege = "read", name: str = ""
    ) -> Callable[[Run], Run]:
        return self._added(needs, takes, gives, name, is_change=False)

    def changes(
        self,
        needs: Privilege,
        *,
        takes: str = "",
        gives: str = "",
        name: str = "",
        suffixes: tuple[str, ...] = ("",),
    ) -> Callable[[Run], Run]:
        return self._added(needs, takes, gives, name, suffixes, is_change=True)

    def _added(
        self,
        needs: Privilege,
        takes: str,
        gives: str,
        name: str,
        suffixes: tuple[str, ...] = ("",),
        *,
        is_change: bool,
    ) -> Callable[[Run], Run]:
        def add(run: Run) -> Run:
            self.handlers.append(
                Handler(
                    name=name or run.__name__,
                    run=run,
                    needs=needs,
                    is_change=is_change,
                    word=self.word,
                    takes=tuple(takes.split()),
                    gives=tuple(gives.split()),
                    suffixes=suffixes,
                )
            )
            return run

        return add


class Call:
    def __init__(
        self, request: Asked, handler: Handler, parameters: CallParameters, suffix: str = ""
    ) -> None:
        self.request, self.handler, self.parameters = request, handler, parameters
        self.suffix = suffix
        self.services = services_of(request)
        self.store = self.services.store
        self.given: dict[str, Any] = {**parameters.query, **parameters.body}

    @property
    def identity(self) -> Identity:
        return identity_of(self.request)

    @property
    def actor(self) -> Actor:
        return self.identity.actor

    @property
    def actor_is_limited(self) -> bool:
        """Whether the caller may read only some categories or groups."""
        return not may(self.actor, "read", Subject("\0", frozenset({"\0"})))

    @property
    def stamp(self) -> Stamp:
        return stamp_of(self.request)

    @property
    def now(self) -> float:
        return self.services.clock.now()

    def value(self, name: str) -> Any:
        assert name in self.handler.takes, f"{self.handler.name} does not say that it takes {name}"
        return self.given.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Without a default it is required."""
        found = self.value(name)
        if isinstance(found, int | float) and not isinstance(found, bool):
            found = str(found)
        if found is None or (found == "" and default is None):
            if default is None:
                raise Refused("it is missing", field=name)
            return default
        if not isinstance(found, str):
            raise Refused("expected text", field=name)
        return found

    def number(self, name: str, default: int, *, most: int = 1 << 53) -> int:
        found = self.value(name)
        if found in (None, ""):
            return default
        try:
            number = int(found)
        except (TypeError, ValueError, OverflowError):
            number = -(1 << 60)
        if isinstance(found, bool) or not -most <= number <= most:
            raise Refused("expected a whole number", field=name)
        return number

    def yes(self, name: str) -> bool:
        found = self.value(name)
        if found is None:
            return False
        known = _WORDS.get(str(found).lower()) if isinstance(found, str | int) else None
        if known is None:
            raise Refused("expected true or false", field=name)
        return known

    def texts(self, name: str) -> list[str]:
        """An array of texts; in a query, separated by commas."""
        found = self.value(name)
        if isinstance(found, str):
            found = [one.strip() for one in found.split(",") if one.strip()]
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise Refused("expected an array of texts", field=name)
        if len(found) > MOST_ROWS:
            raise Refused(f"expected at most {MOST_ROWS:,}", field=name)
        return found

    def objects(self, name: str) -> list[dict[str, Any]]:
        found = self.value(name)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise Refused("expected an array of objects", field=name)
        if len(found) > MOST_ROWS:
            raise Refused(f"expected at most {MOST_ROWS:,}", field=name)
        return found

    def record(self, *without: str) -> dict[str, Any]:
        """All parameters, where they are the properties of a record."""
        assert ANYTHING in self.handler.takes
        return {name: value for name, value in self.given.items() if name not in without}

    async def catalogue(self) -> Catalogue:
        return await self.services.definitions.catalogue()

    async def audit(self, action: str, subject: str = "", details: str = "") -> None:
        await audited(self.request, action, subject, details)

    async def access(self) -> "CallerAccess":
        known = await servers.every(self.store)
        return CallerAccess(self.actor, {one.id: one for one in known})

    def listed(self, rows: Sequence[Any], most: int = 0) -> dict[str, Any]:
        """A page of rows by `offset` and `limit`, with the length of the whole list. `most` are the
        rows of a page without a limit; 0: all."""
        offset, limit = max(self.number("offset", 0), 0), self.number("limit", most)
        shown = rows[offset : offset + limit] if limit > 0 else rows[offset:]
        return {"rows": list(shown), "list": {"length": len(rows)}}


class CallerAccess:
    """What the caller may do with events and jobs, by their categories and targets."""

    def __init__(self, actor: Actor, known: Mapping[str, Server]) -> None:
        self._actor, self.servers = actor, known

    def check(self, privilege: Privilege, category: str, targets: Iterable[str]) -> None:
        """Raises Refused."""
        about = permissions.subject(category, targets, self.servers)
        permissions.check(self._actor, privilege, about)

    def allows(self, privilege: Privilege, category: str, targets: Iterable[str]) -> bool:
        about = permissions.subject(category, targets, self.servers)
        return bool(may(self._actor, privilege, about))
