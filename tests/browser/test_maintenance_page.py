"""Maintenance in the calendar: planned by mouse, by finger and by keyboard, changed and ended."""

import asyncio
import re
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.alerting.scenes import Stage
from tests.browser.visits import Visits, held
from tests.web.site import Site, served
from watchbell.alerting import maintenance
from watchbell.alerting.windows import Window
from watchbell.clock import SYSTEM, SetClock
from watchbell.store.client import Store

BERLIN = ZoneInfo("Europe/Berlin")
"""The zone of the tests' browser."""
DASH = "\u2013"
CHECKS = ("web-1:HTTP", "web-2:HTTP", "web-2:<b>Disk</b> /var", "db-1:MySQL")


@pytest_asyncio.fixture(loop_scope="session")
async def monday(store: Store) -> datetime:
    """The beginning of a week to come, in which no clocks are set; there are some checks."""
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    for name in CHECKS:
        await stage.send("ok", name)
    day = datetime.fromtimestamp(SYSTEM.now(), BERLIN).replace(hour=0, minute=0, second=0)
    first = day.replace(microsecond=0) + timedelta(days=7 - day.weekday())
    while (first + timedelta(days=7)).utcoffset() != first.utcoffset():
        first += timedelta(days=7)
    return first


def week_of(day: datetime) -> str:
    return f"/maintenance?view=week&day={day:%Y-%m-%d}"


def at(day: datetime, hour: int, minute: int = 0) -> int:
    return int(day.replace(hour=hour, minute=minute).timestamp())


async def point(page: Page, day: datetime, hours: float) -> tuple[float, float, float]:
    """Where a time of a day is on the screen, once it was brought there, and how high an hour."""
    column = page.locator(f'[data-day="{day:%Y-%m-%d}"]')
    await expect(column).to_be_attached()
    await column.evaluate(
        """(column, share) => {
          const frame = column.closest(".cal");
          frame.scrollTop = share * column.offsetHeight - 150;
          frame.scrollLeft = column.offsetLeft - 60;
          column.scrollIntoView({ block: "nearest" });
        }""",
        max(hours, 1) / 24,
    )
    box = await column.bounding_box()
    assert box is not None
    return box["x"] + 12, box["y"] + box["height"] * hours / 24, box["height"] / 24


async def plan(page: Page, pattern: str, count: str, why: str = "") -> None:
    dialog = page.get_by_role("dialog", name="Schedule maintenance")
    await dialog.get_by_label("Checks").fill(pattern)
    await expect(dialog.get_by_role("status")).to_contain_text(count)
    if why:
        await dialog.get_by_label("Reason").fill(why)
    await dialog.get_by_role("button", name="Schedule", exact=True).click()
    await expect(dialog).not_to_be_attached()


def piece(page: Page, words: str) -> Locator:
    return page.get_by_role("button", name=re.compile(words))


async def test_maintenance_is_planned_by_dragging_then_changed_and_taken_back(
    site: Site, store: Store, visit: Visits, monday: datetime
) -> None:
    tuesday = monday + timedelta(days=1)
    page = await visit(site, "operator", week_of(monday))
    x, y, hour = await point(page, tuesday, 10.1)
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x, y + 1.8 * hour, steps=5)
    await expect(page.locator(".cal-selected")).to_have_text(f"10:00 {DASH} 12:00")
    await page.mouse.up()
    await plan(page, "web-*", "3 checks", "<i>new</i> disks")
    shown = piece(page, f"disks 3 checks, scheduled, Tue .*, 10:00 {DASH} 12:00")
    await expect(shown).to_be_visible()
    expected = Window(at(tuesday, 10), 7_200, "<i>new</i> disks")
    assert await maintenance.windows(store, "web-1:HTTP", "scheduled") == [expected]
    assert await maintenance.windows(store, "db-1:MySQL", "scheduled") == []

    await shown.click()
    detail = page.get_by_role("dialog")
    await expect(detail.get_by_role("link", name="web-2:<b>Disk</b> /var")).to_be_visible()
    await detail.get_by_role("button", name="Change end").click()
    await detail.get_by_label("Ends", exact=True).fill(f"{tuesday:%Y-%m-%d} 10:30")
    await detail.get_by_role("button", name="Save").click()
    shortened = piece(page, f"10:00 {DASH} 10:30")
    await shortened.click()
    (window,) = await maintenance.windows(store, "web-1:HTTP", "scheduled")
    assert window.duration == 1_800

    await page.get_by_role("button", name="Delete", exact=True).click()
    question = page.get_by_role("dialog", name="Delete this maintenance?")
    await expect(question).to_contain_text("The maintenance is deleted for 3 checks")
    await question.get_by_role("button", name="Delete maintenance").click()
    await expect(question).not_to_be_attached()
    await expect(shortened).not_to_be_attached()
    assert await maintenance.windows(store, "web-1:HTTP", "scheduled") == []


