"""A holder of a lock, to be stopped, killed and given a wrong clock.

`python -m tests.faults.holder URL LEDGER LEASE ROUNDS`: takes the lock ROUNDS times for a moment;
with 0 rounds it takes it once and keeps it until it is lost.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.families import keys
from tests.faults.ledger import Ledger
from watchbell.errors import LockLost
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.lock import Held, locked

LOCK = keys.lock("shared")


async def main(url: str, ledger: Ledger, lease: float, rounds: int) -> None:
    async with Store(store_url.parse(url)) as store:
        if not rounds:
            await keep(store, ledger, lease)
        for _ in range(rounds):
            async with locked(store, LOCK, lease, wait=120) as held:
                log(ledger, "start", held)
                log(ledger, "stop", held)


async def keep(store: Store, ledger: Ledger, lease: float) -> None:
    held: Held | None = None
    try:
        async with locked(store, LOCK, lease, wait=120) as held:
            log(ledger, "start", held)
            await asyncio.Event().wait()
    except LockLost:
        assert held is not None
        log(ledger, "lost", held)


def log(ledger: Ledger, event: str, held: Held) -> None:
    ledger.write(event=event, lock=held.key, token=held.token, run=os.getpid())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Ledger(Path(sys.argv[2])), float(sys.argv[3]), int(sys.argv[4])))
