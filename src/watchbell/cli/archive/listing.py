"""`watchbell archive list`, `status` and `pending`."""

import click
import msgspec

from watchbell.archive import crawls, history, phrases, pipelines, queues
from watchbell.archive import status as archive_status
from watchbell.archive.crawl_records import state_of
from watchbell.archive.history import EndedCrawl
from watchbell.archive.model import Crawl, CrawlState
from watchbell.cli.archive.finding import crawl_named
from watchbell.cli.arguments import limited, storable
from watchbell.cli.formatting import first, plain, since, when
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.cli.tables import show_table
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded
from watchbell.store.client import Store
from watchbell.units import in_bytes

_COLUMNS = ["crawl", "URL", "state", "pipeline", "done", "queued", "errors", "size", "started"]
_PAGE = 200
_STATES = ("queued", "running", "paused", "completed", "aborted", "failed")


@click.command("list")
@click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="In this state.")
@click.option("--past", is_flag=True, help="List crawls that have ended, the newest first.")
@click.option("--text", type=storable, default="", help="With this in its URL, note or starter.")
@limited(50)
@with_settings()
@as_json
def list_crawls(
    *,
    loaded: Loaded,
    states: tuple[CrawlState, ...],
    past: bool,
    text: str,
    limit: int,
    as_json: bool,
) -> None:
    """List crawls that run, wait or have just ended. --past lists all that have ended.

    \b
    Examples:
      watchbell archive list --state running
      watchbell archive list --past --text example.com
    """

    async def listed(store: Store) -> tuple[list[tuple[Crawl, CrawlState]], dict[str, str]]:
        names = {one.record.id: one.name for one in await pipelines.every(store)}
        if past:
            ended = await _ended(store, text, limit)
            names |= {one.crawl.pipeline_id: one.nickname for one in ended if one.nickname}
            return [(one.crawl, one.state) for one in ended], names
        found = await crawls.every(store, SYSTEM.now())
        return [(one, state_of(one)) for one in found if _mentions(one, text)], names

    found, names = with_store(loaded.settings, listed)
    found = [one for one in found if not states or one[1] in states]
    if as_json:
        print_json([{"state": state, "crawl": crawl} for crawl, state in found])
        return
    rows, more = first([_cells(crawl, state, names) for crawl, state in found], limit)
    if not rows:
        click.echo("There are no crawls." if not (states or text or past) else "No crawls match.")
        return
    show_table(_COLUMNS, rows, right=["done", "queued", "errors", "size"])
    click.echo(more.lstrip("\n"), nl=bool(more))


async def _ended(store: Store, text: str, limit: int) -> list[EndedCrawl]:
    items: list[EndedCrawl] = []
    after: str | None = ""
    while after is not None and (not limit or len(items) < limit):
        found = await history.page(store, limit=_PAGE, contains=text, after=after)
        items += found.items
        after = found.next or None
    return items[: limit or None]


def _mentions(crawl: Crawl, text: str) -> bool:
    words = (crawl.url, crawl.url_file, crawl.note, crawl.started_by, crawl.ident)
    return any(text.casefold() in word.casefold() for word in words)


def _cells(crawl: Crawl, state: CrawlState, names: dict[str, str]) -> list[str]:
    return [
        crawl.ident,
        plain(crawl.url, 80),
        state,
        plain(names.get(crawl.pipeline_id, crawl.pipeline_id), 30) or "-",
        f"{crawl.tried:,}",
        f"{crawl.urls_left:,}",
        f"{crawl.error_count:,}",
        in_bytes(crawl.bytes_downloaded),
        when(int(crawl.started_at)) if crawl.started_at is not None else "-",
    ]


@click.command
@click.argument("name", metavar="[IDENT|URL]", type=storable, required=False)
@with_settings()
@as_json
def status(*, loaded: Loaded, name: str | None, as_json: bool) -> None:
    """Count crawls, or show one in a few lines.

    \b
    Examples:
      watchbell archive status
      watchbell archive status https://example.com/
    """
    with_store(loaded.settings, lambda store: _status(store, name, as_json))


async def _status(store: Store, name: str | None, as_json: bool) -> None:
    if name is None:
        counts = await archive_status.counts(store)
        if as_json:
            print_json(counts)
            return
        for field, number in msgspec.structs.asdict(counts).items():
            click.echo(f"{field.replace('_', '-'):<14}{number:>8,}")
        return
    crawl = await crawl_named(store, name)
    left = await archive_status.expires_in(store, crawl.ident)
    state = state_of(crawl)
    if as_json:
        print_json({"state": state, "crawl": crawl, "expires_in": left})
        return
    for line in phrases.summary(crawl, state, left):
        click.echo(plain(line))


@click.command
@with_settings()
@as_json
def pending(*, loaded: Loaded, as_json: bool) -> None:
    """List crawls that wait, queue by queue, the next one first.

    Example: watchbell archive pending
    """

    async def waiting(store: Store) -> dict[str, list[Crawl]]:
        found = await queues.pending(store)
        return {
            queue: [one for one in await crawls.find(store, idents, with_ignores=False) if one]
            for queue, idents in found.items()
            if idents
        }

    found = with_store(loaded.settings, waiting)
    if as_json:
        print_json(found)
        return
    now = int(SYSTEM.now())
    rows = [
        [queue, str(number), crawl.ident, plain(crawl.url, 80), plain(crawl.started_by, 40), age]
        for queue, some in found.items()
        for number, crawl in enumerate(some, 1)
        for age in [since(None if crawl.queued_at is None else int(crawl.queued_at), now)]
    ]
    if not rows:
        click.echo("No crawls are waiting.")
        return
    show_table(["queue", "place", "crawl", "URL", "started by", "waits for"], rows, right=["place"])
