"""`watchbell archive add`."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from watchbell import ids
from watchbell.archive import crawls, idents, ignore_sets, phrases
from watchbell.archive.admission import Denial
from watchbell.archive.commands import Archive
from watchbell.archive.options import OPTIONS
from watchbell.archive.submission import Starter, Submitted, submit
from watchbell.archive.urls import FETCHED, normalised, scheme_of, shown
from watchbell.cli.archive.progress import wait_for_end
from watchbell.cli.arguments import storable
from watchbell.cli.audited import operator, record_change
from watchbell.cli.formatting import plain
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.files import objects
from watchbell.files.objects import Files
from watchbell.settings import Loaded
from watchbell.store.client import Store

F = TypeVar("F", bound=Callable[..., Any])
_PLACE = "command line"
_MOST_LIST = 256 << 20
_MISUSED = {
    "url": "URL",
    "scheme": "URL",
    **dict.fromkeys(("options", "large", "user-agent", "youtube-dl"), ""),
}
"""Denials that another wording of the command avoids, with the argument that they are about."""
_HELP = {
    "--ignore-sets": "Ignore sets to use besides `global`; `archive sets` lists them.",
    "--no-offsite-links": "Don't follow links to other sites.",
    "--user-agent-alias": "User agent to send, such as firefox.",
    "--pipeline": "Only a pipeline with this tag in its nickname may run it.",
    "--explain": "Note why it is archived.",
    "--delay": "Milliseconds between two requests of a downloader.",
    "--concurrency": "Number of downloaders.",
    "--large": "Leave it to a pipeline for large crawls.",
    "--browser": "Load pages in a browser, on pipelines that have one.",
    "--browser-wait": "Seconds that the browser waits on each page.",
    "--browser-scroll": "Times that the browser scrolls down each page.",
    "--no-smart-scroll": "Scroll that often even where a page does not grow.",
    "--robots": "Obey robots.txt.",
    "--dedup": "Don't store again what earlier crawls of the site have.",
    "--wacz": "Also pack everything into a WACZ file.",
    "--no-cookies": "Don't send cookies.",
    "--max-size": "End after this much, for example 20 GiB.",
    "--max-urls": "End after so many URLs.",
    "--offsite-depth": "Links to follow beyond the site.",
    "--youtube-dl": "",
}


class _Spelled(click.Option):
    """An option whose help shows the first of its spellings."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        spelled, self.opts = self.opts, self.opts[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = spelled


def _of_crawls(command: F) -> F:
    """The options that chat has, too."""
    for option in reversed(OPTIONS):
        is_switch = option.read is None
        metavar = option.usage.partition("=")[2] or None
        decorated = click.option(
            option.name,
            *option.spellings,
            f"crawl_{option.field.replace('.', '_')}",
            cls=_Spelled,
            is_flag=is_switch,
            default=False if is_switch else None,
            type=bool if is_switch else storable,
            metavar=metavar,
            help=_HELP[option.name],
            hidden=not _HELP[option.name],
        )
        command = decorated(command)
    return command


class QueuedCrawl(Struct, frozen=True):
    ident: str
    url: str
    queue: str
    ahead: int
    notices: tuple[str, ...]


class NewList(Struct, frozen=True):
    """A list of URLs of this machine."""

    content: bytes
    first: str


@click.command
@click.argument("url", metavar="[URL]", type=storable, required=False)
@click.option("--only", is_flag=True, help="Archive the page with what it needs, not its site.")
@click.option(
    "--list",
    "list_at",
    metavar="FILE|URL",
    type=storable,
    help="Archive all URLs of a list, one a line. URL may name the crawl; by default, the first.",
)
@_of_crawls
@click.option("--wait", is_flag=True, help="Show the progress, and exit by the outcome.")
@with_settings()
@as_json
def add(
    *,
    loaded: Loaded,
    url: str | None,
    only: bool,
    list_at: str | None,
    wait: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Queue a crawl of a site, a page or a list of URLs.

    \b
    Examples:
      watchbell archive add https://example.com/ --wait
      watchbell archive add https://example.com/report.html --only
      watchbell archive add --list urls.txt --only --explain "for Alice"
    """
    local, url = _start(url, list_at)
    command = Archive(url, _words(given), "shallow" if only else "inf", list_at is not None)

    async def added(store: Store) -> int:
        made = await _queued(store, loaded, command, local)
        if as_json and not wait:
            print_json(made)
            return 0
        line = phrases.queued(made.url, made.ident, made.queue, made.ahead)
        for text in (line, *made.notices):
            click.echo(plain(text), err=wait)
        if not wait:
            return 0
        return await wait_for_end(store, loaded.settings, made.ident, as_json=as_json)

    return with_store(loaded.settings, added)


def _start(url: str | None, list_at: str | None) -> tuple[NewList | None, str]:
    """The list, if it is a file of this machine, and the URL of the crawl."""
    if list_at is None:
        if url is None:
            raise click.UsageError("URL is missing: what should be archived?")
        return None, url
    if "://" in list_at:
        if url is not None:
            raise click.UsageError("give either URL or the URL of a --list, not both")
        return None, list_at
    local = _list(Path(list_at))
    return local, url or local.first


def _list(path: Path) -> NewList:
    try:
        if path.stat().st_size > _MOST_LIST:
            raise click.UsageError(f"--list: {path} is larger than {_MOST_LIST >> 20} MiB")
        content = path.read_bytes()
    except OSError as error:
        raise click.UsageError(f"--list: can't read {path}: {error.strerror}") from None
    for word in content.decode(errors="replace").split():
        url = normalised(word)
        if url and scheme_of(url) in FETCHED:
            return NewList(content, url)
    raise click.UsageError(f"--list: {path} has no URL; expected one a line")


def _words(given: dict[str, Any]) -> str:
    """The options as chat has them, so that there is one set of rules."""
    words = []
    for option in OPTIONS:
        value = given[f"crawl_{option.field.replace('.', '_')}"]
        if option.read is None and value:
            words.append(option.name)
        elif option.read is not None and value is not None:
            words.append(f"{option.name}={value}")
    return shlex.join(words)


async def _queued(
    store: Store, loaded: Loaded, command: Archive, local: NewList | None
) -> QueuedCrawl:
    token = ids.token()
    files = _files(loaded) if local is not None and normalised(command.url) else None
    name = f"archive/lists/{idents.ident_of(command.url)}-{token[:8]}.txt" if files else ""
    if files and local:
        await files.put(name, local.content)
    starter = Starter(operator().actor.display_name, _PLACE)
    sets = await ignore_sets.every(store)
    found = await submit(
        store, command, starter, sets, now=SYSTEM.now(), token=token, list_name=name
    )
    if isinstance(found, Denial) or not found.added.is_new:
        if files:
            await files.delete([name])
        raise _refusal(command, found)
    await record_change(store, "crawl.add", found.added.ident, shown(command.url))
    crawl = await crawls.get(store, found.added.ident)
    queue = crawl.queue if crawl else ""
    return QueuedCrawl(
        found.added.ident, shown(command.url), queue, found.added.ahead, found.notices
    )


def _files(loaded: Loaded) -> Files:
    return objects.opened(loaded.settings.files, loaded.settings.data)


def _refusal(command: Archive, found: Submitted | Denial) -> Exception:
    if isinstance(found, Submitted):
        return Refused(phrases.exists(command.url, found.added.ident), code="exists")
    if found.code in _MISUSED:
        argument = _MISUSED[found.code]
        return click.UsageError(f"{argument}: {found.reason}" if argument else found.reason)
    return Refused(found.reason, code=found.code)
