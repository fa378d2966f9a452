"""Commands that servers run each minute: defined as plugins, and tried on a server."""

from playwright.async_api import expect

from tests.browser.visits import Visits
from tests.web.fleet.agents import joined
from tests.web.site import Site
from watchbell.fleet.messages import RanOnce, RunOnce
from watchbell.fleet.model import CommandOutcome


async def test_a_command_of_servers_is_defined_and_tried(site: Site, visit: Visits) -> None:
    page = await visit(site, "administrator", "/plugins?new=yes", look="phone")
    await page.get_by_label("Title").fill("Queue")
    await page.get_by_label("Id", exact=True).fill("queue")
    await page.get_by_label("Run by").select_option("monitor")
    await expect(page.get_by_text("commands.queue")).to_be_visible()
    await page.get_by_label("Program").fill("/bin/echo 7")
    await page.get_by_label("Time limit").fill("3")
    await expect(page.get_by_text("Parameters")).to_have_count(0)
    async with joined(site, "db-1") as (agent, _):
        await page.get_by_role("button", name="Create plugin").click()
        await page.get_by_role("link", name="Try it").click()
        await page.get_by_role("button", name="Run command").click()
        asked = await agent.next(RunOnce)
        assert (asked.command.command, asked.command.timeout) == ("/bin/echo 7", 3)
        outcome = CommandOutcome(id="queue", output="7", text="7\n", elapsed=0.01)
        await agent.send(RanOnce(request=asked.request, outcome=outcome))
        await expect(page.get_by_label("Value")).to_have_text('"7"')
