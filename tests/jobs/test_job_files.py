from pathlib import Path

import pytest

from tests.jobs.logs import files_in, job
from watchbell.errors import NotFound, Refused
from watchbell.files.objects import Files
from watchbell.jobs import agent_files, job_files
from watchbell.jobs.model import JobFile


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return files_in(tmp_path)


@pytest.mark.parametrize(
    ("filename", "safe"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/passwd", "passwd"),
        ("Bericht über März.pdf", "Bericht_ber_M_rz.pdf"),
        (".profile", "profile"),
        ("..", "file"),
        ("", "file"),
        ("a/", "file"),
        ("x" * 400 + ".txt", "x" * 96 + ".txt"),
    ],
)
def test_a_name_becomes_safe(filename: str, safe: str) -> None:
    assert job_files.safe_name(filename) == safe


def test_a_file_is_found_by_its_id() -> None:
    file = JobFile(id="f1", filename="a", path="jobs/j1/a", size=1, job="j1", server="s1")
    assert job_files.find(job(files=(file,)), "f1") == file
    with pytest.raises(NotFound):
        job_files.find(job(), "f1")


async def test_deleting_a_job_deletes_all_its_files(files: Files) -> None:
    await files.put(agent_files.path_of("j1", "report.csv"), b"1")
    await files.put("jobs/j1/log.gz", b"log")
    await files.put("jobs/j10/log.gz", b"another job")
    await job_files.delete_all(files, "j1")
    assert [one.name async for one in files.list("jobs")] == ["jobs/j10/log.gz"]


@pytest.mark.parametrize("spoiled", ["", "..", "a/b", "x" * 65, "ä"])
async def test_an_id_can_not_lead_elsewhere(files: Files, spoiled: str) -> None:
    with pytest.raises(Refused):
        await job_files.delete_all(files, spoiled)
