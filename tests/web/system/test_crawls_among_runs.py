"""Crawls are listed among the runs, on the timeline and in the overview."""

from tests.archive.crawling import NOW, ident_of, running
from tests.archive.test_pipelines import ROOM, record
from tests.web.site import Site
from watchbell.archive import finishing, pipelines
from watchbell.archive.model import Ending
from watchbell.clock import SYSTEM
from watchbell.store.client import Store


async def ended(store: Store, number: int, at: float, failure: str = "") -> None:
    owned = await running(store, ident_of(number))
    await finishing.finish(store, owned, Ending(finished_at=at, failure=failure))


async def test_crawls_that_have_ended_are_paged_among_runs(site: Site, store: Store) -> None:
    for number in range(5):
        failure = "its disk is full" if number == 3 else ""
        await ended(store, number, NOW + 100 + number, failure=failure)
    async with site.somebody("viewer") as alice:
        page = (await alice.get("/api/v1/runs", params={"limit": 2})).json()
        seen = page["items"]
        while page["next"]:
            query = {"limit": 2, "cursor": page["next"]}
            page = (await alice.get("/api/v1/runs", params=query)).json()
            seen += page["items"]
        assert [int(one["name"]) for one in seen] == [4, 3, 2, 1, 0]
        first, failed = seen[0], seen[1]
        assert (first["kind"], first["verdict"], first["words"]) == ("archive", "success", "done")
        assert (first["where"], first["username"], first["duration"]) == ("alice", "bob", 103)
        assert first["title"] == f"https://{ident_of(4)}.example.com/"
        assert (failed["verdict"], failed["words"]) == ("error", "its disk is full")
        only = (await alice.get("/api/v1/runs?only=error&kind=archive")).json()["items"]
        assert [one["id"] for one in only] == [failed["id"]]
        assert (await alice.get("/api/v1/runs?kind=cron")).json()["items"] == []


async def test_a_running_crawl_is_in_progress(site: Site, store: Store) -> None:
    await running(store)
    await pipelines.report(store, record(), ROOM)
    async with site.somebody("viewer") as alice:
        [found] = (await alice.get("/api/v1/runs/active?kind=archive")).json()["items"]
        assert (found["verdict"], found["words"], found["ended"]) == ("", "running", None)
        assert found["where"] == record().nickname
        seen = (await alice.get("/api/v1/overview")).json()["crawls"]
        assert (seen["running"], seen["queued"], len(seen["items"])) == (1, 0, 1)


async def test_the_timeline_has_crawls(site: Site, store: Store) -> None:
    await ended(store, 1, NOW + 60)
    await ended(store, 2, NOW + 5_000)
    async with site.somebody("viewer") as alice:
        for start, end, expected in (
            (NOW - 10, NOW + 3_600, [1, 2]),
            (NOW + 100, NOW + 3_600, [2]),
            (NOW - 3_600, NOW - 10, []),
        ):
            answer = await alice.get("/api/v1/timeline", params={"start": start, "end": end})
            assert sorted(int(one["name"]) for one in answer.json()["past"]) == expected


async def test_the_overview_shows_crawls_that_failed_lately(site: Site, store: Store) -> None:
    now = SYSTEM.now()
    await ended(store, 1, now - 60, failure="its disk is full")
    await ended(store, 2, now - 90_000, failure="its disk is full")
    await ended(store, 3, now - 60)
    async with site.somebody("viewer") as alice:
        seen = (await alice.get("/api/v1/overview")).json()["crawls"]
        assert [(int(one["ident"]), one["reason"]) for one in seen["failed"]] == [
            (1, "its disk is full")
        ]
