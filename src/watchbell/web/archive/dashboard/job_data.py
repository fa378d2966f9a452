"""Records of crawls and entries of their logs, as viewers get them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from watchbell.archive.model import Crawl

_COUNTERS = (
    *("bytes_downloaded", "items_downloaded", "items_queued", "error_count"),
    *("r1xx", "r2xx", "r3xx", "r4xx", "r5xx", "runk"),
)
_NO_COUNTS = dict.fromkeys(_COUNTERS, "0")
_LOGIN = re.compile(rb'://[^/?#\s"\\]*@')


def entries_of(texts: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Entries of a log. What is none is left out: other programs write these, too."""
    for text in texts:
        try:
            yield msgspec.json.decode(text.decode(errors="replace"), type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            continue


def as_text(ident: str, job: Mapping[str, str]) -> dict[str, str]:
    """The hash of a crawl. Viewers take the ident from here, fail on a crawl without a start, and
    add up counters, which are not in the hash before there is something to count."""
    started = job.get("started_at") or job.get("queued_at") or "0"
    return {**_NO_COUNTS, **job, "started_at": started, "ident": ident}


def typed(crawl: Crawl) -> dict[str, Any]:
    return {
        "ident": crawl.ident,
        "url": crawl.url,
        "depth": crawl.fetch_depth,
        "note": crawl.note or None,
        "started_by": crawl.started_by,
        "started_in": crawl.started_in,
        "pipeline_id": crawl.pipeline_id or None,
        "queued_at": _whole(crawl.queued_at),
        "started_at": _whole(crawl.started_at or crawl.queued_at) or 0,
        "finished_at": _whole(crawl.finished_at),
        "finished": crawl.finished_at is not None,
        "aborted": crawl.aborted,
        "warc_size": crawl.warc_size,
        "concurrency": crawl.settings.concurrency,
        "delay_min": crawl.settings.delay_min,
        "delay_max": crawl.settings.delay_max,
        "suppress_ignore_reports": crawl.settings.suppress_ignore_reports,
        **{name: getattr(crawl, name) for name in _COUNTERS},
    }


def _whole(at: float | None) -> int | None:
    return None if at is None else int(at)


def without_logins(text: bytes) -> bytes:
    """Hides names and passwords in URLs, because whoever reads this has not signed in."""
    return _LOGIN.sub(b"://***@", text) if b"@" in text else text
