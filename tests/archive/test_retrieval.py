"""Files that were uploaded come back as they were, or not at all."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.crawling import SITE
from tests.archive.upload_servers import (
    item_server,
    rsync_daemon,
    s3_server,
    to_items,
    to_s3,
)
from tests.archive.uploaded import BASE, CONTENTS, ended, uploading
from tests.waiting import eventually
from watchbell.archive import history
from watchbell.archive.model import FinishedFile
from watchbell.archive.uploading.retrieval import retrieve
from watchbell.errors import NotFound, Refused
from watchbell.files.objects import opened
from watchbell.settings import Archive, ArchiveUpload, Secret, Settings
from watchbell.store.client import Store

FIRST = f"{BASE}-00000.warc.gz"


async def uploaded(store: Store, data: Path, chosen: ArchiveUpload) -> FinishedFile:
    here = await ended(store, data)
    async with uploading(store, here, chosen):
        await eventually(lambda: not here.pending())
    (found,) = await history.of_ident(store, SITE)
    return found.files[0]


async def fetched(data: Path, chosen: ArchiveUpload, file: FinishedFile) -> bytes:
    settings = Settings(data=data, archive=Archive(upload=chosen))
    target = data / file.name
    await retrieve(settings, opened(settings.files, data), file, target)
    return target.read_bytes()


async def test_a_file_comes_back_from_files(store: Store, tmp_path: Path) -> None:
    chosen = ArchiveUpload(url="files", keep=False)
    file = await uploaded(store, tmp_path, chosen)
    assert await fetched(tmp_path, ArchiveUpload(), file) == CONTENTS[FIRST]
    (tmp_path / "files" / "archive" / FIRST).unlink()
    with pytest.raises(NotFound, match="no longer there"):
        await fetched(tmp_path, ArchiveUpload(), file)


async def test_a_file_comes_back_from_a_bucket_and_is_checked(store: Store, tmp_path: Path) -> None:
    with s3_server() as address:
        chosen = to_s3(address, keep=False)
        file = await uploaded(store, tmp_path, chosen)
        assert await fetched(tmp_path, chosen, file) == CONTENTS[FIRST]
        with pytest.raises(NotFound, match="was uploaded to s3://"):
            await fetched(tmp_path, ArchiveUpload(), file)
        with pytest.raises(Refused, match="SHA-256 differs"):
            await fetched(tmp_path, chosen, replace(file, sha256="ab" * 32))


async def test_a_file_comes_back_by_rsync(store: Store, tmp_path: Path) -> None:
    with rsync_daemon(tmp_path, "s3cret") as daemon:
        chosen = ArchiveUpload(
            url=daemon.url, allow_local=True, keep=False, secret=Secret("s3cret")
        )
        file = await uploaded(store, tmp_path, chosen)
        assert await fetched(tmp_path, chosen, file) == CONTENTS[FIRST]
        with pytest.raises(NotFound, match="auth failed"):
            await fetched(tmp_path, replace(chosen, secret=Secret("wrong")), file)


async def test_a_file_comes_back_from_the_internet_archive(store: Store, tmp_path: Path) -> None:
    async with item_server() as server:
        chosen = to_items(server, keep=False)
        file = await uploaded(store, tmp_path, chosen)
        assert await fetched(tmp_path, chosen, file) == CONTENTS[FIRST]
        server.items.clear()
        with pytest.raises(NotFound, match="404"):
            await fetched(tmp_path, chosen, file)


@pytest.mark.parametrize(
    "place", ["", "http://a.example.com/x", "a.example.com:x", "rsync://a.example.com/in/x"]
)
async def test_a_place_that_the_settings_do_not_name_is_not_asked(
    tmp_path: Path, place: str
) -> None:
    with pytest.raises(NotFound, match="is not on this machine"):
        await fetched(tmp_path, ArchiveUpload(), FinishedFile(FIRST, 3, place))
