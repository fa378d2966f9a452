"""A process that follows records, to be killed.

`python -m tests.faults.record_watch_worker URL FAULT`
"""

import asyncio
import sys

from watchbell import logs, probes
from watchbell.alerting.record_watch import RecordWatch
from watchbell.clock import SYSTEM
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(url: str) -> None:
    async with Store(store_url.parse(url)) as store:
        await RecordWatch(store, SYSTEM).run()


if __name__ == "__main__":
    probes.arm(sys.argv[2])
    logs.configure("error", "json")
    asyncio.run(main(sys.argv[1]))
