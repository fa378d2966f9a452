"""The finished files of crawls are listed and downloaded, whole and in parts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.crawling import NOW, SITE, running
from tests.web.site import Site, chosen, serving_services
from watchbell.archive import finishing, history
from watchbell.archive.model import Ending, FinishedFile
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.settings import ArchiveUpload
from watchbell.store.client import Store
from watchbell.web.app import open_services
from watchbell.web.byte_ranges import ByteRange, wanted

FILES = f"/api/v1/archive/crawls/{SITE}/files"
NAME = "example.com-inf-20261116-120000-43z7a.warc.gz"
CONTENT = bytes(range(256)) * 2_000


@pytest.fixture
async def finished(store: Store, tmp_path: Path) -> AsyncIterator[tuple[Site, Path]]:
    """A site with a crawl that has two files, and the folder for them."""
    owned = await running(store)
    files = (FinishedFile(NAME, len(CONTENT)), FinishedFile("elsewhere.warc.gz", 7))
    ending = Ending(finished_at=NOW + 600, files=files, warc_size=len(CONTENT))
    await finishing.finish(store, owned, ending)
    plain = chosen()
    upload = ArchiveUpload(url=f"file://{tmp_path}/bucket")
    archive = replace(plain.archive, finished=str(tmp_path / "finished"), upload=upload)
    settings = replace(plain, data=tmp_path, archive=archive)
    (tmp_path / "finished").mkdir()
    async with serving_services(await open_services(settings, store, SYSTEM)) as site:
        yield site, tmp_path / "finished"


async def test_files_are_listed_and_downloaded(finished: tuple[Site, Path]) -> None:
    site, folder = finished
    (folder / NAME).write_bytes(CONTENT)
    (folder / "secret").write_bytes(b"x")
    async with site.program("read") as program:
        listed = (await program.get(FILES)).json()["items"]
        assert [(one["name"], one["size"], one["is_here"]) for one in listed] == [
            (NAME, len(CONTENT), True),
            ("elsewhere.warc.gz", 7, False),
        ]
        assert [one["ended_at"] for one in listed] == [NOW + 600] * 2
        answer = await program.get(listed[0]["url"])
        assert (answer.status, answer.body) == (200, CONTENT)
        assert answer.headers["Content-Length"] == str(len(CONTENT))
        assert answer.headers["Content-Disposition"].startswith("attachment")
        for part, body in (
            ("bytes=0-9", CONTENT[:10]),
            ("bytes=300000-", CONTENT[300_000:]),
            ("bytes=-5", CONTENT[-5:]),
        ):
            answer = await program.get(listed[0]["url"], headers={"Range": part})
            assert (answer.status, answer.body) == (206, body)
        answer = await program.get(listed[0]["url"], headers={"Range": "bytes=999999-"})
        assert (answer.status, answer.headers["Content-Range"]) == (416, f"bytes */{len(CONTENT)}")
        for name in ("secret", "..%2Fsecret", "elsewhere.warc.gz", "%2Fetc%2Fpasswd"):
            assert (await program.get(f"{FILES}/{name}")).status in (400, 404), name
    async with site.stranger() as nobody:
        assert (await nobody.get(f"{FILES}/{NAME}")).status == 401


@pytest.mark.parametrize("where", ["files", "bucket"])
async def test_a_file_that_was_uploaded_is_read_from_there(
    finished: tuple[Site, Path], store: Store, where: str
) -> None:
    site, folder = finished
    data = folder.parent
    place = f"files:archive/{NAME}" if where == "files" else f"file://{data}/bucket/{NAME}"
    if where == "files":
        await objects.opened(site.services.settings.files, data).put(f"archive/{NAME}", CONTENT)
    else:
        (data / "bucket").mkdir()
        (data / "bucket" / NAME).write_bytes(CONTENT)
    uploaded = FinishedFile(NAME, len(CONTENT), place, "ab" * 32)
    assert await history.set_places(store, SITE, NOW, [uploaded])
    async with site.program("read") as program:
        shown, elsewhere = (await program.get(FILES)).json()["items"]
        assert (shown["is_here"], shown["place"], shown["sha256"]) == (True, place, "ab" * 32)
        assert (elsewhere["is_here"], elsewhere["place"]) == (False, "")
        answer = await program.get(f"{FILES}/{NAME}", headers={"Range": "bytes=255-600"})
        assert (answer.status, answer.body) == (206, CONTENT[255:601])
        assert (await program.get(f"{FILES}/{NAME}")).body == CONTENT


async def test_a_file_that_was_uploaded_elsewhere_is_not_read(
    finished: tuple[Site, Path], store: Store
) -> None:
    """The place comes from the store, which must not make us read what it likes."""
    site, folder = finished
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / NAME).write_bytes(CONTENT)
    for place in (
        *("https://archive.org/download/x/y", "s3://other/x", "rsync://a.example.com/in/x"),
        *(f"file://{folder.parent}/other/{NAME}", "files:archive/x", "files:/etc/passwd"),
        f"file://{folder.parent}/bucket/../other/{NAME}",
    ):
        uploaded = FinishedFile(NAME, len(CONTENT), place, "ab" * 32)
        assert await history.set_places(store, SITE, NOW, [uploaded])
        async with site.program("read") as program:
            assert (await program.get(f"{FILES}/{NAME}")).status == 404, place


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", None),
        ("bytes=0-0", ByteRange(0, 1)),
        ("bytes=5-", ByteRange(5, 10)),
        ("bytes=5-99", ByteRange(5, 10)),
        ("bytes=-3", ByteRange(7, 10)),
        ("bytes=-99", ByteRange(0, 10)),
        ("bytes=5-3", None),
        ("bytes=-", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
    ],
)
def test_a_range_is_understood(header: str, expected: ByteRange | None) -> None:
    assert wanted(header, 10) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=-0"])
def test_a_range_beyond_the_file_is_refused(header: str) -> None:
    with pytest.raises(ValueError, match="10 bytes"):
        wanted(header, 10)
