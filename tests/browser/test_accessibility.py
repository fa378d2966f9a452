"""Every page passes axe-core's serious and critical rules, in light and dark."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests import node_packages
from tests.browser import sample_data
from tests.browser.house import House
from tests.browser.visits import Visits
from watchbell.web.pages.shell import MODULES

TABS = ("callees", "decisions", "alerts", "maintenance", "measured")
VIEWS = (
    *("/maintenance?view=month", "/maintenance?view=agenda", "/no-such-page"),
    "/events/new?type=workflow",
    "/api?operation=ApiV1ChecksAcknowledgeAcknowledge",
    *("/cron/job?name=backup&tab=definition", "/cron/job?name=backup&tab=missed"),
    *(f"/check?id=web-1%3AHTTP&tab={tab}" for tab in TABS),
)
DIALOGS = (
    ("/", "Acknowledge web-1:HTTP"),
    ("/", "Keyboard shortcuts"),
    ("/check?id=web-1%3AHTTP", "Acknowledge"),
    ("/check?id=web-1%3AHTTP", "Schedule maintenance"),
    ("/maintenance", "Schedule maintenance"),
    ("/maintenance?view=agenda", "new cables"),
    ("/contact?id=alice", "Add rule"),
    ("/contact?id=alice", "Edit"),
    ("/entities", "New entity"),
    ("/users", "New user"),
    ("/api-keys", "New API key"),
    ("/servers", "Add server"),
    ("/groups", "New group"),
    ("/events/event?id=release", "Job Build"),
    ("/events/event?id=release&tab=edit", "Job Build"),
    ("/server-alerts", "Snooze all"),
    ("/snapshots", "Take snapshot"),
)
"""What a button opens: a path, and a part of the button's name."""
PARTS = 2
"""Tests that share the pages among them, so that two workers can."""
BAD = ("serious", "critical")
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules whose findings a colour scheme can change."""


async def found(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """Findings that make a page hard to use for some people, one a line."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = rules
    result: dict[str, Any] = await page.evaluate("(options) => axe.run(options)", options)
    return [
        f"{page.url} {one['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for one in result["violations"]
        if one["impact"] in BAD
        for node in one["nodes"][:3]
    ]


async def loaded(page: Page, path: str) -> None:
    await page.goto(path)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_label("Loading")).to_have_count(0)


async def in_both_schemes(page: Page) -> list[str]:
    await page.evaluate((node_packages.installed() / "axe-core" / "axe.min.js").read_text())
    await page.emulate_media(color_scheme="light")
    findings = [f"light {one}" for one in await found(page)]
    await page.emulate_media(color_scheme="dark")
    return findings + [f"dark {one}" for one in await found(page, OF_COLOURS)]


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_page_has_a_serious_finding(house: House, visit: Visits, part: int) -> None:
    single = await sample_data.fill(house)
    visit.forgive("no-such-page answered 404")
    page = await visit(house, "administrator", name="alice")
    findings: list[str] = []
    plain = (path for path in MODULES if path not in ("/check", "/contact"))
    for path in [*plain, *single, *VIEWS][part::PARTS]:
        await loaded(page, path)
        findings += await in_both_schemes(page)
    assert findings == [], "\n".join(findings)


async def test_no_page_for_strangers_and_no_dialog_has_a_serious_finding(
    house: House, visit: Visits
) -> None:
    await sample_data.fill(house)
    visit.forgive("no-such-page answered 404")
    stranger = await visit(house, None)
    findings: list[str] = []
    for path in ("/sign-in", "/no-such-page"):
        await loaded(stranger, path)
        findings += await in_both_schemes(stranger)
    page = await visit(house, "administrator", name="alice")
    for path, button in DIALOGS:
        await loaded(page, path)
        name = re.compile(re.escape(button))
        await page.get_by_role("button", name=name).first.click()
        findings += await in_both_schemes(page)
    assert findings == [], "\n".join(findings)
