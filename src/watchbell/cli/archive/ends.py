"""`watchbell archive abort` and `expire`."""

import click

from watchbell.archive import finishing, phrases
from watchbell.archive.finishing import Abort
from watchbell.cli.archive.finding import crawl_named, named
from watchbell.cli.audited import operator, record_change
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.settings import Loaded
from watchbell.store.client import Store


@click.command
@named
@with_settings()
def abort(*, loaded: Loaded, name: str) -> None:
    """End a crawl. What was fetched is kept.

    Example: watchbell archive abort https://example.com/
    """

    async def aborted(store: Store) -> tuple[str, Abort]:
        crawl = await crawl_named(store, name)
        by = operator().actor.display_name
        done = await finishing.abort(store, crawl.ident, by, SYSTEM.now())
        await record_change(store, "crawl.abort", crawl.ident, f"{crawl.url}, {done.value}")
        return crawl.ident, done

    ident, done = with_store(loaded.settings, aborted)
    click.echo(phrases.aborting(ident, was_queued=done is Abort.ENDED))


@click.command
@named
@with_settings()
def expire(*, loaded: Loaded, name: str) -> None:
    """Forget a crawl that has ended. Its URL can be archived again at once; its files and its
    place in the history stay.

    Example: watchbell archive expire https://example.com/
    """

    async def expired(store: Store) -> str:
        crawl = await crawl_named(store, name)
        await finishing.expire(store, crawl.ident)
        await record_change(store, "crawl.expire", crawl.ident, crawl.url)
        return crawl.ident

    click.echo(phrases.expired(with_store(loaded.settings, expired)))
