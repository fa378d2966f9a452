"""The commands of `watchbell archive` that change a crawl that waits or runs."""

from collections.abc import Sequence

import click

from watchbell.archive import crawls, ignore_sets, ignores, phrases
from watchbell.archive.crawl_records import state_of
from watchbell.archive.crawls import Change, ChangedCrawl
from watchbell.archive.options import LONGEST_DELAY, MOST_CONCURRENCY
from watchbell.cli.archive.finding import crawl_named, named
from watchbell.cli.arguments import storable
from watchbell.cli.audited import record_change
from watchbell.cli.formatting import plain
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.errors import Refused
from watchbell.settings import Loaded
from watchbell.store.client import Store

patterns_given = click.argument(
    "patterns", metavar="PATTERN...", nargs=-1, required=True, type=storable
)


async def changed(
    store: Store, name: str, change: Change, words: str, action: str = "crawl.change"
) -> tuple[str, ChangedCrawl]:
    """Changes a crawl and records it. Raises NotFound, or Refused if it has ended."""
    crawl = await crawl_named(store, name)
    if crawl.finished_at is not None:
        raise Refused(phrases.has_ended(crawl.ident, state_of(crawl)), code="ended")
    done = await crawls.change(store, crawl.ident, change)
    await record_change(store, action, crawl.ident, words)
    return crawl.ident, done


def _change(
    loaded: Loaded, name: str, change: Change, words: str, action: str = "crawl.change"
) -> tuple[str, ChangedCrawl]:
    return with_store(loaded.settings, lambda store: changed(store, name, change, words, action))


@click.command
@named
@patterns_given
@with_settings()
def ignore(*, loaded: Loaded, name: str, patterns: tuple[str, ...]) -> None:
    """Skip URLs that match a regular expression. `{primary_url}` and `{primary_netloc}` stand for
    the URL of the crawl and its host.

    Example: watchbell archive ignore https://example.com/ '/calendar/\\d+'
    """
    for pattern in patterns:
        try:
            ignores.check(pattern)
        except Refused as error:
            raise Refused(f"{plain(pattern, 200)}: {error}", field="PATTERN") from None
    ident, done = _change(loaded, name, Change(ignore=patterns), _listed("ignore", patterns))
    click.echo(f"{ident}: added {_counted(done.ignored)}")


@click.command
@named
@patterns_given
@with_settings()
def unignore(*, loaded: Loaded, name: str, patterns: tuple[str, ...]) -> None:
    """Remove ignore patterns from a crawl.

    Example: watchbell archive unignore https://example.com/ '/calendar/\\d+'
    """
    ident, done = _change(loaded, name, Change(unignore=patterns), _listed("unignore", patterns))
    if not done.unignored:
        raise Refused(f"{ident} has no such ignore pattern", field="PATTERN")
    click.echo(f"{ident}: removed {_counted(done.unignored)}")


@click.command("ignore-set")
@named
@click.argument("sets", metavar="SET...", nargs=-1, required=True, type=storable)
@with_settings()
def ignore_set(*, loaded: Loaded, name: str, sets: tuple[str, ...]) -> None:
    """Add the patterns of ignore sets to a crawl.

    Example: watchbell archive ignore-set https://example.com/ forums
    """

    async def added(store: Store) -> tuple[str, ChangedCrawl]:
        known = await ignore_sets.every(store)
        for one in sets:
            if one not in known:
                names = ", ".join(sorted(known))
                raise Refused(
                    f"{plain(one, 100)!r} is no ignore set; there are: {names}", field="SET"
                )
        patterns = sorted({pattern for one in sets for pattern in known[one]})
        words = f"ignore set {', '.join(sets)}"
        return await changed(store, name, Change(ignore=patterns), words)

    ident, done = with_store(loaded.settings, added)
    click.echo(phrases.added_sets(ident, sets, done.ignored))


@click.command
@named
@click.argument("shortest", metavar="MIN", type=click.IntRange(0, LONGEST_DELAY))
@click.argument("longest", metavar="[MAX]", type=click.IntRange(0, LONGEST_DELAY), required=False)
@with_settings()
def delay(*, loaded: Loaded, name: str, shortest: int, longest: int | None) -> None:
    """Set the milliseconds between two requests of a downloader.

    Example: watchbell archive delay https://example.com/ 500 1000
    """
    most = shortest if longest is None else longest
    if most < shortest:
        raise click.BadParameter(f"{most} is less than MIN, {shortest}", param_hint="MAX")
    change = Change(delay=(shortest, most))
    ident, _ = _change(loaded, name, change, f"delay {shortest} to {most} ms")
    click.echo(phrases.delay(ident, shortest, most))


@click.command
@named
@click.argument("number", metavar="N", type=click.IntRange(1, MOST_CONCURRENCY))
@with_settings()
def concurrency(*, loaded: Loaded, name: str, number: int) -> None:
    """Set how many downloaders a crawl has.

    Example: watchbell archive concurrency https://example.com/ 5
    """
    change = Change(concurrency=number)
    ident, _ = _change(loaded, name, change, f"concurrency {number}")
    click.echo(phrases.concurrency(ident, number))


@click.command
@named
@click.argument("text", metavar="TEXT", type=storable)
@with_settings()
def note(*, loaded: Loaded, name: str, text: str) -> None:
    """Note why a crawl was started.

    Example: watchbell archive note https://example.com/ "it closes in May"
    """
    ident, _ = _change(loaded, name, Change(note=" ".join(text.split())[:500]), f"note {text}")
    click.echo(phrases.noted(ident))


@click.command
@named
@click.argument("on", metavar="on|off", type=click.Choice(["on", "off"]))
@with_settings()
def reports(*, loaded: Loaded, name: str, on: str) -> None:
    """Log ignored URLs, or not.

    Example: watchbell archive reports https://example.com/ on
    """
    change = Change(suppress_ignore_reports=on == "off")
    ident, _ = _change(loaded, name, change, f"reports_ignores {on}")
    click.echo(phrases.reports(ident, is_on=on == "on"))


@click.command
@named
@with_settings()
def pause(*, loaded: Loaded, name: str) -> None:
    """Pause a crawl. One that waits keeps its place in the queue.

    Example: watchbell archive pause https://example.com/
    """
    ident, _ = _change(loaded, name, Change(is_paused=True), "", "crawl.pause")
    click.echo(f"paused {ident}")


@click.command
@named
@with_settings()
def resume(*, loaded: Loaded, name: str) -> None:
    """Continue a crawl that was paused.

    Example: watchbell archive resume https://example.com/
    """
    ident, _ = _change(loaded, name, Change(is_paused=False), "", "crawl.resume")
    click.echo(f"resumed {ident}")


def _listed(word: str, patterns: Sequence[str]) -> str:
    return "; ".join(f"{word} {pattern}" for pattern in patterns)


def _counted(number: int) -> str:
    return f"{number} pattern{'' if number == 1 else 's'}"