async def test_past_entries_of_the_list_stand_below_each_other(
    store: Store, visit: Visits, monday: datetime
) -> None:
    now = int(SYSTEM.now())
    for number in range(3):
        window = Window(at(monday, 8 + number), 1_800, f"move {number}")
        await maintenance.create(store, ["web-1:HTTP"], "scheduled", window, now)
    later = SetClock(at(monday + timedelta(days=1), 8))
    async with served(store, later) as other:
        page = await visit(other, "viewer", f"/maintenance?view=agenda&day={monday:%Y-%m-%d}")
        items = page.get_by_role("listitem").filter(has_text="ended")
        await expect(items).to_have_count(3)
        boxes = [await items.nth(number).bounding_box() for number in range(3)]
        tops = [(box["y"], box["y"] + box["height"]) for box in boxes if box]
        assert all(first[1] <= second[0] for first, second in pairwise(tops)), tops
        await page.context.close()


async def test_maintenance_is_planned_with_the_keyboard_alone(
    site: Site, store: Store, visit: Visits, monday: datetime
) -> None:
    page = await visit(site, "operator", week_of(monday))
    calendar = page.get_by_role("application", name="Week")
    await calendar.focus()
    # Into Monday 00:00, then to Wednesday 01:30, and until 03:00.
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):
        await page.keyboard.press(key)
    for _ in range(2):
        await page.keyboard.press("Shift+ArrowDown")
    await expect(page.get_by_role("status").filter(has_text=f"01:30 {DASH} 03:00")).to_be_attached()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Schedule maintenance")
    await expect(dialog.get_by_label("Checks")).to_be_focused()
    await page.keyboard.type("db-1")
    await expect(dialog.get_by_role("status")).to_contain_text("1 check,")
    await page.keyboard.press("Enter")
    await expect(dialog).not_to_be_attached()
    await expect(piece(page, f"db-1:MySQL, scheduled, .*01:30 {DASH} 03:00")).to_be_visible()
    wednesday = monday + timedelta(days=2)
    expected = Window(at(wednesday, 1, 30), 5_400)
    assert await maintenance.windows(store, "db-1:MySQL", "scheduled") == [expected]


async def test_a_finger_that_holds_draws_and_one_that_moves_scrolls(
    site: Site, store: Store, visit: Visits, monday: datetime
) -> None:
    page = await visit(site, "operator", week_of(monday), look="phone")
    x, y, hour = await point(page, monday, 9.1)
    touch = await page.context.new_cdp_session(page)

    async def finger(kind: str, *points: tuple[float, float]) -> None:
        spots = [{"x": x, "y": y} for x, y in points]
        await touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    await finger("touchStart", (x, y))
    await expect(page.locator(".cal-selected")).to_have_text(f"09:00 {DASH} 09:30")
    for step in (0.3, 0.6, 1.2):
        await finger("touchMove", (x, y + step * hour))
    await expect(page.locator(".cal-selected")).to_have_text(f"09:00 {DASH} 10:30")
    await finger("touchEnd")
    await plan(page, "db-*", "1 check,")
    expected = Window(at(monday, 9), 5_400)
    assert await maintenance.windows(store, "db-1:MySQL", "scheduled") == [expected]

    # All at once: a finger that rests in between would draw.
    moves = [finger("touchMove", (x, y + 60 - step)) for step in (10, 30, 50)]
    await asyncio.gather(finger("touchStart", (x, y + 60)), *moves, finger("touchEnd"))
    await expect(page.locator(".cal-selected")).not_to_be_attached()
    await expect(page.get_by_role("dialog")).not_to_be_attached()


