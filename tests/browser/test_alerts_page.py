"""The page of alerts: filtered by its address, with the server's answer, sent again."""

from playwright.async_api import expect

from tests.browser.visits import Visits
from tests.web.alerting.test_alerts_api import NOW, delivered, given_up, recorded
from tests.web.site import Site
from watchbell.alerting import contacts
from watchbell.alerting.model import Contact
from watchbell.gateways.lanes import Lanes
from watchbell.gateways.samples import sample
from watchbell.store.client import Store


async def fill(store: Store) -> None:
    await contacts.save(store, Contact(id="alice", first_name="Alice"))
    good = sample("problem", id="good")
    bad = sample("problem", id="bad", address="nobody@example.com", event_id="db-1:<i>Disk</i>")
    text = sample("recovery", id="text", media="sms", contact_id="bob")
    await recorded(store, good, now=NOW - 20)
    await recorded(store, bad, now=NOW - 10)
    await recorded(store, text)
    await delivered(store, good)
    await given_up(store, bad)


async def test_alerts_are_filtered_by_the_address_and_the_other_way_round(
    site: Site, store: Store, visit: Visits
) -> None:
    await fill(store)
    page = await visit(site, "viewer", "/alerts?contact=alice&outcome=delivered")
    rows = page.get_by_role("table", name="Alerts").locator("tbody tr")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("web-1.example.com:HTTP")
    await page.get_by_role("button", name="Remove the filter: to alice").click()
    await page.get_by_role("button", name="All", exact=True).click()
    await expect(page).to_have_url(f"{site.url}/alerts")
    await expect(rows).to_have_count(3)
    await expect(rows.nth(1)).to_contain_text("db-1:<i>Disk</i>")
    await page.get_by_role("button", name="Filters").click()
    await page.get_by_role("dialog").get_by_label("Medium").fill("sms")
    await page.get_by_role("button", name="Apply").click()
    await expect(page).to_have_url(f"{site.url}/alerts?medium=sms")
    await expect(rows).to_have_count(1)
    await page.goto("/alerts?kind=test")
    await expect(page.get_by_text("No alerts match these filters.")).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await expect(rows).to_have_count(3)


async def test_an_alert_tells_the_servers_answer_and_is_sent_again(
    site: Site, store: Store, visit: Visits
) -> None:
    await fill(store)
    page = await visit(site, "operator", "/alerts?outcome=delivered")
    rows = page.get_by_role("table", name="Alerts").locator("tbody tr")
    await expect(rows).to_have_count(1)
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_contain_text("250 ok")
    await expect(page.get_by_role("dialog").get_by_label("Message")).to_have_text("long")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await page.get_by_role("button", name="Failed").click()
    await expect(rows).to_contain_text("550 no such user")
    await rows.get_by_text("550 no such user").click()
    await page.get_by_role("button", name="Retry").click()
    await expect(page.get_by_role("dialog")).to_contain_text("sending")
    await page.get_by_role("button", name="Close").click()
    await expect(page.get_by_text("No alerts match these filters.")).to_be_visible()
    [claim], _ = await Lanes(store, "email").claim(10, 10)
    assert [item.id for item in claim.items] == ["bad"]
