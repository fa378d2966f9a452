"""Runs and jobs in a browser: followed, aborted, run again, searched, and driven by keyboard."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from playwright.async_api import Locator, Page, Route, expect

from tests.browser.house import House
from tests.browser.jobs.test_event_pages import FITS, HOSTILE, define
from tests.browser.visits import Look, Visits
from tests.jobs.logs import Printer, begun, job
from tests.jobs.test_job_history import finish, over
from tests.web.site import Site
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definition_removal, job_records, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Activity, Job
from watchbell.store.client import Store

KEYS = Jobs()


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


async def running(store: Store, id_: str = "j1", **more: Any) -> Job:
    now = SYSTEM.now()
    one = job(id_, **{"launched": now - 60, "started": now - 60, **more})
    await begun(store, one)
    return one


async def report(store: Store, id_: str, **fields: Any) -> None:
    """As the agent's reports are applied."""
    words = [word for name, value in fields.items() for word in (name, json.dumps(value))]
    await store.call("HSET", KEYS.job(id_), *words)


async def end(store: Store, one: Job, **more: Any) -> None:
    """As the finisher does it."""
    now = SYSTEM.now()
    values = {"state": "complete", "completed": now, "elapsed": 60.0, "tags": ("_success",)}
    await finish(store, replace(one, **{**values, **more}))
    await store.call("DEL", KEYS.job(one.id))
    await store.call("ZREM", KEYS.live(), one.id)
    await store.call("PUBLISH", KEYS.news(), one.id)


def banner(page: Page) -> Locator:
    return page.get_by_label("State", exact=True)


