"""The sentences that the archive answers with in chat."""

from collections.abc import Iterable, Sequence

from watchbell.archive.command_forms import FORMS
from watchbell.archive.commands import Rank
from watchbell.archive.model import Crawl, CrawlState
from watchbell.archive.urls import shown
from watchbell.units import counted, in_bytes, in_words

MOST_LISTED = 10
"""Crawls that `!pending` lists; more would flood a channel."""
_RANKS = {Rank.ALL: "everybody", Rank.VOICE: "people with voice", Rank.OP: "operators"}


def not_allowed(needed: Rank) -> str:
    return f"Only {_RANKS[needed]} may do that."


def too_many_pending(number: int) -> str:
    return f"{number} crawls are waiting already. Ask an operator, or try again later."


def no_url(text: str) -> str:
    return f"{_short(shown(text))!r} is no URL. Expected one such as https://example.com/"


def exists(url: str, ident: str) -> str:
    return f"There is a crawl of {_short(shown(url))} already: {ident}"


def not_fetched(scheme: str) -> str:
    return f"{scheme}:// can't be archived. Expected http, https or ftp."


def unknown_user_agent(alias: str) -> str:
    return f"{alias!r} is no alias of a user agent."


def unknown_ignore_sets(names: Iterable[str]) -> str:
    return f"Unknown ignore sets: {', '.join(map(_short, names))}"


def pace_left_out() -> str:
    return "Only people with voice may set --delay and --concurrency; they were left out."


def queued(url: str, ident: str, queue: str, ahead: int) -> str:
    place = f"{ahead} ahead of it" if ahead else "next in line"
    return f"Queued {_short(shown(url))} as {ident} in {queue}, {place}."


def no_crawl(ident: str) -> str:
    return f"There is no crawl {_short(ident)}. It may have expired."


def no_crawl_of(url: str) -> str:
    return f"There is no crawl of {_short(shown(url))}."


def has_ended(ident: str, state: CrawlState) -> str:
    return f"{ident} has ended: {state}."


def counts(
    *,
    completed: int,
    aborted: int,
    failed: int,
    working: int,
    pending: int,
    pending_ao: int,
    pending_other: int,
) -> str:
    return (
        f"Job status: {completed} completed, {aborted} aborted, {failed} failed, "
        f"{working} in progress, {pending} pending, {pending_ao} pending-ao, "
        f"{pending_other} pending in other queues"
    )


def summary(crawl: Crawl, state: CrawlState, expires_in: int | None = None) -> list[str]:
    """A crawl in up to three lines. `expires_in` is the seconds until it is forgotten."""
    starter = f" by {crawl.started_by}" if crawl.started_by else ""
    note = f" ({_short(crawl.note)})" if crawl.note else ""
    lines = [f"{crawl.ident}: {_short(crawl.url)}, added{starter}{note}"]
    if state in ("completed", "aborted", "failed"):
        lines.append(f"It {ended(state, crawl.reason)}. {_downloaded(crawl)}")
    elif state == "queued":
        place = f"In queue {crawl.queue}." if crawl.queue else "In queue."
        lines.append(f"{place} It is {crawl.reason}." if crawl.reason else place)
    else:
        now = "Paused" if state == "paused" else "In progress"
        if crawl.settings.abort_requested:
            now = "Ending"
        lines.append(f"{now}. {_downloaded(crawl)} {_pace(crawl)}")
    if expires_in is not None:
        lines.append(f"It can be archived again in {in_words(max(0, expires_in))}.")
    return lines


def ended(state: CrawlState, reason: str) -> str:
    """What became of a crawl that has ended: has completed, has been aborted by Alice, …"""
    has = "has been" if state == "aborted" else "has"
    if reason.startswith(state):
        return f"{has} {reason}"
    return f"{has} {state}: {reason.removesuffix('.')}" if reason else f"{has} {state}"


