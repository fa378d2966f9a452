"""A crawl that has ended and whose files are to be uploaded, and an uploader for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.archive.crawling import NOW, SITE, running
from watchbell.archive import crawls, finishing, history
from watchbell.archive.crawl_folder import Undertaken
from watchbell.archive.model import Ending, FinishedFile
from watchbell.archive.uploading import targets
from watchbell.archive.uploading.pending_uploads import PendingUploads
from watchbell.archive.uploading.uploader import Uploader
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.settings import ArchiveUpload
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store

BASE = "example.com-inf-20260921-143321-43z7a"
CONTENTS = {
    f"{BASE}-00000.warc.gz": bytes(range(256)) * 4_000,
    f"{BASE}-00001.warc.gz": b"second part" * 100,
    f"{BASE}-meta.warc.gz": b"log",
    f"{BASE}.cdxj": b"index\n",
    f"{BASE}.json": b"{}\n",
}
LARGE = bytes(range(256)) * (70 << 10)  # 17.5 MiB: three parts


class Ended:
    """The folder of a pipeline that has just completed a crawl."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.finished = data / "archive" / "finished"
        self.uploads = data / "archive" / "uploads"
        self.to_upload = PendingUploads(self.uploads)

    def local(self) -> set[str]:
        return {path.name for path in self.finished.iterdir()}

    def pending(self) -> list[str]:
        return sorted(path.name for path in self.uploads.glob("*"))


async def ended(
    store: Store,
    data: Path,
    contents: dict[str, bytes] = CONTENTS,
    ident: str = SITE,
    here: Ended | None = None,
) -> Ended:
    """`here`: where a crawl has ended before."""
    here = here or Ended(data)
    here.finished.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (here.finished / name).write_bytes(content)
    files = tuple(FinishedFile(name, len(content)) for name, content in contents.items())
    owned = await running(store, ident)
    crawl = await crawls.get(store, ident)
    assert crawl
    await finishing.finish(store, owned, Ending(finished_at=NOW + 9, files=files))
    base = BASE if contents is CONTENTS else f"{BASE}-{ident}"
    here.to_upload.add(Undertaken(crawl=crawl, base=base), files)
    return here


def uploader(store: Store, here: Ended, chosen: ArchiveUpload) -> Uploader:
    files = objects.opened(FilesSettings(), here.data)
    target = targets.opened(chosen, files, here.data)
    assert target
    parts = (store, target, here.finished, here.to_upload, SYSTEM)
    return Uploader(*parts, keeps=chosen.keep)


@asynccontextmanager
async def uploading(store: Store, here: Ended, chosen: ArchiveUpload) -> AsyncIterator[Uploader]:
    one = uploader(store, here, chosen)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(one.run())
        yield one
        task.cancel()


async def places(store: Store, ident: str = SITE) -> dict[str, str]:
    (found,) = await history.of_ident(store, ident)
    return {file.name: file.place for file in found.files}
