"""Files in a folder and in an object store: whole or not at all, by ranges, and clear errors."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.files.conftest import s3
from watchbell.errors import BadSettings, FilesUnavailable, NotFound, Refused
from watchbell.files.objects import Files, opened
from watchbell.settings import Files as Settings

LARGE = bytes(range(256)) * (80 << 10)  # 20 MiB: an upload in three parts


async def names(files: Files, folder: str = "") -> list[str]:
    return sorted([one.name async for one in files.list(folder)])


async def in_chunks(content: bytes, size: int = 1 << 20) -> AsyncIterator[bytes]:
    for first in range(0, len(content), size):
        yield content[first : first + size]


async def test_what_is_put_is_got(files: Files) -> None:
    assert await files.put("logs/j1/output.log", b"hello\n") == 6
    assert await files.get("logs/j1/output.log") == b"hello\n"
    found = await files.find("logs/j1/output.log")
    assert found is not None
    assert (found.name, found.size) == ("logs/j1/output.log", 6)
    assert found.modified > 1_700_000_000


async def test_an_empty_file_is_a_file(files: Files) -> None:
    assert await files.put("empty", b"") == 0
    assert await files.get("empty") == b""
    assert await files.read("empty", 0, 10) == b""


async def test_a_stream_and_a_file_on_disk_can_be_put(files: Files, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(LARGE)
    assert await files.put("from-disk", tmp_path / "large") == len(LARGE)
    assert await files.put("from-stream", in_chunks(LARGE)) == len(LARGE)
    assert await files.get("from-disk") == LARGE
    assert b"".join([chunk async for chunk in files.stream("from-stream")]) == LARGE


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    [(0, 4, b"0123"), (8, 4, b"89"), (3, 1, b"3"), (10, 5, b""), (99, 5, b""), (2, 0, b"")],
)
async def test_a_range_ends_where_the_file_does(
    files: Files, start: int, length: int, expected: bytes
) -> None:
    await files.put("digits", b"0123456789")
    assert await files.read("digits", start, length) == expected


async def test_a_later_file_replaces_the_one_before(files: Files) -> None:
    await files.put("a", b"first, and longer")
    await files.put("a", b"second")
    assert await files.get("a") == b"second"


async def test_a_file_that_was_not_put_to_its_end_does_not_appear(files: Files) -> None:
    await files.put("a", b"before")

    async def broken() -> AsyncIterator[bytes]:
        yield LARGE
        raise asyncio.CancelledError

    for name in ("a", "b"):
        with pytest.raises(asyncio.CancelledError):
            await files.put(name, broken())
    assert await files.get("a") == b"before"
    assert await files.find("b") is None
    assert await names(files) == ["a"]


async def test_files_are_listed_by_folder(files: Files) -> None:
    for name in ("x/1", "x/y/2", "xx/3", "4"):
        await files.put(name, b".")
    assert await names(files) == ["4", "x/1", "x/y/2", "xx/3"]
    assert await names(files, "x") == ["x/1", "x/y/2"]
    assert await names(files, "nothing") == []


async def test_a_deleted_file_is_gone_and_may_be_deleted_again(files: Files) -> None:
    await files.put("a", b".")
    await files.delete(["a", "b"])
    await files.delete(["a"])
    assert await files.find("a") is None


async def test_a_missing_file_is_named(files: Files) -> None:
    for reading in (files.get("no/such"), files.read("no/such", 0, 1)):
        with pytest.raises(NotFound, match="'no/such'"):
            await reading
    with pytest.raises(NotFound):
        [chunk async for chunk in files.stream("no/such")]


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../up", "a/../b", "a//b", "a/", ".", "a/.", "a\0b", "ü", "a b", "a" * 901],
)
async def test_a_name_never_leaves_the_place(files: Files, name: str) -> None:
    with pytest.raises(Refused, match="can't be the name of a file"):
        await files.put(name, b".")


async def test_a_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    await opened(Settings(), tmp_path).put("a/b", b".")
    assert (tmp_path / "files").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "files" / "a" / "b").read_bytes() == b"."


async def test_a_folder_can_be_named_by_url(tmp_path: Path) -> None:
    files = opened(Settings(url=f"file://{tmp_path}/elsewhere"), tmp_path)
    await files.put("a", b".")
    assert (tmp_path / "elsewhere" / "a").exists()


def test_a_url_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"files\.url, gopher://x"):
        opened(Settings(url="gopher://x"), tmp_path)


async def test_a_bucket_that_is_not_there_is_reported(endpoint: str, tmp_path: Path) -> None:
    settings = Settings(
        url="s3://no-such-bucket",
        endpoint=endpoint,
        region="us-east-1",
        access_key_id="key",
        secret_access_key=s3(endpoint, "").secret_access_key,
    )
    with pytest.raises((FilesUnavailable, NotFound)):
        await opened(settings, tmp_path).put("a", b".")


async def test_two_writers_of_one_name_leave_one_whole_file(files: Files) -> None:
    contents = [bytes([number]) * (9 << 20) for number in range(2)]
    async with asyncio.TaskGroup() as group:
        for content in contents:
            group.create_task(files.put("a", in_chunks(content)))
    assert await files.get("a") in contents
