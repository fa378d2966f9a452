"""Whoever queues messages, to be killed.

`python -m tests.faults.message_worker URL MEDIUM ADDRESS COUNT [FAULT]`: queues COUNT messages for
ADDRESS, each with a record of its own.
"""

import asyncio
import sys

from tests.families import keys
from watchbell import probes
from watchbell.clock import SYSTEM
from watchbell.gateways.message import Message
from watchbell.gateways.sent_messages import send_later
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(url: str, medium: str, address: str, count: int) -> None:
    async with Store(store_url.parse(url)) as store:
        for number in range(count):
            message = Message(id=f"m{number}", address=address, subject="done", text=str(number))
            await send_later(store, medium, message, keys.table(message.id), SYSTEM.now())


if __name__ == "__main__":
    if len(sys.argv) > 5:
        probes.arm(sys.argv[5])
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
