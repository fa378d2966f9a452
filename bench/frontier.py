"""The frontier of a crawl with 1,000,000 URLs: its speed beside plain SQLite, and its memory."""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.figures import Figure
from watchbell.archive.frontier import FoundUrl, Frontier
from watchbell.archive.scope import Place

URLS = 1_000_000
LINKS = 20
"""URLs that are added together, as those of a page."""
COMMIT = 10_000
"""URLs between two commits."""
TAKEN = 100_000
HOSTS = 20
TIMES = 3
_ROOT = Path(__file__).resolve().parent.parent


class Measured(Struct):
    new: float
    """URLs per second."""
    known: float
    taken: float
    plain: float
    memory: float
    """MiB."""


def _urls() -> Iterator[FoundUrl]:
    place = Place(level=3, root="https://www-0.example.com/")
    for number in range(URLS):
        host = f"www-{number % HOSTS}.example.com"
        url = f"https://{host}/archive/{number * 7919 % URLS}/an-entry-of-a-site.html?page={number}"
        yield FoundUrl(url=url, known=url, host=host, place=place, turn=1)


def _pages(urls: Iterable[FoundUrl]) -> Iterator[list[FoundUrl]]:
    page: list[FoundUrl] = []
    for url in urls:
        page.append(url)
        if len(page) == LINKS:
            yield page
            page = []


def _add(frontier: Frontier) -> float:
    """URLs per second; what it takes to make them up does not count."""
    spent = 0.0
    for number, page in enumerate(_pages(_urls()), 1):
        begun = time.perf_counter()
        frontier.add(page)
        if not number * LINKS % COMMIT:
            frontier.commit()
        spent += time.perf_counter() - begun
    return URLS / spent


def _take(frontier: Frontier) -> float:
    """Takes URLs one by one, and completes them; commits as often as a crawl without delays."""
    names = list(frontier.hosts)
    begun = time.perf_counter()
    for number in range(1, TAKEN + 1):
        (task,) = frontier.take(names[number % HOSTS])
        frontier.done(task, 0, number * 1_000)
        if not number % 500:
            frontier.commit()
    return TAKEN / (time.perf_counter() - begun)


def _plainly(path: Path) -> float:
    """Only inserts the rows, with an index that tells which ones are known."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768;"
        "CREATE TABLE urls (id INTEGER PRIMARY KEY, key INTEGER, host TEXT, url TEXT);"
        "CREATE INDEX by_key ON urls (key);"
    )
    spent = 0.0
    rows: list[tuple[int, str, str]] = []
    for number, one in enumerate(_urls(), 1):
        rows.append((hash(one.url), one.host, one.url))
        if not number % COMMIT:
            begun = time.perf_counter()
            db.execute("BEGIN")
            db.executemany("INSERT INTO urls (key, host, url) VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")
            spent += time.perf_counter() - begun
            rows = []
    db.close()
    return URLS / spent


def _measure() -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        frontier = Frontier(Path(folder) / "frontier.db")
        new, known = _add(frontier), _add(frontier)
        assert frontier.found == URLS
        taken = _take(frontier)
        frontier.close()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Measured(new, known, taken, _plainly(Path(folder) / "plain.db"), memory)


def _measured() -> Measured:
    """In a process of its own, because of its memory."""
    command = [sys.executable, "-m", "bench.frontier"]
    said = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, check=True).stdout
    return msgspec.json.decode(said, type=Measured)


def figures() -> list[Figure]:
    runs = [_measured() for _ in range(TIMES)]
    limit, limit_name = max(one.plain for one in runs), "rows/s by SQLite alone"
    return [
        Figure(
            name=f"frontier, {URLS:,} new URLs checked and added",
            unit="URLs/s",
            runs=[one.new for one in runs],
            aim=20_000,
            limit=limit,
            limit_name=limit_name,
        ),
        Figure(
            name="frontier, known URLs recognised",
            unit="URLs/s",
            runs=[one.known for one in runs],
            limit=limit,
            limit_name=limit_name,
        ),
        Figure(
            name="frontier, URLs taken and completed, with commits",
            unit="URLs/s",
            runs=[one.taken for one in runs],
            aim=10_000,
            limit=limit,
            limit_name=limit_name,
        ),
        Figure(
            name=f"frontier, memory of the whole process with {URLS:,} URLs",
            unit="MiB",
            runs=[one.memory for one in runs],
            sense="at most",
            aim=150,
        ),
    ]


if __name__ == "__main__":
    print(msgspec.json.encode(_measure()).decode())