def pending(crawls: Sequence[Crawl], total: int) -> list[str]:
    """The queue, next crawl first."""
    if not total:
        return ["No crawls are waiting."]
    if total > MOST_LISTED:
        return [f"{total} crawls are waiting, too many to list here."]
    return [
        f"{number}. {crawl.ident} {_short(crawl.url)}" + (f" by {by}" if by else "")
        for number, crawl in enumerate(crawls, 1)
        for by in [crawl.started_by]
    ]


def on_pipeline(ident: str, nickname: str, pipeline: str) -> str:
    return f"{ident} is on {nickname} ({pipeline})." if nickname else f"{ident} is on {pipeline}."


def in_queue(ident: str, queue: str, ahead: int) -> str:
    return f"{ident} waits in {queue}, {ahead} ahead of it."


def nowhere(ident: str) -> str:
    return f"{ident} is not on a pipeline."


def ignored(ident: str, pattern: str) -> str:
    return f"{ident} now ignores {_short(pattern)}"


def unignored(ident: str, pattern: str, *, was_there: bool) -> str:
    if was_there:
        return f"{ident} no longer ignores {_short(pattern)}"
    return f"{ident} has no ignore pattern {_short(pattern)}"


def added_sets(ident: str, names: Sequence[str], patterns: int) -> str:
    noun = "pattern" if patterns == 1 else "patterns"
    return f"Added {patterns} {noun} of {', '.join(names)} to {ident}."


def reports(ident: str, *, is_on: bool) -> str:
    return f"{ident} {'logs' if is_on else 'does not log'} ignored URLs."


def delay(ident: str, low: int, high: int) -> str:
    return f"{ident} waits {low} to {high} ms between requests."


def concurrency(ident: str, number: int) -> str:
    return f"{ident} uses {number} {'downloader' if number == 1 else 'downloaders'}."


def noted(ident: str) -> str:
    return f"Noted for {ident}."


def aborting(ident: str, *, was_queued: bool) -> str:
    return f"Aborted {ident}." if was_queued else f"Aborting {ident}."


def paused(ident: str) -> str:
    return f"Paused {ident}. Continue it with !resume {ident}"


def resumed(ident: str) -> str:
    return f"Resumed {ident}."


def expired(ident: str) -> str:
    return f"Expired {ident}; its URL can be archived again."


def not_expiring(ident: str) -> str:
    return f"{ident} has not ended, so it does not have an expiry timer yet."


def pipelines(lines: Sequence[str]) -> list[str]:
    return list(lines) or ["No pipeline is running."]


def cheer(nick: str) -> str:
    return f"{_short(nick)}: you've got the touch. You've got the power."


def help_lines() -> list[str]:
    return [f"{', '.join((form.usage, *form.words[1:]))}: {form.does}" for form in FORMS]


def finished(crawl: Crawl, state: CrawlState) -> str:
    """The notice in the channel where a crawl was started."""
    whom = f"{crawl.started_by}: " if crawl.started_by else ""
    return f"{whom}{_short(crawl.url)} ({crawl.ident}) {state}. {_downloaded(crawl)}"


def pipeline_appeared(nickname: str, pipeline: str) -> str:
    return f"Pipeline {nickname} ({pipeline}) is here."


def pipeline_vanished(nickname: str, pipeline: str) -> str:
    return f"Pipeline {nickname} ({pipeline}) is gone."


def _downloaded(crawl: Crawl) -> str:
    responses = counted(crawl.items_downloaded, "response")
    errors = counted(crawl.error_count, "error")
    size = in_bytes(crawl.bytes_downloaded)
    return f"Downloaded {size} in {responses}, {errors}, {crawl.urls_left:,} queued."


def _pace(crawl: Crawl) -> str:
    settings = crawl.settings
    workers = counted(settings.concurrency, "worker")
    return f"{workers}, delay: {settings.delay_min}, {settings.delay_max} ms."


def _short(text: str) -> str:
    """At most 300 characters of what others wrote, without line breaks."""
    plain = " ".join(text.split())
    return plain if len(plain) <= 300 else f"{plain[:299]}…"
