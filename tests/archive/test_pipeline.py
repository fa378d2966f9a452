"""A pipeline crawls a website of known pages, and its WARC has what the server sent."""

import asyncio
import os
import sqlite3
import threading
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.archive.crawled import add, is_over, record_types, responses, warcs
from tests.archive.crawling import OWN
from tests.archive.site import Site, served
from tests.archive.warc_gate import gate
from tests.waiting import PATIENCE, eventually
from watchbell.archive import crawl_log, crawls, finishing, history, queues, visits
from watchbell.archive.extraction import documents
from watchbell.archive.extraction.links import Link
from watchbell.archive.model import CrawlOptions, CrawlSettings, Ownership
from watchbell.archive.pipeline import Pipeline
from watchbell.clock import SYSTEM
from watchbell.files import objects
from watchbell.files.objects import Files
from watchbell.settings import Archive as Settings
from watchbell.settings import ArchiveUpload
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return objects.opened(FilesSettings(), tmp_path)


@asynccontextmanager
async def pipeline(store: Store, data: Path, files: Files) -> AsyncIterator[Pipeline]:
    settings = Settings(allow_private=True, nickname="p1", reserve=0)
    one = Pipeline(store, settings, data, files, SYSTEM, lambda _: None)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(one.run())
        yield one
        task.cancel()


async def test_everything_is_fetched_once(store: Store, tmp_path: Path, files: Files) -> None:
    async with served(Site(300)) as site, pipeline(store, tmp_path, files):
        ident = await add(store, site.start)
        await eventually(lambda: is_over(store, ident))
        working = tmp_path / "archive" / "crawls"
        await eventually(lambda: not list(working.iterdir()), why="the folder of the crawl is gone")
        crawl = await crawls.get(store, ident)
    finished = tmp_path / "archive" / "finished"
    found = responses(finished)
    assert set(found) == site.urls
    assert set(site.asked.values()) == {1}
    for path, (sent,) in site.sent.items():
        (recorded,) = found[site.url + path]
        assert recorded in (sent, sent[: sent.index(b"\r\n\r\n") + 4])
    assert crawl
    by_class = (crawl.r2xx, crawl.r3xx, crawl.r4xx, crawl.r5xx, crawl.error_count)
    assert by_class == (len(found) - 6, 3, 3, 0, 3)
    assert (crawl.items_downloaded, crawl.items_queued) == (len(found) - 3, len(found))
    assert crawl.bytes_downloaded == sum(len(sent) for (sent,) in site.sent.values())
    await gate(warcs(finished))


async def test_a_second_crawl_refers_to_what_the_first_has_and_is_packed(
    store: Store, tmp_path: Path, files: Files
) -> None:
    options = CrawlOptions(dedups_before=True, makes_wacz=True)
    async with served(Site(10)) as site, pipeline(store, tmp_path, files):
        first = await add(store, site.start)
        await eventually(lambda: is_over(store, first))
        await finishing.expire(store, first)
        second = await add(store, site.start, options=options)
        await eventually(lambda: is_over(store, second))
    finished = tmp_path / "archive" / "finished"
    kinds = Counter(record_types(finished))
    assert kinds["revisit"] >= 10, "pages that are long enough are not stored again"
    (packed,) = finished.glob("*.wacz")
    assert zipfile.is_zipfile(packed)
    assert len(list(finished.glob("*.json"))) == 2, "no file has replaced another"


async def test_earlier_pages_and_damaged_indexes_are_taken_into_account(
    store: Store, tmp_path: Path, files: Files
) -> None:
    finished = tmp_path / "archive" / "finished"
    options = CrawlOptions(dedups_before=True)
    async with served(Site(3, odd=False)) as site, pipeline(store, tmp_path, files):
        first = await add(store, f"{site.url}/p/1", fetch_depth="shallow")
        await eventually(lambda: is_over(store, first))
        (index,) = finished.glob("*.cdxj")
        index.write_bytes(b"no line\n{\n\xff {}\n" + index.read_bytes())
        second = await add(store, site.start, options=options)
        await eventually(lambda: is_over(store, second))
        crawl = await crawls.get(store, second)
    assert crawl
    assert not crawl.failed
    assert Counter(record_types(finished))["revisit"] == 1
    await gate(sorted(warcs(finished), key=lambda path: "inf" in path.name))


