"""Servers as people see them: added by one command, watched live, changed, and locked out."""

import asyncio
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser.house import House
from tests.browser.visits import Visits
from tests.conftest import bare_environment, watchbell
from tests.fleet.crew import NOW, join, sample
from tests.fleet.measured_servers import measured
from tests.web.fleet.agents import joined
from tests.web.site import Site
from watchbell.clock import SYSTEM
from watchbell.fleet import groups, servers, tokens
from watchbell.fleet.messages import Sampled
from watchbell.jobs import stock
from watchbell.store.client import Store

NASTY = "<img src=x onerror=alert(1)>"


@contextmanager
def pasted(command: str, data: Path, hostname: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command of the page, run as on another machine of this name."""
    program, *arguments = shlex.split(command)
    assert program == "watchbell"
    with data.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            watchbell(*arguments, "--data", str(data)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=bare_environment(WATCHBELL_AGENT_HOSTNAME=hostname),
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


async def test_a_server_is_added_by_one_command(house: House, visit: Visits, folder: Path) -> None:
    page = await visit(house, "administrator", "/servers")
    rows = page.get_by_role("table", name="Servers").locator("tbody tr")
    await expect(rows).to_have_count(1)  # the agent of the house itself
    await page.get_by_role("button", name="Add server").click()
    dialog = page.get_by_role("dialog", name="Add server")
    await dialog.get_by_role("button", name="Create command").click()
    await expect(dialog.get_by_text("Waiting for the server to connect")).to_be_visible()
    command = await dialog.locator(".command code").inner_text()
    with pasted(command, folder / "second", "db-7") as agent:
        await expect(dialog.get_by_text("db-7 is connected.")).to_be_visible()
        assert await asyncio.to_thread(agent.poll) is None
        await dialog.get_by_role("button", name="Done").click()
        added = rows.filter(has_text="db-7")
        await expect(added.locator(".state")).to_have_text("up")
        await expect(added.get_by_role("meter", name="CPU")).to_be_visible()
        await added.get_by_role("link", name="db-7").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("db-7")
        await expect(page.get_by_role("region", name="Jobs")).to_contain_text("0 of")
        await page.get_by_role("link", name="Settings", exact=True).last.click()
        await page.get_by_role("button", name="Revoke").click()
        question = page.get_by_role("dialog", name="Revoke the token of db-7?")
        await expect(question).to_contain_text("can't come back without a new token")
        await question.get_by_role("button", name="Revoke").click()
        await expect(page.get_by_text("This server has no token")).to_be_visible()
        await expect(page.locator(".page-lead .state")).to_have_text("down")


async def test_servers_are_filtered_and_followed(site: Site, store: Store, visit: Visits) -> None:
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    web, _ = await join(store, "web-1")
    spare, _ = await join(store, "web-2")
    await servers.update(store, spare.id, {"enabled": False, "title": NASTY}, NOW)
    page = await visit(site, "viewer", "/servers", look="phone")
    rows = page.get_by_role("table", name="Servers").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.filter(has_text=NASTY).locator(".state")).to_have_text("disabled")
    await expect(page.get_by_role("button", name="Add server")).to_have_count(0)
    async with joined(site) as (agent, _):
        await expect(rows.filter(has_text="db-1").locator(".state")).to_have_text("up")
        await agent.send(Sampled(sample=sample(5, cpu=87.0)))
        gauge = rows.filter(has_text="db-1").get_by_role("meter", name="CPU")
        await expect(gauge).to_have_attribute("aria-valuetext", "87 %")
        await page.get_by_role("button", name="Up 1").click()
        await expect(rows).to_have_count(1)
        await page.get_by_role("button", name="All").click()
        await page.get_by_label("Filter by group").select_option("db")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("db-1")
        await page.get_by_label("Filter by group").select_option("")
        await expect(rows).to_have_count(3)
    await expect(rows.filter(has_text="db-1").locator(".state")).to_have_text("down")
    await page.get_by_role("searchbox").fill("nothing like this")
    await page.get_by_role("button", name="Clear filters").click()
    await expect(rows).to_have_count(3)
    await servers.remove(store, web.id)
    await expect(rows).to_have_count(2)
    assert await overflow(page) == 0


async def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    found: int = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return found


async def test_the_first_server_is_offered_where_there_is_none(site: Site, visit: Visits) -> None:
    page = await visit(site, "administrator", "/servers")
    await expect(page.get_by_text("No servers yet.")).to_be_visible()
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Add server")
    await expect(dialog.get_by_label("Hostname")).to_be_focused()
    visit.forgive("/servers/tokens answered 422|status of 422")
    await page.keyboard.type("no name")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_label("Hostname")).to_have_attribute("aria-invalid", "true")
    await expect(dialog.get_by_text("is no hostname").first).to_be_visible()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("db-9")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_text("Waiting for the server to connect")).to_be_visible()
    await page.keyboard.press("Escape")
    waiting = page.get_by_role("table", name="Commands that no server has joined with")
    await expect(waiting).to_contain_text("db-9")
    await waiting.get_by_role("button", name="Revoke the command for db-9").click()
    question = page.get_by_role("dialog", name="Revoke this command?")
    await question.get_by_role("button", name="Revoke").click()
    await expect(waiting).to_have_count(0)
    assert await tokens.joining(site.store) == []


async def test_a_server_is_changed_by_keyboard(site: Site, store: Store, visit: Visits) -> None:
    await groups.create(store, {"title": "Spares"}, "alice", NOW, "spare")
    server, _ = await join(store, "db-1")
    page = await visit(site, "administrator", "/servers")
    await expect(page.get_by_role("link", name="db-1")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("db-1")
    await page.goto(f"/servers/server?id={server.id}&tab=settings")
    title = page.get_by_label("Title")
    await title.focus()
    await page.keyboard.type(NASTY)
    by_hand = page.get_by_role("button", name="By hand")
    await by_hand.focus()
    await page.keyboard.press("Space")
    await page.get_by_label("Spares").focus()
    await page.keyboard.press("Space")
    await page.get_by_label("Slots").fill("3")
    data = page.get_by_label("User data")
    await data.fill("[1]")
    await title.press("Enter")
    await expect(data).to_have_attribute("aria-invalid", "true")
    await expect(data).to_be_focused()
    await data.fill('{"rack": "B2"}')
    await title.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text(NASTY)
    changed = await servers.get(store, server.id)
    assert (changed.groups, changed.auto_group, changed.max_jobs) == (("spare",), False, 3)
    assert changed.user_data == {"rack": "B2"}


async def test_a_server_that_somebody_else_changed_is_reloaded_and_removed(
    site: Site, store: Store, visit: Visits
) -> None:
    server, _ = await join(store, "db-1")
    page = await visit(site, "administrator", f"/servers/server?id={server.id}&tab=settings")
    title = page.get_by_label("Title")
    await expect(title).to_be_visible()
    await servers.update(store, server.id, {"notes": "by somebody else"}, NOW)
    visit.forgive("answered 412|status of 412")
    await title.fill("Main database")
    await title.press("Enter")
    await page.get_by_role("button", name="Discard my changes and reload").click()
    await expect(page.get_by_label("Notes")).to_have_value("by somebody else")
    await page.get_by_role("button", name="Disable").press("Enter")
    await expect(page.get_by_text("it gets no new jobs")).to_be_visible()
    await page.get_by_role("button", name="Remove server").press("Enter")
    await expect(page.get_by_role("dialog")).to_contain_text("the history of its jobs stays")
    visit.forgive(f"/servers/{server.id}.* answered 404")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No servers yet.")).to_be_visible()
    assert await servers.every(store) == []


async def test_a_server_shows_what_it_used(site: Site, store: Store, visit: Visits) -> None:
    await stock.ensure(store, NOW)
    server = await measured(store, "db-1", SYSTEM.now(), loads=range(9, 0, -1))
    page = await visit(site, "viewer", f"/servers/server?id={server.id}", look="dark phone")
    load = page.get_by_role("slider", name="CPU load average")
    await expect(load).to_be_visible()
    await expect(page.locator(".plot-values").first).to_contain_text("1 ·")
    await load.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator(".plot-values").first).to_contain_text("2 ·")
    await page.get_by_role("button", name="Month").click()
    await expect(page.locator(".server-plots, .card p").first).to_be_visible()
    await expect(page.get_by_role("button", name="Disable")).to_have_count(0)
    assert await overflow(page) == 0
    visit.forgive("/servers/none.* answered 404")
    await page.goto("/servers/server?id=none")
    await expect(page.get_by_text("Not found.")).to_be_visible()
