"""`watchbell archive log`, and reading the log of a crawl while it grows."""

import asyncio
from typing import Any

import click
import msgspec

from watchbell.archive import crawl_log, crawls
from watchbell.archive.log_draining import RECENT
from watchbell.cli.archive.finding import crawl_named, named
from watchbell.cli.formatting import plain, when
from watchbell.cli.options import with_settings
from watchbell.cli.store_call import with_store
from watchbell.settings import Loaded
from watchbell.store.client import Store, patiently

_EVERY = 0.5
"""Seconds between two looks at a log that grows."""


class LogTail:
    """The entries of a log that were not read yet, as lines for people."""

    def __init__(self, store: Store, ident: str, *, times: bool = False) -> None:
        self._store, self._ident, self._times = store, ident, times
        self._last = 0

    async def lines(self, count: int = RECENT) -> list[str]:
        entries = await crawl_log.recent(self._store, self._ident, count)
        return [line for raw in entries if (line := self._line(raw)) is not None]

    def _line(self, raw: bytes) -> str | None:
        """None for one that was read before, or makes no sense."""
        try:
            entry: Any = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        index = entry.get("index") if isinstance(entry, dict) else None
        if not isinstance(index, int) or index <= self._last:
            return None
        left_out = index - self._last - 1 if self._last else 0
        self._last = index
        lead = f"… {left_out:,} lines left out\n" if left_out else ""
        return lead + in_words(entry, times=self._times)


def in_words(entry: dict[str, Any], *, times: bool = False) -> str:
    """A line of the log: the status or what went wrong, and the URL; or a message."""
    text = _message(entry)
    if not times:
        return text
    at = entry.get("ts")
    return f"{when(int(at)) if isinstance(at, int | float) else '-'} {text}"


def _message(entry: dict[str, Any]) -> str:
    url = plain(str(entry.get("url", "")), 2_000)
    match entry.get("type"):
        case "ignore":
            return f"ignored {url} by {plain(str(entry.get('pattern', '')))}"
        case "stdout":
            return plain(str(entry.get("message", "")).rstrip(), 4_000)
    code, result = entry.get("response_code") or 0, str(entry.get("wget_code", ""))
    problem = "" if result in ("", "OK") else f" ({plain(result)})"
    return f"{code or '---'} {url}{problem}"


@click.command
@named
@click.option("--follow", "-f", is_flag=True, help="Continue until the crawl ends.")
@click.option("--times", is_flag=True, help="Show the time of each line.")
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(1, RECENT),
    default=RECENT,
    show_default=True,
    metavar="N",
    help="Lines to begin with, at most.",
)
@with_settings()
def log(*, loaded: Loaded, name: str, follow: bool, times: bool, lines: int) -> None:
    """Print the latest lines of a crawl's log. The files of a crawl that ended have all of it.

    \b
    Examples:
      watchbell archive log 43z7a11vo6of3a7i173441dtc -f
      watchbell archive log https://example.com/ --times -n 50
    """

    async def printed(store: Store) -> None:
        ident = (await crawl_named(store, name)).ident
        tail = LogTail(store, ident, times=times)
        _print(await tail.lines(lines))
        while follow and not await _is_over(store, ident):
            _print(await patiently(tail.lines))
            await asyncio.sleep(_EVERY)
        _print(await patiently(tail.lines))

    with_store(loaded.settings, printed)


async def _is_over(store: Store, ident: str) -> bool:
    crawl = await patiently(lambda: crawls.get(store, ident))
    return crawl is None or crawl.finished_at is not None


def _print(lines: list[str]) -> None:
    for line in lines:
        click.echo(line)
