"""The page of one check: its past as a picture, who would be called, and what can be done."""

import re
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from tests.alerting.scenes import Stage
from tests.browser.visits import Look, Visits
from tests.web.site import Site
from watchbell.alerting import maintenance
from watchbell.alerting.keys import Alerting
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

NAME = "web-1:HTTP / <script>alert(1)</script> ü"
PATH = f"/check?id={quote(NAME, safe='')}"
HOUR = 3_600


async def staged(store: Store) -> Stage:
    """A check that failed three times today, the last time to this moment."""
    stage = Stage(store)
    stage.now = int(SYSTEM.now()) - 10 * HOUR
    await stage.contact("alice", "email", "sms")
    await stage.contact("bob", "email", rule={"entities": ("web-1",), "critical_blackhole": True})
    await stage.send("ok", NAME, summary="200 OK")
    for n in range(3):
        await stage.later(HOUR).send("critical", NAME, summary=f"refused, {n}")
        await stage.later(60).send("critical", NAME, summary=f"refused, {n}", perfdata="time=2s")
        if n < 2:
            await stage.later(HOUR).send("ok", NAME, summary="200 OK", perfdata="time=1s")
    start = int(SYSTEM.now()) - 8 * HOUR
    await maintenance.create_scheduled(store, NAME, start, HOUR, "new disks", start)
    stage.now = int(SYSTEM.now())
    return stage


def _begins(words: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(words)}")


async def tabbed(page: Page, name: str) -> None:
    parts = page.get_by_role("navigation", name="Parts of this page")
    await parts.get_by_role("link", name=name).click()


async def test_a_check_tells_its_past_and_who_would_be_called(site: Site, visit: Visits) -> None:
    await staged(site.store)
    page = await visit(site, "viewer", PATH)
    await expect(page.get_by_role("heading", level=1)).to_have_text(NAME.partition(":")[2])
    state = page.get_by_role("region", name="State")
    await expect(state).to_contain_text("critical")
    await expect(state).to_contain_text("refused, 2")
    await expect(page.get_by_text("3 outages, excluding scheduled maintenance")).to_be_visible()

    picture = page.get_by_role("slider", name="States over time")
    await picture.focus()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await expect(picture).to_have_attribute("aria-valuetext", _begins("ok, for 1 h"))
    await page.keyboard.press("Home")
    await expect(picture).to_have_attribute("aria-valuetext", _begins("no data"))
    await page.get_by_role("button", name="7 d").click()
    await expect(page).to_have_url(re.compile("range=7[+]d"))

    await expect(page.get_by_role("table", name="State changes").get_by_role("row")).to_have_count(
        7
    )
    await tabbed(page, "Decisions")
    await expect(page.get_by_text("it has not failed for long enough").first).to_be_visible()
    await tabbed(page, "Who gets notified")
    await expect(page.get_by_text("a matching rule drops critical alerts").first).to_be_visible()
    await page.get_by_role("button", name="ok", exact=True).click()
    await expect(page.get_by_text("1 contact would be notified, 1 more would not")).to_be_visible()
    await tabbed(page, "Measurements")
    await expect(page.get_by_role("slider", name="time")).to_be_visible()
    await expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)


async def test_tags_of_reports_filter_the_list_and_decide_who_is_called(
    site: Site, visit: Visits
) -> None:
    stage = await staged(site.store)
    await stage.send("critical", NAME, tags=("db", "prod"))
    await stage.rule("bob", id="bob-db", tags=("db",), critical_media=("email",))
    page = await visit(site, "viewer", PATH)
    await tabbed(page, "Who gets notified")
    await expect(page.get_by_text("Rules are matched against these tags")).to_contain_text("prod")
    await page.get_by_role("link", name="prod", exact=True).click()
    await expect(page).to_have_url(re.compile("/checks[?]tag=prod$"))
    await expect(page.get_by_text(NAME.partition(":")[2]).first).to_be_visible()


async def test_what_is_done_is_seen_at_once(site: Site, visit: Visits) -> None:
    stage = await staged(site.store)
    page = await visit(site, "operator", PATH, name="alice")
    await expect(page.get_by_role("region", name="State")).to_contain_text("critical")
    await page.keyboard.press("a")
    await page.get_by_label("Comment").fill("a cable")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    stage.now = int(SYSTEM.now())
    await stage.drain()
    state = page.get_by_role("region", name="State")
    await expect(state).to_contain_text("alice: a cable")
    await state.get_by_role("button", name="End").click()
    await page.get_by_role("button", name="End acknowledgement").click()
    await expect(state).not_to_contain_text("a cable")
    await undo(page, "Acknowledgement ended.")
    await expect(state).to_contain_text("alice: a cable")
    await state.get_by_role("button", name="End").click()
    await page.get_by_role("button", name="End acknowledgement").click()
    await expect(state).not_to_contain_text("a cable")

    await page.get_by_role("button", name="Schedule maintenance", exact=True).click()
    await page.get_by_label("Start", exact=True).fill("in 2 days")
    await page.get_by_label("Reason").fill("new disks again")
    await page.get_by_role("button", name="Schedule", exact=True).click()
    await tabbed(page, "Maintenance")
    await expect(page.get_by_role("table", name="Maintenance")).to_contain_text("new disks again")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("button", name="Delete maintenance").click()
    await expect(page.get_by_text("No current or scheduled maintenance.")).to_be_visible()


