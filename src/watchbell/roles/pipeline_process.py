"""A pipeline as a process of its own, so that pages which take long to read hold up nobody else.

`python -m watchbell.roles.pipeline_process` reads what it needs from its standard input, which is
how no secret is in its arguments. It ends when that input ends, as when its parent dies.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from watchbell import logs
from watchbell.archive.pipeline import Pipeline
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.settings import Archive, Files, Secret, decode
from watchbell.store.client import Store
from watchbell.store.url import StoreURL

MODULE = "watchbell.roles.pipeline_process"


class Handed(Struct, frozen=True):
    """What the parent hands over."""

    store: StoreURL
    archive: Archive
    files: Files
    data: str
    level: str

    def packed(self) -> bytes:
        return msgspec.json.encode(self, enc_hook=_plain) + b"\n"


def _plain(value: Any) -> str:
    return value.reference if isinstance(value, Secret) else str(value)


def main() -> None:
    handed = msgspec.json.decode(sys.stdin.buffer.readline(), type=Handed, dec_hook=decode)
    logs.configure(handed.level, "json")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides
    asyncio.run(_run(handed))


async def _run(handed: Handed) -> None:
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), _end_with_parent)
    data = Path(handed.data)
    files = objects.opened(handed.files, data, later=True)
    async with Store(handed.store) as store:
        pipeline = Pipeline(store, handed.archive, data, files, SYSTEM, _report())
        loop.add_signal_handler(signal.SIGTERM, pipeline.stop)
        await pipeline.run()


def _end_with_parent() -> None:
    """Nothing is lost: what was not committed is fetched again."""
    if not os.read(sys.stdin.fileno(), 1_024):
        os._exit(0)


def _report() -> Callable[[str], None]:
    """Prints the status whenever it changes."""
    last = ""

    def say(words: str) -> None:
        nonlocal last
        if words != last:
            last = words
            print(words, flush=True)

    return say


if __name__ == "__main__":
    main()
