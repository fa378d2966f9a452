"""Uploads what is pending, to be killed.

`python -m tests.archive.upload_worker STORE DATA SETTINGS [FAULT]`; SETTINGS is JSON.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from tests.archive.uploaded import Ended, uploading
from tests.waiting import eventually
from watchbell import probes
from watchbell.settings import ArchiveUpload, decode
from watchbell.store import url as store_url
from watchbell.store.client import Store


async def main(url: str, data: Path, chosen: ArchiveUpload) -> None:
    async with Store(store_url.parse(url)) as store:
        here = Ended(data)
        async with uploading(store, here, chosen):
            await eventually(lambda: not here.pending())


if __name__ == "__main__":
    settings = msgspec.json.decode(sys.argv[3], type=ArchiveUpload, dec_hook=decode)
    if len(sys.argv) > 4:
        probes.arm(sys.argv[4])
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), settings))
