"""Uploads that are killed at every step: each file arrives whole and once, and nothing is lost."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.archive.upload_servers import (
    get_object,
    item_server,
    rsync_daemon,
    s3_server,
    to_items,
    to_s3,
)
from tests.archive.uploaded import BASE, CONTENTS, LARGE, Ended, ended, places
from watchbell.settings import ArchiveUpload, Secret
from watchbell.store.client import Store

CRAWL = {**CONTENTS, f"{BASE}-00000.warc.gz": LARGE}
LEFT = {f"{BASE}.cdxj", f"{BASE}.json"}
STEPS = [
    *("upload.sending", "upload.sending:3", "upload.sent", "upload.sent:5"),
    *("upload.verified:2", "upload.verified:5", "upload.recorded"),
    *("upload.removed", "upload.removed:3"),
]
Arrived = Callable[[], dict[str, bytes]]


def worker(store: Store, here: Ended, chosen: ArchiveUpload, *fault: str) -> int:
    settings = msgspec.json.encode(chosen, enc_hook=lambda secret: secret.reference).decode()
    module = [sys.executable, "-m", "tests.archive.upload_worker", store.url.redacted()]
    return subprocess.run([*module, str(here.data), settings, *fault], check=False).returncode


@asynccontextmanager
async def destination(kind: str, folder: Path) -> AsyncIterator[tuple[ArchiveUpload, Arrived]]:
    """With what has arrived there."""
    if kind == "s3":
        with s3_server() as address:
            yield (
                to_s3(address, keep=False),
                lambda: {name: get_object(address, name) for name in CRAWL},
            )
    elif kind == "rsync":
        with rsync_daemon(folder, "s3cret") as daemon:
            place = daemon.module / "warcs"
            yield (
                ArchiveUpload(
                    url=daemon.url, allow_local=True, keep=False, secret=Secret("s3cret")
                ),
                lambda: {path.name: path.read_bytes() for path in place.glob("*")},
            )
    elif kind == "items":
        async with item_server() as server:
            yield (
                to_items(server, keep=False),
                lambda: {n: c for files in server.items.values() for n, c in files.items()},
            )
            assert len(server.puts) <= len(CRAWL), "nothing is sent twice"
    else:
        place = folder / "files" / "archive"
        yield (
            ArchiveUpload(url="files", keep=False),
            lambda: {path.name: path.read_bytes() for path in place.glob("*")},
        )


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        *[("files", step) for step in STEPS],
        *[(kind, step) for kind in ("s3", "rsync", "items") for step in STEPS[2:5]],
    ],
)
async def test_an_upload_that_was_killed_is_resumed(
    store: Store, tmp_path: Path, kind: str, step: str
) -> None:
    here = await ended(store, tmp_path, CRAWL)
    async with destination(kind, tmp_path) as (chosen, arrived):
        died = await asyncio.to_thread(worker, store, here, chosen, step)
        assert died == -signal.SIGKILL
        if not step.startswith("upload.removed"):
            assert here.local() == set(CRAWL)
        assert await asyncio.to_thread(worker, store, here, chosen) == 0
        assert arrived() == CRAWL
    assert here.local() == LEFT
    assert here.pending() == []
    assert all((await places(store)).values())


@pytest.mark.parametrize("kind", ["files", "s3"])
async def test_an_upload_that_was_killed_within_a_file_begins_that_again(
    store: Store, tmp_path: Path, kind: str
) -> None:
    here = await ended(store, tmp_path, CRAWL)
    async with destination(kind, tmp_path) as (chosen, arrived):
        died = await asyncio.to_thread(worker, store, here, chosen, "upload.piece:12")
        assert died == -signal.SIGKILL
        assert here.local() == set(CRAWL)
        assert await asyncio.to_thread(worker, store, here, chosen) == 0
        found = arrived()
        assert {name: found[name] for name in CRAWL} == CRAWL
    assert here.local() == LEFT
