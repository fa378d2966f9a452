"""A viewer in a real browser: it reads the dashboard if its origin is listed, and else nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from playwright.async_api import Browser, Page, expect

from tests import servers
from tests.archive.crawling import append, running
from tests.web.archive.dashboards import batch, publish, served
from watchbell.archive import log_draining
from watchbell.store.client import Store

# As ArchiveBot's own page does it: first what was, then what comes.
VIEWER = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><ol></ol><script>
const host = new URLSearchParams(location.search).get("host");
const show = (text) => {
  const line = document.createElement("li");
  line.textContent = text;
  document.querySelector("ol").append(line);
};
const told = (entry) => `${entry.response_code} ${entry.url} ${entry.job_data.note ?? ""}`;
fetch(`http://${host}/logs/recent?cb=${Date.now()}`, {headers: {Accept: "application/json"}})
  .then((answer) => answer.json())
  .then((entries) => entries.forEach((entry) => show(told(entry))), () => show("refused"))
  .then(() => {
    const socket = new WebSocket(`ws://${host}/stream`);
    socket.onopen = () => show("connected");
    socket.onmessage = (message) => show(told(JSON.parse(message.data)));
    socket.onerror = () => show("closed");
  });
</script>"""


@asynccontextmanager
async def website() -> AsyncIterator[str]:
    """The origin of a web server that has the viewer."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text=VIEWER, content_type="text/html")

    application = web.Application()
    application.router.add_get("/", page)
    runner = web.AppRunner(application)
    await runner.setup()
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        await web.TCPSite(runner, servers.HOST, port, reuse_address=True).start()
        yield f"http://{servers.HOST}:{port}"
    await runner.cleanup()


@asynccontextmanager
async def opened(browser: Browser, url: str) -> AsyncIterator[Page]:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(url)
    yield page
    await context.close()


async def test_a_viewer_of_a_listed_origin_shows_what_was_and_what_comes(
    store: Store, browser: Browser
) -> None:
    owned = await running(store)
    await append(store, owned, 1, 404)
    await log_draining.drain(store, owned.ident, quiet=0)
    async with (
        website() as origin,
        served(store, origins=(origin,)) as dashboard,
        opened(browser, f"{origin}/?host=127.0.0.1:{dashboard.port}") as page,
    ):
        lines = page.locator("li")
        await expect(lines).to_have_text(["404 https://example.com/ ", "connected"])
        await dashboard.viewed_by(1)
        await publish(store, batch(range(200), response_code=200))
        await expect(lines).to_have_count(202)
        await expect(lines.last).to_have_text("200 https://example.com/199 grüße")


async def test_a_page_of_another_site_gets_nothing(store: Store, browser: Browser) -> None:
    async with (
        website() as origin,
        served(store, origins=("https://archive.example.com",)) as dashboard,
        opened(browser, f"{origin}/?host=127.0.0.1:{dashboard.port}") as page,
    ):
        await expect(page.locator("li")).to_have_text(["refused", "closed"])
        assert dashboard.broadcaster.viewers == 0


async def test_its_own_page_opens_without_complaints(store: Store, browser: Browser) -> None:
    async with served(store) as dashboard, opened(browser, "about:blank") as page:
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        await page.goto(dashboard.url)
        await expect(page.get_by_role("link", name="/logs/recent")).to_be_visible()
        padding = await page.locator("td").first.evaluate("td => getComputedStyle(td).paddingLeft")
        assert padding == "12px"
        await expect(page).to_have_title("Dashboard for existing viewers · Watchbell")
        assert complaints == []
