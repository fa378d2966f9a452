"""A fresh embedded store for a benchmark."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from watchbell import settings
from watchbell.settings import Settings
from watchbell.store.client import Store
from watchbell.store.embedded import Embedded


@asynccontextmanager
async def fresh(appendfsync: str = "everysec") -> AsyncIterator[tuple[Store, Settings]]:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as folder:
        options = {"data": folder, "store.port": "0", "store.appendfsync": appendfsync}
        chosen = settings.load(Path("/dev/null"), {}, options).settings
        server = Embedded(chosen, print)
        await server.start()
        try:
            async with Store(server.url) as store:
                yield store, chosen
        finally:
            await server.stop()
