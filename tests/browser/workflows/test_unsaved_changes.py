"""Whoever leaves an editor with changes that were not saved is asked first."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.jobs import test_event_pages
from tests.browser.visits import Visits
from tests.browser.workflows import drawing
from tests.browser.workflows.drawing import node, node_named
from tests.web.site import Site
from watchbell.clock import SYSTEM
from watchbell.jobs import stock
from watchbell.store.client import Store

JOB = node("a", "job", 300, 0, label="Build", plugin="shellplug", params={"script": "true"})
EDITOR = re.compile("tab=edit$")
IS_WARNED = "() => !dispatchEvent(new Event('beforeunload', {cancelable: true}))"


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


async def opened(store: Store, site: Site, visit: Visits, kind: str) -> Page:
    """The editor of an event or workflow, reached from the list of events."""
    if kind == "workflow":
        name = await drawing.define(store, [JOB], [])
    else:
        name = await test_event_pages.define(store, "Backup")
    page = await visit(site, "editor", "/events")
    await page.get_by_role("link", name="Release" if kind == "workflow" else "Backup").click()
    await page.get_by_role("link", name="Edit", exact=True).click()
    await expect(page).to_have_url(EDITOR)
    assert name in page.url
    return page


async def change(page: Page, kind: str) -> None:
    if kind == "workflow":
        await node_named(page, "Job Build").click()
        await page.keyboard.press("Delete")
        await expect(node_named(page, "Job Build")).to_have_count(0)
    else:
        await page.get_by_label("Notes").fill("Mine")


@pytest.mark.parametrize("kind", ["event", "workflow"])
async def test_changes_are_discarded_only_on_request(
    site: Site, store: Store, visit: Visits, kind: str
) -> None:
    page = await opened(store, site, visit, kind)
    question = page.get_by_role("dialog", name="Discard your changes?")
    elsewhere = page.get_by_role("link", name="Expressions")
    await change(page, kind)
    assert await page.evaluate(IS_WARNED)
    await elsewhere.click()
    await question.get_by_role("button", name="Cancel").click()
    await expect(page).to_have_url(EDITOR)
    await page.evaluate("history.back()")
    await expect(question).to_be_visible()
    await question.get_by_role("button", name="Cancel").click()
    await expect(page).to_have_url(EDITOR)
    await page.get_by_role("link", name="History", exact=True).click()
    await expect(question).to_be_visible()
    await page.keyboard.press("Escape")
    if kind == "workflow":
        await expect(node_named(page, "Job Build")).to_have_count(0)
    else:
        await expect(page.get_by_label("Notes")).to_have_value("Mine")
    await page.evaluate("history.back()")
    await question.get_by_role("button", name="Discard changes").click()
    await expect(page).not_to_have_url(EDITOR)
    await expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    assert not await page.evaluate(IS_WARNED)


@pytest.mark.parametrize("kind", ["event", "workflow"])
async def test_nobody_is_asked_without_changes_or_after_saving(
    site: Site, store: Store, visit: Visits, kind: str
) -> None:
    page = await opened(store, site, visit, kind)
    assert not await page.evaluate(IS_WARNED)
    await page.get_by_role("link", name="History", exact=True).click()
    await expect(page).to_have_url(re.compile("tab=history$"))
    await page.get_by_role("link", name="Edit", exact=True).click()
    await page.get_by_label("Title", exact=True).fill("Another title")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="Another title")).to_be_visible()
    assert not await page.evaluate(IS_WARNED)
    await page.get_by_role("link", name="Expressions").click()
    await expect(page).to_have_url(re.compile("/expressions$"))


async def test_what_is_undone_needs_no_question(site: Site, store: Store, visit: Visits) -> None:
    page = await opened(store, site, visit, "workflow")
    await change(page, "workflow")
    assert await page.evaluate(IS_WARNED)
    await page.keyboard.press("Control+z")
    await expect(node_named(page, "Job Build")).to_be_visible()
    assert not await page.evaluate(IS_WARNED)
