"""The URLs of one crawl, on disk: what is to be fetched, what was, and what is to be logged.

Everything since the last commit is one transaction, so that a killed pipeline finds the URLs, the
WARC's position and the log as they were at one moment. A power failure may cost the last commits,
and the end of the WARC: a URL knows where its record is, and is fetched again where that is lost.
SQLite adds about 100,000 URLs in a second of CPU, and needs little more memory than its cache.
"""

import sqlite3
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from watchbell.archive.model import Increments, LogEntry
from watchbell.archive.scope import Place
from watchbell.errors import Refused

_VERSION = 1
_CACHE = 8 << 10
"""KiB of pages that SQLite keeps in memory, for each crawl. With more it is not faster: the system
keeps the rest."""

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -{_CACHE};
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS hosts (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE, found INTEGER DEFAULT 0, waiting INTEGER DEFAULT 0
);
-- state: 0 to be fetched, 1 taken, 2 to be tried again later, 3 done
CREATE TABLE IF NOT EXISTS urls (
    id INTEGER PRIMARY KEY, key INTEGER, host INTEGER, state INTEGER, turn INTEGER,
    level INTEGER, offsite INTEGER, requisite INTEGER, redirects INTEGER, root INTEGER,
    tries INTEGER DEFAULT 0, later REAL DEFAULT 0, url TEXT, known TEXT,
    part INTEGER DEFAULT -1, offset INTEGER
);
CREATE INDEX IF NOT EXISTS by_key ON urls (key);
CREATE INDEX IF NOT EXISTS to_do ON urls (host, turn, id) WHERE state = 0;
CREATE INDEX IF NOT EXISTS taken ON urls (id) WHERE state = 1;
CREATE INDEX IF NOT EXISTS later ON urls (later) WHERE state = 2;
CREATE TABLE IF NOT EXISTS roots (id INTEGER PRIMARY KEY, url TEXT);
CREATE TABLE IF NOT EXISTS outbox (batch INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB);
"""


_FIND = "SELECT 1 FROM urls WHERE key = ? AND coalesce(known, url) = ?"
_INSERT = (
    "INSERT INTO urls (key, host, state, turn, level, offsite, requisite, redirects, root,"
    " url, known)"
    " VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAKE = (
    "SELECT id, url, tries, level, offsite, requisite, redirects, root FROM urls"
    " WHERE state = 0 AND host = ? ORDER BY turn, id LIMIT ?"
)
_CLAIM = (
    "UPDATE urls SET state = 1 WHERE key = ? AND coalesce(known, url) = ? AND state IN (0, 2)"
    " RETURNING id, url, tries, level, offsite, requisite, redirects, root, host"
)
_KEEP_HOST = (
    "INSERT INTO hosts (found, waiting, id, name) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET found = excluded.found, waiting = excluded.waiting"
)

T = TypeVar("T")


class FoundUrl(Struct, frozen=True, kw_only=True):
    url: str
    known: str
    """What tells whether two URLs are the same: the URL without session ids."""
    host: str
    place: Place
    turn: int = 0
    """Of two URLs of a host, the one with the smaller turn comes first."""


class Task(Struct, frozen=True, kw_only=True):
    """A URL to fetch."""

    id: int
    url: str
    host: str
    place: Place
    tries: int


class Host(Struct):
    id: int
    found: int = 0
    """URLs of it that were found."""
    waiting: int = 0
    """Those that are to be fetched."""


class Batch(Struct, frozen=True):
    """Log entries that are sent to the store together, under their number."""

    number: int
    entries: list[LogEntry]
    increments: Increments


class _Content(Struct, array_like=True):
    entries: list[LogEntry]
    increments: Increments


class Frontier:
    def __init__(self, path: Path) -> None:
        """Opens it, or makes it; for one thread at a time. Raises Refused where the file is of
        another version."""
        self._db = sqlite3.connect(
            path, isolation_level=None, cached_statements=64, check_same_thread=False
        )
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise Refused(f"{path} was written by another version of Watchbell")
        self._db.executescript(_SCHEMA)
        self._db.execute("UPDATE urls SET state = 0 WHERE state = 1")
        found = self._db.execute("SELECT name, id, found, waiting FROM hosts")
        self.hosts = {name: Host(*numbers) for name, *numbers in found}
        self._names = {host.id: name for name, host in self.hosts.items()}
        self._roots: dict[int, str] = dict(self._db.execute("SELECT id, url FROM roots"))
        self._root_numbers = {url: number for number, url in self._roots.items()}
        self._changed: set[str] = set()
        self.waiting = sum(host.waiting for host in self.hosts.values())
        """URLs that are to be fetched, now or later."""
        self.found = sum(host.found for host in self.hosts.values())
        self._begin()

    def _begin(self) -> None:
        self._committed = self._db.total_changes
        self._db.execute("BEGIN")

    @property
    def is_changed(self) -> bool:
        """Whether there is something to commit."""
        return self._db.total_changes > self._committed

    def commit(self) -> None:
        """Everything since the last commit, at once. After an error (sqlite3.Error, as on a full
        disk) the frontier has to be opened again, and is as it was at the commit before."""
        changed = [(self.hosts[name], name) for name in self._changed]
        rows = [(host.found, host.waiting, host.id, name) for host, name in changed]
        self._db.executemany(_KEEP_HOST, rows)
        self._db.execute("COMMIT")
        self._changed.clear()
        self._begin()

    def close(self) -> None:
        """What was not committed is forgotten."""
        self._db.rollback()
        self._db.close()

    def add(self, urls: Iterable[FoundUrl]) -> list[FoundUrl]:
        """Returns those that are new."""
        added: list[FoundUrl] = []
        for one in urls:
            key = _key(one.known)
            if self._db.execute(_FIND, (key, one.known)).fetchone():
                continue
            host = self._host(one.host)
            known = None if one.known == one.url else one.known
            level, offsite, requisite, redirects, root = msgspec.structs.astuple(one.place)
            place = (level, offsite, requisite, redirects, self._root(root))
            self._db.execute(_INSERT, (key, host.id, one.turn, *place, one.url, known))
            host.found += 1
            host.waiting += 1
            self.found += 1
            self.waiting += 1
            added.append(one)
        return added

    def _root(self, url: str) -> int:
        """The number of a start URL: many URLs have the same."""
        number = self._root_numbers.get(url)
        if number is None:
            number = self._root_numbers[url] = len(self._root_numbers) + 1
            self._roots[number] = url
            self._db.execute("INSERT INTO roots VALUES (?, ?)", (number, url))
        return number

    def _host(self, name: str) -> Host:
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = Host(len(self.hosts) + 1)
            self._names[host.id] = name
        self._changed.add(name)
        return host

    def take(self, host: str, most: int = 1) -> list[Task]:
        """The next URLs of a host. They are taken until they are done, or postponed."""
        found = self._db.execute(_TAKE, (self.hosts[host].id, most)).fetchall()
        self._db.executemany("UPDATE urls SET state = 1 WHERE id = ?", [row[:1] for row in found])
        return [self._task(host, *row) for row in found]

    def claim(self, known: str) -> Task | None:
        """This URL, out of turn, if it is to be fetched now or later."""
        found = self._db.execute(_CLAIM, (_key(known), known)).fetchone()
        return self._task(self._names[found[-1]], *found[:-1]) if found else None

    def knows(self, known: str) -> bool:
        return self._db.execute(_FIND, (_key(known), known)).fetchone() is not None

    def _task(self, host: str, id_: int, url: str, tries: int, *place: int) -> Task:
        level, offsite, requisite, redirects, root = place
        where = Place(level, offsite, requisite, redirects, self._roots[root])
        return Task(id=id_, url=url, host=host, place=where, tries=tries)

    def done(self, task: Task, part: int = -1, offset: int = 0) -> None:
        """It was fetched, or never will be. Its records begin at this place of the WARC."""
        values = (part, offset, task.id)
        self._db.execute("UPDATE urls SET state = 3, part = ?, offset = ? WHERE id = ?", values)
        self._host(task.host).waiting -= 1
        self.waiting -= 1

    def give_up(self, host: str) -> int:
        """Nothing of the host is fetched any longer, but for what is taken. Returns how many URLs
        that concerns."""
        known = self._host(host)
        (left,) = self._db.execute(
            "SELECT count(*) FROM urls WHERE host = ? AND state IN (0, 2)", (known.id,)
        ).fetchone()
        self._db.execute(
            "UPDATE urls SET state = 3 WHERE host = ? AND state IN (0, 2)", (known.id,)
        )
        known.waiting -= left
        self.waiting -= left
        return int(left)

    def undo_from(self, part: int, offset: int) -> int:
        """URLs whose records are not before this place are to be fetched again. Returns how many
        they are."""
        lost = self._db.execute(
            "UPDATE urls SET state = 0, part = -1 WHERE part > ? OR part = ? AND offset >= ?"
            " RETURNING host",
            (part, part, offset),
        ).fetchall()
        for (host,) in lost:
            self._host(self._names[host]).waiting += 1
        self.waiting += len(lost)
        return len(lost)

    def postpone(self, task: Task, until: float) -> None:
        """It is tried again, not before this time."""
        self._db.execute(
            "UPDATE urls SET state = 2, later = ?, tries = tries + 1 WHERE id = ?", (until, task.id)
        )

    def give_back(self, task: Task) -> None:
        """It was not tried."""
        self._db.execute("UPDATE urls SET state = 0 WHERE id = ?", (task.id,))

    def due(self, now: float) -> set[str]:
        """Makes ready what was postponed until now. Returns the hosts concerned."""
        hosts = self._db.execute(
            "UPDATE urls SET state = 0 WHERE state = 2 AND later <= ? RETURNING host", (now,)
        ).fetchall()
        return {self._names[host] for (host,) in hosts}

    def next_later(self) -> float | None:
        """When the first of those that were postponed is due."""
        (at,) = self._db.execute("SELECT min(later) FROM urls WHERE state = 2").fetchone()
        return float(at) if at is not None else None

    # What is to be logged in the store.

    def put_batch(self, entries: list[LogEntry], increments: Increments) -> None:
        content = msgspec.msgpack.encode(_Content(entries, increments))
        self._db.execute("INSERT INTO outbox (content) VALUES (?)", (content,))

    def next_batch(self, after: int = 0) -> Batch | None:
        """The first batch after this number. Send it only once it is committed."""
        found = self._db.execute(
            "SELECT batch, content FROM outbox WHERE batch > ? ORDER BY batch LIMIT 1", (after,)
        ).fetchone()
        if found is None:
            return None
        content = msgspec.msgpack.decode(found[1], type=_Content)
        return Batch(found[0], content.entries, content.increments)

    def drop_batches(self, number: int) -> None:
        """Up to this one they are in the store."""
        self._db.execute("DELETE FROM outbox WHERE batch <= ?", (number,))

    # Other things that belong to the same moment.

    def fact(self, name: str, type_: type[T]) -> T | None:
        found = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return msgspec.msgpack.decode(found[0], type=type_) if found else None

    def set_fact(self, name: str, value: object) -> None:
        content = msgspec.msgpack.encode(value)
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, content))


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)
