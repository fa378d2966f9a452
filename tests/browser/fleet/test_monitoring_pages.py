"""Monitoring as people see it: fleet, servers, alerts, monitors, snapshots and expressions."""

from urllib.parse import quote

from playwright.async_api import Page, expect

from tests.browser.visits import Visits
from tests.fleet.crew import NOW
from tests.fleet.measured_servers import machine, measured
from tests.fleet.snapshot_scene import quick, resample
from tests.web.site import Site
from watchbell.clock import SYSTEM
from watchbell.fleet import groups, presence, samples
from watchbell.fleet.model import Link, Monitor, Server
from watchbell.jobs import definitions, snapshot_taker, stock
from watchbell.jobs.model import AlertDef
from watchbell.store.client import Store

NASTY = "<img src=x onerror=alert(1)>"


async def fleet(store: Store) -> tuple[Server, Server]:
    """A server with an alert, and one without."""
    await stock.ensure(store, NOW)
    await groups.create(store, {"title": "Databases", "hostname_match": "^db-"}, "alice", NOW, "db")
    now = SYSTEM.now()
    busy = await measured(store, "db-1", now, loads=[1, 1.5, 9, 9])
    return busy, await measured(store, "web-1", now)


async def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    found: int = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return found


async def test_the_fleet_is_seen_at_a_glance_and_stays_current(
    site: Site, store: Store, visit: Visits
) -> None:
    busy, calm = await fleet(store)
    page = await visit(site, "viewer", "/fleet", look="phone")
    tiles = page.get_by_role("list", name="Servers").get_by_role("link")
    await expect(tiles).to_have_count(2)
    await expect(tiles.filter(has_text="db-1").locator(".state")).to_have_text("1 alert")
    await expect(tiles.filter(has_text="web-1").locator(".state")).to_have_text("up")
    await expect(tiles.filter(has_text="web-1")).to_contain_text("40 %")
    await page.get_by_role("button", name="With alerts 1").click()
    await expect(tiles).to_have_count(1)
    await page.get_by_role("button", name="All").click()
    await page.get_by_label("Filter by group").select_option("db")
    await expect(tiles).to_have_count(1)
    await page.get_by_label("Filter by group").select_option("")
    await expect(tiles).to_have_count(2)
    await presence.disconnect(store, calm.id, "session of web-1")
    await presence.connect(store, calm.id, Link(session="other", process="test", since=0))
    await store.call("ZADD", "{jobs}:servers_seen", 1, calm.id)
    await expect(tiles.filter(has_text="web-1").locator(".state")).to_have_text("down")
    assert await overflow(page) == 0
    await tiles.filter(has_text="db-1").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("db-1")
    assert busy.id in page.url


async def test_a_server_is_watched_from_seconds_to_minutes(
    site: Site, store: Store, visit: Visits
) -> None:
    busy, _ = await fleet(store)
    page = await visit(site, "operator", f"/servers/server?id={busy.id}", look="dark phone")
    alert = page.get_by_label("Active server alerts").get_by_role("link")
    await expect(alert).to_contain_text("The load average is 9, with 2 CPU cores.")
    await expect(page.get_by_role("meter", name="Use of /", exact=True)).to_have_attribute(
        "aria-valuetext", "91 %: 91 GiB of 100 GiB"
    )
    load = page.get_by_role("slider", name="CPU load average")
    await load.focus()
    await page.keyboard.press("Home")
    await expect(load).to_have_attribute("aria-description", "CPU load average: from 1 to 9")
    await page.get_by_role("button", name="Minute", exact=True).click()
    usage = page.get_by_role("slider", name="CPU usage")
    await expect(usage).to_have_attribute("aria-description", "CPU: from 10 % to 10 %")
    last = (await samples.quick(store, [busy.id]))[busy.id][-1].date
    await samples.record(store, [], [], {busy.id: [quick(last + 2, usage=77)]})
    await expect(usage).to_have_attribute("aria-description", "CPU: from 10 % to 77 %")
    await page.get_by_role("link", name="Processes", exact=True).click()
    rows = page.get_by_role("table", name="Processes").locator("tbody tr")
    await expect(rows.first).to_contain_text("nginx: worker")
    await page.get_by_label("Sort processes by").select_option("memRss")
    await expect(rows.first).to_contain_text("postgres: writer")
    await page.get_by_label("Filter processes").fill("nginx")
    await expect(rows).to_have_count(1)
    assert await overflow(page) == 0


