"""Turns the hashes of a crawl into its record, and back. Pure.

Other programs write these hashes too, so a value that makes no sense counts as absent.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from watchbell.archive.model import Crawl, CrawlOptions, CrawlSettings, CrawlState
from watchbell.archive.options import LONGEST_DELAY, MOST_CONCURRENCY
from watchbell.archive.urls import shown

Fields = Mapping[str, str]

_LAST_TIME = 253_402_300_800
"""The year 10000, in seconds."""
_MOST = 2**53
"""What every reader of JSON takes as a whole number."""

_COUNTS = (
    "bytes_downloaded",
    "items_downloaded",
    "items_queued",
    "error_count",
    "r1xx",
    "r2xx",
    "r3xx",
    "r4xx",
    "r5xx",
    "runk",
    "warc_size",
    "heartbeat",
    "log_score",
)
_CURSORS = ("last_analyzed_log_entry", "last_broadcasted_log_entry", "last_trimmed_log_entry")
_TIMES = ("queued_at", "started_at", "finished_at", "ts")
_TEXTS = ("url_file", "slug", "note", "started_by", "started_in", "pipeline_id", "user_agent")
_FLAGS = ("no_offsite_links", "no_phantomjs_smart_scroll", "aborted", "failed")


def crawl_of(
    ident: str,
    job: Fields,
    own: Fields,
    ignores: frozenset[str] = frozenset(),
    *,
    with_logins: bool = False,
) -> Crawl | None:
    """None for a record without URL. Names and passwords in URLs are hidden, but for the pipeline,
    which needs them (`with_logins`)."""
    url = job.get("url", "")
    if not url:
        return None
    texts: dict[str, Any] = {name: job.get(name, "") for name in _TEXTS}
    if not with_logins:
        url, texts["url_file"] = shown(url), shown(texts["url_file"])
    flags: dict[str, Any] = {name: job.get(name) == "true" for name in _FLAGS}
    counts: dict[str, Any] = {name: count(job.get(name)) for name in _COUNTS}
    times: dict[str, Any] = {name: _time(job.get(name)) for name in _TIMES}
    cursors: dict[str, Any] = {name: _cursor(job, name) for name in _CURSORS}
    return Crawl(
        ident=ident,
        url=url,
        fetch_depth="shallow" if job.get("fetch_depth") == "shallow" else "inf",
        grabber="phantomjs" if job.get("grabber") == "phantomjs" else "",
        **_browser(job),
        settings=settings_of(job, own, ignores),
        options=options_of(own.get("options", "")),
        queue=own.get("queue", ""),
        reason=own.get("reason", ""),
        tried_before=count(own.get("tried_before")),
        **texts,
        **flags,
        **counts,
        **times,
        **cursors,
    )


def _browser(job: Fields) -> dict[str, Any]:
    """How long a page is shown, where somebody has said so."""
    wait, scroll = _decimal(job.get("phantomjs_wait")), job.get("phantomjs_scroll")
    given: dict[str, Any] = {} if wait is None else {"phantomjs_wait": wait}
    return given if scroll is None else {**given, "phantomjs_scroll": count(scroll)}


def settings_of(job: Fields, own: Fields, ignores: frozenset[str]) -> CrawlSettings:
    usual = CrawlSettings()
    least = min(LONGEST_DELAY, count(job.get("delay_min"), usual.delay_min))
    most = min(LONGEST_DELAY, count(job.get("delay_max"), usual.delay_max))
    workers = count(job.get("concurrency"), usual.concurrency)
    return CrawlSettings(
        age=count(job.get("settings_age")),
        delay_min=least,
        delay_max=max(least, most),
        concurrency=max(1, min(MOST_CONCURRENCY, workers)),
        ignores=ignores,
        suppress_ignore_reports=job.get("suppress_ignore_reports") == "true",
        abort_requested=job.get("abort_requested") == "true",
        is_paused=own.get("paused") == "true",
    )


def options_of(text: str) -> CrawlOptions:
    try:
        return msgspec.json.decode(text or "{}", type=CrawlOptions)
    except (msgspec.MsgspecError, RecursionError):
        return CrawlOptions()


def state_of(crawl: Crawl) -> CrawlState:
    if crawl.failed:  # upstream's console gives crawls up without a time
        return "failed"
    if crawl.finished_at is not None:
        return "aborted" if crawl.aborted else "completed"
    if crawl.settings.is_paused:
        return "paused"
    return "running" if is_taken(crawl) else "queued"


def is_taken(crawl: Crawl) -> bool:
    """Whether a pipeline has it. A foreign one may have only begun to say so."""
    return bool(crawl.pipeline_id) or crawl.started_at is not None


def fields_of(flat: list[bytes]) -> dict[str, str]:
    """A hash as a script returns it."""
    words = [word.decode(errors="replace") for word in flat]
    return dict(zip(words[::2], words[1::2], strict=True))


def time_text(at: float) -> str:
    return f"{at:.3f}"


def count(text: str | None, default: int = 0) -> int:
    number = _decimal(text)
    return default if number is None or number < 0 else int(min(number, _MOST))


def _decimal(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _time(text: str | None) -> float | None:
    """One that no calendar has counts as absent."""
    at = _decimal(text)
    return at if at is not None and 0 <= at < _LAST_TIME else None


def _cursor(job: Fields, name: str) -> int:
    """Upstream's trimmer writes `+inf` for "up to the end"."""
    return count(job.get("log_score" if job.get(name) == "+inf" else name))
