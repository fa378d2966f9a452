"""What all pages share: the keyboard, phones, the dark, servers and sessions that end."""

import asyncio
import re

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.house import House
from tests.browser.visits import Look, Visits, held
from tests.waiting import eventually
from tests.web.site import BY, PASSWORD, Site, served
from watchbell.clock import SYSTEM, SetClock
from watchbell.store.client import Store
from watchbell.web.assets import files
from watchbell.web.pages.shell import MODULES

LARGEST = "Math.max(0, document.documentElement.scrollWidth - innerWidth)"
NAMELESS = """[...document.querySelectorAll("a, button, input, select, textarea, [role=img]")]
  .filter((one) => one.checkVisibility() && !one.closest("[aria-hidden=true]"))
  .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length
    || one.getAttribute("aria-labelledby") || one.title || one.querySelector("[aria-label]")))
  .map((one) => one.outerHTML)"""

UNNAMED = """(() => {
  const links = [...document.querySelectorAll("link[rel=modulepreload]")];
  const named = new Set(links.map((one) => one.href));
  return performance.getEntriesByType("resource").map((one) => one.name)
    .filter((name) => name.endsWith(".js") && !named.has(name) && !name.includes("/theme/"));
})()"""
"""Modules that the browser heard of by another that imports them, a round trip later."""

CHECKS_PAGE = "**/app/pages/checks.js"

AS_DRAWN = """([open, part, isReady]) => new Promise((resolve) => {
  const watch = new MutationObserver(() => {
    const found = document.querySelector(part);
    if (!found) return;
    watch.disconnect();
    resolve(found.matches(isReady));
  });
  watch.observe(document.body, { childList: true, subtree: true });
  document.querySelector(open).click();
})"""
"""Whether a part of the page is ready in the moment in which it is drawn."""


async def opened(page: Page, path: str) -> None:
    """The page, once what it fetched is drawn."""
    await page.goto(path)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_label("Loading")).to_have_count(0)


@pytest.mark.parametrize("look", ["desktop", "dark phone"])
async def test_every_page_opens_fits_and_is_named(site: Site, visit: Visits, look: Look) -> None:
    visit.forgive(r"/api/v1/\S+ answered 404")  # of pages about one thing, without its name
    page = await visit(site, "administrator", look=look)
    for path in MODULES:
        await opened(page, path)
        assert await page.evaluate(LARGEST) == 0, f"{path} is wider than the screen"
        assert await page.evaluate(NAMELESS) == [], f"{path} has what has no name"
        assert re.fullmatch(r".+ · Watchbell", await page.title())
        unnamed = await page.evaluate(UNNAMED)
        assert [name for name in unnamed if "/lib/uplot.js" not in name] == [], path


async def test_the_keyboard_leads_everywhere(site: Site, visit: Visits) -> None:
    for name in ("bob", "charlie"):
        await site.services.users.add(name, "viewer", BY)
    page = await visit(site, "administrator", "/system", name="alice")
    await expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text(
        "show keyboard shortcuts"
    )
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await page.keyboard.type("gu")
    await expect(page.get_by_role("row", name=re.compile("^bob"))).to_be_visible()
    await page.keyboard.press("j")
    await expect(page.get_by_role("row", name=re.compile("^alice"))).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    await expect(page.get_by_role("row", name=re.compile("^bob"))).to_be_focused()

    await page.keyboard.press("Tab")  # the role
    await page.keyboard.press("Tab")  # what they may do
    await page.keyboard.press("Tab")  # a new link
    await page.keyboard.press("Tab")
    remove = page.get_by_role("button", name="Delete bob")
    await expect(remove).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Delete bob?")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(remove).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Delete", exact=True)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(remove).to_have_count(0)


async def test_words_in_a_field_are_no_commands(site: Site, visit: Visits) -> None:
    page = await visit(site, "administrator", "/system")
    await page.get_by_role("link", name="Memory by key family").press("Enter")
    search = page.get_by_role("searchbox")
    await expect(search).to_be_visible()
    await page.keyboard.press("/")
    await expect(search).to_be_focused()
    await page.keyboard.type("j?gu")
    await expect(search).to_have_value("j?gu")
    await page.keyboard.press("Escape")
    await expect(search).to_have_value("")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


