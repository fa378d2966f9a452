"""Dashboards as people arrange and share them."""

from playwright.async_api import Locator, Page, expect

from tests.browser.fleet.test_monitoring_pages import fleet, overflow
from tests.browser.visits import Visits
from tests.web.site import Site
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions
from watchbell.jobs.dashboards import Dashboard
from watchbell.store.client import Store

PANELS = [
    {"type": "plot", "monitor": "load_avg", "span": "hour"},
    {"type": "text", "title": "Note", "text": "Call `Bob` at night.", "width": 2},
    {"type": "alerts"},
]


async def dashboard(store: Store) -> None:
    given = {"id": "night", "title": "Night shift", "notes": "For the night.", "panels": PANELS}
    await definitions.create(store, "dashboard", given, system("tests"), SYSTEM.now())


async def saved(store: Store) -> Dashboard:
    found = await definitions.get(store, "dashboard", "night")
    assert isinstance(found, Dashboard)
    return found


def titles(page: Page) -> Locator:
    return page.locator(".panel h2")


async def test_a_dashboard_is_made_and_filled(site: Site, store: Store, visit: Visits) -> None:
    await fleet(store)
    page = await visit(site, "operator", "/dashboards")
    await expect(page.get_by_text("No dashboards yet.")).to_be_visible()
    await page.get_by_role("link", name="New dashboard").first.click()
    await page.get_by_label("Title").fill("Web shop")
    await page.get_by_role("button", name="Create dashboard").click()
    await expect(titles(page)).to_have_text(
        ["CPU usage", "Memory available", "Failing checks", "Jobs"]
    )
    await page.get_by_role("button", name="Add panel").click()
    dialog = page.get_by_role("dialog", name="Add panel")
    await dialog.get_by_label("Shows").select_option("text")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog.get_by_text("Enter a text.").first).to_be_visible()
    await dialog.get_by_label("Text").fill("<b>Bold</b> is `code`")
    await dialog.get_by_label("Width").select_option("6")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("button", name="Remove Jobs").click()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await expect(page.locator(".panel-text")).to_have_text("<b>Bold</b> is code")
    (found,) = (await definitions.every(store, "dashboard")).values()
    assert isinstance(found, Dashboard)
    assert [one.type for one in found.panels] == ["plot", "plot", "checks", "text"]
    assert found.username == "operator"


async def test_panels_are_arranged_with_the_keyboard(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night&edit=yes")
    await page.get_by_role("button", name="Move CPU load average", exact=True).focus()
    await page.keyboard.press("ArrowRight")
    await expect(titles(page)).to_have_text(["Note", "CPU load average", "Server alerts"])
    await page.keyboard.press("End")
    await expect(titles(page)).to_have_text(["Note", "Server alerts", "CPU load average"])
    await expect(
        page.get_by_role("button", name="Move CPU load average", exact=True)
    ).to_be_focused()
    said = page.get_by_role("status").filter(has_text="place 3 of 3")
    await expect(said).to_have_text("CPU load average: place 3 of 3")
    await page.get_by_role("button", name="Make Note wider").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("link", name="Edit", exact=True)).to_be_visible()
    found = await saved(store)
    assert [(one.type, one.width) for one in found.panels] == [
        *(("text", 3), ("alerts", 3), ("plot", 3))
    ]


async def test_panels_are_dragged_with_the_mouse(site: Site, store: Store, visit: Visits) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night&edit=yes")
    await expect(page.get_by_role("slider")).to_be_visible()  # nothing moves any more
    await page.get_by_role("button", name="Move Server alerts", exact=True).hover()
    await page.mouse.down()
    await page.locator(".panel", has_text="CPU load average").hover()
    await page.mouse.up()
    await expect(titles(page)).to_have_text(["Server alerts", "CPU load average", "Note"])
    await page.get_by_role("button", name="Move Note", exact=True).hover()
    await page.mouse.down()
    await page.locator(".panel", has_text="Server alerts").hover()
    await page.keyboard.press("Escape")
    await page.mouse.up()
    await expect(titles(page)).to_have_text(["Server alerts", "CPU load average", "Note"])
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("link", name="Edit", exact=True)).to_be_visible()
    assert [one.type for one in (await saved(store)).panels] == ["alerts", "plot", "text"]


async def middle(found: Locator) -> dict[str, float]:
    box = await found.bounding_box()
    assert box is not None
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


