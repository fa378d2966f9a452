"""Checks of jobs and servers in a browser: they lead to the event, its last job and the server."""

import msgspec
from playwright.async_api import Page, expect

from tests.alerting.scenes import Stage
from tests.browser.visits import Visits
from tests.fleet.crew import join
from tests.web.site import Site
from watchbell.actors import system
from watchbell.clock import SYSTEM
from watchbell.jobs import definitions, stock
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import EventState
from watchbell.store.client import Store

HOSTILE = "<img src=x onerror=alert(1)>"


async def failing(store: Store) -> None:
    now = SYSTEM.now()
    await stock.ensure(store, now)
    event = {"id": "backup", "title": HOSTILE, "params": {"script": "true"}}
    await definitions.create(store, "event", event, system("tests"), now)
    state = msgspec.json.encode(EventState(last_job="j1", last_code=3, total_count=1))
    await store.call("HSET", Jobs(store.prefix).event_states(), "backup", state)
    await join(store, "db-1")
    stage = Stage(store, initial_failure_delay=0)
    stage.now = int(now) - 60
    for check in ("jobs:backup", "servers:db-1", "jobs:gone"):
        await stage.send("critical", check, summary="it failed")


async def leads_to(page: Page, link: str, address: str) -> None:
    await expect(page.get_by_role("link", name=link)).to_have_attribute("href", address)


async def test_failing_checks_name_the_event_and_the_server(
    site: Site, store: Store, visit: Visits
) -> None:
    await failing(store)
    for place in ("/", "/checks"):
        page = await visit(site, "operator", place)
        await expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
        await expect(page.get_by_role("link", name="gone")).to_be_visible()
        await leads_to(page, "Last job", "/jobs/job?id=j1")
        main = page.get_by_role("main")
        for name, kind in (("Event", "/events/event?id=backup"), ("Server", "/servers/server?id=")):
            link = main.get_by_role("link", name=name, exact=True)
            assert kind in (await link.get_attribute("href") or "")


async def test_the_page_of_a_check_leads_to_the_event_and_its_last_job(
    site: Site, store: Store, visit: Visits
) -> None:
    await failing(store)
    page = await visit(site, "operator", "/check?id=jobs:backup")
    await expect(page.get_by_role("heading", name=HOSTILE, level=1)).to_be_visible()
    await leads_to(page, "Show the last job", "/jobs/job?id=j1")
    await page.get_by_role("link", name="Show the event").click()
    await expect(page.get_by_role("heading", name=HOSTILE, level=1)).to_be_visible()
    assert "/events/event?id=backup" in page.url
    await page.goto("/check?id=servers:db-1")
    await page.get_by_role("link", name="Show the server").click()
    await expect(page.get_by_role("heading", name="db-1", level=1)).to_be_visible()
