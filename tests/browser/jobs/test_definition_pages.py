"""Categories, plugins, channels and tags in a browser."""

import re
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.browser.visits import Look, Visits
from tests.web.site import Site
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions, job_records, stock
from watchbell.store.client import Store

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


async def define(store: Store, kind: Any, **fields: Any) -> str:
    made = await definitions.create(store, kind, fields, system("tests"), SYSTEM.now())
    return made.id


async def stored(store: Store, kind: Any, name: str) -> Any:
    return await definitions.get(store, kind, name)


def rows(page: Page, name: str) -> Locator:
    return page.get_by_role("table", name=name).locator("tbody tr")


@pytest.mark.parametrize("look", ["desktop", "phone", "dark"])
async def test_a_category_is_created_with_a_limit_changed_and_deleted(
    site: Site, store: Store, visit: Visits, look: Look
) -> None:
    page = await visit(site, "editor", "/categories", look=look)
    await page.get_by_role("button", name="New category").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Title").fill("Databases")
    await dialog.get_by_label("Id", exact=True).fill("databases")
    await dialog.get_by_label("teal").check()
    await dialog.get_by_label("Add a limit").select_option("time")
    assert await page.evaluate(FITS)
    await dialog.get_by_role("button", name="Create category").click()
    await expect(rows(page, "Categories").filter(has_text="Databases")).to_contain_text("1 limit")
    await page.get_by_role("link", name="Databases").click()
    await dialog.get_by_label("Notes").fill("Ask Alice.")
    await dialog.get_by_role("button", name="Save").click()
    await expect(rows(page, "Categories").filter(has_text="Ask Alice.")).to_be_visible()
    found = await stored(store, "category", "databases")
    assert (found.color, found.limits[0].duration, found.notes) == ("teal", 3_600, "Ask Alice.")
    await page.get_by_role("link", name="Databases").click()
    await dialog.get_by_text("History").click()
    await expect(dialog.get_by_label("Revisions").get_by_role("listitem")).to_have_count(2)
    await dialog.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog", name="Delete Databases?").get_by_text("Delete").last.click()
    await expect(rows(page, "Categories")).to_have_count(1)
    assert await page.evaluate(FITS)


async def test_a_wrong_property_is_shown_at_its_field(
    site: Site, store: Store, visit: Visits
) -> None:
    visit.forgive("answered 4")
    await define(store, "channel", id="dba", title="Database team")
    page = await visit(site, "editor", "/channels?id=dba")
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Mail addresses").fill("nobody")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_label("Mail addresses")).to_be_focused()
    await expect(dialog.locator(".wrong")).to_contain_text("mail addresses separated by commas")
    await dialog.get_by_label("Mail addresses").fill("alice@example.com")
    await dialog.get_by_role("button", name="Save").click()
    await expect(rows(page, "Channels")).to_contain_text("1 address")


async def test_a_tag_is_used_by_events(site: Site, store: Store, visit: Visits) -> None:
    page = await visit(site, "editor", "/tags")
    await page.get_by_role("button", name="New tag").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Title").fill("Nightly")
    await dialog.get_by_label("Id", exact=True).fill("nightly")
    await dialog.get_by_role("button", name="Create tag").click()
    await expect(rows(page, "Tags")).to_have_count(1)
    script = {"script": "#!/bin/sh\n"}
    await define(store, "event", title="Backup", params=script, tags=["nightly"])
    await rows(page, "Tags").get_by_role("link", name="1").click()
    await expect(rows(page, "Events").filter(has_text="Backup")).to_contain_text("Nightly")


async def test_an_event_asks_for_what_its_plugin_asks_for(
    site: Site, store: Store, visit: Visits
) -> None:
    page = await visit(site, "editor", "/plugins")
    await page.get_by_role("link", name="New plugin").click()
    await page.get_by_label("Title").fill("Database dump")
    await page.get_by_label("Id", exact=True).fill("dump")
    await page.get_by_label("Program").fill("/bin/sh")
    await page.get_by_label("Script").fill("pg_dump $DATABASE")
    await page.get_by_role("button", name="Add a parameter").click()
    await page.get_by_label("Id", exact=True).last.fill("database")
    await page.get_by_label("Title").last.fill("Database")
    await page.get_by_label("Type").select_option("select")
    await page.get_by_label("Choices").fill("shop, Customers [crm]")
    await page.get_by_role("button", name="Create plugin").click()
    await expect(page.get_by_role("heading", name="Database dump")).to_be_visible()
    await page.get_by_role("link", name="New event").click()
    await page.get_by_label("Title").fill("Dump the customers")
    await page.get_by_label("Database", exact=True).select_option("Customers")
    await page.get_by_role("button", name="Create event").click()
    await expect(page.get_by_role("heading", name="Dump the customers")).to_be_visible()
    event = await stored(store, "event", page.url.partition("id=")[2])
    assert (event.plugin, event.params) == ("dump", {"database": "crm"})


async def test_a_plugin_is_tried_twice_by_jobs_that_count_nowhere(
    site: Site, store: Store, visit: Visits
) -> None:
    visit.forgive("answered 4")
    page = await visit(site, "editor", "/plugins?id=httpplug&tab=try")
    await page.get_by_role("button", name="Run a test job").click()
    await expect(page.get_by_label("URL")).to_be_focused()
    for number in (1, 2):
        await page.goto("/plugins?id=httpplug&tab=try")
        await page.get_by_label("URL").fill(f"https://example.com/{number}")
        await page.get_by_role("button", name="Run a test job").click()
        await expect(page).to_have_url(re.compile("/jobs/job"))
    jobs = await job_records.live(store)
    assert sorted(job.params["url"] for job in jobs) == [
        "https://example.com/1",
        "https://example.com/2",
    ]
    assert {(job.event, job.test) for job in jobs} == {("try_httpplug", True)}
    assert (await stored(store, "event", "try_httpplug")).enabled is False


async def test_viewers_can_read_definitions_and_change_nothing(
    site: Site, store: Store, visit: Visits
) -> None:
    env = {"TOKEN": "hunter2"}
    await define(store, "plugin", id="own", title="Own", command="/bin/true", env=env)
    page = await visit(site, "viewer", "/plugins")
    await expect(page.get_by_role("link", name="New plugin")).to_have_count(0)
    await page.get_by_role("link", name="Own").click()
    await expect(page.get_by_label("Program")).to_be_disabled()
    await expect(page.get_by_role("button", name="Save")).to_have_count(0)
    await expect(page.get_by_text("Try it")).to_have_count(0)
    assert "hunter2" not in await page.content()
