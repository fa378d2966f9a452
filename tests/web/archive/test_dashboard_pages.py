"""The dashboard over HTTP: what each path has, for programs and for people."""

import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession

from tests.archive.crawling import (
    KEYS,
    NOW,
    OTHER,
    OWN,
    PIPELINE,
    SITE,
    added,
    append,
    ident_of,
    running,
    taken,
)
from tests.web.archive.dashboards import Dashboard, served
from watchbell.archive import finishing, log_draining, pipelines
from watchbell.archive.model import CrawlSettings, Ending, Pipeline
from watchbell.archive.pipelines import Capacity
from watchbell.clock import SetClock
from watchbell.store.client import Store
from watchbell.web.archive.dashboard import texts

PAGE: dict[str, Any] = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
LINK = "http://127.0.0.1:0/archive"


class Asking:
    def __init__(self, dashboard: Dashboard, http: ClientSession) -> None:
        self._dashboard, self._http = dashboard, http

    async def get(self, path: str, status: int = 200, **headers: Any) -> str:
        text, _ = await self.answer(path, status, **headers)
        return text

    async def answer(self, path: str, status: int = 200, **headers: Any) -> tuple[str, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._http.get(self._dashboard.url + path, headers=named) as answer:
            text = await answer.text()
            assert answer.status == status, text
            return text, answer.headers

    async def json(self, path: str, **headers: Any) -> Any:
        return msgspec.json.decode(await self.get(path, **headers))


@pytest.fixture
async def asking(store: Store) -> AsyncIterator[Asking]:
    async with (
        served(store, SetClock(NOW + 100)) as dashboard,
        ClientSession(skip_auto_headers=["Accept"]) as http,
    ):
        yield Asking(dashboard, http)


@pytest.mark.parametrize("path", ["/", "/beta", "/3"])
async def test_the_page_names_all_paths_and_leads_to_the_product(asking: Asking, path: str) -> None:
    text, headers = await asking.answer(path)
    assert f'href="{LINK}"' in text
    assert 'href="/logs/recent"' in text
    assert 'href="/stream"' not in text
    assert "</body>" in text  # by which upstream's health check knows that it is well
    assert "'sha256-" in headers["content-security-policy"]


async def test_the_newest_entries_of_running_crawls_have_typed_records(
    asking: Asking, store: Store
) -> None:
    owned = await running(store, url="https://alice:secret@example.com/")
    await append(store, owned, 1, *[200] * 20, 404)
    await log_draining.drain(store, SITE, quiet=0)
    await append(store, owned, 2, 500)
    await added(store, ident_of(2))
    found = await asking.json("/logs/recent?cb=17936&count=2")
    assert [one["response_code"] for one in found] == [404, 500]
    job = found[0]["job_data"]
    assert job == found[1]["job_data"]
    assert (job["ident"], found[0]["ident"]) == (SITE, SITE)
    assert (job["url"], job["depth"], job["finished"]) == ("https://***@example.com/", "inf", False)
    assert (job["r2xx"], job["r4xx"], job["r5xx"], job["error_count"]) == (20, 1, 0, 1)
    assert (job["queued_at"], job["started_at"]) == (int(NOW), int(NOW + 1))
    assert len(await asking.json("/logs/recent")) == 10
    assert len(await asking.json(f"/logs/recent?count={'9' * 5_000}")) == 10


@pytest.mark.parametrize("count", ["0", "-1", "x", "1.5", "", "%C2%B2"])
async def test_a_count_that_makes_no_sense_is_refused(asking: Asking, count: str) -> None:
    assert "expected 1 to 10" in await asking.get(f"/logs/recent?count={count}", 400)


async def test_what_other_programs_have_put_in_a_log_is_left_out(
    asking: Asking, store: Store
) -> None:
    await running(store)
    await store.call("LPUSH", OWN.recent(SITE), b"\xff{", "[1]", "no JSON", '{"type": "stdout"}')
    found = await asking.json("/logs/recent")
    assert [one["type"] for one in found] == ["stdout"]


async def test_a_damaged_list_of_running_crawls_counts_as_empty(
    asking: Asking, store: Store
) -> None:
    await store.call("SET", KEYS.working(), "x")
    assert await asking.json("/logs/recent") == []
    assert (await asking.json("/status"))["working"] == 0
    await store.call("DEL", KEYS.working())


async def test_ignores_are_listed_by_pattern(asking: Asking, store: Store) -> None:
    one, other = ident_of(1), ident_of(2)
    await added(store, one, settings=CrawlSettings(ignores=frozenset({"b", "c"})))
    await added(store, other, settings=CrawlSettings(ignores=frozenset({"a", "c"})))
    text, headers = await asking.answer(f"/ignores/{one},{other}")
    assert text == f"{other}\ta\n{one}\tb\n{one}\tc\n{other}\tc"
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert await asking.get(f"/ignores/{one}?compact=true") == (
        f"Ignore sets for job {one}:\n\nManual ignores for job {one}:\n  b\n  c"
    )


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/ignores/" + "x" * 25, 404, "there is no crawl"),
        ("/ignores/A%20B", 400, "is no ident"),
        ("/ignores/,a", 400, "is no ident"),
        ("/ignores/a,b?compact=true", 400, "at most 1"),
        ("/ignores/" + ",".join(map(str, range(51))), 400, "at most 50"),
        ("/ignores/", 404, ""),
        ("/other", 404, ""),
        ("/stream", 426, "this is a WebSocket"),
    ],
)
async def test_bad_requests_get_a_reason(
    asking: Asking, path: str, status: int, reason: str
) -> None:
    assert reason in await asking.get(path, status)


