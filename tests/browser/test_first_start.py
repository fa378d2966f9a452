"""From nothing to the first alert that somebody acknowledged, as a new user goes the way."""

import re
from pathlib import Path

from aiohttp import ClientSession
from playwright.async_api import Page, expect

from tests import servers
from tests.browser.house import House, housed
from tests.browser.visits import Visits
from tests.gateways import smtp
from tests.waiting import eventually
from tests.web.site import BY, PASSWORD
from watchbell.alerting import contact_links, contacts
from watchbell.alerting.keys import ALL
from watchbell.alerting.model import Contact, Medium

EVENT = {
    "type": "service",
    "state": "critical",
    "entity": "web-1",
    "check": "HTTP",
    "summary": "connection <b>refused</b>",
    "initial_failure_delay": 0,
}


async def test_from_the_first_start_to_the_first_alert_acknowledged(
    house: House, visit: Visits
) -> None:
    page = await visit(house, None, house.first_link)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Save password").click()
    await expect(page.get_by_role("heading", name="Run a job")).to_be_visible()
    await expect(page.get_by_role("link", name="Create an event")).to_be_visible()
    await expect(page.get_by_role("heading", name="Get notified")).to_be_visible()
    await page.get_by_text("Report from your own programs").click()
    await expect(page.get_by_role("link", name="Create an API key")).to_be_visible()

    await interested_alice(house)
    await report(house)
    await expect(page.get_by_text("1 check needs attention")).to_be_visible()
    await expect(page.get_by_text("connection <b>refused</b>")).to_be_visible()
    await expect(page.get_by_text("Alice by email")).to_be_visible()

    await acknowledge(page)
    await expect(
        page.get_by_text("All failing checks are acknowledged or in maintenance.")
    ).to_be_visible()
    handled = page.get_by_role("table", name="Failing checks that are handled")
    await expect(handled.get_by_text("acknowledged")).to_be_visible()
    await handled.get_by_role("link", name="HTTP").click()
    await expect(page.get_by_role("region", name="State")).to_contain_text("admin: I am on it")


async def test_a_mail_has_a_button_that_acknowledges(folder: Path, visit: Visits) -> None:
    """As a newcomer gets there: nothing is set but the mail server."""
    async with smtp.serving() as sink:
        file = folder / "watchbell.toml"
        server = f'host = "{servers.HOST}"\nport = {sink.port}\ntls = "none"\n'
        file.write_text(f"[gateways.email]\n{server}")
        async with housed(folder, WATCHBELL_CONFIG=str(file)) as house:
            await interested_alice(house)
            await report(house)
            await eventually(lambda: sink.mails, 30, "the mail")
            button = re.search(
                r'<a href="([^"]+)"[^>]*>Acknowledge</a>', sink.mails[0].part("html")
            )
            assert button is not None
            assert button[1] in sink.mails[0].part("plain")
            page = await visit(house, None, button[1])
            assert page.url.startswith(f"{house.url}/ack/")
            await page.get_by_label("Comment").fill("I am on it")
            await page.get_by_role("button", name="Acknowledge").click()
            await expect(page.get_by_role("heading", name="Acknowledged")).to_be_visible()
            await page.context.close()  # before its server ends


async def interested_alice(house: House) -> None:
    medium = Medium(address="alice@example.com")
    alice = Contact(id="alice", first_name="Alice", media={"email": medium})
    await contacts.save(house.store, alice)
    await contact_links.link(house.store, "alice", ALL)


async def report(house: House) -> None:
    secret, _ = await house.services.api_keys.make("web-1", ("intake",), BY)
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        ClientSession(headers=headers) as http,
        http.post(f"{house.url}/api/v1/check-events", json=EVENT) as answer,
    ):
        assert answer.status == 202


async def acknowledge(page: Page) -> None:
    await page.get_by_role("button", name="Acknowledge web-1:HTTP").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Comment").fill("I am on it")
    await dialog.get_by_role("button", name="Acknowledge").click()
    await expect(dialog).to_be_hidden()
