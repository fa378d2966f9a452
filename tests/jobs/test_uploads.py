"""Files that people upload as input of jobs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.jobs.logs import files_in
from watchbell.actors import Actor, signed_in, with_key
from watchbell.jobs import uploads

NOW = 1_794_732_937.0
DAY = 86_400
ALICE, BOB = signed_in("alice@example.com", "operator"), signed_in("bob", "operator")
KEY = with_key(signed_in("", "administrator"), "0123456789ab", ())


async def _content(text: bytes) -> AsyncIterator[bytes]:
    yield text


@pytest.mark.parametrize("who", [ALICE, BOB, KEY])
async def test_an_upload_belongs_to_whoever_sent_it(tmp_path: Path, who: Actor) -> None:
    files = files_in(tmp_path)
    made = await uploads.store(files, "../my input.csv", _content(b"a,b\n"), who, NOW)
    assert (made.filename, made.size) == ("my_input.csv", 4)
    assert await files.get(made.path) == b"a,b\n"
    assert [one for one in (ALICE, BOB, KEY) if uploads.is_of(made.path, one)] == [who]


@pytest.mark.parametrize(
    "path",
    [
        "uploads/2026-11-15/bob/f1/../../alice/f1/a",
        "uploads/2026-11-15/bob/f1",
        "jobs/j1/files/f1/a",
        "uploads/bob/f1/a",
        "",
    ],
)
def test_other_paths_are_nobodys_upload(path: str) -> None:
    assert not uploads.is_of(path, BOB)


async def test_old_uploads_expire(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    old = await uploads.store(files, "old", _content(b"1"), ALICE, NOW - 31 * DAY)
    new = await uploads.store(files, "new", _content(b"2"), ALICE, NOW - 29 * DAY)
    await files.put("uploads/unknown", b"3")
    assert await uploads.expire(files, NOW, 30) == 1
    assert await files.find(old.path) is None
    assert await files.find(new.path) is not None
    assert await files.find("uploads/unknown") is not None
    assert await uploads.expire(files, NOW, 30) == 0
