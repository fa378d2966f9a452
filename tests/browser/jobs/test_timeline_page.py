"""The timeline in a browser: bars for what ran, dots for what will run, by mouse and keyboard."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.jobs.test_event_pages import FITS, define
from tests.browser.visits import Visits
from tests.jobs.logs import begun, job
from tests.jobs.test_job_history import finish, over
from tests.web.site import Site
from watchbell.clock import SYSTEM
from watchbell.jobs import stock
from watchbell.store.client import Store

HOUR = "/timeline?zoom=hour"


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


async def fill(store: Store) -> tuple[str, str]:
    """An event that ran twice, and one that runs now."""
    now = SYSTEM.now()
    backup, index = await define(store), await define(store, "Reindex")
    await finish(
        store,
        over(1, event=backup, started=now - 1_500, completed=now - 1_200, elapsed=300),
        over(2, event=backup, started=now - 600, completed=now - 300, elapsed=300, code=1),
    )
    await begun(store, job("j9", event=index, launched=now - 60, started=now - 60))
    return backup, index


async def test_what_ran_and_runs_is_a_bar_that_opens_its_job(
    site: Site, store: Store, visit: Visits
) -> None:
    await fill(store)
    page = await visit(site, "viewer", HOUR)
    chart = page.get_by_role("group", name="Runs over time")
    await expect(chart.get_by_role("link", name="Nightly backup: succeeded")).to_have_count(1)
    await expect(chart.get_by_role("link", name="Nightly backup: failed")).to_have_count(1)
    await expect(chart.get_by_role("link", name="Reindex: running")).to_have_count(1)
    await chart.get_by_role("link", name="Nightly backup: failed").click()
    await expect(page.get_by_label("State", exact=True)).to_contain_text("Failed after 5 min")


async def test_arrow_keys_move_from_run_to_run(site: Site, store: Store, visit: Visits) -> None:
    await fill(store)
    page = await visit(site, "viewer", HOUR)
    chart = page.get_by_role("group", name="Runs over time")
    first = chart.get_by_role("link", name="Nightly backup: succeeded")
    await expect(first).to_have_attribute("tabindex", "0")
    await first.focus()
    await page.keyboard.press("ArrowRight")
    await expect(chart.get_by_role("link", name="Nightly backup: failed")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(chart.get_by_role("link", name="Reindex: running")).to_be_focused()
    await expect(chart.locator("[data-at][tabindex='0']")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Reindex", level=1)).to_be_visible()


async def test_the_stretch_is_moved_and_zoomed_and_rows_are_filtered(
    site: Site, store: Store, visit: Visits
) -> None:
    await fill(store)
    page = await visit(site, "viewer", HOUR)
    chart = page.get_by_role("group", name="Runs over time")
    await expect(chart.locator("[data-row]")).to_have_count(2)
    await page.get_by_placeholder("Filter by name").fill("reindex")
    await expect(chart.locator("[data-row]")).to_have_count(1)
    await page.get_by_placeholder("Filter by name").fill("")
    await page.get_by_role("heading", level=1).click()
    await page.keyboard.press("n")
    await page.keyboard.press("n")
    await expect(page.get_by_text("Nothing ran in this time")).to_be_visible()
    await page.keyboard.press("t")
    await expect(chart.locator("[data-row]")).to_have_count(2)
    await page.get_by_role("button", name="By server").click()
    await expect(chart.get_by_text("No server")).to_be_visible()
    await page.get_by_role("button", name="6 hours").click()
    await expect(page).to_have_url(re.compile("zoom=6h"))
    await expect(chart.get_by_role("link", name="Reindex: running")).to_have_count(1)


async def test_planned_runs_are_dots_that_open_their_event(
    site: Site, store: Store, visit: Visits
) -> None:
    await define(store, timings=[{"type": "schedule", "minutes": [0, 15, 30, 45]}])
    page = await visit(site, "viewer", HOUR)
    dots = page.get_by_role("button", name="Nightly backup: planned")
    await expect(dots.first).to_be_visible()
    await dots.first.click()
    await expect(page).to_have_url(re.compile("/events/event"))


async def test_an_event_that_runs_each_minute_is_summed_up(
    site: Site, store: Store, visit: Visits
) -> None:
    now = SYSTEM.now()
    event = await define(store, timings=[{"type": "schedule"}])
    minutes = range(30)
    past = (
        over(n, event=event, started=now - 60 * n, completed=now - 60 * n, elapsed=0.01)
        for n in minutes
    )
    await finish(store, *past)
    page = await visit(site, "viewer", "/timeline?zoom=6h")
    cluster = page.get_by_role("button", name=re.compile(r"\d+ runs of Nightly backup succeeded"))
    await expect(cluster.first).to_be_visible()
    assert await cluster.count() < 30
    await cluster.first.click()
    await expect(page).to_have_url(re.compile("zoom=hour&at="))


@pytest.mark.parametrize("path", ["/timeline", HOUR])
async def test_on_a_phone_it_is_a_list(site: Site, store: Store, visit: Visits, path: str) -> None:
    await fill(store)
    await define(store, "Hourly " + "x" * 80, timings=[{"type": "schedule", "minutes": [59]}])
    page = await visit(site, "viewer", path, look="phone")
    await expect(page.get_by_role("heading", name="Running")).to_be_visible()
    await expect(page.get_by_role("link", name="Reindex")).to_be_visible()
    assert await page.evaluate(FITS)


async def test_where_nothing_ran_there_is_the_next_step(site: Site, visit: Visits) -> None:
    page = await visit(site, "editor", "/timeline")
    await expect(page.get_by_text("Nothing ran in this time")).to_be_visible()
    await expect(page.get_by_role("link", name="New event")).to_be_visible()