async def test_a_real_job_is_followed_aborted_and_run_again(
    house: House, visit: Visits, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    waits = f"until [ -e {gate} ]; do sleep 0.05; done"
    script = f"#!/bin/sh\necho first\n{waits}\necho second\nsleep 600\n"
    event = await define(house.store, "Reindex", params={"script": script})
    page = await visit(house, "operator", "/jobs")
    await expect(page.get_by_text("Nothing is running.")).to_be_visible()
    csrf = (await (await page.request.get("/api/v1/session")).json())["csrf"]
    asked = await page.request.post(
        f"/api/v1/events/{event}/run", data={}, headers={"X-CSRF-Token": csrf}
    )
    assert asked.ok
    await page.get_by_role("table", name="Runs in progress").get_by_role("link").first.click()
    await expect(banner(page)).to_contain_text("Running on")
    log = page.get_by_role("log")
    await expect(log).to_contain_text("first")
    gate.touch()
    await expect(log).to_contain_text("second")
    processes = page.get_by_role("table", name="Processes")
    await expect(processes).to_contain_text("sleep 600")
    await expect(page.get_by_role("slider", name="CPU")).to_be_visible()
    await page.get_by_role("button", name="Abort").click()
    await page.get_by_label("Reason").fill("Wrong index")
    await page.get_by_role("dialog").get_by_role("button", name="Abort").click()
    await expect(banner(page)).to_contain_text("Aborted on")
    await expect(banner(page)).to_contain_text("Wrong index")
    await expect(processes).to_have_count(0)
    await expect(page.get_by_role("button", name="Abort")).to_have_count(0)
    first = page.url
    await page.get_by_role("button", name="Run again").click()
    await expect(page).not_to_have_url(first)
    await expect(banner(page)).to_contain_text("Running on")
    await expect(log).to_contain_text("second")


async def test_a_hundred_thousand_lines_are_followed_live_and_searched(
    site: Site, store: Store, visit: Visits
) -> None:
    one = await running(store)
    printer = Printer(store)
    page = await visit(site, "viewer", "/jobs/job?id=j1")
    log = page.get_by_role("log")
    await printer.print(b"line 1\n", SYSTEM.now())
    await expect(log).to_contain_text("line 1")
    for first in range(2, 100_001, 1_000):
        numbers = range(first, min(first + 1_000, 100_001))
        await printer.print(b"".join(b"line %d\n" % n for n in numbers), SYSTEM.now())
    await expect(log).to_contain_text("line 100000")
    await expect(page.get_by_text("100,000 lines")).to_be_visible()
    assert await page.locator(".output-line").count() < 150
    # The lines are drawn again before the event about the scroll.
    await log.evaluate(
        "(element, toggle) => { element.scrollTop = element.scrollHeight / 2; toggle.click(); }",
        await page.get_by_label("Timestamps").element_handle(),
    )
    await expect(log).to_contain_text(re.compile(r"line 500\d\d\b"))
    await expect(page.get_by_label("Follow")).not_to_be_checked()
    await page.keyboard.press("/")
    await page.keyboard.type("LINE 7777")
    await expect(page.locator(".output-found")).to_contain_text("line 7777")
    await page.get_by_role("button", name="Jump to end").click()
    await printer.print(b"the end\n", SYSTEM.now())
    await expect(log).to_contain_text("the end")
    await end(store, one)
    await expect(banner(page)).to_contain_text("Succeeded")
    await expect(page.get_by_label("Follow")).to_have_count(0)


async def test_an_answer_that_new_lines_have_overtaken_takes_none_away(
    site: Site, store: Store, visit: Visits
) -> None:
    await running(store)
    printer = Printer(store)
    await printer.print(b"".join(b"line %d\n" % n for n in range(1, 1_001)), SYSTEM.now())
    page = await visit(site, "viewer")
    is_overtaken = asyncio.Event()

    async def late(route: Route) -> None:
        response = await route.fetch()
        await is_overtaken.wait()
        await route.fulfill(response=response)

    await page.route("**/api/v1/jobs/j1/output?*", late)
    await page.goto("/jobs/job?id=j1")
    log = page.get_by_role("log")
    await expect(log).to_contain_text("line 1000")
    await printer.print(b"the end\n", SYSTEM.now())
    await expect(log).to_contain_text("the end")
    async with page.expect_event("requestfinished", lambda one: "/j1/output?" in one.url):
        is_overtaken.set()
    await page.evaluate("fetch('/api/v1/session').then(() => null)")  # it has been handled, too
    await expect(page.get_by_text("1,001 lines")).to_be_visible()
    await expect(log).to_contain_text("the end")


async def test_progress_and_status_are_shown_as_they_are_reported(
    site: Site, store: Store, visit: Visits
) -> None:
    one = await running(store)
    page = await visit(site, "viewer", "/jobs/job?id=j1")
    await expect(banner(page)).to_contain_text("Running")
    await report(store, "j1", progress=0.5, status="Half of it")
    await expect(banner(page).get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    await expect(banner(page)).to_contain_text("Half of it")
    await expect(page.get_by_role("button", name="Abort")).to_have_count(0)
    procs = {
        "7": {"pid": 7, "parentPid": 1, "command": "sh", "state": "S", "cpu": 1, "memRss": 2048},
        "9": {"pid": 9, "parentPid": 7, "command": "tar c", "state": "R", "cpu": 80, "memRss": 1},
    }
    await report(store, "j1", procs={n: {**p, "disk": 0} for n, p in procs.items()})
    rows = page.get_by_role("table", name="Processes").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(1)).to_contain_text(re.compile(r"└ ?tar c.*80 %", re.DOTALL))
    await end(store, one, code=3, description="Exited with code 3.", tags=("_error",))
    await expect(banner(page)).to_contain_text("Failed after 1 min")
    await expect(banner(page)).to_contain_text("Exited with code 3.")


async def test_a_job_that_waits_says_why_and_is_started_or_aborted(
    site: Site, store: Store, visit: Visits
) -> None:
    until = SYSTEM.now() + 3_600
    await running(store, "j1", state="queued", started=0, reason="all 4 slots on db-1 are in use")
    await running(store, "j2", state="start_delay", started=0, until=until)
    await store.call("ZADD", KEYS.delayed(), until, "j2")
    page = await visit(site, "operator", "/jobs?tab=queued")
    rows = page.get_by_role("table", name="Waiting jobs").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.filter(has_text="All 4 slots on db-1 are in use")).to_have_count(1)
    await rows.filter(has_text="delayed").get_by_role("link").click()
    await expect(banner(page)).to_contain_text(re.compile(r"Starts in (1 h|\d+ min)"))
    await page.get_by_role("button", name="Start now").click()
    await expect(banner(page)).to_contain_text("About to start")
    await page.goto("/jobs?tab=queued")
    await page.get_by_label("Select j1").check()
    await page.get_by_role("button", name="Abort").click()
    await page.get_by_role("dialog").get_by_role("button", name="Abort").click()
    await expect(page.get_by_text("1 job aborted.")).to_be_visible()
    await expect(rows).to_have_count(1)
    found = await job_records.read(store, "j1")
    assert found is not None
    assert found.state == "finishing"


