"""Events in a browser: one is written, timed, saved, run, changed, restored and deleted."""

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

HOSTILE = "<img src=x onerror=alert(1)>"
ROME = {"type": "schedule", "hours": [2], "minutes": [30], "timezone": "Europe/Rome"}
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def stocked(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())


async def define(store: Store, title: str = "Nightly backup", **more: Any) -> str:
    event = {"title": title, "params": {"script": "#!/bin/sh\necho one\n"}, **more}
    made = await definitions.create(store, "event", event, system("tests"), SYSTEM.now())
    return made.id


async def stored(store: Store, name: str) -> Any:
    return await definitions.get(store, "event", name)


def about(name: str, tab: str = "") -> str:
    return f"/events/event?id={name}" + (f"&tab={tab}" if tab else "")


def upcoming(page: Page) -> Locator:
    return page.get_by_role("complementary").get_by_label("Next runs")


async def save(page: Page) -> None:
    await page.get_by_role("button", name="Save", exact=True).click()


async def test_a_first_event_is_written_with_a_preview_and_saved(
    site: Site, store: Store, visit: Visits
) -> None:
    page = await visit(site, "editor", "/events")
    await page.get_by_role("link", name="Create your first event").click()
    await page.get_by_label("Title").fill("Reindex")
    await page.get_by_label("Script", exact=True).fill("#!/bin/sh\nreindex --all\n")
    await expect(upcoming(page)).to_contain_text("Only on demand")
    await page.get_by_role("button", name="Every day").click()
    await page.get_by_label("At", exact=True).fill("02:30")
    await page.get_by_label("Time zone").fill("America/New_York")
    await expect(upcoming(page)).to_contain_text("At 02:30 every day, America/New_York")
    await expect(upcoming(page).get_by_role("listitem")).to_have_count(10)
    first = upcoming(page).get_by_role("listitem").first
    await expect(first).to_contain_text(re.compile(r"0[789]:30.*02:30 E[SD]T", re.DOTALL))
    await page.get_by_role("button", name="Create event").click()
    await expect(page.get_by_role("heading", name="Reindex", level=1)).to_be_visible()
    await expect(page.get_by_text("It runs at 02:30 every day, America/New_York.")).to_be_visible()
    name = page.url.partition("id=")[2]
    event = await stored(store, name)
    assert event.params == {"script": "#!/bin/sh\nreindex --all\n"}
    assert (event.timings[0].hours, event.timings[0].minutes) == ((2,), (30,))


