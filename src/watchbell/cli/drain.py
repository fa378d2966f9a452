"""`watchbell drain`."""

import asyncio
import os
import sys
from collections.abc import Iterator

import click
import msgspec

from watchbell.alerting.drain import Drained, drain
from watchbell.alerting.notifier import Notifier
from watchbell.alerting.processor import Processor
from watchbell.alerting.silence import Silence
from watchbell.cli.options import with_settings
from watchbell.clock import SYSTEM
from watchbell.errors import Refused
from watchbell.settings import Loaded, Settings
from watchbell.store.opening import opened


@click.command
@with_settings()
@click.option(
    "--at",
    metavar="EPOCH",
    help="Process as if it were this time; -: read times from standard input, one per line.",
)
def command(*, loaded: Loaded, at: str | None) -> None:
    """Process everything in the queues, through processor and notifier, then exit. Prints a line
    of JSON with what was done. With --at -, one line for each time read: days can be replayed in
    seconds.

    \b
    Examples:
      watchbell drain
      watchbell drain --at 1763200000
      seq 1763200000 60 1763286400 | watchbell drain --at -
    """
    asyncio.run(_drain(loaded.settings, _moments(at)))


def _moments(at: str | None) -> Iterator[int]:
    if at is None:
        yield int(SYSTEM.now())
    elif at != "-":
        yield _epoch(at, "--at")
    else:
        for number, line in enumerate(sys.stdin, 1):
            if line.strip():
                yield _epoch(line.strip(), f"line {number}")


def _epoch(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 11):
        raise Refused(f"{text[:40]!r} is not a number of seconds since 1970", field=where)
    return int(text)


async def _drain(settings: Settings, moments: Iterator[int]) -> None:
    async with opened(settings) as store:
        silence = Silence(store)
        processor = Processor(store, settings.alerting, os.getpid())
        notifier = Notifier(store, settings.alerting)
        await processor.boot(int(SYSTEM.now()))
        try:
            for now in moments:
                done: Drained = await drain(silence, processor, notifier, now)
                click.echo(msgspec.json.encode(done))
                sys.stdout.flush()
        finally:
            await processor.taker.release()
            await notifier.taker.release()
