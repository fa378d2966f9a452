"""Gateways and rejected events as people see them: what went wrong, corrected and sent again."""

import json

from msgspec.structs import replace
from playwright.async_api import expect

from tests.alerting.scenes import Stage
from tests.browser.visits import Visits
from tests.web.alerting.test_alerts_api import given_up, recorded
from tests.web.site import Site, chosen, serving_services
from watchbell.clock import SYSTEM, SetClock
from watchbell.gateways import overview
from watchbell.gateways.keys import Gateways
from watchbell.gateways.samples import sample
from watchbell.settings import Tables
from watchbell.store.client import Store
from watchbell.web.app import open_services

NASTY = "<img src=x onerror=alert(1)>"


async def test_what_was_given_up_is_seen_and_sent_again(store: Store, visit: Visits) -> None:
    settings = replace(chosen(), gateways=Tables({"email": {"host": "mail.example.com"}}))
    services = await open_services(settings, store, SYSTEM)
    for number in range(2):
        alert = sample("problem", id=f"a{number}", media="email", event_id=f"web-{number}:{NASTY}")
        await recorded(store, alert)
        await given_up(store, alert)
    async with serving_services(services) as site:
        page = await visit(site, "operator", "/gateways")
        await expect(page.get_by_text("This gateway has never run.")).to_be_visible()
        await page.get_by_role("button", name="Show failed alerts").click()
        rows = page.get_by_role("table", name="Failed alerts of email").locator("tbody tr")
        await expect(rows).to_have_count(2)
        await rows.filter(has_text=f"web-1:{NASTY}").get_by_role("checkbox").check()
        await page.get_by_role("button", name="Retry 1 alert").click()
        await expect(rows).to_have_count(1)
        await page.get_by_role("button", name="Preview message").click()
        await page.get_by_label("Kind").select_option("recovery")
        await expect(page.get_by_role("dialog")).to_contain_text("Recovery: 'HTTP'")
        assert await page.get_by_role("button", name="Send test").count() == 0
        await page.context.close()  # before its server ends
    (fare,) = await overview.statuses(store, ["email"])
    assert (fare.failed, fare.on_its_way) == (1, 1)


async def test_a_gateway_that_gave_everything_up_is_failing(store: Store, visit: Visits) -> None:
    settings = replace(chosen(), gateways=Tables({"email": {"host": "mail.example.com"}}))
    clock = SetClock(SYSTEM.now())  # so that it counts as running for as long as this takes
    services = await open_services(settings, store, clock)
    alert = sample("problem", id="a1", media="email", event_id="web-1:HTTP")
    await recorded(store, alert)
    await given_up(store, alert)
    seen = int(clock.now())
    await store.call("HSET", Gateways(store.prefix).status("email"), "seen", seen)
    async with serving_services(services) as site:
        page = await visit(site, "viewer", "/gateways")
        await expect(page.locator(".state-critical")).to_have_text("failing")
        await expect(page.get_by_text("gave up 1 alert and delivered none")).to_be_visible()
        await page.goto("/")
        own = page.get_by_role("heading", name="Watchbell problems")
        await expect(own).to_be_visible()
        await expect(page.get_by_role("link", name="Gateway email")).to_be_visible()
        await page.context.close()


async def test_a_rejected_event_is_corrected_and_sent(
    site: Site, store: Store, visit: Visits
) -> None:
    stage = Stage(store)
    stage.now = int(SYSTEM.now())
    body = {"type": "service", "state": "okay", "entity": "web-1", "check": NASTY}
    await stage.push(b"\xff\x00\x1b[31m", json.dumps(body))
    await stage.drain()
    visit.forgive("/api/v1/check-events answered 422|status of 422")
    page = await visit(site, "operator", "/rejected", look="phone")
    await page.get_by_role("row").filter(has_text="not JSON").click()
    shown = page.get_by_label("Event", exact=True)
    await expect(shown).to_have_text(r"\xff\x00\x1b[31m")
    await page.get_by_role("button", name="Bytes").click()
    await expect(shown).to_contain_text("000000  ff 00 1b 5b 33 31 6d")
    await page.keyboard.press("Escape")
    await page.get_by_role("row").filter(has_text="state is 'okay'").click()
    await page.get_by_role("button", name="Edit and resend").click()
    draft = page.get_by_label("Corrected event")
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(page.get_by_role("dialog")).to_contain_text("expected one of ok, warning")
    await expect(draft).to_have_attribute("aria-invalid", "true")
    await draft.fill(json.dumps({**body, "state": "ok"}))
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(page.get_by_role("dialog")).not_to_be_attached()
    assert (await stage.drain()).events == 1
