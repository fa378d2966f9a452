"""Whoever carries out actions, to be killed.

`python -m tests.jobs.action_worker URL [FAULT]`: works until it is killed.
"""

import asyncio
import sys

from tests.jobs.acting import worker
from watchbell import probes
from watchbell.store import url as store_url
from watchbell.store.client import Store

LEASE = 0.5


async def main(url: str) -> None:
    async with Store(store_url.parse(url)) as store:
        await (await worker(store, lease=LEASE)).run()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        probes.arm(sys.argv[2])
    asyncio.run(main(sys.argv[1]))
