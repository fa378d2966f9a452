"""The scheduling of a conductor, to be killed.

`python -m tests.jobs.scheduling_worker URL [FAULT]`
"""

import asyncio
import sys

from watchbell import logs, probes
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.scheduling import Scheduling
from watchbell.settings.sections import Jobs as JobsSettings
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(url: str) -> None:
    async with Store(store_url.parse(url)) as store, asyncio.TaskGroup() as group:
        catalogue = Catalogue(store)
        await catalogue.load()
        group.create_task(catalogue.run())
        scheduling = Scheduling(store, catalogue, JobsSettings())
        await scheduling.start()
        for part in scheduling.parts().values():
            group.create_task(part())  # type: ignore[arg-type]


if __name__ == "__main__":
    logs.configure("error", "json")
    if len(sys.argv) > 2:
        probes.arm(sys.argv[2])
    asyncio.run(main(sys.argv[1]))
