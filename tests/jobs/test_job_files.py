from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.jobs.logs import NOW, files_in, job
from watchbell.errors import NotFound, Refused
from watchbell.files.objects import Files
from watchbell.jobs import job_files
from watchbell.jobs.model import JobFile


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return files_in(tmp_path)


async def pieces(*texts: bytes) -> AsyncIterator[bytes]:
    for text in texts:
        yield text


async def add(files: Files, filename: str, *texts: bytes, most: int = 100) -> JobFile:
    content = pieces(*texts)
    return await job_files.add(
        files, "j1", "f1", filename, content, server="s1", now=NOW, most=most
    )


@pytest.mark.parametrize(
    ("filename", "last"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/passwd", "passwd"),
        ("Bericht über März.pdf", "Bericht_ber_M_rz.pdf"),
        ("..", "file"),
        ("", "file"),
        ("a/", "file"),
        ("x" * 400 + ".txt", "x" * 146 + ".txt"),
    ],
)
async def test_a_file_is_stored_under_a_safe_name(files: Files, filename: str, last: str) -> None:
    file = await add(files, filename, b"one", b"two")
    assert file.path == f"jobs/j1/files/f1/{last}"
    assert (file.filename, file.size, file.job, file.server) == (filename[:150], 6, "j1", "s1")
    assert await files.get(file.path) == b"onetwo"


async def test_a_file_that_is_too_large_is_refused_and_not_stored(files: Files) -> None:
    with pytest.raises(Refused, match="has more than 10 bytes"):
        await add(files, "big", b"x" * 6, b"x" * 6, most=10)
    assert [one.name async for one in files.list("jobs")] == []


async def test_a_file_is_found_by_its_id(files: Files) -> None:
    file = await add(files, "a", b"1")
    assert job_files.find(job(files=(file,)), "f1") == file
    with pytest.raises(NotFound):
        job_files.find(job(), "f1")


async def test_deleting_a_job_deletes_all_its_files(files: Files) -> None:
    await add(files, "a", b"1")
    await files.put("jobs/j1/log.gz", b"log")
    await files.put("jobs/j10/log.gz", b"another job")
    await job_files.delete_all(files, "j1")
    assert [one.name async for one in files.list("jobs")] == ["jobs/j10/log.gz"]


@pytest.mark.parametrize("spoiled", ["", "..", "a/b", "x" * 65, "ä"])
async def test_an_id_can_not_lead_elsewhere(files: Files, spoiled: str) -> None:
    with pytest.raises(Refused):
        await job_files.delete_all(files, spoiled)
