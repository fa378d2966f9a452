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

from watchbell import logs
from watchbell.archive.pipeline import Pipeline
from watchbell.clock import SYSTEM
from watchbell.errors import WatchbellError
from watchbell.exits import end_process
from watchbell.files import objects
from watchbell.process.warden_handle import raise_open_files
from watchbell.roles.pipeline_handover import Handed, unpacked
from watchbell.store.client import Store


def main() -> None:
    handed = unpacked(sys.stdin.buffer.readline())
    logs.configure(handed.level, "json")
    raise_open_files()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides
    try:
        asyncio.run(_run(handed))
    except WatchbellError as error:
        logs.get(role="pipeline").error(str(error))
        end_process(1)
    end_process(0)


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
