"""A finisher and an archiver, to be killed.

`python -m tests.jobs.finish_worker URL FILES LEASE [FAULT]`
"""

import asyncio
import sys
from pathlib import Path

from tests.jobs.logs import files_in
from watchbell import probes
from watchbell.clock import SYSTEM
from watchbell.jobs.finisher import Finisher
from watchbell.jobs.log_archiver import LogArchiver, LogShortener
from watchbell.settings import Jobs as Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(url: str, files: Path, lease: float) -> None:
    async with Store(store_url.parse(url)) as store, asyncio.TaskGroup() as group:
        finisher = Finisher(store, Settings(), "", SYSTEM, most_events=1000, lease=lease, most=10)
        archiver = LogArchiver(store, files_in(files), lease=lease, most=10)
        group.create_task(finisher.run())
        group.create_task(archiver.run())
        group.create_task(LogShortener(store, files_in(files)).run())


if __name__ == "__main__":
    if len(sys.argv) > 4:
        probes.arm(sys.argv[4])
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
