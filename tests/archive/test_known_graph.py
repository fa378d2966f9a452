"""A site of 5,000 pages with everything that goes wrong on real ones: each URL is fetched once, and
the WARC has the bytes that the server sent."""

from collections import Counter
from pathlib import Path

from msgspec.structs import replace

from tests.archive.crawled import FAST
from tests.archive.crawler import Crawler, working
from tests.archive.rough_site import CALENDAR, RoughSite
from tests.archive.site import served
from tests.archive.warc_gate import gate
from watchbell.archive.fetching.model import Limits
from watchbell.archive.model import Crawl
from watchbell.store.client import Store

PAGES = 5_000


async def test_every_url_is_fetched_once_and_recorded_as_it_was_sent(
    store: Store, tmp_path: Path
) -> None:
    settings = replace(FAST, ignores=frozenset({CALENDAR}), suppress_ignore_reports=False)
    limits = Limits(stall=0.5, stall_size=1)
    async with served(RoughSite(PAGES)) as site, working(store, tmp_path, limits=limits) as crawler:
        crawl = await crawler.crawl(site.start, settings)
        site.released.set()
    wanted = Counter({path: site.times.get(path, 1) for path in site.answers})
    assert site.asked == wanted
    _check_records(site, crawler)
    _check_log(site, crawler)
    _check_counters(site, crawl)
    assert await gate(crawler.warcs(), replays=50) >= 50


def _check_records(site: RoughSite, crawler: Crawler) -> None:
    found = crawler.responses()
    assert set(found) == site.urls
    for path, sent in site.sent.items():
        recorded = found[site.url + path]
        assert len(recorded) == len(sent), path
        for bytes_sent, bytes_found in zip(map(site.response_in, sent), recorded, strict=True):
            whole = bytes_sent[: len(bytes_sent) - site.left_out.get(path, 0)]
            head = whole[: whole.index(b"\r\n\r\n") + 4]
            assert bytes_found in (whole, head), path
    revisits = [record.url for record, _ in crawler.records("revisit")]
    heads = [url for url, (first, *_) in found.items() if first.endswith(b"\r\n\r\n")]
    assert set(revisits) <= set(heads)
    (first,) = found[site.url + "/rough/hidden/cookie"]
    assert b"welcome" in first


def _check_log(site: RoughSite, crawler: Crawler) -> None:
    lines = crawler.log()
    logged = Counter(line.split(" ")[1] for line in lines if line[:3].isdigit())
    assert logged == Counter({site.url + path: count for path, count in site.asked.items()})
    assert f"429 {site.url}/rough/429" in lines
    assert f"ignored {site.url}/rough/calendar?month=10 by {CALENDAR}" in lines
    assert f"200 {site.url}/rough/slow (fewer than 1 bytes within 0.5 s)" in lines
    assert lines[-1] == "The crawl is complete."


def _check_counters(site: RoughSite, crawl: Crawl) -> None:
    statuses = [
        int(site.response_in(sent).split(b" ", 2)[1])
        for every in site.sent.values()
        for sent in every
    ]
    classes = Counter(status // 100 for status in statuses)
    by_class = (crawl.r2xx, crawl.r3xx, crawl.r4xx, crawl.r5xx)
    assert by_class == tuple(classes[number] for number in (2, 3, 4, 5))
    assert crawl.error_count == classes[4] + classes[5]
    assert crawl.items_downloaded == classes[2] + classes[3]
    assert crawl.items_queued == len(site.answers)
    expected = sum(
        len(site.response_in(sent)) - site.left_out.get(path, 0)
        for path, every in site.sent.items()
        for sent in every
    )
    assert crawl.bytes_downloaded == expected
