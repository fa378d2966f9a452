"""The audit log: who changed what, from where; the newest ten thousand entries."""

import msgspec
from msgspec import Struct

from watchbell.actors import Actor
from watchbell.store.client import Store
from watchbell.web.keys import Web

MOST = 10_000
_BATCH = 1_000
"""Entries that a search reads at once."""


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    time: int
    who: str
    action: str
    """For example `user.add`."""
    subject: str = ""
    """What it was done to."""
    details: str = ""
    address: str = ""


class Stamp(Struct, frozen=True):
    """Who changes something, and when."""

    actor: Actor
    now: int

    def entry(self, action: str, subject: str = "", details: str = "") -> Entry:
        return Entry(
            time=self.now,
            who=self.actor.audit_name,
            action=action,
            subject=subject,
            details=details,
            address=self.actor.address,
        )


class Logged(Struct, frozen=True):
    id: str
    entry: Entry


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which entries to find; what is empty or null matches all."""

    who: str = ""
    action: str = ""
    """Itself, or the noun of it: `user` for `user.add`."""
    text: str = ""
    """Anywhere in an entry, ignoring case."""
    since: int | None = None
    until: int | None = None

    def fits(self, entry: Entry) -> bool:
        if self.who and self.who not in (entry.who, entry.who.partition(" (")[0]):
            return False
        if self.action and not f"{entry.action}.".startswith(f"{self.action}."):
            return False
        if self.since is not None and entry.time < self.since:
            return False
        if self.until is not None and entry.time >= self.until:
            return False
        return self.text.casefold() in _text(entry)


def _text(entry: Entry) -> str:
    parts = (entry.who, entry.action, entry.subject, entry.details, entry.address)
    return "\n".join(parts).casefold()


def encoded(entry: Entry) -> bytes:
    return msgspec.json.encode(entry)


async def record(store: Store, entry: Entry) -> None:
    """Logs a change of a domain; records of the web are changed and logged by one script."""
    key = Web(store.prefix).audit()
    await store.call("XADD", key, "MAXLEN", "~", MOST, "*", "e", encoded(entry))


async def read(
    store: Store, before: str, limit: int, wanted: AuditFilter | None = None
) -> list[Logged]:
    """The newest entries that are wanted, or those before an id."""
    found: list[Logged] = []
    while True:
        batch = await _batch(store, before, max(limit, _BATCH if wanted else 0))
        for id_, raw in batch:
            entry = _entry(raw)
            if entry is not None and (wanted is None or wanted.fits(entry)):
                found.append(Logged(id_, entry))
        if len(found) >= limit or not batch:
            return found[:limit]
        before = batch[-1][0]


async def _batch(store: Store, before: str, count: int) -> list[tuple[str, bytes]]:
    end = f"({before}" if before else "+"
    key = Web(store.prefix).audit()
    found = await store.call("XREVRANGE", key, end, "-", "COUNT", count)
    return [(id_.decode(), fields.get(b"e", b"")) for id_, fields in found]


def _entry(raw: bytes) -> Entry | None:
    try:
        return msgspec.json.decode(raw, type=Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # written by another program
        return None
