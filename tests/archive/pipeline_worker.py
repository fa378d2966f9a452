"""A pipeline without a crawler, to be killed: it takes crawls, logs some entries and ends them.

`python -m tests.archive.pipeline_worker URL FOLDER [FAULT]`. What it knows of each crawl is in a
file, as a frontier would have it: the batch that is to be sent next.
"""

import asyncio
import sys
from pathlib import Path

from tests.archive.crawling import NOW, PIPELINE, append
from watchbell import ids, probes
from watchbell.archive import queues
from watchbell.archive.finishing import finish
from watchbell.archive.model import Ending, Ownership
from watchbell.store import url as store_url
from watchbell.store.client import Store

BATCHES = ((200, 301, 404), (200,), (500, 0, 200))


async def main(url: str, folder: Path) -> None:
    async with Store(store_url.parse(url)) as store:
        for ident in await queues.owned(store, PIPELINE):
            is_fresh = not (folder / ident).exists()
            owned = await queues.resume(
                store, ident, PIPELINE, "alice", lease=30, is_fresh=is_fresh
            )
            if owned is not None:
                await crawl(store, folder, owned)
        while True:
            owned = await queues.reserve(
                store, PIPELINE, "alice", attempt=ids.token(), lease=30, now=NOW
            )
            if owned is None:
                return
            await crawl(store, folder, owned)


async def crawl(store: Store, folder: Path, owned: Ownership) -> None:
    file = folder / owned.ident
    if not file.exists():
        file.write_text("1")
    begin = int(file.read_text())
    for batch, codes in list(enumerate(BATCHES, 1))[begin - 1 :]:
        answer = await append(store, owned, batch, *codes)
        assert not answer.is_refused, answer
        file.write_text(str(batch + 1))
    await finish(store, owned, Ending(finished_at=NOW))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        probes.arm(sys.argv[3])
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
