"""The rules editor: a week is painted, the sentence follows, the rule is stored and tried."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.visits import ALWAYS, Visits
from tests.web.site import Site
from watchbell.alerting import contact_links, contacts, entities, rules
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.schedule import spoken
from watchbell.store.client import Store

ALICE = Contact(
    id="alice",
    first_name="Alice",
    timezone="Europe/Rome",
    media={"email": Medium(address="alice@example.com"), "sms": Medium(address="+390551234567")},
)
MONTHLY: dict[str, object] = {
    "start_time": "2026-01-05 08:00:00",
    "end_time": "2026-01-05 18:00:00",
    "rrules": [{"rule_type": "Monthly", "validations": {"day_of_week": {"1": [1]}}}],
}
PAGE = "/contact?id=alice"
SENTENCE = (
    "If the event is tagged database, Monday to Friday, 08:00 to 18:00: critical by email, "
    "warning is not sent, unknown is not sent."
)


async def stored(store: Store) -> tuple[Rule, ...]:
    return (await contacts.known(store, "alice")).rules


def cell(page: Page, day: str, time: str) -> Locator:
    return page.get_by_role("gridcell", name=f"{day} {time}", exact=True)


async def painted_by_mouse(page: Page) -> None:
    """Once the sentence above the grid has followed, which may move the grid."""
    await expect(page.get_by_label("Rule summary")).to_contain_text("tagged database")
    await expect(page.get_by_label("Loading")).to_have_count(0)
    grid = page.get_by_role("grid")
    await grid.scroll_into_view_if_needed()
    begin = await cell(page, "Monday", "08:00").bounding_box()
    end = await cell(page, "Friday", "17:30").bounding_box()
    assert begin is not None
    assert end is not None
    await page.mouse.move(begin["x"] + 3, begin["y"] + 3)
    await page.mouse.down()
    await page.mouse.move(begin["x"] + 90, begin["y"] + 30, steps=3)
    await page.mouse.move(end["x"] + 3, end["y"] + 3, steps=5)
    await page.mouse.up()


async def tabbed_to(page: Page, there: Locator) -> None:
    """By the Tab key alone."""
    for _ in range(60):
        if await there.evaluate("element => element === document.activeElement"):
            return
        await page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {there}")


async def pressed(page: Page, key: str, times: int = 1) -> None:
    for _ in range(times):
        await page.keyboard.press(key)


async def test_a_rule_is_painted_by_mouse_and_tried_before_it_is_saved(
    site: Site, store: Store, visit: Visits
) -> None:
    await contacts.save(store, ALICE)
    page = await visit(site, "editor", PAGE)
    await page.get_by_role("button", name="Add rule").click()
    await page.get_by_label("Event has all tags").fill("database,")
    await painted_by_mouse(page)
    await page.get_by_label("critical by email").check()
    await expect(page.get_by_label("Rule summary")).to_have_text(SENTENCE)

    trial = page.locator("#try")
    await trial.get_by_label("Check").fill("db-1.example.com:Disk / Util")
    await trial.get_by_label("Tags").fill("database,")
    await trial.get_by_label("Time, in Alice's time zone").fill("sat 03:00")
    await expect(trial).to_contain_text("Rule 1 (new): it does not apply at this time")
    await expect(trial).to_contain_text("Alice would be notified by email and sms.")
    await trial.get_by_label("Time, in Alice's time zone").fill("mon 17:59")
    await expect(trial).to_contain_text("Alice would be notified by email.")
    assert await stored(store) == ()

    await page.get_by_role("button", name="Save rule").click()
    await expect(page.get_by_role("article", name="Rule 1")).to_contain_text(SENTENCE)
    [rule] = await stored(store)
    assert list(rule.time_restrictions) == spoken.windows("mon-fri 08:00-18:00")
    assert (rule.tags, rule.critical_media) == (("database",), ("email",))


async def test_the_first_rule_may_replace_the_general_one(
    site: Site, store: Store, visit: Visits
) -> None:
    await contacts.save(store, ALICE)
    page = await visit(site, "editor", PAGE)
    await page.get_by_role("button", name="Add rule").click()
    await page.get_by_label("Event has all tags").fill("database,")
    await painted_by_mouse(page)
    await page.get_by_label("critical by email").check()
    outside = page.get_by_role("status", name="Otherwise")
    await expect(outside).to_contain_text("Outside its hours, the general rule applies: Alice is")
    await page.get_by_label("Replace the automatic general rule").check()
    await expect(outside).to_have_text("Outside its hours, Alice is not notified.")
    await page.get_by_role("button", name="Save rule").click()
    await expect(page.get_by_role("article", name="Rule 2")).to_be_visible()
    assert sorted(rule.critical_media for rule in await stored(store)) == [(), ("email",)]


async def test_the_same_is_done_by_keyboard_only(site: Site, store: Store, visit: Visits) -> None:
    await contacts.save(store, ALICE)
    page = await visit(site, "editor", PAGE)
    await expect(page.get_by_role("button", name="Add rule")).to_be_visible()
    await tabbed_to(page, page.get_by_role("button", name="Add rule"))
    await page.keyboard.press("Enter")
    await tabbed_to(page, page.get_by_label("Event has all tags"))
    await page.keyboard.type("database")
    await page.keyboard.press("Enter")
    monday = cell(page, "Monday", "08:00")
    await tabbed_to(page, monday)
    await pressed(page, "Shift+ArrowRight", 19)
    await pressed(page, "Shift+ArrowDown", 4)
    await page.keyboard.press("Space")
    await expect(page.get_by_text("Monday to Friday, 08:00 to 18:00 selected")).to_be_attached()
    # Sunday evening is painted and taken back.
    await pressed(page, "End")
    await pressed(page, "ArrowDown", 2)
    await pressed(page, "Space", 1)
    await expect(cell(page, "Sunday", "23:30")).to_have_attribute("aria-selected", "true")
    await pressed(page, "Space", 1)
    await expect(cell(page, "Sunday", "23:30")).to_have_attribute("aria-selected", "false")
    await tabbed_to(page, page.get_by_label("critical by email"))
    await page.keyboard.press("Space")
    await expect(page.get_by_label("Rule summary")).to_have_text(SENTENCE)
    await tabbed_to(page, page.get_by_role("button", name="Save rule"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("article", name="Rule 1")).to_contain_text(SENTENCE)
    [rule] = await stored(store)
    assert list(rule.time_restrictions) == spoken.windows("mon-fri 08:00-18:00")


async def test_a_week_is_painted_by_finger_on_a_phone(
    site: Site, store: Store, visit: Visits
) -> None:
    await contacts.save(store, ALICE)
    await rules.save(store, Rule(id="r", contact_id="alice", critical_media=("sms",)))
    page = await visit(site, "editor", PAGE, look="phone")
    await page.get_by_role("button", name="Edit rule 1").tap()
    await expect(page.get_by_text("Without conditions this is a general rule.")).to_be_visible()
    await expect(page.get_by_label("Loading")).to_have_count(0)
    await cell(page, "Tuesday", "03:00").scroll_into_view_if_needed()
    begin = await cell(page, "Tuesday", "03:00").bounding_box()
    end = await cell(page, "Wednesday", "04:30").bounding_box()
    assert begin is not None
    assert end is not None
    finger = await page.context.new_cdp_session(page)
    for kind, box in (("touchStart", begin), ("touchMove", end), ("touchEnd", None)):
        points = [{"x": box["x"] + 3, "y": box["y"] + 3}] if box else []
        await finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    words = "Tuesday and Wednesday, 03:00 to 05:00"
    await expect(page.get_by_label("Rule summary")).to_contain_text(words)
    await page.get_by_role("button", name="Save rule").click()
    await expect(page.get_by_role("article", name="Rule 1")).to_contain_text(words)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await page.evaluate(overflow) == 0


async def test_times_that_no_week_shows_stay_as_they_are_until_they_are_painted_over(
    site: Site, store: Store, visit: Visits
) -> None:
    await contacts.save(store, ALICE)
    await rules.save(store, Rule(id="r", contact_id="alice", time_restrictions=(MONTHLY,)))
    page = await visit(site, "editor", PAGE)
    await page.get_by_role("button", name="Edit rule 1").click()
    await expect(page.get_by_text("every month on the first Monday")).to_have_count(2)
    await expect(page.get_by_role("grid")).to_have_count(0)
    await page.get_by_label("warning by sms").check()
    await page.get_by_role("button", name="Save rule").click()
    await expect(page.get_by_role("article", name="Rule 1")).to_contain_text("warning by sms")
    assert [list(rule.time_restrictions) for rule in await stored(store)] == [[MONTHLY]]

    await page.get_by_role("button", name="Edit rule 1").click()
    await page.get_by_role("button", name="Use a weekly grid instead").click()
    await expect(page.get_by_text("no time is selected")).to_be_visible()
    await expect(page.get_by_role("button", name="Save rule")).to_be_disabled()
    await page.get_by_label("Times in words").fill("sat,sun")
    await page.get_by_role("button", name="Set", exact=True).click()
    await page.get_by_role("button", name="Save rule").click()
    await expect(page.get_by_role("article", name="Rule 1")).to_contain_text("Saturday and Sunday")
    assert list((await stored(store))[0].time_restrictions) == spoken.windows("sat,sun")


async def test_what_is_wrong_stands_at_its_field_and_a_viewer_edits_nothing(
    site: Site, store: Store, visit: Visits
) -> None:
    await contacts.save(store, ALICE)
    await rules.save(store, Rule(id="r", contact_id="alice", regex_entities=("^web",)))
    page = await visit(site, "editor", PAGE)
    await page.get_by_role("button", name="Edit rule 1").click()
    await page.get_by_label("Some tag matches, for each of").fill("(")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("is no regular expression")).to_be_visible()
    await expect(page.get_by_role("button", name="Save rule")).to_be_disabled()

    viewer = await visit(site, "viewer", PAGE)
    await expect(viewer.get_by_role("article", name="Rule 1")).to_contain_text("/^web/")
    names = re.compile("Edit|Add|Remove|Send test")
    await expect(viewer.get_by_role("main").get_by_role("button", name=names)).to_have_count(0)
    await viewer.locator("#try").get_by_label("Check").fill("web-1:HTTP")
    await expect(viewer.locator("#try")).to_contain_text("no rule names a medium for critical")


async def test_a_contact_is_made_linked_and_tested(site: Site, store: Store, visit: Visits) -> None:
    name = "<b>Ü</b> & <script>alert(1)</script>"
    page = await visit(site, "editor", "/contacts")
    await page.get_by_role("button", name="New contact").first.click()
    await page.get_by_label("First name").fill(name)
    await page.get_by_label("Id", exact=True).fill("bob/ü")
    await page.get_by_label("Email address").fill("bob@example.com")
    await page.get_by_role("button", name="Create contact").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(name)
    await page.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_label("Entity").fill("web-1")
    await page.get_by_role("button", name="Add", exact=True).last.click()
    await expect(page.get_by_role("link", name="web-1")).to_be_visible()
    entity_id = await entities.id_of(store, "web-1")
    assert await contact_links.interested(store, entity_id, "HTTP") == ["bob/ü"]
    await page.get_by_role("button", name="Send test").click()
    await expect(page.get_by_text("waiting for the gateway")).to_be_visible()
    [bob] = await contacts.everybody(store)
    assert (bob.id, bob.media["email"].address) == ("bob/ü", "bob@example.com")
    year = str(datetime.fromtimestamp(site.services.now(), ZoneInfo(ALWAYS["timezone_id"])).year)
    await page.get_by_role("link", name="Details").click()
    await expect(page.get_by_role("dialog")).to_contain_text(year)
