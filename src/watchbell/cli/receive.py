"""`watchbell receive`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import click

from watchbell import logs
from watchbell.alerting import expressions
from watchbell.alerting.event import parse
from watchbell.alerting.model import CheckEvent, Rejection
from watchbell.alerting.receivers import nagios as nagios_lines
from watchbell.alerting.receivers import nsca as nsca_lines
from watchbell.alerting.receivers.delivery import Delivery
from watchbell.alerting.receivers.json_stream import Cutter, Piece
from watchbell.alerting.receivers.mirror import Mirror
from watchbell.alerting.receivers.tap import Lines, Tap
from watchbell.cli.options import with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.opening import opened

Read = Callable[[bytes, int], CheckEvent | Rejection]

_EXCERPT = 100

_pipe = click.option(
    "--pipe",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="A named pipe; it is created if it does not exist.",
)


@click.group
def command() -> None:
    """Receive check results of other programs. What can't be read is skipped, and reported on
    standard error.

    \b
    Examples:
      watchbell receive nagios --pipe /var/cache/nagios/events.fifo
      watchbell receive json events.json
      watchbell receive mirror redis://flapjack.example.com:6380/0 --all --follow
    """


@command.command
@_pipe
@with_settings()
def nagios(*, loaded: Loaded, pipe: Path) -> None:
    """Receive check results of Nagios or Icinga. They are read from a named pipe, until stopped.

    Example: watchbell receive nagios --pipe /var/cache/nagios/events.fifo
    """
    asyncio.run(_from_pipe(loaded.settings, pipe, nagios_lines.read))


@command.command
@_pipe
@with_settings()
def nsca(*, loaded: Loaded, pipe: Path) -> None:
    """Receive passive check results. They are read from a named pipe until stopped, in the form in
    which NSCA writes them to the command pipe of Nagios.

    Example: watchbell receive nsca --pipe /var/lib/nagios/rw/nagios.cmd
    """
    asyncio.run(_from_pipe(loaded.settings, pipe, nsca_lines.read))


@command.command("json")
@click.argument("file", default="-", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@with_settings()
def json_(*, loaded: Loaded, file: str) -> int:
    """Receive check events from JSON. Objects are read one after the other from FILE, or from
    standard input. The exit code is 1 if any can't be read.

    Example: watchbell receive json < events.json
    """
    if file == "-" and sys.stdin.isatty():
        raise click.UsageError("name a FILE, or send events to standard input")
    descriptor = sys.stdin.fileno() if file == "-" else os.open(file, os.O_RDONLY)
    return asyncio.run(_from_stream(loaded.settings, descriptor))


@command.command
@click.argument("url")
@click.option("--all", "everything", is_flag=True, help="All archived events.")
@click.option("--follow", is_flag=True, help="Future events, until stopped.")
@click.option("--include", metavar="REGEX", help="Only checks whose ENTITY:CHECK matches this.")
@with_settings()
def mirror(
    *, loaded: Loaded, url: str, everything: bool, follow: bool, include: str | None
) -> None:
    """Receive the events of another installation. It can be of Watchbell or Flapjack; its archive
    in the store at URL is read, oldest event first. That store is not changed.

    Example: watchbell receive mirror redis://flapjack.example.com:6380/0 --all --follow
    """
    if not (everything or follow):
        raise click.UsageError("give --all, --follow or both")
    try:
        wanted = expressions.compiled(include or "")
    except Refused as error:
        raise click.UsageError(f"--include is not a regular expression: {error}") from None
    mirrored = _mirrored(loaded.settings, url, wanted, everything=everything, follow=follow)
    asyncio.run(mirrored)


def _report(words: str) -> None:
    click.echo(f"watchbell: {words}", err=True)


@asynccontextmanager
async def _delivering(settings: Settings, stop: Callable[[], object]) -> AsyncIterator[Delivery]:
    """A delivery to our store that ends with a signal, and reports its numbers."""
    async with opened(settings) as store:
        delivery = Delivery(store, _report)

        def stopped() -> None:
            delivery.is_stopping = True
            stop()

        loop = asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(one, stopped)
        yield delivery
        click.echo(delivery.summary())


async def _from_pipe(settings: Settings, pipe: Path, read: Read) -> None:
    tap, lines = Tap(), Lines()
    async with _delivering(settings, tap.turn_off) as delivery:
        async for chunk in tap.pipe(pipe):
            await delivery.deliver(_read(lines.feed(chunk), read))
        await delivery.deliver(_read(lines.feed(b""), read))


async def _from_stream(settings: Settings, descriptor: int) -> int:
    tap, cutter = Tap(), Cutter()
    async with _delivering(settings, tap.turn_off) as delivery:
        async for chunk in tap.chunks(descriptor):
            await delivery.deliver(map(_judged, cutter.feed(chunk)))
        await delivery.deliver(map(_judged, cutter.end()))
    return 130 if tap.is_off else 1 if delivery.skipped else 0


async def _mirrored(
    settings: Settings,
    url: str,
    wanted: Callable[[str], bool],
    *,
    everything: bool,
    follow: bool,
) -> None:
    task = asyncio.current_task()
    assert task is not None
    place = store_url.parse(url)
    logs.hide(place.password)
    logs.hide(place.sentinel_password)
    async with _delivering(settings, task.cancel) as delivery, Store(place) as source:
        archive = Mirror(source)
        await archive.check_is_not(delivery.store)
        if not everything:
            await archive.skip()
        try:
            async for items in archive.follow() if follow else archive.fresh():
                await delivery.deliver(
                    (where, one)
                    for where, one in _read(items, parse)
                    if isinstance(one, Rejection) or wanted(one.id)
                )
        except asyncio.CancelledError:
            return


def _read(lines: Sequence[bytes], read: Read) -> list[tuple[str, CheckEvent | Rejection]]:
    now = int(SYSTEM.now())
    return [(_excerpt(line), read(line, now)) for line in lines]


def _judged(piece: Piece) -> tuple[str, CheckEvent | Rejection]:
    result = Rejection(piece.problem) if piece.problem else parse(piece.raw, int(SYSTEM.now()))
    return f"line {piece.line}, column {piece.column}", result


def _excerpt(line: bytes) -> str:
    text = line[:_EXCERPT].decode(errors="replace")
    return f"skipped {text!r}{'…' if len(line) > _EXCERPT else ''}"
