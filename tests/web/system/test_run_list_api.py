"""Jobs and cron runs in one list over HTTP, and the timeline of a day."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cron.crew import READING, definition
from tests.cron.test_job_cache import result
from tests.jobs.logs import NOW, begun, job
from tests.jobs.test_job_history import finish, over
from tests.web.jobs.test_events_api import BACKUP, made
from tests.web.site import BY, Site, Visitor, served
from watchbell.clock import SetClock
from watchbell.cron import jobs as cron_jobs
from watchbell.cron.keys import Cron
from watchbell.jobs import stock
from watchbell.store.client import Store
from watchbell.web.people.rights import Rights
from watchbell.web.system import run_list, timeline
from watchbell.web.system.run_list import Cursor, Ended, Part


@pytest.fixture(autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, 1_000)


async def ran(store: Store, id_: str, ended: float, verdict: str = "success") -> None:
    """A cron run that took two seconds."""
    record = {"job_name": "tidy", "start_time": ended - 2, "host": "web-1", "status": verdict}
    await result(store, "tidy", verdict, ended, id_)
    await store.call("HSET", Cron().runs(), id_, json.dumps(record | {"duration": 2}))
    await store.call("ZADD", Cron().results(verdict), ended, id_)


async def ids(visitor: Visitor, **query: Any) -> list[str]:
    answer = await visitor.get("/api/v1/runs", params=query)
    assert answer.status == 200, answer.text
    return [row["id"] for row in answer.json()["items"]]


async def test_jobs_and_cron_runs_that_ended_are_one_list(site: Site, store: Store) -> None:
    await finish(store, over(1), over(3, code=3, tags=("_error",)))
    await ran(store, "c2", NOW + 2)
    await ran(store, "c4", NOW + 4, "fail")
    async with site.somebody("viewer") as charlie:
        assert await ids(charlie) == ["c4", "j0003", "c2", "j0001"]
        assert await ids(charlie, only="error") == ["c4", "j0003"]
        assert await ids(charlie, only="success") == ["c2", "j0001"]
        assert await ids(charlie, kind="cron") == ["c4", "c2"]
        assert await ids(charlie, kind="job") == ["j0003", "j0001"]
        rows = (await charlie.get("/api/v1/runs")).json()["items"]
        assert [row["verdict"] for row in rows] == ["error", "error", "success", "success"]
        assert (rows[2]["kind"], rows[2]["name"], rows[2]["where"]) == ("cron", "tidy", "web-1")


async def test_the_list_is_read_page_by_page_without_gaps(site: Site, store: Store) -> None:
    await finish(store, *(over(n) for n in range(0, 40, 2)))
    for n in range(1, 20, 2):
        await ran(store, f"c{n:04}", NOW + n)
    expected = sorted([*(f"{n:04}" for n in [*range(0, 40, 2), *range(1, 20, 2)])], reverse=True)
    async with site.somebody("viewer") as charlie:
        seen, cursor = list[str](), ""
        while True:
            page = await charlie.get("/api/v1/runs", params={"limit": 7, "cursor": cursor})
            seen += [row["id"][1:] for row in page.json()["items"]]
            cursor = page.json()["next"]
            if cursor is None:
                break
        assert seen == expected
        for wrong in ("?", "WyJ4IiwiIl0=", "WyIiLCJuYW5fYzEiXQ=="):
            answer = await charlie.get("/api/v1/runs", params={"cursor": wrong})
            assert (answer.status, answer.json()["errors"][0]["field"]) == (400, "cursor"), wrong


@given(
    st.tuples(*[st.lists(st.integers(0, 30), max_size=20)] * 3),
    st.tuples(*[st.integers(1, 5)] * 3),
    st.integers(1, 6),
)
def test_pages_of_several_lists_have_everything_once(
    lists: tuple[list[int], ...], steps: tuple[int, ...], most: int
) -> None:
    """Each list gives its own number of items at a time, as the store does."""

    def part(times: list[int], after: str | None, step: int) -> Part:
        if after is None:
            return Part((), None, float("-inf"))
        first = int(after or 0)
        ordered = sorted(times, reverse=True)[first : first + step]
        items = [Ended(at, job(), str(first + n)) for n, at in enumerate(ordered, 1)]
        if first + step >= len(times):
            return Part(items, None, float("-inf"))
        return Part(items, str(first + step), ordered[-1])

    seen, cursor = list[float](), Cursor()
    for _ in range(sum(map(len, lists)) + 1):
        parts = [part(*one) for one in zip(lists, cursor, steps, strict=True)]
        found, following = run_list.merged(parts, cursor, most)
        assert len(found) <= most
        seen += [one.at for one in found]
        if following is None:
            break
        cursor = following
    assert seen == sorted([at for times in lists for at in times], reverse=True)


async def test_what_runs_now_is_listed_without_jobs_that_wait(site: Site, store: Store) -> None:
    await begun(store, job("j1", state="active", progress=0.5))
    await begun(store, job("j2", state="queued"))
    record = {"job_name": "tidy", "start_time": NOW + 1, "host": "web-1", "status": "running"}
    await store.call("HSET", Cron().runs(), "c1", json.dumps(record))
    await store.call("ZADD", Cron().active(), NOW, "c1")
    async with site.somebody("viewer") as charlie:
        found = (await charlie.get("/api/v1/runs/active")).json()
        assert [row["id"] for row in found["items"]] == ["c1", "j1"]
        assert found["items"][1]["progress"] == 0.5
        assert found["items"][1]["ended"] is None
        only = (await charlie.get("/api/v1/runs/active", params={"kind": "cron"})).json()
        assert (only["total"], only["items"][0]["id"]) == (1, "c1")


async def test_jobs_of_a_foreign_category_are_not_listed(site: Site, store: Store) -> None:
    await finish(store, over(1, category="payroll"), over(2, category="reports"))
    await begun(store, job("j1", category="payroll"))
    await site.services.users.add("dave", "operator", BY, Rights(categories=("reports",)))
    async with site.somebody("operator", "dave") as dave:
        assert await ids(dave) == ["j0002"]
        assert (await dave.get("/api/v1/runs/active")).json()["items"] == []
        params = {"start": NOW - 100, "end": NOW + 100}
        day = (await dave.get("/api/v1/timeline", params=params)).json()
        assert [row["id"] for row in day["past"]] == ["j0002"]


async def test_a_day_has_what_ran_and_what_will_run(store: Store) -> None:
    noon = NOW - NOW % 86_400 + 43_200
    await finish(
        store,
        over(1, started=noon - 90_000, completed=noon - 89_000),
        over(2, started=noon - 3_600, completed=noon - 3_000),
        over(3, started=noon - 43_500, completed=noon - 42_000),
    )
    await begun(store, job("j9", started=noon - 60, launched=noon - 90))
    await ran(store, "c1", noon - 7_200)
    nightly = definition("true", {"cronstring": "0 13,14 * * *"})
    await cron_jobs.save(store, "tidy", nightly, READING)
    await cron_jobs.save(store, "often", definition("true", {"cronstring": "* * * * *"}), READING)
    async with served(store, SetClock(noon)) as site, site.somebody("editor") as alice:
        timing = {"type": "schedule", "hours": [15], "minutes": [0], "timezone": "UTC"}
        event = await made(alice, timings=[timing])
        params = {"start": noon - 43_200, "end": noon + 43_200}
        day = (await alice.get("/api/v1/timeline", params=params)).json()
        assert [row["id"] for row in day["past"]] == ["j9", "j0002", "c1", "j0003"]
        assert [(one["name"], one["at"] - noon) for one in day["ahead"]] == [
            ("tidy", 3_600),
            ("tidy", 7_200),
            (event, 10_800),
        ]
        assert day["ahead"][2]["title"] == BACKUP["title"]
        assert [one["name"] for one in day["frequent"]] == ["often"]
        assert day["is_past_complete"]
        assert day["is_ahead_complete"]
        yesterday = {"start": noon - 129_600, "end": noon - 43_200}
        before = (await alice.get("/api/v1/timeline", params=yesterday)).json()
        assert [row["id"] for row in before["past"]] == ["j0003", "j0001"]
        assert before["ahead"] == []


async def test_a_busy_day_says_that_there_is_more(
    site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "MOST_PAST", 3)
    await finish(store, *(over(n, started=NOW + n) for n in range(5)))
    async with site.somebody("viewer") as charlie:
        params = {"start": NOW - 100, "end": NOW + 100}
        day = (await charlie.get("/api/v1/timeline", params=params)).json()
        assert [row["id"] for row in day["past"]] == ["j0004", "j0003", "j0002"]
        assert not day["is_past_complete"]


@pytest.mark.parametrize("end", [NOW, NOW - 1, NOW + 8 * 86_400])
async def test_a_stretch_of_time_that_is_none_or_too_long_is_refused(
    site: Site, end: float
) -> None:
    async with site.somebody("viewer") as charlie:
        answer = await charlie.get("/api/v1/timeline", params={"start": NOW, "end": end})
        assert (answer.status, answer.json()["errors"][0]["field"]) == (422, "end")
