"""The API documentation: filtered, linked to, with examples to copy."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.visits import Look, Visits
from tests.waiting import eventually
from tests.web.site import Site

EVENTS = "POST /api/v1/check-events"


async def test_an_operation_is_found_and_its_example_is_copied(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/api", permissions=["clipboard-read", "clipboard-write"])
    navigation = page.get_by_role("navigation", name="Pages")
    await expect(navigation.get_by_role("link", name="API", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    await expect(page.get_by_role("heading", level=2, name="Contacts")).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("report ndjson")
    headings = page.get_by_role("main").get_by_role("heading", level=2)
    await expect(headings).to_have_text(["Intake"])
    await expect(page.get_by_text("1 operation", exact=True)).to_be_visible()
    await page.locator("summary", has_text=EVENTS).press("Enter")
    await expect(page.get_by_role("table", name="Fields of CheckEvent")).to_contain_text("entity")
    await page.get_by_role("button", name=re.compile("^Copy: curl")).click()

    async def is_copied() -> bool:
        text = await page.evaluate("navigator.clipboard.readText()")
        begins = text.startswith('curl -H "Authorization: Bearer $KEY"')
        return bool(begins and text.endswith(f'"{site.url}/api/v1/check-events"'))

    await eventually(is_copied)


async def test_an_open_operation_can_be_linked_to(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/api")
    await page.locator("summary", has_text="GET /api/v1/checks").first.click()
    parameters = page.get_by_role("table", name="Parameters")
    await expect(parameters).to_contain_text("acknowledged")
    await expect(page).to_have_url(re.compile("operation="))
    await page.reload()
    await expect(parameters).to_be_in_viewport()
    await page.get_by_text("Fields of", exact=False).first.click()
    await expect(page.get_by_role("table", name=re.compile("^Fields of")).first).to_be_visible()


async def test_nothing_found_says_so(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/api?text=nothing+like+it")
    await expect(page.get_by_text("No operations match these filters.")).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await expect(page.get_by_role("heading", level=2, name="Rules")).to_be_visible()


@pytest.mark.parametrize("look", ["phone", "dark phone"])
async def test_an_open_operation_fits_on_a_phone(site: Site, visit: Visits, look: Look) -> None:
    page = await visit(site, "viewer", "/api?text=rules", look=look)
    for summary in await page.locator(".api-operation > summary").all():
        await summary.click()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
