"""An import from a Flapjack to be killed.

`python -m tests.faults.import_worker FROM TO NOW FAULT`
"""

import asyncio
import sys

from watchbell import logs, probes
from watchbell.alerting.flapjack_import import FlapjackImport
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(source: str, target: str, now: int) -> None:
    async with Store(store_url.parse(source)) as one, Store(store_url.parse(target)) as other:
        await FlapjackImport(one, other, now).run(lambda *_: None)


if __name__ == "__main__":
    probes.arm(sys.argv[4])
    logs.configure("error", "json")
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
