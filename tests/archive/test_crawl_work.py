"""A crawl that is opened again: as it was committed, or as a power failure has left it."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from tests.archive.crawling import SITE
from tests.archive.exchanges import exchange, http, noise
from tests.waiting import PATIENCE
from watchbell.archive.crawl_folder import CrawlFolder, Undertaken
from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.frontier import FoundUrl
from watchbell.archive.model import Crawl
from watchbell.archive.scope import Place
from watchbell.archive.warc import writer as warc_writer
from watchbell.archive.warc.part_file import WarcCut
from watchbell.archive.warc.reader import complete_until
from watchbell.clock import SYSTEM
from watchbell.settings import Archive as Settings

ROOT = "https://www.example.com/"
URLS = [f"{ROOT}{number}" for number in range(3)]


def work(folder: Path, boot: str) -> CrawlWork:
    undertaken = Undertaken(crawl=Crawl(ident=SITE, url=ROOT), base="example.com-inf")
    return CrawlWork(CrawlFolder(folder), undertaken, Settings(), SYSTEM, boot)


async def crawled(folder: Path) -> CrawlWork:
    """All URLs are fetched and committed."""
    one = await work(folder, "first").recovered()
    place = Place(root=ROOT)
    one.add([FoundUrl(url=url, known=url, host="www.example.com", place=place) for url in URLS])
    for number in range(len(URLS)):
        task = one.take(SYSTEM.now())
        assert task
        written = await one.write(exchange(str(number), http(noise(500, number))))
        one.frontier.done(task, written[0].part, written[0].offset)
    one.log("All is fetched.")
    assert await one.commit()
    one.close()
    return one


@pytest.mark.parametrize("lost", ["part", "journal"])
async def test_what_a_power_failure_took_is_fetched_again(tmp_path: Path, lost: str) -> None:
    one = await crawled(tmp_path)
    path = one.writer.path(0).with_suffix(".gz.open") if lost == "part" else one.writer.journal_path
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(WarcCut):
        await work(tmp_path, "first").recovered()
    again = await work(tmp_path, "second").recovered()
    task = again.take(SYSTEM.now())
    assert task
    assert (task.url, again.frontier.waiting) == (URLS[-1], 1)
    ((entries, _),) = again.tally.take()
    assert entries[0].message == "The machine was restarted. URLs that are fetched again: 1."
    again.close()


async def test_a_log_that_lost_its_end_is_not_filled_with_zeros(tmp_path: Path) -> None:
    await crawled(tmp_path)
    log = CrawlFolder(tmp_path).log
    os.truncate(log, log.stat().st_size - 4)
    (await work(tmp_path, "second").recovered()).close()
    assert log.read_text().endswith("All is fetch")


async def test_other_crawls_go_on_while_a_part_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_go_on = threading.Event()

    def checked(path: Path) -> int:
        assert others_go_on.wait(PATIENCE), "the event loop is blocked"
        return complete_until(path)

    monkeypatch.setattr(warc_writer, "complete_until", checked)
    await crawled(tmp_path)
    async with asyncio.TaskGroup() as group:
        opening = group.create_task(work(tmp_path, "second").recovered())
        group.create_task(asyncio.to_thread(others_go_on.set))
    again = opening.result()
    assert again.frontier.waiting == 0
    again.close()