async def test_what_changes_before_a_component_listens_is_drawn(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/system")
    await page.evaluate(
        """async ([cell, preact]) => {
          const [{ Cell, useCell }, { h, render }] = [await import(cell), await import(preact)];
          const told = new Cell("old"), place = document.createElement("output");
          document.body.append(place);
          render(h(() => useCell(told)), place);
          told.set("new");
        }""",
        [files().url("app/cell.js"), files().url("lib/preact.js")],
    )
    await expect(page.locator("output").last).to_have_text("new")


async def test_a_reload_waits_for_the_answer_before_it(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/system")
    await expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    answers = [asyncio.Event(), asyncio.Event()]
    requests: list[Route] = []

    async def answer(route: Route) -> None:
        requests.append(route)
        number = len(requests)
        await answers[number - 1].wait()
        await route.fulfill(json=number)

    await page.route("**/api/v1/roles", answer)
    await page.evaluate(
        """async ([api, preact]) => {
          const [{ useFetched }, { h, render }] = [await import(api), await import(preact)];
          const place = document.createElement("output");
          document.body.append(place);
          render(h(() => {
            const fetched = useFetched("/roles");
            window.reload = fetched.reload;
            return `answer ${fetched.value}`;
          }), place);
        }""",
        [files().url("app/api.js"), files().url("lib/preact.js")],
    )
    await eventually(lambda: len(requests) == 1)
    for _ in range(3):
        await page.evaluate("() => { reload(); return new Promise(requestAnimationFrame) }")
    answers[0].set()
    await expect(page.locator("output").last).to_have_text("answer 1")
    await eventually(lambda: len(requests) == 2)
    answers[1].set()
    await expect(page.locator("output").last).to_have_text("answer 2")


async def test_a_new_page_is_told_to_screen_readers(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/system")
    await page.get_by_role("link", name="Alerts", exact=True).press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await expect(page).to_have_title("Alerts · Watchbell")
    await page.go_back()
    await expect(page.get_by_role("heading", name="System")).to_be_visible()


async def test_a_key_after_a_page_or_dialog_is_drawn_is_meant_for_it(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/system")
    await expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    button = "[aria-label='Keyboard shortcuts']"
    assert await page.evaluate(AS_DRAWN, [button, "dialog", ":modal:focus-within"])
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert await page.evaluate(AS_DRAWN, ["a[href='/alerts']", ".bar-of", ".page:has(h1:focus) *"])


async def test_search_begins_in_the_field_of_the_checks_however_long_they_load(
    site: Site, visit: Visits
) -> None:
    page = await visit(site, "viewer", "/account")
    await expect(page.get_by_role("heading", name="Account")).to_be_visible()
    async with held(page, CHECKS_PAGE):
        await page.keyboard.press("/")
        await expect(page).to_have_url(f"{site.url}/checks")
    await expect(page.get_by_role("searchbox", name="Filter checks")).to_be_focused()


async def test_a_page_that_was_left_while_it_loaded_is_not_shown(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/account")
    heading = page.get_by_role("heading", name="Account")
    await expect(heading).to_be_visible()
    async with held(page, CHECKS_PAGE):
        await page.get_by_role("link", name="Checks", exact=True).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Checks")
        await page.go_back()
        await expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()
    await page.evaluate("url => import(url).then(() => null)", files().url("app/pages/checks.js"))
    await expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()


async def test_on_a_phone_the_menu_is_behind_a_button(site: Site, visit: Visits) -> None:
    page = await visit(site, "viewer", "/system", look="phone")
    link = page.get_by_role("link", name="Maintenance")
    await expect(page.get_by_role("heading", name="System")).to_be_visible()
    await expect(link).not_to_be_visible()
    await page.get_by_role("button", name="Menu").tap()
    await link.tap()
    await expect(page.get_by_role("heading", level=1, name="Maintenance")).to_be_visible()
    await expect(link).not_to_be_visible()


async def test_what_a_role_may_not_is_not_offered(site: Site, visit: Visits) -> None:
    page = await visit(site, "editor", "/users")
    await expect(page.get_by_text("You don't have access to this page.")).to_be_visible()
    menu = page.get_by_role("navigation", name="Pages")
    await expect(menu.get_by_role("link", name="System")).to_be_visible()
    for name in ("Users", "Audit log", "Settings"):
        await expect(menu.get_by_role("link", name=name)).to_have_count(0)


async def test_a_session_that_ends_while_a_page_is_open_leads_back_to_it(
    store: Store, visit: Visits
) -> None:
    clock = SetClock(SYSTEM.now())
    async with served(store, clock) as site:
        page = await visit(site, "administrator", "/audit?text=alice", name="alice")
        await site.services.users.set_password("alice", PASSWORD, BY)
        await expect(page.get_by_role("row").nth(1)).to_be_visible()
        clock.advance(13 * 3_600)
        visit.forgive("answered 401")
        await page.get_by_role("button", name="Last week").click()
        notice = page.get_by_role("alert").filter(has_text="Your session has expired.")
        await expect(notice).to_be_visible()
        await notice.get_by_role("link", name="Sign in again").click()
        await page.get_by_label("User").fill("alice")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(f"{site.url}/audit?text=alice&period=week")
        await expect(page.get_by_role("heading", name="Audit log")).to_be_visible()
        await expect(notice).to_have_count(0)
        await page.context.close()  # before its server ends


async def test_who_signs_in_anew_in_one_tab_goes_on_in_the_other(site: Site, visit: Visits) -> None:
    one = await visit(site, "administrator", "/users", name="alice")
    await site.services.users.set_password("alice", PASSWORD, BY)
    other = await one.context.new_page()
    await other.goto("/account")
    await other.get_by_role("button", name="Sign out").click()
    await other.get_by_label("User").fill("alice")
    await other.get_by_label("Password").fill(PASSWORD)
    await other.keyboard.press("Enter")
    await expect(other).to_have_url(f"{site.url}/")

    visit.forgive("POST .*/api/v1/users answered 403")  # by the token of the old session
    await one.get_by_role("button", name="New user").click()
    await one.get_by_role("textbox", name="Name").fill("bob")
    await one.keyboard.press("Enter")
    await expect(one.get_by_role("dialog", name="Sign-in link for bob")).to_be_visible()


async def test_a_page_that_was_signed_out_elsewhere_says_so(site: Site, visit: Visits) -> None:
    one = await visit(site, "viewer", "/system")
    other = await one.context.new_page()
    await other.goto("/account")
    visit.forgive("answered 401")
    await other.get_by_role("button", name="Sign out").click()
    await expect(one.get_by_text("Your session has expired.")).to_be_visible()


async def test_a_page_that_does_not_exist_keeps_the_navigation(site: Site, visit: Visits) -> None:
    visit.forgive("/nowhere answered 404")
    page = await visit(site, "viewer", "/nowhere")
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Checks").click()
    await expect(page.get_by_role("heading", name="Checks", level=1)).to_be_visible()
    stranger = await visit(site, None, "/nowhere")
    await stranger.get_by_role("link", name="Sign in").click()
    await expect(stranger.get_by_role("button", name="Sign in")).to_be_visible()


async def test_a_page_opened_while_the_server_is_away_is_drawn_once_it_is_back(
    house: House, visit: Visits
) -> None:
    visit.forgive("failed: net::ERR_")
    page = await visit(house, "viewer", "/account")
    await expect(page.get_by_role("heading", name="Account")).to_be_visible()
    await house.stop()
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Contacts").click()
    await expect(page.get_by_text("This page could not be loaded.")).to_be_visible()
    await house.start()
    await expect(page.get_by_text("No contacts yet.")).to_be_visible()
    await expect(page.get_by_text("This page could not be loaded.")).to_have_count(0)


async def test_a_page_outlives_a_restart_of_the_server(house: House, visit: Visits) -> None:
    page = await visit(house, "viewer", "/system")
    events = page.locator(".queues li", has_text="notifications")
    await expect(events).to_contain_text("0")
    visit.forgive("failed: net::ERR_|answered 503|console: Failed to fetch")
    await house.stop()
    notice = page.get_by_text("The server is not responding.")
    await expect(notice).to_be_visible()
    await expect(events).to_be_visible()
    await house.start()
    await expect(notice).to_have_count(0)
    await expect(page.get_by_role("row", name=re.compile("^web"))).to_contain_text("running")