async def test_processes_are_sorted_by_their_columns_with_the_keyboard(
    site: Site, store: Store, visit: Visits
) -> None:
    busy, _ = await fleet(store)
    page = await visit(site, "viewer", f"/servers/server?id={busy.id}&tab=processes")
    rows = page.get_by_role("table", name="Processes").locator("tbody tr")
    await expect(rows.first).to_contain_text("nginx")
    head = page.get_by_role("columnheader", name="PID")
    await head.get_by_role("button").press("Enter")
    await expect(head).to_have_attribute("aria-sort", "descending")
    await head.get_by_role("button").press("Enter")
    await expect(head).to_have_attribute("aria-sort", "ascending")
    await expect(rows.first).to_contain_text("postgres")
    await page.get_by_role("link", name="Network", exact=True).click()
    await expect(page.get_by_role("table", name="Connections")).to_contain_text("192.0.2.7:443")
    await expect(page.get_by_role("button", name="Take snapshot")).to_have_count(0)


async def test_an_alert_definition_is_written_with_a_preview(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    page = await visit(site, "administrator", "/alert-definitions?new=yes")
    visit.forgive("/alert-definitions/test answered 422")  # while an expression is not complete
    await page.get_by_label("Title").fill(NASTY)
    expression = page.get_by_label("Expression")
    await expression.fill("mounts.root.use >= )")
    await expect(page.get_by_text("expected a value, found ')', at column 20")).to_be_visible()
    await expect(expression).to_have_attribute("aria-invalid", "true")
    await expression.fill("mounts.root.use >= 90")
    await expect(page.get_by_text("true now")).to_be_visible()
    await expect(page.get_by_text("makes the alert active")).to_be_visible()
    message = page.get_by_label("Message")
    await message.fill("{{pct(mounts.root.use)}} full")
    await expect(page.get_by_text("91% full")).to_be_visible()
    await page.get_by_label("Databases").check()
    await page.get_by_label("Try it on").select_option(label="web-1")
    await expect(page.get_by_text("in none of the groups")).to_be_visible()
    await page.get_by_role("button", name="Add an action").click()
    await page.get_by_label("Only these actions").check()
    visit.forgive("/alert-definitions answered 422")
    await message.fill("{{pct(}}")
    await page.get_by_role("button", name="Create alert definition").click()
    await expect(message).to_have_attribute("aria-invalid", "true")
    await message.fill("")
    await page.get_by_role("button", name="Create alert definition").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(NASTY)
    every = (await definitions.every(store, "alert")).values()
    (found,) = [one for one in every if isinstance(one, AlertDef) and one.title == NASTY]
    assert (found.expression, found.groups) == ("mounts.root.use >= 90", ("db",))
    assert [one.type for one in found.actions] == ["snapshot"]
    assert found.exclusive_actions


async def test_an_alert_is_found_explained_and_snoozed(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    page = await visit(site, "operator", "/server-alerts", look="phone")
    rows = page.get_by_role("table", name="Server alerts").locator("tbody tr")
    await expect(rows).to_have_count(1)
    await expect(rows.locator(".state")).to_have_text("active")
    await page.get_by_role("button", name="Cleared").click()
    await expect(page.get_by_text("No server alerts match these filters.")).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await rows.get_by_role("link", name="High CPU load").click()
    details = page.get_by_role("dialog", name="Server alert")
    await expect(details.get_by_text("monitors.load_avg >= (cpu.cores + 1)").last).to_be_visible()
    await expect(details.get_by_role("slider", name="CPU load average")).to_be_visible()
    check = details.get_by_role("link", name="db-1:load_avg_high")
    await expect(check).to_have_attribute(
        "href", f"/check?id={quote('db-1:load_avg_high', safe='')}"
    )
    assert await overflow(page) == 0
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Snooze all").click()
    await page.get_by_role("dialog").get_by_label("For").select_option("14400")
    await page.get_by_role("dialog").get_by_role("button", name="Snooze").click()
    notice = page.get_by_role("status").filter(has_text="All server alerts are snoozed until")
    await expect(notice).to_contain_text("nobody is notified")
    await notice.get_by_role("button", name="End snooze").click()
    await expect(notice).to_have_count(0)


async def test_a_monitor_is_changed_and_compared_on_servers(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    page = await visit(site, "administrator", "/monitors?id=load_avg&span=hour")
    visit.forgive("/monitors/test answered 422")  # while an expression is not complete
    source = page.get_by_label("Source")
    await source.fill("load[1]")
    await expect(page.get_by_text("Measures 9.")).to_be_visible()
    await page.get_by_label("Part of a text").fill("(")
    await expect(page.locator(".trial-outcome .bad")).to_be_visible()
    await page.get_by_label("Part of a text").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    changed = await definitions.get(store, "monitor", "load_avg")
    assert isinstance(changed, Monitor)
    assert changed.source == "load[1]"
    await page.get_by_role("link", name="Servers", exact=True).last.click()
    plot = page.get_by_role("slider")
    await expect(plot).to_have_attribute("aria-label", "CPU load average of db-1, web-1")
    await expect(plot).to_have_attribute(
        "aria-description", "db-1: from 1 to 9; web-1: from 1 to 1.5"
    )
    await page.get_by_role("checkbox", name="Select").nth(1).uncheck()
    await expect(plot).to_have_attribute("aria-label", "CPU load average of web-1")
    await page.get_by_role("button", name="Year").click()
    await expect(plot).to_be_visible()


async def test_a_server_is_frozen_watched_and_compared(
    site: Site, store: Store, visit: Visits
) -> None:
    busy, _ = await fleet(store)
    first, _ = await snapshot_taker.take(
        store, "server", busy.id, source="user", now=SYSTEM.now() - 60, username="bob"
    )
    more = machine(4)
    more["processes"]["list"][0]["cpu"] = 99.0
    await resample(store, busy, at=SYSTEM.now(), **more)
    page = await visit(site, "administrator", f"/servers/server?id={busy.id}")
    await page.get_by_role("button", name="Take snapshot").click()
    await page.get_by_role("link", name="Open snapshot").click()
    await expect(page.get_by_role("meter", name="CPU 1")).to_be_visible()
    await expect(page.get_by_role("table", name="Processes")).to_contain_text("99 %")
    await expect(page.get_by_text("High CPU load")).to_be_visible()
    await expect(page.get_by_role("slider", name="CPU usage")).to_be_visible()
    await page.get_by_role("link", name="Compare with earlier").click()
    figures = page.get_by_role("table", name="Figures")
    await expect(figures.get_by_role("row", name="Load of 1 minute")).to_contain_text("5")
    await expect(page.get_by_role("table", name="CPU changed most")).to_contain_text("postgres")
    await page.goto("/snapshots")
    rows = page.get_by_role("table", name="Snapshots").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await page.get_by_role("checkbox", name=f"Select {first.id}").check()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(rows).to_have_count(1)
    await page.get_by_role("button", name="Take snapshot").click()
    dialog = page.get_by_role("dialog", name="Take snapshot")
    await dialog.get_by_label("Of", exact=True).select_option(label="Group Databases")
    await dialog.get_by_label("How often").select_option(label="Each minute for 5 minutes")
    await dialog.get_by_role("button", name="Watch").click()
    watching = page.get_by_role("status").filter(has_text="the group Databases")
    await watching.get_by_role("button", name="End the watch of Databases").click()
    await expect(watching).to_have_count(0)
    await page.goto(f"/servers/server?id={busy.id}")
    await page.get_by_role("button", name="Watch").click()
    await page.get_by_role("dialog").get_by_role("button", name="Watch").click()
    await expect(page.get_by_text("Watched until")).to_be_visible()
    await page.get_by_role("button", name="End watch").click()
    await expect(page.get_by_role("button", name="Watch")).to_be_visible()


async def test_expressions_are_tried_on_a_live_server(
    site: Site, store: Store, visit: Visits
) -> None:
    await fleet(store)
    page = await visit(site, "viewer", "/expressions", look="phone")
    result = page.locator(".expression-result")
    await expect(result).to_contain_text("25")
    await page.get_by_label("Filter values").fill("mounts use")
    await page.get_by_role("button", name="mounts.var_lib.use", exact=True).press("Enter")
    await expect(result).to_contain_text("12.5")
    await page.get_by_label("On", exact=True).select_option(label="web-1")
    await page.get_by_role("button", name="load[0]", exact=True).first.click()
    await expect(result).to_contain_text("1.5")
    await page.get_by_role("button", name="Load is {{float(load[0])}}").click()
    await expect(result).to_contain_text("Load is 1.5 (2 CPU cores)")
    assert await overflow(page) == 0
