"""The log of a crawl over HTTP: read, followed and counted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tests.archive.crawling import KEYS, NOW, OWN, SITE, added, append, download, running
from tests.web.site import Site, Visitor
from watchbell.archive import crawl_log, log_draining
from watchbell.archive.model import Increments, LogEntry
from watchbell.store.client import Store
from watchbell.web.archive import log_feed

ONE = f"/api/v1/archive/crawls/{SITE}"


async def drain(store: Store) -> None:
    await log_draining.drain(store, SITE, quiet=0)


async def test_the_newest_lines_are_read(site: Site, store: Store) -> None:
    owned = await running(store)
    entries = [
        download(200, "https://example.com/a"),
        LogEntry(type="ignore", ts=NOW, url="https://example.com/b", pattern="/b", source="x"),
        LogEntry(type="stdout", ts=NOW, message="Paused."),
    ]
    await crawl_log.append(store, owned, 1, entries, Increments())
    await drain(store)
    await append(store, owned, 2, 500)
    async with site.program("read") as program:
        lines = (await program.get(f"{ONE}/log")).json()["items"]
        assert [line["type"] for line in lines] == ["download", "ignore", "stdout", "download"]
        assert [line["index"] for line in lines] == [1, 2, 3, 4]
        assert (lines[1]["pattern"], lines[2]["message"]) == ("/b", "Paused.")
        assert (lines[3]["response_code"], lines[3]["is_error"]) == (500, True)
        newest = (await program.get(f"{ONE}/log?limit=1")).json()["items"]
        assert [line["index"] for line in newest] == [4]


async def test_what_other_programs_log_is_shown_as_far_as_it_makes_sense(
    site: Site, store: Store
) -> None:
    await added(store)
    for number, text in enumerate(['{"type": 1, "ts": "x", "url": []}', "no JSON", "[1]", '"a"']):
        await store.call("ZADD", KEYS.log(SITE), number + 1, text)
    await store.call("LPUSH", OWN.recent(SITE), b"\xff{")
    async with site.program("read") as program:
        lines = (await program.get(f"{ONE}/log")).json()["items"]
        assert [line["type"] for line in lines] == ["stdout"] * 5


@asynccontextmanager
async def following(site: Site, program: Visitor, since: str = "") -> AsyncIterator[Any]:
    async with program.http.get(f"{site.url}{ONE}/log/live?resume={since}") as stream:

        async def next_lines() -> Any:
            async for line in stream.content:
                if line.startswith(b"data: {"):
                    return msgspec.json.decode(line.removeprefix(b"data: "))
            raise AssertionError("the stream has ended")

        async def lines() -> Any:
            return await asyncio.wait_for(next_lines(), 30)

        yield lines


async def test_a_log_is_followed_without_gaps_or_repetitions(site: Site, store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 301)
    async with site.program("read") as program, following(site, program) as lines:
        seen = [line["index"] for line in (await lines())["items"]]
        assert seen == [1, 2]
        for batch in range(2, 6):
            await append(store, owned, batch, 200, 404)
            await drain(store)
        while len(seen) < 10:
            seen += [line["index"] for line in (await lines())["items"]]
        assert seen == list(range(1, 11))
    async with site.program("read") as program, following(site, program, "8") as lines:
        assert [line["index"] for line in (await lines())["items"]] == [9, 10]


async def test_a_reader_gets_the_newest_of_very_many_lines(site: Site, store: Store) -> None:
    owned = await running(store)
    async with site.program("read") as program, following(site, program) as lines:
        first = await lines()
        assert first["items"] == []
        for batch in range(1, 5):
            await append(store, owned, batch, *[200] * 500)
        for _ in range(4):
            await drain(store)
        seen = left_out = last = 0
        while last < 2_000:
            got = await lines()
            assert len(got["items"]) <= log_feed.MOST
            seen, left_out = seen + len(got["items"]), left_out + got["left_out"]
            last = got["items"][-1]["index"]
    assert seen + left_out == 2_000


async def test_hosts_codes_and_ignores_are_counted(site: Site, store: Store) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200, 404, 503)
    more = Increments(hosts={"cdn.example.com": (9, 5)}, matches={"/other/": 2})
    await crawl_log.append(store, owned, 2, [], more)
    await drain(store)
    async with site.program("read") as program:
        hosts = (await program.get(f"{ONE}/hosts")).json()["items"]
        assert hosts == [
            {"host": "cdn.example.com", "responses": 9, "bytes": 5},
            {"host": "example.com", "responses": 3, "bytes": 300},
        ]
        responses = (await program.get(f"{ONE}/responses")).json()
        assert responses["step"] == 60
        [point] = responses["items"]
        assert (point["r2xx"], point["r4xx"], point["r5xx"]) == (1, 1, 1)
        ignores = (await program.get(f"{ONE}/ignores")).json()["items"]
        assert ignores == [{"pattern": "/calendar/", "matches": 1}]


async def test_a_crawl_that_is_gone_has_no_figures(site: Site) -> None:
    async with site.program("read") as program:
        for part in ("log", "hosts", "responses", "ignores", "files"):
            answer = await program.get(f"{ONE}/{part}")
            assert (answer.status, answer.json()["items"]) == (200, []), part