async def test_where_clocks_are_set_back_both_hours_can_be_meant(
    site: Site, store: Store, visit: Visits, monday: datetime
) -> None:
    sunday = monday + timedelta(days=6)
    while (sunday + timedelta(days=1)).utcoffset() >= sunday.utcoffset():  # type: ignore[operator]
        sunday += timedelta(days=7)
    page = await visit(site, "operator", week_of(sunday))
    await expect(page.get_by_text("25 h", exact=True)).to_be_visible()
    await page.get_by_role("application", name="Week").focus()
    await page.keyboard.press("ArrowDown")
    for key in [*["ArrowRight"] * 6, *["ArrowDown"] * 6]:
        await page.keyboard.press(key)
    await page.keyboard.press("Enter")
    await plan(page, "web-1", "1 check,")
    (window,) = await maintenance.windows(store, "web-1:HTTP", "scheduled")
    again = sunday.replace(hour=2, fold=1)
    assert (window.start, window.duration) == (int(again.timestamp()), 3_600)
    assert again.timestamp() - sunday.timestamp() == 3 * 3_600


async def test_the_list_and_the_month_show_the_same_and_what_others_do_comes_by_itself(
    site: Site, store: Store, visit: Visits, monday: datetime
) -> None:
    now = int(SYSTEM.now())
    page = await visit(site, "viewer", f"/maintenance?view=agenda&day={monday:%Y-%m-%d}")
    await expect(page.get_by_text("No maintenance in this period.")).to_be_visible()
    await expect(page.get_by_role("button", name="Schedule maintenance")).not_to_be_attached()
    window = Window(at(monday, 8), 3 * 86_400, "move to rack B")
    await maintenance.create(store, ["web-1:HTTP", "web-2:HTTP"], "scheduled", window, now)
    await expect(piece(page, "move to rack B scheduled 2 checks")).to_be_visible()
    await page.get_by_role("button", name="Month").click()
    await expect(page).to_have_url(re.compile("view=month"))
    shown = piece(page, "move to rack B 2 checks, scheduled, ").first
    await shown.click()
    await expect(page.get_by_role("dialog", name="move to rack B")).to_contain_text("web-2:HTTP")
    await expect(page.get_by_role("button", name="Delete")).not_to_be_attached()
    await page.keyboard.press("Escape")
    await page.get_by_label("Filter by check").fill("db-*")
    await expect(shown).not_to_be_attached()


async def test_a_calendar_without_its_windows_is_loading(
    site: Site, visit: Visits, monday: datetime
) -> None:
    page = await visit(site, "viewer")
    async with held(page, "**/api/v1/maintenance?*"):
        await page.goto(week_of(monday))
        await expect(page.get_by_role("status", name="Loading")).to_be_attached()
    await expect(page.get_by_role("status", name="Loading")).to_have_count(0)


async def test_an_end_that_is_refused_is_told_at_its_field(
    site: Site, store: Store, visit: Visits, monday: datetime
) -> None:
    now = int(SYSTEM.now())
    window = Window(at(monday, 8), 3_600, "move")
    await maintenance.create(store, ["web-1:HTTP"], "scheduled", window, now)
    visit.forgive("/api/v1/maintenance answered 422|status of 422")
    page = await visit(site, "operator", week_of(monday))
    await piece(page, f"move .*, scheduled, .*08:00 {DASH} 09:00").click()
    await page.get_by_role("button", name="Change end").click()
    await page.get_by_label("Ends", exact=True).fill("yesterday")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("Ends", exact=True)).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_role("dialog")).to_contain_text("expected a time after the start")
