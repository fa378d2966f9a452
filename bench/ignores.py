"""Time of an ignore check with 750 patterns, compared with Python's `re`."""

import random
import re
import time
from collections.abc import Callable

from bench.figures import Figure, repeated
from watchbell.archive import ignores
from watchbell.archive.ignore_sets import built_in

PATTERNS = 750
URLS = 20_000
FEW = 500
"""URLs that `re` checks, one pattern after the other."""


def patterns() -> list[str]:
    """Our own, and more of the kinds that people add to a crawl."""
    ours = {pattern for each in built_in().values() for pattern in each}
    added = [
        form.format(number)
        for number in range(PATTERNS)
        for form in (
            r"^https?://(?:www\.)?shop-{0}\.example/.*[?&]sort=",
            r"/forum-{0}/(?:viewtopic|posting)\.php\?.*(?:sid|view)=",
            r"[?&]option_{0}=\d+",
        )
    ]
    return [*sorted(ours), *added][:PATTERNS]


def urls(chance: random.Random) -> list[str]:
    words = ["archive", "news", "blog", "images", "docs", "2026", "about", "products", "topic"]
    return [
        f"https://www.example-{chance.randrange(50)}.com/{chance.choice(words)}"
        f"/{chance.choice(words)}/{number}/index.html?page={chance.randrange(99)}&lang=en"
        for number in range(URLS)
    ]


def microseconds(check: Callable[[str], object], some: list[str]) -> float:
    started = time.perf_counter()
    for url in some:
        check(url)
    return (time.perf_counter() - started) / len(some) * 1e6


def figures() -> list[Figure]:
    used, checked = patterns(), urls(random.Random(13))
    started = time.perf_counter()
    found = ignores.compile(used)
    compiled = (time.perf_counter() - started) * 1e3
    singles = [re.compile(pattern) for pattern in sorted(used)]

    def one_by_one(url: str) -> str | None:
        return next((each.pattern for each in singles if each.search(url)), None)

    for url in checked[:FEW]:
        assert found.match(url) == one_by_one(url)

    def change() -> float:
        started = time.perf_counter()
        found.changed([*used, f"/added-{random.random()}/"])
        return (time.perf_counter() - started) * 1e3

    limit = min(repeated(lambda: microseconds(one_by_one, checked[:FEW])))
    return [
        Figure(
            name=f"ignore check, {len(used)} patterns",
            unit="µs/URL",
            runs=repeated(lambda: microseconds(found.match, checked), 9),
            sense="at most",
            aim=2,
            limit=limit,
            limit_name="re, one by one",
        ),
        Figure(name="first compilation", unit="ms", runs=[compiled], sense="at most"),
        Figure(name="one pattern added", unit="ms", runs=repeated(change), sense="at most", aim=50),
    ]
