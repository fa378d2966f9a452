"""`watchbell archive show`, `whereis` and `explain`."""

from collections.abc import Iterator

import click

from watchbell.archive import crawl_log, phrases, pipelines, status
from watchbell.archive.model import Crawl
from watchbell.cli.archive.finding import FoundCrawl, any_crawl, crawl_named, named
from watchbell.cli.archive.progress import path_of, shown
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.units import in_bytes

_MOST_HOSTS = 20


@click.command
@named
@with_settings()
@as_json
def show(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Show a crawl: its settings, how it goes, its files and hosts.

    \b
    Examples:
      watchbell archive show 43z7a11vo6of3a7i173441dtc
      watchbell archive show https://example.com/ --json
    """

    async def found(store: Store) -> None:
        one = await any_crawl(store, name)
        hosts = await crawl_log.hosts(store, one.crawl.ident)
        matches = await crawl_log.matches(store, one.crawl.ident)
        if as_json:
            print_json({**shown(one, loaded.settings), "hosts": hosts, "matches": matches})
            return
        _show(one, loaded.settings)
        _show_hosts(hosts)
        _show_ignores(one.crawl, matches)

    with_store(loaded.settings, found)


def _show(found: FoundCrawl, settings: Settings) -> None:
    facts = [(word, value) for word, value in _facts(found) if value]
    width = max(len(word) for word, _ in facts)
    for word, value in facts:
        click.echo(f"{word:<{width}}  {plain(value)}")
    for file in found.files:
        size = in_bytes(file.size)
        click.echo(f"{'file':<{width}}  {path_of(file, settings, found.nickname)} ({size})")


def _facts(found: FoundCrawl) -> Iterator[tuple[str, str]]:
    crawl, settings = found.crawl, found.crawl.settings
    yield "crawl", crawl.ident
    yield "URL", crawl.url
    yield "list", crawl.url_file or crawl.options.list_name
    yield "state", found.state
    yield "reason", crawl.reason
    yield "depth", "one page" if crawl.fetch_depth == "shallow" else "site"
    yield "note", crawl.note
    yield "started by", f"{crawl.started_by} in {crawl.started_in}".removesuffix(" in ")
    yield "queue", crawl.queue
    yield "pipeline", found.nickname or crawl.pipeline_id
    for word, at in (
        ("queued", crawl.queued_at),
        ("started", crawl.started_at),
        ("ended", crawl.finished_at),
    ):
        yield word, when(int(at)) if at is not None else ""
    yield "user agent", crawl.user_agent
    yield "delay", f"{settings.delay_min} to {settings.delay_max} ms"
    yield "downloaders", str(settings.concurrency)
    yield "done", f"{crawl.tried:,} URLs, {in_bytes(crawl.bytes_downloaded)}"
    yield "left", f"{crawl.urls_left:,} URLs"
    yield "errors", f"{crawl.error_count:,}"
    codes = ("r1xx", "r2xx", "r3xx", "r4xx", "r5xx", "runk")
    yield "responses", ", ".join(f"{code[1:]} {getattr(crawl, code):,}" for code in codes)


def _show_hosts(hosts: dict[str, tuple[int, int]]) -> None:
    most = sorted(hosts.items(), key=lambda one: -one[1][0])
    rows = [[plain(host, 80), f"{many:,}", in_bytes(size)] for host, (many, size) in most]
    if rows:
        click.echo()
        show_table(["host", "responses", "size"], rows[:_MOST_HOSTS], right=["responses", "size"])


def _show_ignores(crawl: Crawl, matches: dict[str, int]) -> None:
    used = [(pattern, matches[pattern]) for pattern in matches if matches[pattern]]
    total = len(crawl.settings.ignores)
    if total:
        click.echo(f"\n{total:,} ignore patterns; those that matched:" if used else "")
    rows = [[plain(one), f"{many:,}"] for one, many in sorted(used, key=lambda one: -one[1])]
    if rows:
        show_table(["pattern", "URLs"], rows[:_MOST_HOSTS], right=["URLs"])


@click.command
@named
@with_settings()
@as_json
def whereis(*, loaded: Loaded, name: str, as_json: bool) -> None:
    """Find the pipeline or the queue of a crawl.

    Example: watchbell archive whereis https://example.com/
    """

    async def located(store: Store) -> tuple[dict[str, object], str]:
        crawl = await crawl_named(store, name)
        place = await status.place_of(store, crawl.ident)
        if place is not None:
            words = phrases.in_queue(crawl.ident, place.queue, place.ahead)
            return {"queue": place.queue, "ahead": place.ahead}, words
        if not crawl.pipeline_id or crawl.finished_at is not None:
            return {}, phrases.nowhere(crawl.ident)
        known = {one.record.id: one.record for one in await pipelines.every(store)}
        record = known.get(crawl.pipeline_id)
        nickname = record.nickname if record else ""
        host = record.hostname if record else ""
        words = phrases.on_pipeline(crawl.ident, nickname, crawl.pipeline_id)
        return {"pipeline": crawl.pipeline_id, "nickname": nickname, "host": host}, words

    found, words = with_store(loaded.settings, located)
    if as_json:
        print_json(found)
    else:
        click.echo(plain(words))


@click.command
@named
@with_settings()
def explain(*, loaded: Loaded, name: str) -> None:
    """Explain why a crawl waits, runs, is paused or is over.

    Example: watchbell archive explain https://example.com/
    """

    async def explained(store: Store) -> str:
        ident = (await any_crawl(store, name)).crawl.ident
        return await status.explanation(store, loaded.settings.archive, ident, SYSTEM.now())

    click.echo(plain(with_store(loaded.settings, explained), 2_000))