SETS = {"global": ["a", "b"], "blogs": ["b", "c", "d"], "shops": ["a", "s"]}


@pytest.mark.parametrize(
    ("patterns", "lines"),
    [
        ("ab", ["  global"]),
        ("a", ["  global, excluding:", "    b"]),
        ("abc", ["  global", "  blogs, excluding:", "    d"]),
        ("abcdz", ["  global", "  blogs", "", "Manual ignores for job x:", "  z"]),
        ("z", ["", "Manual ignores for job x:", "  z"]),
        ("", []),
    ],
)
def test_compact_ignores_name_sets(patterns: str, lines: list[str]) -> None:
    shown = texts.compact_ignores("x", frozenset(patterns), SETS)
    assert shown.splitlines() == ["Ignore sets for job x:", *lines]


async def report(store: Store, pipeline: str = PIPELINE, nickname: str = "alice") -> None:
    record = Pipeline(
        id=pipeline,
        nickname=nickname,
        hostname="secret-host",
        fqdn="secret-host.example.com",
        pid=17,
        version="1.0",
        python="3.11",
        ts=NOW,
        disk_usage=12.5,
        disk_available=1 << 40,
        mem_usage=7,
        mem_available=1 << 30,
        load_average_1m=0.5,
        load_average_5m=0.25,
        load_average_15m=0,
    )
    await pipelines.report(store, record, Capacity(concurrent=20, running=0))


async def test_pipelines_are_shown_without_their_machines(asking: Asking, store: Store) -> None:
    await report(store)
    await report(store, OTHER, "<b>/beta")
    (one, _) = (await asking.json("/pipelines"))["pipelines"][::-1]
    assert (one["id"], one["nickname"], one["status"]) == (PIPELINE, "alice", "Running")
    assert (one["disk_usage"], one["load_average_1m"], one["ts"]) == (
        "12.5",
        "0.5",
        "1790000000.250",
    )
    assert all(isinstance(value, str) for value in one.values())
    assert "secret-host" not in await asking.get("/pipelines")
    page = await asking.get("/pipelines", **PAGE)
    assert "<td>alice</td>" in page
    assert "<td>&lt;b&gt;/beta</td>" in page
    assert f'href="{LINK}/pipelines"' in page


async def test_queues_are_listed_with_the_next_crawl_first(asking: Asking, store: Store) -> None:
    assert await asking.get("/pending") == ""
    await added(store, ident_of(1), url="https://example.com/")
    await added(store, ident_of(2), url="https://bob:secret@example.org/")
    await added(store, ident_of(3), queue="pending-ao", url="https://example.net/")
    await store.call("LPUSH", KEYS.pending(), "gone")
    assert await asking.get("/pending") == (
        f"pending\n  1. https://example.com/ ({ident_of(1)})\n"
        f"  2. https://***@example.org/ ({ident_of(2)})\n  3.  (gone)\n\n"
        f"pending-ao\n  1. https://example.net/ ({ident_of(3)})"
    )