async def test_finished_runs_of_both_kinds_are_filtered_and_searched(
    site: Site, store: Store, visit: Visits
) -> None:
    event = await define(store)
    now = SYSTEM.now()
    await finish(
        store,
        over(1, event=event, completed=now - 60),
        over(2, completed=now - 30, code=3, description="Exited with code 3.", tags=("_error",)),
        over(3, event=event, completed=now - 10, tags=("_success", "red")),
    )
    page = await visit(site, "viewer", "/jobs?tab=finished")
    rows = page.get_by_role("table", name="Finished runs").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await page.get_by_role("button", name="Failed").click()
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("Exited with code 3")
    await page.get_by_role("link", name="Search").click()
    found = page.get_by_role("table", name="Jobs found").locator("tbody tr")
    await page.get_by_label("Title").fill("nightly")
    await expect(found).to_have_count(2)
    await expect(page).to_have_url(re.compile("text=nightly"))
    await page.goto("/jobs?tab=search&tag=red")
    await expect(found).to_have_count(1)
    await page.get_by_role("button", name="Clear filters").click()
    await expect(found).to_have_count(3)
    await page.get_by_label("Result").select_option("abort")
    await expect(page.get_by_text("No jobs match these filters.")).to_be_visible()


async def test_a_finished_job_is_tagged_and_deleted(
    site: Site, store: Store, visit: Visits
) -> None:
    await finish(store, over(1, completed=SYSTEM.now(), tags=("_success", "red")))
    page = await visit(site, "administrator", "/jobs/job?id=j0001")
    await page.get_by_role("button", name="Edit tags").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Remove red").click()
    await dialog.get_by_label("Tags").fill("audited,")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("link", name="audited")).to_be_visible()
    await expect(page.get_by_role("link", name="red", exact=True)).to_have_count(0)
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("Job deleted.")).to_be_visible()
    assert await job_records.read(store, "j0001") is None


async def test_whatever_a_job_reports_is_text(site: Site, store: Store, visit: Visits) -> None:
    event = await define(store, HOSTILE)
    table = {"title": HOSTILE, "header": ["name"], "rows": [[HOSTILE]]}
    hostile = {"html": {"content": HOSTILE}, "text": HOSTILE, "table": table, "perf": {HOSTILE: 1}}
    activity = (Activity(epoch=SYSTEM.now(), msg=HOSTILE),)
    more: dict[str, Any] = {"params": {HOSTILE: HOSTILE}, "data": {HOSTILE: [HOSTILE]}}
    await finish(
        store,
        over(1, event=event, description=HOSTILE, activity=activity, **hostile, **more),
    )
    page = await visit(site, "viewer", "/jobs/job?id=j0001")
    await expect(page.get_by_role("heading", name=HOSTILE, level=1)).to_be_visible()
    await expect(page.get_by_role("table", name=HOSTILE)).to_contain_text(HOSTILE)
    assert await page.locator("main img").count() == 0
    assert await page.evaluate(FITS)


@pytest.mark.parametrize("look", ["phone", "dark"])
async def test_runs_and_jobs_fit_a_phone_and_are_driven_by_keyboard(
    site: Site, store: Store, visit: Visits, look: Look
) -> None:
    await define(store)
    await running(store, "j1", progress=0.3, server="s1", status="x" * 300)
    await finish(store, over(1, completed=SYSTEM.now(), description="y" * 300))
    page = await visit(site, "operator", "/jobs", look=look)
    rows = page.get_by_role("table", name="Runs in progress").locator("tbody tr")
    await expect(rows).to_have_count(1)
    assert await page.evaluate(FITS)
    for key in ("j", "Enter"):
        await page.keyboard.press(key)
    await expect(banner(page)).to_contain_text("Running")
    assert await page.evaluate(FITS)
    await page.keyboard.press("a")
    await expect(page.get_by_label("Reason")).to_be_focused()
    await page.keyboard.type("Not now")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Abort requested.")).to_be_visible()
    for tab in ("queued", "finished", "search"):
        await page.goto(f"/jobs?tab={tab}")
        await expect(page.get_by_label("Loading")).to_have_count(0)
        assert await page.evaluate(FITS), tab


async def test_a_job_that_is_deleted_while_it_is_shown_says_so(
    site: Site, store: Store, visit: Visits
) -> None:
    visit.forgive("answered 404")
    await running(store)
    page = await visit(site, "viewer", "/jobs/job?id=j1")
    await expect(banner(page)).to_contain_text("Running")
    await store.call("DEL", KEYS.job("j1"))
    await store.call("ZREM", KEYS.live(), "j1")
    await expect(page.get_by_text("This job is no longer stored")).to_be_visible()


async def test_a_job_of_a_deleted_event_is_not_run_again(
    site: Site, store: Store, visit: Visits
) -> None:
    event = await define(store)
    await finish(store, over(1, event=event, completed=SYSTEM.now()))
    page = await visit(site, "operator", "/jobs/job?id=j0001")
    await expect(page.get_by_role("button", name="Run again")).to_be_visible()
    await definition_removal.remove(store, "event", event, system("tests"), SYSTEM.now())
    await page.reload()
    await expect(banner(page)).to_contain_text("Succeeded")
    await expect(page.get_by_role("button", name="Run again")).to_have_count(0)
