"""Shows how a crawl goes on until it ends, and where its files are."""

import asyncio
import shutil
import signal
import sys
from typing import Any

import click

from watchbell.archive import crawls, status, stored_files
from watchbell.archive.crawl_records import state_of
from watchbell.archive.model import Crawl, CrawlState, FinishedFile
from watchbell.archive.uploading.destination import IN_FILES
from watchbell.cli.archive.finding import FoundCrawl, any_crawl
from watchbell.cli.archive.log import LogTail
from watchbell.cli.formatting import plain
from watchbell.cli.options import print_json
from watchbell.clock import SYSTEM
from watchbell.errors import NotFound
from watchbell.settings import Settings
from watchbell.store.client import Store, patiently
from watchbell.units import counted, in_bytes

_EVERY = 0.5
_BEGIN = 5.0
"""Seconds that `up` usually needs at most to begin a crawl, its pipeline included."""
_SAID_EVERY = 15.0
"""Seconds between two lines of progress where there is no terminal."""
_CODES: dict[CrawlState, int] = {"completed": 0, "aborted": 128 + signal.SIGTERM}


class Progress:
    """Log lines on standard output; a line that says how the crawl goes on standard error, redrawn
    on a terminal."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_drawn = sys.stderr.isatty()
        self._before: tuple[float, int] | None = None
        self._rate = 0.0
        self._said, self._said_at = "", 0.0
        self._begun: float | None = None

    def lines(self, found: list[str]) -> None:
        if found and not self._is_quiet:
            self._clear()
            for line in found:
                click.echo(line)

    def show(self, crawl: Crawl, now: float, why: str) -> None:
        """`now` on a clock that is never set. `why` it does not run is shown once it should."""
        if self._begun is None:
            self._begun = now
        if why and now - self._begun < _BEGIN:
            return
        if self._before is None or now - self._before[0] >= 1:
            if self._before is not None:
                self._rate = (crawl.tried - self._before[1]) / (now - self._before[0])
            self._before = (now, crawl.tried)
        text = why or (
            f"{self._rate:.1f}/s, {crawl.tried:,} done, {crawl.urls_left:,} queued, "
            f"{crawl.error_count:,} errors, {in_bytes(crawl.bytes_downloaded)}"
        )
        if self._is_drawn:
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{plain(text)[:width]}", err=True, nl=False)
        elif text != self._said and (why or now - self._said_at >= _SAID_EVERY):
            self._said, self._said_at = text, now
            click.echo(plain(text), err=True)

    def _clear(self) -> None:
        if self._is_drawn:
            click.echo("\r\x1b[K", err=True, nl=False)

    def end(self) -> None:
        self._clear()


async def wait_for_end(store: Store, settings: Settings, ident: str, *, as_json: bool) -> int:
    """Returns the exit code: 0 for a crawl that completed and got a response, 143 for one that was
    aborted."""
    progress, tail = Progress(is_quiet=as_json), LogTail(store, ident)
    while True:
        crawl = await patiently(lambda: crawls.get(store, ident))
        progress.lines(await patiently(tail.lines))
        if crawl is None or crawl.finished_at is not None:
            break
        progress.show(crawl, SYSTEM.monotonic(), await _why(store, settings, crawl))
        await asyncio.sleep(_EVERY)
    progress.end()
    found = await patiently(lambda: any_crawl(store, ident))
    if as_json:
        print_json(shown(found, settings))
    else:
        _report(found, settings)
    return 1 if _found_nobody(found) else _CODES.get(found.state, 1)


def _found_nobody(found: FoundCrawl) -> bool:
    """Whether the crawl is complete, and no server has answered."""
    return found.state == "completed" and found.crawl.tried == found.crawl.runk


async def _why(store: Store, settings: Settings, crawl: Crawl) -> str:
    """Why it does not run; empty if it does."""
    if state_of(crawl) == "running":
        return ""
    try:
        return await status.explanation(store, settings.archive, crawl.ident, SYSTEM.now())
    except NotFound:  # it has just ended
        return ""


def _report(found: FoundCrawl, settings: Settings) -> None:
    crawl = found.crawl
    reason = f": {crawl.reason}" if crawl.reason and crawl.reason != found.state else ""
    if _found_nobody(found):
        reason = ", but no server has answered"
    counts = [counted(crawl.items_downloaded, "response"), counted(crawl.error_count, "error")]
    if crawl.runk:
        counts.append(f"{counted(crawl.runk, 'attempt')} without a response")
    counts.append(in_bytes(crawl.bytes_downloaded))
    click.echo(plain(f"{crawl.ident} {found.state}{reason}. {', '.join(counts)}."), err=True)
    for file in found.files:
        click.echo(path_of(file, settings, found.nickname))


def path_of(file: FinishedFile, settings: Settings, nickname: str) -> str:
    """Where a file is, as far as this machine knows."""
    path = stored_files.finished_folder(settings) / file.name
    if path.is_file():
        return str(path)
    if file.place.startswith(IN_FILES):
        return f"{file.place.removeprefix('files:')} in files"
    if file.place:
        return file.place
    return f"{file.name} on {nickname}" if nickname else file.name


def shown(found: FoundCrawl, settings: Settings) -> dict[str, Any]:
    files = [
        {"name": one.name, "size": one.size, "path": path_of(one, settings, found.nickname)}
        for one in found.files
    ]
    return {"state": found.state, "crawl": found.crawl, "files": files}