async def test_other_crawls_go_on_while_the_indexes_of_earlier_ones_are_read(
    store: Store, tmp_path: Path, files: Files
) -> None:
    finished = tmp_path / "archive" / "finished"
    finished.mkdir(parents=True)
    index = finished / "127.0.0.1-inf-20260101-000000-abcde.cdxj"
    os.mkfifo(index)
    may_be_read, was_late = threading.Event(), threading.Event()

    def write() -> None:
        if not may_be_read.wait(PATIENCE):
            was_late.set()
        index.open("wb").close()

    writer = threading.Thread(target=write)
    writer.start()
    async with served(Site(3, odd=False)) as site, pipeline(store, tmp_path, files):
        options = CrawlOptions(dedups_before=True)
        reading = await add(store, site.start, options=options)
        await eventually(lambda: is_at_work(store, reading))
        other = await add(store, f"{site.url}/p/1")
        await eventually(lambda: is_over(store, other))
        assert not await is_over(store, reading)
        may_be_read.set()
        await eventually(lambda: is_over(store, reading))
    await asyncio.to_thread(writer.join)
    assert not was_late.is_set()


async def is_at_work(store: Store, ident: str) -> bool:
    return [one.ident for one in await crawls.at_work(store)] == [ident]


async def test_finished_files_are_uploaded_before_a_pipeline_ends(
    store: Store, tmp_path: Path, files: Files
) -> None:
    upload = ArchiveUpload(url="files", keep=False)
    settings = Settings(allow_private=True, nickname="p1", reserve=0, upload=upload)
    one = Pipeline(store, settings, tmp_path, files, SYSTEM, lambda _: None)
    async with served(Site(5, odd=False)) as site, asyncio.TaskGroup() as group:
        running = group.create_task(one.run())
        ident = await add(store, site.start)
        await eventually(lambda: is_over(store, ident))
        one.stop()
        await running
    (past,) = await history.of_ident(store, ident)
    assert len(past.files) == 4
    assert [file.place for file in past.files] == [f"files:archive/{f.name}" for f in past.files]
    assert set(responses(tmp_path / "files" / "archive")) == site.urls
    left = {path.suffix for path in (tmp_path / "archive" / "finished").iterdir()}
    assert left == {".cdxj", ".json"}
    assert not list((tmp_path / "archive" / "uploads").iterdir())