async def test_the_status_counts_crawls(asking: Asking, store: Store) -> None:
    await running(store)
    await added(store, ident_of(2), queue="pending:alice")
    await store.call("SET", KEYS.completed(), 5)
    found = await asking.json("/status")
    assert found == {
        "pending": 0,
        "pending-ao": 0,
        "pending-large": 0,
        "pending-others": 1,
        "pending-others-details": {"pending:alice": 1},
        "working": 1,
        "completed": 5,
        "aborted": 0,
        "failed": 0,
    }


async def test_finished_crawls_are_listed(asking: Asking, store: Store) -> None:
    assert await asking.json("/finished") == []
    assert "No crawl has ended" in await asking.get("/finished", **PAGE)
    owned = await running(store, url="https://alice:secret@example.com/")
    await append(store, owned, 1, 200, 200)
    await log_draining.drain(store, SITE, quiet=0)
    await finishing.finish(store, owned, Ending(finished_at=NOW + 10, warc_size=7))
    await added(store, ident_of(2))
    assert await taken(store) is not None
    (one,) = await asking.json("/finished")
    assert (one["ident"], one["finished"], one["finished_at"]) == (SITE, True, int(NOW + 10))
    assert (one["r2xx"], one["bytes_downloaded"], one["warc_size"]) == (2, 200, 7)
    page = await asking.get("/finished", **PAGE)
    assert "<td>https://***@example.com/</td><td>2</td><td>200</td>" in page


async def test_feeds_have_the_crawls_that_began(asking: Asking, store: Store) -> None:
    notice = 'Archiving https://a:b@example.com/?a&b<c>"\x01'
    await store.call("ZADD", KEYS.tweeted(), NOW, notice, NOW - 100, "Archiving ü", "inf", "later")
    shown = 'Archiving https://***@example.com/?a&b<c>"\ufffd'
    for path, accepted in (("/feed/archivebot.rss", ""), ("/feed", "application/rss+xml")):
        text, headers = await asking.answer(path, Accept=accepted)
        assert headers["content-type"].startswith("application/rss+xml")
        titles = [one.findtext("title") for one in ET.fromstring(text).iter("item")]
        assert titles == ["later", shown, "Archiving ü"]
        assert "<pubDate>Mon, 21 Sep 2026 14:13:20 +0000</pubDate>" in text
    for path, accepted in (("/feed/archivebot.atom", ""), ("/feed", "*/*"), ("/feed", "text/html")):
        text, headers = await asking.answer(path, Accept=accepted)
        assert headers["content-type"].startswith("application/atom+xml")
        entries = [*ET.fromstring(text).iter("{http://www.w3.org/2005/Atom}entry")]
        assert len(entries) == 3
        assert len({one.findtext("{http://www.w3.org/2005/Atom}id") for one in entries}) == 3
    found = await asking.json("/feed", Accept="application/json")
    assert found[2][:2] == ["2026-09-21T14:11:40.250000+00:00", "Archiving ü"]


async def test_an_empty_feed_is_a_feed(asking: Asking) -> None:
    ET.fromstring(await asking.get("/feed/archivebot.rss"))
    text = await asking.get("/feed/archivebot.atom")
    updated = ET.fromstring(text).findtext("{http://www.w3.org/2005/Atom}updated")
    assert updated == "2026-09-21T14:15:00.250000+00:00"


async def test_pages_of_other_sites_are_refused(store: Store) -> None:
    listed = "https://archive.example.com"
    async with served(store, origins=(listed,)) as dashboard, ClientSession() as http:
        asking = Asking(dashboard, http)
        text = await asking.get("/status", 403, Origin="https://example.net")
        assert "archive.dashboard.origins" in text
        assert "not known as" in await asking.get("/status", 403, Host="example.net")
        _, headers = await asking.answer("/status", Origin=listed)
        assert headers["access-control-allow-origin"] == listed
        _, headers = await asking.answer("/status")
        assert "access-control-allow-origin" not in headers


async def test_nothing_can_be_sent_to_it(store: Store) -> None:
    async with served(store) as dashboard, ClientSession() as http:
        async with http.post(f"{dashboard.url}/status", data=b"x") as answer:
            assert answer.status == 405
        async with http.head(f"{dashboard.url}/status") as answer:
            assert answer.status == 200