async def undo(page: Page, words: str) -> None:
    toast = page.get_by_role("status").locator(".toast").filter(has_text=words)
    await toast.get_by_role("button", name="Undo").click()
    await expect(toast).to_have_count(0)


async def test_an_acknowledgement_begins_with_its_comment_and_is_undone(
    site: Site, visit: Visits
) -> None:
    stage = await staged(site.store)
    page = await visit(site, "operator", PATH, name="alice")
    await page.get_by_role("button", name="Acknowledge").click()
    dialog = page.get_by_role("dialog", name="Acknowledge")
    await expect(dialog.get_by_label("Comment")).to_be_focused()
    assert await dialog.locator("input").first.get_attribute("name") == "summary"
    await dialog.get_by_label("Comment").fill("a cable")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("1 check acknowledged.")).to_be_visible()
    stage.now = int(SYSTEM.now())
    await stage.drain()
    state = page.get_by_role("region", name="State")
    await expect(state).to_contain_text("alice: a cable")
    await undo(page, "1 check acknowledged.")
    await expect(state).not_to_contain_text("a cable")
    (window,) = await maintenance.windows(site.store, NAME, "unscheduled")
    assert not window.is_open(int(SYSTEM.now()))


async def test_maintenance_is_picked_from_a_calendar_and_undone(site: Site, visit: Visits) -> None:
    await staged(site.store)
    page = await visit(site, "operator", f"{PATH}&tab=maintenance")
    await page.get_by_role("button", name="Schedule maintenance").first.click()
    dialog = page.get_by_role("dialog", name="Schedule maintenance")
    await dialog.get_by_role("button", name="Pick a date and time: Start").click()
    await dialog.locator("input[type=datetime-local]").fill("2099-11-24T09:30")
    await expect(dialog.get_by_label("Start", exact=True)).to_have_value("2099-11-24 09:30")
    await dialog.get_by_label("Reason").fill("new disks again")
    await dialog.get_by_role("button", name="Schedule", exact=True).click()
    table = page.get_by_role("table", name="Maintenance")
    await expect(table).to_contain_text("24 Nov 2099")
    await undo(page, "1 check put into maintenance.")
    await expect(table).to_have_count(0)


async def test_a_long_entity_name_breaks_within_the_page(site: Site, visit: Visits) -> None:
    stage = await staged(site.store)
    entity = "x" * 200
    await stage.send("critical", f"{entity}:HTTP", summary="refused")
    page = await visit(site, "viewer", f"/check?id={entity}%3AHTTP")
    await expect(page.get_by_role("region", name="State")).to_contain_text("refused")
    assert await page.title() == f"HTTP on {entity} · Watchbell"
    assert await page.evaluate("document.documentElement.scrollWidth") <= 1280


async def test_the_page_follows_the_check(site: Site, visit: Visits) -> None:
    stage = await staged(site.store)
    page = await visit(site, "viewer", PATH)
    state = page.get_by_role("region", name="State")
    await expect(state).to_contain_text("critical")
    await stage.send("ok", NAME, summary="it is back")
    await expect(state).to_contain_text("it is back")
    await expect(page.get_by_role("table", name="State changes")).to_contain_text("it is back")


async def test_the_state_that_the_keyboard_has_reached_stays_selected(
    site: Site, visit: Visits
) -> None:
    stage = await staged(site.store)
    page = await visit(site, "viewer", PATH)
    picture = page.get_by_role("slider", name="States over time")
    await expect(picture).to_have_attribute("aria-valuemax", "6")
    await picture.focus()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await expect(picture).to_have_attribute("aria-valuetext", _begins("ok, for 1 h"))
    await stage.send("ok", NAME, summary="it is back")
    await expect(picture).to_have_attribute("aria-valuemax", "7")
    await expect(picture).to_have_attribute("aria-valuetext", _begins("ok, for 1 h"))


async def test_a_check_that_is_not_there_says_so(site: Site, visit: Visits) -> None:
    visit.forgive("answered 404")
    page = await visit(site, "viewer", "/check?id=web-9%3AHTTP")
    await expect(page.get_by_role("alert")).to_contain_text(
        "no check 'web-9:HTTP' has reported yet"
    )
    await expect(page.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.parametrize("look", ["phone", "dark phone"])
async def test_both_pages_fit_on_a_phone(site: Site, visit: Visits, look: Look) -> None:
    stage = await staged(site.store)
    await stage.send("critical", f"{'x' * 300}:{'y' * 300}", summary="z" * 2_000)
    await stage.store.call("LPUSH", Alerting().events(), "not json")
    await stage.drain()
    page = await visit(site, "administrator", "/", look=look, name="alice")
    await expect(page.get_by_text("2 checks need attention")).to_be_visible()
    await fits(page)
    await page.get_by_role("link", name="HTTP /").first.click()
    for name in (
        "History",
        "Who gets notified",
        "Decisions",
        "Alerts",
        "Maintenance",
        "Measurements",
    ):
        await tabbed(page, name)
        await expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        await fits(page)


async def fits(page: Page) -> None:
    """By the width of the phone: what is too wide makes the window itself wider."""
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