async def test_a_pipeline_that_is_stopped_while_it_takes_a_crawl_gives_it_back(
    store: Store, tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = queues.reserve

    async def reserved(*args: Any, **more: Any) -> Ownership | None:
        one.stop()
        return await reserve(*args, **more)

    monkeypatch.setattr(queues, "reserve", reserved)
    ident = await add(store, "https://example.com/")
    one = Pipeline(store, Settings(nickname="p1"), tmp_path, files, SYSTEM, lambda _: None)
    await one.run()
    assert (await queues.pending(store))["pending"] == [ident]
    (line,) = await crawl_log.recent(store, ident)
    assert b"back in the queue, since its pipeline is stopping" in line


async def test_a_page_that_breaks_the_parser_is_recorded_and_the_crawl_goes_on(
    store: Store, tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(body: bytes, content_type: str, url: str) -> list[Link]:
        if url.endswith("/p/3"):
            raise RecursionError("too deep")
        return documents.extract(body, content_type, url)

    monkeypatch.setattr(visits, "extract", broken)
    async with served(Site(20, odd=False)) as site, pipeline(store, tmp_path, files):
        ident = await add(store, site.start)
        await eventually(lambda: is_over(store, ident))
        lines = [line.decode() for line in await crawl_log.recent(store, ident)]
    assert any("/p/3 can't be read: too deep" in line for line in lines)
    found = responses(tmp_path / "archive" / "finished")
    assert f"{site.url}/p/3" in found
    assert len(found) >= 20, "others link to the rest"


def overwrite(folder: Path) -> None:
    for path in folder.glob("frontier.db*"):
        path.write_bytes(b"this is no database" * 1_000)


def spoil_facts(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "frontier.db")) as frontier, frontier:
        frontier.execute("UPDATE facts SET value = x'c1'")


async def begun(store: Store, data: Path, files: Files, site: Site) -> tuple[str, Path]:
    """A crawl that a pipeline had when it ended, and its folder."""
    hold = site.gated().gate
    assert hold
    async with pipeline(store, data, files):
        ident = await add(store, site.start)
        await eventually(lambda: site.asked)
    hold.set()
    return ident, data / "archive" / "crawls" / ident


@pytest.mark.parametrize("damage", [overwrite, spoil_facts])
async def test_a_crawl_whose_folder_is_damaged_fails_alone(
    store: Store, tmp_path: Path, files: Files, damage: Callable[[Path], None]
) -> None:
    async with served(Site(5, odd=False)) as site:
        ident, folder = await begun(store, tmp_path, files, site)
        damage(folder)
        async with pipeline(store, tmp_path, files):
            await eventually(lambda: is_over(store, ident))
            other = await add(store, f"{site.url}/p/0")
            await eventually(lambda: is_over(store, other))
    (kept,) = (tmp_path / "archive" / "damaged").iterdir()
    assert kept.name.startswith(ident)


async def test_a_crawl_that_failed_is_in_trouble_while_its_files_cannot_be_kept(
    store: Store, tmp_path: Path, files: Files
) -> None:
    async def trouble() -> str:
        return (await store.call("HGET", OWN.crawl(ident), "trouble") or b"").decode()

    in_the_way = tmp_path / "archive" / "damaged"
    async with served(Site(5, odd=False)) as site:
        ident, folder = await begun(store, tmp_path, files, site)
        spoil_facts(folder)
        in_the_way.write_text("a file")
        async with pipeline(store, tmp_path, files):
            reason = await eventually(trouble)
            assert reason.startswith("The pipeline failed: DecodeError: ")
            assert "; the pipeline can't keep its files: " in reason
            in_the_way.unlink()
            await eventually(lambda: is_over(store, ident))
    (past,) = await history.of_ident(store, ident)
    assert past.state == "failed"


async def test_what_was_fetched_of_a_crawl_that_was_returned_is_kept(
    store: Store, tmp_path: Path, files: Files
) -> None:
    """The pipeline that has it takes it again, from the beginning."""
    async with served(Site(40, odd=False)) as site:
        async with pipeline(store, tmp_path, files):
            ident = await add(store, site.start, CrawlSettings(age=4, delay_min=50, delay_max=50))
            await eventually(lambda: _has_responses(store, ident))
        crawl = await crawls.get(store, ident)
        assert crawl
        held = await queues.resume(store, ident, crawl.pipeline_id, "p1", lease=30)
        assert held
        assert await queues.release(store, held, "its pipeline is gone", SYSTEM.now())
        async with pipeline(store, tmp_path, files):
            await eventually(lambda: is_over(store, ident))
    finished = tmp_path / "archive" / "finished"
    names = [path.name for path in warcs(finished)]
    kept = [name for name in names if "-interrupted-00000" in name]
    assert (len(kept), len(names)) == (1, 4), "two files of each attempt"
    assert set(responses(finished)) == site.urls


async def _has_responses(store: Store, ident: str) -> bool:
    crawl = await crawls.get(store, ident)
    return crawl is not None and crawl.items_downloaded > 5
