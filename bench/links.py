"""Time to find the links of a page, compared with parsing it only."""

import time
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser

from bench.figures import Figure, repeated
from watchbell.archive.extraction.documents import extract

LINKS = 15
TIMES = 200
_TEXT = " and it goes on with some plain words of the kind that pages have" * 2


def page(links: int) -> bytes:
    rows = "".join(
        f"<div class=row id=r{n}><p>Entry {n}{_TEXT} <a href='/page/{n}.html?x=1'>{n}</a></p></div>"
        for n in range(links - 1)
    )
    head = "<!DOCTYPE html><title>A page</title><link rel=stylesheet href=/style.css>"
    return f"<html><head>{head}</head><body>{rows}</body></html>".encode()


def microseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(TIMES):
        work()
    return (time.perf_counter() - started) / TIMES * 1e6


def figures() -> list[Figure]:
    body = page(LINKS)
    assert len(extract(body, "text/html", "https://example.com/")) == LINKS
    limit = min(repeated(lambda: microseconds(lambda: LexborHTMLParser(body)), 9))
    return [
        Figure(
            name=f"links of a page of {len(body) / 1000:.1f} kB with {LINKS} links",
            unit="µs",
            runs=repeated(
                lambda: microseconds(lambda: extract(body, "text/html", "https://example.com/")), 9
            ),
            sense="at most",
            aim=100,
            limit=limit,
            limit_name="µs by the parser alone",
        )
    ]