async def test_lists_of_a_schedule_are_edited_and_problems_are_at_their_fields(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await define(store, timings=[ROME])
    page = await visit(site, "editor", about(name, "edit"))
    schedule = page.get_by_role("group", name="Schedule", exact=True)
    await schedule.get_by_role("button", name="Custom").click()
    await schedule.get_by_label("Minutes").fill("0, 61")
    await expect(schedule.get_by_label("Minutes")).to_have_attribute("aria-invalid", "true")
    await expect(schedule.get_by_text("a whole number from 0 to 59")).to_be_visible()
    await expect(upcoming(page)).to_contain_text("Correct the timings")
    await schedule.get_by_label("Minutes").fill("*/20")
    await schedule.get_by_role("button", name="14", exact=True).click()
    await schedule.get_by_role("button", name="Sun", exact=True).click()
    await expect(schedule.get_by_text("a whole number")).to_have_count(0)
    await expect(upcoming(page)).to_contain_text("Sunday")
    await page.get_by_label("Add a timing").select_option("interval")
    await page.get_by_label("Add a timing").select_option("delay")
    problem = "interval and delay exclude each other"
    await expect(page.get_by_role("group", name="Delay").get_by_text(problem)).to_be_visible()
    await page.get_by_role("button", name="Remove: Delay").click()
    await page.get_by_role("button", name="Remove: Interval").click()
    await save(page)
    await expect(page.get_by_text("Saved. It runs")).to_be_visible()
    timing = (await stored(store, name)).timings[0]
    assert (timing.minutes, timing.hours, timing.weekdays) == ((0, 20, 40), (2, 14), (0,))


async def test_what_the_server_refuses_is_shown_at_the_field_and_focused(
    site: Site, store: Store, visit: Visits
) -> None:
    visit.forgive("answered 4")
    page = await visit(site, "editor", "/events/new")
    await page.get_by_role("button", name="Create event").click()
    title = page.get_by_label("Title")
    await expect(title).to_have_attribute("aria-invalid", "true")
    await expect(title).to_be_focused()
    await title.fill("Shop")
    await page.get_by_label("Plugin", exact=True).select_option("httpplug")
    await page.get_by_label("URL").fill("shop")
    await page.get_by_role("button", name="Create event").click()
    await expect(page.locator(".wrong", has_text="text that matches ^https?")).to_be_visible()
    await expect(page.get_by_label("URL")).to_be_focused()
    await page.get_by_label("URL").fill("https://shop.example.com/")
    await page.get_by_label("Add a limit").select_option("time")
    limit = page.get_by_role("group", name="Time", exact=True)
    await limit.get_by_label("Longest time", exact=True).fill("soon")
    await page.get_by_role("button", name="Create event").click()
    await expect(limit.get_by_label("Longest time", exact=True)).to_be_focused()
    await limit.get_by_label("Longest time", exact=True).fill("90")
    await limit.get_by_label("Unit of longest time").select_option("minutes")
    await page.get_by_label("Add a limit").select_option("queue")
    await page.get_by_role("button", name="Create event").click()
    queue = page.get_by_role("group", name="Queue", exact=True)
    await expect(queue.get_by_text("a queue limit needs a job limit")).to_be_focused()
    await queue.get_by_role("button", name="Remove: Queue").click()
    await page.get_by_role("button", name="Create event").click()
    await expect(page.get_by_role("heading", name="Shop", level=1)).to_be_visible()
    assert (await stored(store, page.url.partition("id=")[2])).limits[0].duration == 5_400


async def test_an_event_is_written_with_the_keyboard_alone(
    site: Site, store: Store, visit: Visits
) -> None:
    page = await visit(site, "editor", "/checks")
    await page.keyboard.type("gv")
    new = page.get_by_role("link", name="Create your first event")
    await expect(new).to_be_visible()
    await new.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="New event")).to_be_focused()
    await expect(page.get_by_label("Title")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.keyboard.type("By hand")
    script = page.get_by_label("Script", exact=True)
    await script.focus()
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.type("if true; then")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.type("echo")
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Tab")
    await expect(script).to_be_focused()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("Timestamps")).to_be_focused()
    weekly = page.get_by_role("button", name="Every week")
    await weekly.focus()
    await page.keyboard.press("Space")
    await expect(upcoming(page)).to_contain_text("At 02:00 on Monday")
    await page.get_by_label("Title").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="By hand", level=1)).to_be_visible()
    event = await stored(store, page.url.partition("id=")[2])
    assert event.params["script"].replace("\t", "→") in (
        "if true; then\necho→",
        "if true; then\n→echo",
    )


@pytest.mark.parametrize("look", ["desktop", "phone", "dark"])
async def test_events_are_listed_filtered_and_changed_together(
    site: Site, store: Store, visit: Visits, look: Look
) -> None:
    first = await define(store, HOSTILE, timings=[ROME], tags=["nightly"])
    second = await define(store, "Tidy up", category="web")
    await define(store, "Other")
    page = await visit(site, "editor", "/events", look=look)
    rows = page.get_by_role("table", name="Events").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await expect(rows.filter(has_text=HOSTILE)).to_contain_text("at 02:30 every day, Europe/Rome")
    await page.get_by_role("button", name="Filters").click()
    await page.get_by_label("Filter by category").select_option("web")
    await expect(rows).to_have_count(1)
    await expect(page).to_have_url(re.compile("category=web"))
    await page.get_by_role("button", name="Clear", exact=True).click()
    await expect(rows).to_have_count(3)
    for name in (first, second):
        await page.get_by_label(f"Select {name}").check()
    bulk = page.get_by_role("group", name="Actions for the selected events")
    await bulk.get_by_role("button", name="Disable").click()
    await expect(page.get_by_text("2 events disabled.")).to_be_visible()
    await expect(rows.filter(has_text="Tidy up")).to_contain_text("disabled")
    await page.get_by_label(f"Select {second}").check()
    await bulk.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("1 event deleted.")).to_be_visible()
    await expect(rows).to_have_count(2)
    assert await page.evaluate(FITS)


async def test_the_whole_editor_fits_a_phone(site: Site, store: Store, visit: Visits) -> None:
    kinds = ("range", "catchup", "nth", "precision", "destruct")
    limits = ("job", "queue", "retry", "mem", "cpu", "log", "day", "file", "tag")
    page = await visit(site, "editor", "/events/new", look="phone")
    await page.get_by_label("Title").fill("Everything")
    await page.get_by_role("button", name="Every month").click()
    await page.get_by_role("button", name="Custom").click()
    for kind in kinds:
        await page.get_by_label("Add a timing").select_option(kind)
    for kind in limits:
        await page.get_by_label("Add a limit").select_option(kind)
    await page.get_by_role("button", name="Add an action").click()
    await page.get_by_label("Mail addresses").last.fill("alice@example.com")
    assert await page.evaluate(FITS)
    await page.get_by_role("button", name="Create event").click()
    await expect(page.get_by_role("heading", name="Everything", level=1)).to_be_visible()
    assert await page.evaluate(FITS)
    event = await stored(store, page.url.partition("id=")[2])
    assert [one.type for one in event.timings] == ["schedule", *kinds]
    assert [one.type for one in event.limits] == [*limits]
    assert event.actions[0].email == "alice@example.com"


