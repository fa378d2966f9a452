"""An archivist, to be killed: `python -m tests.archive.archivist_worker URL [FAULT]`."""

import asyncio
import sys

from watchbell import probes
from watchbell.archive import archivist
from watchbell.clock import SYSTEM
from watchbell.settings import Archive as Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(url: str) -> None:
    async with Store(store_url.parse(url)) as store:
        settings = Settings(lease=5, return_after=5)
        await archivist.run(store, settings, SYSTEM, lambda _: None, lease=1)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        probes.arm(sys.argv[2])
    asyncio.run(main(sys.argv[1]))
