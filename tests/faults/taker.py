"""A taker to be killed: takes from a queue and appends each item's number to the list of its key.

`python -m tests.faults.taker URL QUEUE MOST LEASE [FAULT]`
"""

import asyncio
import json
import sys

from tests.families import keys
from watchbell import probes
from watchbell.errors import LeaseLost
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.effects import Effects
from watchbell.store.queue import Queue, Taker

# KEYS[1] hash of counts, ARGV[1] what the lists' keys begin with, ARGV[2] JSON [[key, n], …].
append = Effects("""
local items = cjson.decode(ARGV[2])
for _, item in ipairs(items) do redis.call('RPUSH', ARGV[1] .. item[1], item[2]) end
redis.call('HINCRBY', KEYS[1], 'all', #items)
""")


async def main(url: str, name: str, most: int, lease: float) -> None:
    queue = Queue(key=keys.queue(name), order_by=("entity", "check"))
    async with Store(store_url.parse(url)) as store:
        taker = Taker(store, queue, most=most, lease=lease)
        async for batch in taker.batches():
            items = [json.loads(item) for item in batch.items]
            pairs = [[f"{item['entity']}.{item['check']}", item["n"]] for item in items]
            args = [keys.order(name, ""), json.dumps(pairs)]
            try:
                await taker.acknowledge(batch, append, [keys.applied(name)], args)
            except LeaseLost:
                continue


if __name__ == "__main__":
    if len(sys.argv) > 5:
        probes.arm(sys.argv[5])
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
