"""`watchbell archive check` and `replay`."""

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from watchbell.archive import stored_files
from watchbell.archive.warc import replay as replaying
from watchbell.archive.warc.check import Progress, WarcChecked
from watchbell.archive.warc.check import check as checked
from watchbell.archive.warc.stored_responses import opened
from watchbell.cli.archive.finding import any_crawl
from watchbell.cli.arguments import storable
from watchbell.cli.options import as_json, print_json, with_settings
from watchbell.cli.store_call import with_store
from watchbell.errors import NotFound, Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.client import Store
from watchbell.units import counted, in_bytes

_META = "-meta.warc.gz"


@click.command
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@as_json
def check(*, paths: tuple[Path, ...], as_json: bool) -> int:
    """Check WARC files: every record, its fields and digests. Name files that belong together in
    one command.

    Example: watchbell archive check example.com-inf-*.warc.gz
    """
    found = _checked(paths)
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
    return 1 if found.fault_count else 0


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
    ended; a browser shows them.

    \b
    Examples:
      watchbell archive replay https://example.com/
      watchbell archive replay example.com-inf-*.warc.gz --port 8080
    """
    paths = [Path(name) for name in names]
    if not all(path.is_file() for path in paths):
        paths = _of_crawl(loaded.settings, names)
    with tempfile.TemporaryDirectory(prefix="watchbell-replay-") as scratch:
        asyncio.run(_serve(paths, Path(scratch), port))


def _of_crawl(settings: Settings, names: tuple[str, ...]) -> list[Path]:
    if len(names) > 1:
        missing = next(name for name in names if not Path(name).is_file())
        raise click.UsageError(f"FILE: there is no file {missing!r}")

    async def found(store: Store) -> list[str]:
        return [file.name for file in (await any_crawl(store, names[0])).files]

    wanted = [
        name
        for name in with_store(settings, found)
        if name.endswith((".warc.gz", ".cdxj")) and not name.endswith(_META)
    ]
    if not wanted:
        raise Refused("the crawl has no files yet; it must have ended")
    folder = stored_files.finished_folder(settings)
    paths = [folder / name for name in wanted]
    for path in paths:
        if not path.is_file():
            raise NotFound(f"{path} is not on this machine; replay it where the pipeline ran")
    return paths


async def _serve(paths: list[Path], scratch: Path, port: int) -> None:
    responses = await asyncio.to_thread(opened, paths, scratch)
    try:
        async with replaying.serving(responses, port) as address:
            click.echo(f"{address} has the archived pages; press Ctrl-C to end")
            await asyncio.Event().wait()
    except OSError as error:
        raise Refused(f"can't serve on port {port}: {error.strerror}", field="--port") from None
