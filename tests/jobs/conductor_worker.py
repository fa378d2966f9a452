"""A conductor, to be killed.

`python -m tests.jobs.conductor_worker URL FOLDER [FAULT]`: works until it is killed.
"""

import asyncio
import sys
from pathlib import Path

from watchbell import logs, probes
from watchbell.files import objects
from watchbell.jobs import conductor
from watchbell.settings import Jobs, Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store


def settings(folder: Path) -> Settings:
    return Settings(data=folder, jobs=Jobs(down_after=3_600, lost_after=3_600))


async def main(url: str, folder: Path) -> None:
    files = objects.opened(settings(folder).files, folder)
    async with Store(store_url.parse(url)) as store:
        await conductor.run(store, settings(folder), files, "", lambda _: None)


if __name__ == "__main__":
    logs.configure("error", "json")
    if len(sys.argv) > 3:
        probes.arm(sys.argv[3])
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