async def test_panels_are_dragged_with_a_finger(site: Site, store: Store, visit: Visits) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night&edit=yes", look="phone")
    touch = await page.context.new_cdp_session(page)

    async def finger(kind: str, *points: dict[str, float]) -> None:
        await touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    handle = page.get_by_role("button", name="Move Note", exact=True)
    await expect(page.get_by_role("slider")).to_be_visible()  # nothing moves any more
    await handle.scroll_into_view_if_needed()
    await finger("touchStart", await middle(handle))
    await finger("touchMove", await middle(page.locator(".panel-head").nth(2)))
    await finger("touchEnd")
    await expect(titles(page)).to_have_text(["CPU load average", "Server alerts", "Note"])
    assert await overflow(page) == 0


async def test_a_dashboard_is_opened_by_its_link(site: Site, store: Store, visit: Visits) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "viewer", "/dashboards/dashboard?id=night&span=day", look="dark phone")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Night shift")
    await expect(page.get_by_role("slider")).to_have_attribute(
        "aria-label", "CPU load average of db-1, web-1"
    )
    await expect(page.get_by_role("button", name="Day", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    alerts = page.get_by_role("region", name="Server alerts")
    await expect(alerts.get_by_role("link", name="High CPU load")).to_be_visible()
    copied = page.get_by_role("button", name="Copy link")
    await expect(copied).to_have_accessible_name(
        f"Copy link: {site.url}/dashboards/dashboard?id=night&span=day"
    )
    await expect(page.get_by_role("link", name="Edit", exact=True)).to_have_count(0)
    assert await overflow(page) == 0


async def test_of_two_people_who_save_none_overwrites_the_other(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night&edit=yes")
    visit.forgive("answered 412")
    await expect(titles(page)).to_have_count(3)
    now = SYSTEM.now()
    await definitions.update(store, "dashboard", "night", {"title": "Mine"}, system("tests"), now)
    await page.get_by_role("button", name="Remove Note").click()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Somebody else changed this dashboard")
    await expect(titles(page)).to_have_text(["CPU load average", "Server alerts"])
    assert len((await saved(store)).panels) == 3


async def test_what_others_save_does_not_replace_what_is_arranged(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night&edit=yes")
    visit.forgive("answered 503")
    visit.forgive("answered 412")
    await page.get_by_role("button", name="Remove Note").click()
    now = SYSTEM.now()
    await definitions.update(store, "dashboard", "night", {"title": "Mine"}, system("tests"), now)
    path = "**/api/v1/dashboards/night"
    await page.route(path, lambda route: route.fulfill(status=503, json={}), times=1)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    async with page.expect_response(lambda one: one.request.method == "GET" and one.ok):
        await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Somebody else changed this dashboard")
    await expect(titles(page)).to_have_text(["CPU load average", "Server alerts"])


async def test_arranged_panels_are_discarded_only_on_request(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    await dashboard(store)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night&edit=yes")
    question = page.get_by_role("dialog", name="Discard your changes?")
    await page.get_by_role("button", name="Remove Note").click()
    await page.get_by_role("link", name="Expressions").click()
    await question.get_by_role("button", name="Cancel").click()
    await expect(question).to_have_count(0)
    await expect(titles(page)).to_have_text(["CPU load average", "Server alerts"])
    await page.get_by_role("button", name="Cancel", exact=True).click()
    await question.get_by_role("button", name="Discard changes").click()
    await expect(page.get_by_role("link", name="Edit", exact=True)).to_be_visible()
    await expect(titles(page)).to_have_text(["CPU load average", "Note", "Server alerts"])


async def test_a_dashboard_is_restored_and_deleted(site: Site, store: Store, visit: Visits) -> None:
    await fleet(store)
    await dashboard(store)
    now = SYSTEM.now()
    await definitions.update(store, "dashboard", "night", {"panels": []}, system("tests"), now)
    page = await visit(site, "editor", "/dashboards/dashboard?id=night")
    await expect(page.get_by_text("No panels yet.")).to_be_visible()
    await page.get_by_role("link", name="History").click()
    await page.get_by_role("button", name="Restore").first.click()
    await page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    await expect(titles(page)).to_have_text(["CPU load average", "Note", "Server alerts"])
    await page.get_by_role("link", name="Edit", exact=True).click()
    await page.get_by_role("button", name="Delete dashboard").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("No dashboards yet.")).to_be_visible()