async def test_an_earlier_revision_is_compared_and_restored(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await define(store, notes="Ask Alice.")
    changes = {"notes": "Ask Bob.", "params": {"script": "#!/bin/sh\necho two\n"}}
    await definitions.update(store, "event", name, changes, system("tests"), SYSTEM.now())
    page = await visit(site, "editor", about(name, "history"))
    revisions = page.get_by_label("Revisions").get_by_role("listitem")
    newest = revisions.first
    await expect(newest).to_contain_text("current")
    await expect(newest.locator("del").filter(has_text="echo one")).to_be_visible()
    await expect(newest.locator("ins").filter(has_text="echo two")).to_be_visible()
    await page.get_by_role("button", name="Restore revision 1").click()
    await page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    await expect(page.get_by_text("Revision 1 restored.")).to_be_visible()
    await expect(revisions).to_have_count(3)
    assert (await stored(store, name)).notes == "Ask Alice."


async def test_nobody_overwrites_what_somebody_else_saved(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await define(store)
    page = await visit(site, "editor", about(name, "edit"))
    await page.get_by_label("Notes").fill("Mine.")
    theirs = {"notes": "Theirs."}
    await definitions.update(store, "event", name, theirs, system("bob"), SYSTEM.now())
    visit.forgive("answered 412")
    await save(page)
    await expect(page.get_by_text("somebody else changed this event")).to_be_visible()
    await page.get_by_role("button", name="Discard my changes and reload").click()
    await expect(page.get_by_label("Notes")).to_have_value("Theirs.")
    await page.get_by_label("Notes").fill("Both.")
    await save(page)
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (await stored(store, name)).notes == "Both."


async def test_an_event_is_run_with_other_parameters_for_one_job(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await define(store, plugin="testplug", params={"duration": "5"})
    page = await visit(site, "operator", about(name))
    await expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    await page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Seconds")).to_have_value("5")
    await dialog.get_by_label("Seconds").fill("7")
    await dialog.get_by_label("Only a test").check()
    await dialog.get_by_role("button", name="Run now").click()
    await expect(page.get_by_text("Started job")).to_be_visible()
    await expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(1)
    (job,) = await job_records.live(store)
    assert (job.params["duration"], job.test, job.username) == ("7", True, "operator")


async def test_an_event_is_copied_disabled_and_deleted_and_comes_back(
    site: Site, store: Store, visit: Visits
) -> None:
    name = await define(store, timings=[ROME])
    page = await visit(site, "editor", about(name))
    await page.get_by_role("link", name="Duplicate").click()
    await expect(page.get_by_label("Title")).to_have_value("Copy of Nightly backup")
    await page.get_by_role("button", name="Create event").click()
    await expect(page.get_by_role("heading", name="Copy of Nightly backup")).to_be_visible()
    await page.get_by_role("button", name="Disable").click()
    await expect(page.get_by_text("It can't run now: the event is disabled.")).to_be_visible()
    await page.get_by_role("link", name="Edit", exact=True).click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("table", name="Events").locator("tbody tr")).to_have_count(1)
    await page.get_by_role("button", name="Undo").last.click()
    await expect(page.get_by_role("heading", name="Copy of Nightly backup")).to_be_visible()


async def test_viewers_see_events_and_no_secrets_and_no_buttons(
    site: Site, store: Store, visit: Visits
) -> None:
    secret = {"id": "token", "type": "text", "secret": True}
    plugin = {"id": "deploy", "title": "Deploy", "command": "/bin/true", "params": [secret]}
    await definitions.create(store, "plugin", plugin, system("tests"), SYSTEM.now())
    name = await define(store, plugin="deploy", params={"token": "hunter2"})
    page = await visit(site, "viewer", "/events")
    await expect(page.get_by_role("link", name="New event")).to_have_count(0)
    await page.get_by_role("link", name="Nightly backup").click()
    for verb in ("Run now", "Disable"):
        await expect(page.get_by_role("button", name=verb)).to_have_count(0)
    await page.get_by_role("link", name="History").click()
    await page.get_by_text("properties").click()
    await expect(page.locator("dt", has_text="Params")).to_be_visible()
    assert "hunter2" not in await page.content()
    assert name in page.url
