"""The page of all checks: very many, live, found by typing and acted upon together."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests import servers
from tests.alerting.scenes import Stage
from tests.browser.visits import Visits
from tests.web.site import Site, served
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store
from watchbell.store.script import Script

CHECKS = {
    "web-1:HTTP": "critical",
    "web-1:Disk /": "ok",
    "web-2:HTTP": "warning",
    "db-1:Load": "unknown",
    "db-1:NTP:drift": "ok",
    "mail-1:<script>alert(1)</script>": "ok",
}

# KEYS[1] all_checks; ARGV[1] what keys of checks begin with, ARGV[2] the same of current_checks,
# ARGV[3] how many, ARGV[4] now.
_FILL = Script("""
for i = 1, tonumber(ARGV[3]) do
  local entity, check = string.format('host-%05d', math.floor(i / 10)), 'check ' .. i % 10
  redis.call('HSET', ARGV[1] .. entity .. ':' .. check, 'state', 'ok', 'summary', 'fine ' .. i,
    'last_change', ARGV[4] - i, 'last_update', ARGV[4])
  redis.call('ZADD', KEYS[1], ARGV[4], entity .. ':' .. check)
  redis.call('ZADD', ARGV[2] .. entity, ARGV[4], check)
end
""")


@pytest_asyncio.fixture(loop_scope="session")
async def stage(store: Store) -> Stage:
    stage = Stage(store, initial_failure_delay=0)
    stage.now = int(SYSTEM.now()) - 600
    for name, state in CHECKS.items():
        await stage.later(1).send(state, name, summary=f"{state} it is")
    stage.now = int(SYSTEM.now())
    return stage


async def fill(store: Store, count: int) -> None:
    keys = Alerting(store.prefix)
    begins = [keys.current.literals[0], keys.current_checks.literals[0]]
    await _FILL(store, [keys.all_checks()], [*begins, count, int(SYSTEM.now()) - 100_000])


async def shown(page: Page) -> list[str]:
    return [
        " ".join(text.split()) for text in await page.locator(".checks-name a").all_inner_texts()
    ]


async def away(page: Page) -> None:
    """The pointer leaves the list, and nothing of it is in focus."""
    await page.mouse.move(5, 5)


async def test_twenty_thousand_checks_are_shown_found_and_live(
    site: Site, store: Store, stage: Stage, visit: Visits
) -> None:
    await fill(store, 20_000)
    page = await visit(site, "viewer", "/checks")
    grid = page.get_by_role("grid", name="Checks")
    await expect(grid).to_have_attribute("aria-rowcount", "20007")
    assert await page.locator(".checks-row").count() < 80
    first = page.locator(".checks-row").first
    await expect(first).to_contain_text("web-1 HTTP")

    await stage.send("critical", "host-01234:check 5", summary="it fell over")
    await expect(first).to_contain_text("host-01234 check 5")
    await expect(first).to_contain_text("it fell over")
    await expect(page.get_by_role("button", name="critical")).to_contain_text("2")

    await grid.evaluate("grid => grid.scrollTo(0, grid.scrollHeight)")
    await expect(page.locator(".checks-row").last).to_contain_text("host-02000 check 0")
    await grid.evaluate("grid => grid.scrollTo(0, 0)")

    await page.keyboard.press("/")
    await page.keyboard.type("host-01234")
    await expect(grid).to_have_attribute("aria-rowcount", "11")
    await expect(page).to_have_url(re.compile(r"text=host-01234$"))
    await expect(first).to_contain_text("check 5")


async def test_rows_stay_where_they_are_while_somebody_is_at_them(
    site: Site, stage: Stage, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/checks")
    row = page.get_by_role("row").filter(has_text="db-1 NTP:drift")
    await row.hover()
    before = await shown(page)
    await stage.send("critical", "db-1:NTP:drift", summary="late")
    await expect(row).to_contain_text("critical")
    assert await shown(page) == before
    waiting = page.get_by_text("1 change")
    await expect(waiting).to_be_visible()
    # By key: a pointer on its way there leaves the rows, which then need not stay any longer.
    await waiting.get_by_role("button", name="Show").press("Enter")
    await expect(page.locator(".checks-row").first).to_contain_text("db-1 NTP:drift")
    await away(page)
    await stage.later(1).send("ok", "db-1:NTP:drift")
    await expect(page.locator(".checks-row").first).to_contain_text("web-1 HTTP")


async def test_failures_are_acknowledged_with_the_keyboard_alone(
    site: Site, stage: Stage, visit: Visits
) -> None:
    page = await visit(site, "operator", "/checks", name="alice")
    await expect(page.locator(".checks-row")).to_have_count(6)
    for key in ("j", "x", "j", "x", "j", "j", "x", "a"):
        await page.keyboard.press(key)
    dialog = page.get_by_role("dialog", name="Acknowledge")
    await expect(dialog).to_contain_text("2 checks of 3 selected")
    await expect(dialog).to_contain_text("1 check skipped: it is not failing")
    await dialog.get_by_label("Comment").fill("on it")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("2 checks acknowledged")).to_be_visible()
    await expect(dialog).to_be_hidden()
    await stage.drain()
    told = page.get_by_role("row").filter(has_text="acknowledged")
    await expect(told).to_have_count(2)
    await expect(page.get_by_role("toolbar")).to_be_hidden()


@pytest.mark.usefixtures("stage")
async def test_all_that_match_are_put_into_maintenance(site: Site, visit: Visits) -> None:
    page = await visit(site, "operator", "/checks?text=http")
    await page.get_by_role("checkbox", name="Select all").check()
    await expect(page.get_by_text("2 selected")).to_be_visible()
    await page.get_by_role("button", name="Maintenance", exact=True).click()
    dialog = page.get_by_role("dialog", name="Schedule maintenance")
    visit.forgive("checks/maintenance answered 422")
    await dialog.get_by_label("Start", exact=True).fill("the day after")
    await dialog.get_by_role("button", name="Schedule", exact=True).click()
    await expect(dialog.get_by_label("Start", exact=True)).to_have_attribute("aria-invalid", "true")
    await dialog.get_by_label("Start", exact=True).fill("now")
    await dialog.get_by_role("button", name="Schedule", exact=True).click()
    await expect(page.get_by_text("2 checks put into maintenance")).to_be_visible()
    await expect(page.locator(".checks-row .checks-flag", has_text="maintenance")).to_have_count(2)


@pytest.mark.usefixtures("stage")
async def test_what_is_disabled_goes_away_and_comes_back(site: Site, visit: Visits) -> None:
    page = await visit(site, "editor", "/checks")
    row = page.get_by_role("row").filter(has_text="web-2 HTTP")
    await row.get_by_role("checkbox").check()
    await page.get_by_role("button", name="Disable").click()
    await page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    await away(page)
    await expect(row).to_be_hidden()
    await page.get_by_label("Show").select_option("disabled")
    await expect(row).to_be_visible()
    await page.get_by_label("Show").select_option("")
    await page.get_by_role("button", name="Undo").click()
    await expect(row).to_be_visible()


@pytest.mark.usefixtures("stage")
async def test_a_viewer_is_offered_nothing_to_do(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/checks")
    await page.get_by_role("checkbox", name="Select all").check()
    bar = page.get_by_role("toolbar")
    await expect(bar).to_contain_text("6 selected")
    await expect(bar.get_by_role("button")).to_have_count(1)
    await page.keyboard.press("a")
    await expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.usefixtures("stage")
async def test_a_filter_can_be_linked_to_and_taken_back(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/checks?state=ok&entity=web-1&sort=name")
    await expect(page.locator(".checks-row")).to_have_count(1)
    await expect(page.get_by_role("button", name="ok")).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="Remove entity web-1").click()
    await expect(page.locator(".checks-row")).to_have_count(3)
    await page.get_by_role("button", name="ok").click()
    assert await shown(page) == sorted(name.replace(":", " ", 1) for name in CHECKS)
    await page.get_by_role("button", name=re.compile("^Check")).click()
    assert (await shown(page))[0] == "web-2 HTTP"
    await page.get_by_label("Filter checks").fill("nothing like it")
    await page.get_by_role("button", name="Clear filters").click()
    await expect(page.locator(".checks-row")).to_have_count(6)
    await page.get_by_text("<script>alert(1)</script>").click()
    await expect(page).to_have_url(re.compile(r"/check\?id=mail-1%3A%3Cscript"))


@pytest.mark.usefixtures("stage")
async def test_on_a_phone_nothing_is_cut_off(site: Site, visit: Visits) -> None:
    page = await visit(site, "operator", "/checks", look="dark phone")
    row = page.get_by_role("row").filter(has_text="web-1")
    await row.first.get_by_role("checkbox").check()
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    await page.get_by_role("button", name="Acknowledge").click()
    box = await page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


async def test_a_page_comes_back_by_itself_when_the_server_does(
    store: Store, stage: Stage, visit: Visits
) -> None:
    visit.forgive("failed: net::ERR_")
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        async with served(store, port=port) as site:
            page = await visit(site, "viewer", "/checks?text=web-1")
            row = page.get_by_role("row").filter(has_text="web-1 HTTP")
            await expect(row).to_contain_text("critical")
        notice = page.get_by_text("The server is not responding.")
        await expect(notice).to_be_visible()
        await stage.send("ok", "web-1:HTTP", summary="well again")
        async with served(store, port=port):
            await expect(row).to_contain_text("well again")
            await expect(notice).to_be_hidden()


async def test_where_there_is_nothing_it_says_what_to_do(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/checks")
    await expect(page.get_by_text("No checks yet.")).to_be_visible()
    await expect(page.get_by_text("watchbell event web-1 HTTP ok")).to_be_visible()
