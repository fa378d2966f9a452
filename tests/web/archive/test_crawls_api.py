"""The API of crawls, as people and programs use it."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.archive.crawling import OWN, PIPELINE, SITE, added, append, ident_of, running
from tests.waiting import eventually
from tests.web.site import Site, Visitor
from watchbell.archive import crawls, finishing, log_draining, queues
from watchbell.archive.model import Ending, FinishedFile, Pipeline
from watchbell.archive.pipelines import Capacity, report
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

CRAWLS = "/api/v1/archive/crawls"
ASKED: dict[str, Any] = {
    "url": "https://example.com/news",
    "note": "It closes in May",
    "ignore_sets": ["global"],
    "delay": 100,
    "concurrency": 5,
    "no_offsite_links": True,
    "user_agent": "firefox",
    "obeys_robots": True,
    "has_cookies": False,
    "most_urls": 1_000,
    "most_bytes": 1 << 30,
    "offsite_depth": 0,
}


async def pipeline(store: Store, nickname: str = "attic", **capacity: Any) -> None:
    record = Pipeline(
        id=PIPELINE,
        nickname=nickname,
        hostname="db-1",
        fqdn="db-1.example.com",
        pid=42,
        version="0.1.0",
        python="3.11",
        ts=SYSTEM.now(),
        disk_usage=20.5,
        disk_available=1 << 40,
        mem_usage=30,
        mem_available=1 << 33,
        load_average_1m=0.5,
        load_average_5m=0.4,
        load_average_15m=0.3,
    )
    await report(store, record, Capacity(**{"concurrent": 20, "running": 1, **capacity}))


async def rows(visitor: Visitor, query: str = "") -> list[Any]:
    answer = await visitor.get(f"{CRAWLS}{query}")
    assert answer.status == 200, answer.text
    found: list[Any] = answer.json()["items"]
    return found


async def test_a_crawl_is_added_with_its_options(site: Site, store: Store) -> None:
    async with site.somebody("operator", "alice") as alice:
        made = await alice.post(CRAWLS, json=ASKED)
        assert made.status == 201, made.text
        ident = made.json()["ident"]
        assert (made.json()["ahead"], made.json()["notices"]) == (0, [])
        crawl = await crawls.get(store, ident)
        assert crawl is not None
        assert (crawl.url, crawl.note) == ("https://example.com/news", "It closes in May")
        assert (crawl.started_by, crawl.no_offsite_links) == ("alice", True)
        assert (crawl.settings.delay_min, crawl.settings.concurrency) == (100, 5)
        options = crawl.options
        assert (options.obeys_robots, options.has_cookies) == (True, False)
        assert (options.most_urls, options.most_bytes) == (1_000, 1 << 30)
        assert options.offsite_depth == 0
        shown = (await alice.get(f"{CRAWLS}/{ident}")).json()
        assert shown["row"]["state"] == "queued"
        assert "no pipeline is running" in shown["explanation"]
        assert "Firefox" in shown["user_agent"]
        again = await alice.post(CRAWLS, json={"url": "HTTPS://EXAMPLE.com/news"})
        assert (again.status, again.json()["code"]) == (422, "exists")
        assert ident in again.json()["detail"]


async def test_nobody_sees_a_password_in_a_url(site: Site) -> None:
    async with site.somebody("administrator", "alice") as alice:
        asked = {"url": "https://bob:s3cret@example.com/", "fetch_depth": "shallow"}
        ident = (await alice.post(CRAWLS, json=asked)).json()["ident"]
        paths = (CRAWLS, f"{CRAWLS}/{ident}", "/api/v1/archive/queues", "/api/v1/audit")
        for path in paths:
            answer = await alice.get(path)
            assert "https://***@example.com/" in answer.text, (path, answer.status)
            assert "s3cret" not in answer.text
        again = await alice.post(CRAWLS, json=asked)
        assert (again.json()["code"], "s3cret" in again.text) == ("exists", False)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"url": "example"}, "url"),
        ({"url": "gopher://example.com/"}, "url"),
        ({"url": "https://example.com/", "user_agent": "nobody"}, "user_agent"),
        ({"url": "https://example.com/", "is_large": True, "pipeline": "attic"}, "is_large"),
        ({"url": "https://example.com/", "colour": "red"}, "colour"),
        ({"url": "https://example.com/", "concurrency": 100}, "concurrency"),
        ({}, "url"),
    ],
)
async def test_a_request_that_makes_no_sense_names_its_field(
    site: Site, asked: dict[str, Any], field: str
) -> None:
    async with site.somebody("operator") as alice:
        answer = await alice.post(CRAWLS, json=asked)
        assert answer.status in (400, 422), answer.text
        assert [one["field"] for one in answer.json()["errors"]] == [field]


async def test_an_unknown_ignore_set_is_left_out_and_said(site: Site) -> None:
    async with site.somebody("operator") as alice:
        asked = {"url": "https://example.com/", "ignore_sets": ["nothing"]}
        made = await alice.post(CRAWLS, json=asked)
        assert made.status == 201
        assert "nothing" in made.json()["notices"][0]


async def test_viewers_only_look(site: Site, store: Store) -> None:
    await added(store)
    async with site.somebody("viewer") as bob:
        assert (await bob.get(f"{CRAWLS}/{SITE}")).status == 200
        assert (await bob.post(CRAWLS, json={"url": "https://example.com/"})).status == 403
        for action in ("pause", "resume", "abort", "expire"):
            assert (await bob.post(f"{CRAWLS}/{SITE}/{action}")).status == 403
        assert (await bob.ask("PATCH", f"{CRAWLS}/{SITE}", json={"note": "x"})).status == 403


async def test_crawls_are_listed_filtered_and_sorted(site: Site, store: Store) -> None:
    await pipeline(store)
    await running(store, ident_of(1))
    await added(store, ident_of(2), note="For Charlie")
    await added(store, ident_of(3))
    await crawls.change(store, ident_of(3), crawls.Change(is_paused=True))
    async with site.program("read") as program:
        page = (await program.get(CRAWLS)).json()
        assert [row["state"] for row in page["items"]] == ["running", "paused", "queued"]
        assert page["items"][0]["nickname"] == "attic"
        assert page["counts"] == {
            "running": 1,
            "queued": 1,
            "paused": 1,
            "completed": 0,
            "aborted": 0,
            "failed": 0,
        }
        for query, found in (
            ("?state=running&state=paused", [1, 3]),
            ("?text=CHARLIE", [2]),
            ("?text=attic", [1]),
            ("?sort=url&reverse=true", [3, 2, 1]),
            ("?sort=url&limit=1", [1]),
        ):
            assert [row["id"] for row in await rows(program, query)] == list(map(ident_of, found))
        first = (await program.get(f"{CRAWLS}?sort=url&limit=2")).json()
        rest = await rows(program, f"?sort=url&limit=2&cursor={first['next']}")
        assert [row["id"] for row in rest] == [ident_of(3)]


async def test_a_list_of_crawls_is_followed(site: Site, store: Store) -> None:
    owned = await running(store)
    async with site.program("read") as program:
        page = (await program.get(CRAWLS)).json()
        url = f"{site.url}{CRAWLS}/live?resume={page['moment']}"
        async with program.http.get(url) as stream:
            await append(store, owned, 1, 200, 200, 404)
            await log_draining.drain(store, SITE, quiet=0)
            await crawls.change(store, SITE, crawls.Change(note="Look"))

            async def until_counted() -> Any:
                async for line in stream.content:
                    if line.startswith(b"data: {"):
                        change = msgspec.json.decode(line.removeprefix(b"data: "))
                        for row in (*change["rows"], *change["refreshed"]):
                            if row["note"] == "Look" and row["responses"] == 3:
                                return row
                return None

            row = await asyncio.wait_for(until_counted(), 30)
    assert (row["error_count"], row["items_downloaded"]) == (1, 2)
    assert row["bytes_downloaded"] == 300


async def test_the_rate_of_a_crawl_is_shown(site: Site, store: Store) -> None:
    owned = await running(store)
    async with site.program("read") as program:
        batch = 0

        async def is_moving() -> bool:
            nonlocal batch
            batch += 1
            await append(store, owned, batch, 200, 200)
            await log_draining.drain(store, SITE, quiet=0)
            return bool((await rows(program))[0]["rate"])

        await eventually(is_moving)


async def test_settings_are_changed_while_a_crawl_runs(site: Site, store: Store) -> None:
    await running(store)
    one = f"{CRAWLS}/{SITE}"
    async with site.somebody("operator") as alice:
        asked = {
            "delay_min": 10,
            "delay_max": 20,
            "concurrency": 7,
            "note": "Slowly",
            "ignore": ["/drafts/"],
            "ignore_sets": ["global"],
            "reports_ignores": True,
        }
        changed = await alice.ask("PATCH", one, json=asked)
        assert changed.status == 200, changed.text
        assert changed.json()["ignored"] > 1
        settings = await crawls.settings(store, SITE)
        assert settings is not None
        assert (settings.delay_min, settings.delay_max, settings.concurrency) == (10, 20, 7)
        assert not settings.suppress_ignore_reports
        assert {"/drafts/", "/calendar/"} < settings.ignores
        await alice.ask("PATCH", one, json={"unignore": ["/drafts/"], "delay_max": 30})
        settings = await crawls.settings(store, SITE)
        assert settings is not None
        assert (settings.delay_min, settings.delay_max) == (10, 30)
        assert "/drafts/" not in settings.ignores
        for wrong, field in (
            ({"ignore": ["("]}, "ignore"),
            ({"ignore_sets": ["nothing"]}, "ignore_sets"),
            ({"delay_max": 5}, "delay_max"),
        ):
            refused = await alice.ask("PATCH", one, json=wrong)
            assert refused.status == 422
            assert refused.json()["errors"][0]["field"] == field


async def test_a_crawl_is_paused_resumed_and_aborted(site: Site, store: Store) -> None:
    await running(store)
    await added(store, ident_of(2))
    async with site.somebody("operator", "alice") as alice:
        for action, state in (("pause", "paused"), ("resume", "running")):
            assert (await alice.post(f"{CRAWLS}/{SITE}/{action}")).status == 204
            assert (await alice.get(f"{CRAWLS}/{SITE}")).json()["row"]["state"] == state
        assert (await alice.post(f"{CRAWLS}/{SITE}/expire")).status == 422
        assert (await alice.post(f"{CRAWLS}/{SITE}/abort")).status == 204
        shown = (await alice.get(f"{CRAWLS}/{SITE}")).json()
        assert (shown["row"]["state"], shown["row"]["is_aborting"]) == ("running", True)
        assert (await alice.post(f"{CRAWLS}/{ident_of(2)}/abort")).status == 204
        shown = (await alice.get(f"{CRAWLS}/{ident_of(2)}")).json()
        assert (shown["row"]["state"], shown["row"]["reason"]) == ("aborted", "aborted by alice")
        assert (await alice.post(f"{CRAWLS}/{ident_of(9)}/abort")).status == 404


async def test_an_ended_crawl_is_in_the_history_and_can_be_archived_again(
    site: Site, store: Store
) -> None:
    owned = await running(store)
    await append(store, owned, 1, 200)
    files = (FinishedFile("example.com-inf-x.warc.gz", 5),)
    ending = Ending(finished_at=SYSTEM.now(), files=files, warc_size=5)
    await finishing.finish(store, owned, ending)
    async with site.somebody("operator") as alice:
        past = (await alice.get("/api/v1/archive/history?text=EXAMPLE.com")).json()
        assert [(one["ident"], one["state"], one["files"]) for one in past["items"]] == [
            (SITE, "completed", 1)
        ]
        assert past["next"] is None
        assert (await alice.get("/api/v1/archive/history?text=elsewhere")).json()["items"] == []
        shown = (await alice.get(f"{CRAWLS}/{SITE}")).json()
        assert (shown["is_past"], shown["row"]["state"]) == (False, "completed")
        assert shown["expires_in"] > 100_000
        assert (await alice.post(f"{CRAWLS}/{SITE}/expire")).status == 204
        shown = (await alice.get(f"{CRAWLS}/{SITE}")).json()
        assert (shown["is_past"], shown["expires_in"]) == (True, None)
        assert "can be archived again" in shown["explanation"]
        assert (await alice.get(f"{CRAWLS}/{ident_of(9)}")).status == 404
        assert (await alice.get("/api/v1/archive/history?cursor=x")).status == 400


async def test_the_history_is_read_in_pages(site: Site, store: Store) -> None:
    for number in range(5):
        owned = await running(store, ident_of(number))
        await finishing.finish(store, owned, Ending(finished_at=SYSTEM.now() + number))
    async with site.program("read") as program:
        first = (await program.get("/api/v1/archive/history?limit=3")).json()
        rest = (await program.get(f"/api/v1/archive/history?limit=3&cursor={first['next']}")).json()
    assert [one["ident"] for one in first["items"]] == [ident_of(n) for n in (4, 3, 2)]
    assert [one["ident"] for one in rest["items"]] == [ident_of(n) for n in (1, 0)]
    assert rest["next"] is None


async def test_queues_are_listed_and_rearranged(site: Site, store: Store) -> None:
    for number in (1, 2, 3):
        await added(store, ident_of(number))
    await added(store, ident_of(4), queue="pending:attic")
    async with site.somebody("operator") as alice:

        async def waiting() -> dict[str, list[str]]:
            found = (await alice.get("/api/v1/archive/queues")).json()["items"]
            return {one["name"]: [row["id"] for row in one["crawls"]] for one in found}

        assert await waiting() == {
            "pending": [ident_of(1), ident_of(2), ident_of(3)],
            "pending-ao": [],
            "pending-large": [],
            "pending:attic": [ident_of(4)],
        }
        moved = await alice.post(f"{CRAWLS}/{ident_of(3)}/move", json={"where": "front"})
        assert moved.status == 204
        await alice.post(f"{CRAWLS}/{ident_of(1)}/move", json={"where": "back"})
        assert (await waiting())["pending"] == [ident_of(3), ident_of(2), ident_of(1)]
        await alice.post(f"{CRAWLS}/{ident_of(2)}/abort")
        assert (await waiting())["pending"] == [ident_of(3), ident_of(1)]
        gone = await alice.post(f"{CRAWLS}/{ident_of(2)}/move", json={"where": "back"})
        assert gone.status in (404, 422)


async def test_pipelines_are_listed_and_stopped(site: Site, store: Store) -> None:
    await pipeline(store, large=True)
    await running(store)
    async with site.somebody("operator") as alice:
        [shown] = (await alice.get("/api/v1/archive/pipelines")).json()["items"]
        assert (shown["nickname"], shown["state"], shown["concurrent"]) == ("attic", "running", 20)
        assert (shown["large"], shown["only_pages"]) == (True, False)
        assert [row["id"] for row in shown["crawls"]] == [SITE]
        choices = (await alice.get("/api/v1/archive/options")).json()
        assert (choices["pipelines"], choices["has_large"]) == (["attic"], True)
        assert "global" in [one["name"] for one in choices["ignore_sets"]]
        assert (await alice.post("/api/v1/archive/pipelines/attic/stop")).status == 204
        [shown] = (await alice.get("/api/v1/archive/pipelines")).json()["items"]
        assert shown["state"] == "stopping"
        assert (await alice.post("/api/v1/archive/pipelines/cellar/stop")).status == 404
        attic = "/api/v1/archive/pipelines/attic"
        refused = await alice.ask("DELETE", attic)
        assert (refused.status, "attic is running" in refused.text) == (422, True)
        await store.call("ZADD", OWN.pipelines_seen(), 5, shown["id"])
        assert (await alice.ask("DELETE", attic)).status == 204
        assert (await alice.get("/api/v1/archive/pipelines")).json()["items"] == []
        assert (await alice.ask("DELETE", attic)).status == 404


async def test_ignore_sets_are_edited(site: Site) -> None:
    sets = "/api/v1/archive/ignore-sets"
    async with site.somebody("editor") as alice, site.somebody("operator", "bob") as bob:
        assert (await bob.ask("PUT", f"{sets}/ours", json={"patterns": []})).status == 403
        saved = await alice.ask("PUT", f"{sets}/ours", json={"patterns": ["/a/", "/b/"]})
        assert saved.json() == {
            "name": "ours",
            "patterns": ["/a/", "/b/"],
            "is_ours": False,
            "is_changed": True,
        }
        await alice.ask("PUT", f"{sets}/global", json={"patterns": ["/x/"]})
        listed = {one["name"]: one for one in (await bob.get(sets)).json()["items"]}
        assert listed["global"] == {
            "name": "global",
            "patterns": 1,
            "is_ours": True,
            "is_changed": True,
        }
        wrong = await alice.ask("PUT", f"{sets}/ours", json={"patterns": ["/a/", "["]})
        assert (wrong.status, wrong.json()["errors"][0]["field"]) == (422, "patterns")
        assert "pattern 2" in wrong.json()["detail"]
        assert (await alice.ask("DELETE", f"{sets}/global")).status == 204
        assert len((await bob.get(f"{sets}/global")).json()["patterns"]) > 5
        assert (await alice.ask("DELETE", f"{sets}/ours")).status == 204
        assert (await bob.get(f"{sets}/ours")).status == 404


async def test_patterns_are_tried_on_urls(site: Site) -> None:
    async with site.program("read") as program:
        asked = {
            "patterns": ["^{primary_url}/drafts", r"\.zip$"],
            "ignore_sets": ["global"],
            "primary_url": "https://example.com",
            "urls": [
                "https://example.com/a.zip",
                "https://example.com/a.html",
                "https://example.com/account/logout",
            ],
        }
        tried = await program.post("/api/v1/archive/ignore-sets/try", json=asked)
        assert tried.status == 200, tried.text
        found = [one["pattern"] for one in tried.json()["items"]]
        assert found[:2] == [r"\.zip$", None]
        assert found[2] is not None
        wrong = await program.post(
            "/api/v1/archive/ignore-sets/try", json={"patterns": ["("], "urls": []}
        )
        assert wrong.json()["errors"][0]["field"] == "patterns"


async def test_the_topic_of_the_archive_changes_with_every_crawl(site: Site, store: Store) -> None:
    url = f"{site.url}/api/v1/live?topics=archive"
    async with site.program("read") as program, program.http.get(url) as stream:

        async def until(queued: int) -> None:
            async for line in stream.content:
                found = line.removeprefix(b"data: ")
                if found != line and msgspec.json.decode(found)["queued"] == queued:
                    return

        await asyncio.wait_for(until(0), 30)
        await added(store)
        await asyncio.wait_for(until(1), 30)
    assert (await queues.pending(store))["pending"] == [SITE]
