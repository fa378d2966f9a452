"""`watchbell archive check` and `replay`."""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from watchbell.archive.model import FinishedFile
from watchbell.archive.warc import replay as replaying
from watchbell.archive.warc.check import Progress, WarcChecked
from watchbell.archive.warc.check import check as checked
from watchbell.archive.warc.stored_responses import opened
from watchbell.cli.archive.finding import any_crawl
from watchbell.cli.archive.retrieving import local_copies
from watchbell.cli.arguments import storable
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.units import counted, in_bytes

_WARC = ".warc.gz"
_FILES = (_WARC, ".warc", ".cdxj", ".wacz")
_META = "-meta.warc.gz"


@click.command
@click.argument("names", metavar="FILE...|IDENT|URL", nargs=-1, required=True, type=storable)
@with_settings()
@as_json
def check(*, loaded: Loaded, names: tuple[str, ...], as_json: bool) -> int:
    """Check WARC files: every record, its fields and digests. Name files that belong together in
    one command, or a crawl that has ended. Files that were uploaded and are no longer here are
    fetched first, into a temporary folder.

    \b
    Examples:
      watchbell archive check example.com-inf-*.warc.gz
      watchbell archive check https://example.com/
    """
    with _paths(loaded.settings, names, (_WARC,)) as paths:
        found = _checked(tuple(paths))
        _report(found, as_json=as_json)
    return 1 if found.fault_count else 0


def _report(found: WarcChecked, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "records": found.records,
                "size": found.size,
                "fault_count": found.fault_count,
                "faults": [
                    {"path": str(one.path), "offset": one.offset, "reason": one.reason}
                    for one in found.faults
                ],
            }
        )
    else:
        for fault in found.faults:
            click.echo(str(fault))
        left = found.fault_count - len(found.faults)
        if left:
            click.echo(f"and {left:,} more")
        words = "no faults" if not found.fault_count else counted(found.fault_count, "fault")
        click.echo(f"{counted(found.records, 'record')}, {in_bytes(found.size)}: {words}")


def _checked(paths: tuple[Path, ...]) -> WarcChecked:
    if not sys.stderr.isatty():
        return checked(paths)
    size = sum(path.stat().st_size for path in paths)
    with click.progressbar(length=size, file=sys.stderr) as bar:

        def progress(now: Progress) -> None:
            bar.update(now.read - bar.pos)

        return checked(paths, progress)


@click.command
@click.argument("names", metavar="FILE...|IDENT|URL", nargs=-1, required=True, type=storable)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="Loopback port to serve on. Default: a free one.",
)
@with_settings()
def replay(*, loaded: Loaded, names: tuple[str, ...], port: int) -> None:
    """Serve archived pages on this machine. Takes WARC, CDXJ and WACZ files, or a crawl that has
    ended; a browser shows them. Files that were uploaded and are no longer here are fetched first,
    into a temporary folder.

    \b
    Examples:
      watchbell archive replay https://example.com/
      watchbell archive replay example.com-inf-*.warc.gz --port 8080
    """
    with (
        _paths(loaded.settings, names, (_WARC, ".cdxj"), without=_META) as paths,
        tempfile.TemporaryDirectory(prefix="watchbell-replay-") as scratch,
    ):
        asyncio.run(_serve(paths, Path(scratch), port))


@contextmanager
def _paths(
    settings: Settings, names: tuple[str, ...], endings: tuple[str, ...], without: str = "\0"
) -> Iterator[list[Path]]:
    """The files with these names, or those of the crawl with this name."""
    paths = [Path(name) for name in names]
    if all(path.is_file() for path in paths):
        yield paths
        return
    files = [
        file
        for file in _of_crawl(settings, names)
        if file.name.endswith(endings) and not file.name.endswith(without)
    ]
    if not files:
        raise Refused("the crawl has no files yet; it must have ended")
    with tempfile.TemporaryDirectory(prefix="watchbell-archive-") as folder:
        yield asyncio.run(local_copies(settings, files, Path(folder)))


def _of_crawl(settings: Settings, names: tuple[str, ...]) -> tuple[FinishedFile, ...]:
    missing = next(name for name in names if not Path(name).is_file())
    is_path = "://" not in missing and ("/" in missing or missing.endswith(_FILES))
    if len(names) > 1 or is_path:
        raise click.UsageError(f"FILE: there is no file {missing!r}")

    async def found(store: Store) -> tuple[FinishedFile, ...]:
        return (await any_crawl(store, names[0])).files

    return with_store(settings, found)


async def _serve(paths: list[Path], scratch: Path, port: int) -> None:
    responses = await asyncio.to_thread(opened, paths, scratch)
    try:
        async with replaying.serving(responses, port) as address:
            click.echo(f"{address} has the archived pages; press Ctrl-C to end")
            await asyncio.Event().wait()
    except OSError as error:
        raise Refused(f"can't serve on port {port}: {error.strerror}", field="--port") from None
