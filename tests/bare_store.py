"""The embedded store alone, without roles: `python -m tests.bare_store DATA`."""

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path

from watchbell import logs, settings
from watchbell.store.embedded import Embedded


async def main(data: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    logs.configure("info", "json")
    options = {"data": data, "store.port": "0"}
    chosen = settings.load(Path("/dev/null"), {}, options).settings
    server = Embedded(chosen, logs.get().info)
    await server.start()
    try:
        logs.get().info("up")
        await server.run()
    finally:
        await server.stop()


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(main(sys.argv[1]))
