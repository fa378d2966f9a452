"""A real browser on archived pages: they look as they did, and can do no harm."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from tests.archive.exchanges import exchange, http, writer
from tests.archive.test_cdxj import journalled
from watchbell.archive.warc.replay import serving
from watchbell.archive.warc.stored_responses import StoredResponses
from watchbell.archive.warc.views import VIEW_HEADERS, view

SITE = "https://www.example.com"
START = b"""<!doctype html><title>Start</title><link rel="stylesheet" href="/style.css">
<h1>Start</h1><a href="/next">Next page</a> <a href="https://elsewhere.example/">Elsewhere</a>
<p id="origin">no script ran</p>
<script>
  let cookies
  try { cookies = document.cookie } catch (error) { cookies = error.name }
  document.getElementById("origin").textContent = `${self.origin} ${cookies}`
</script>
<form action="/form" method="post"><button>Send</button></form>"""


def archived(folder: Path) -> StoredResponses:
    out = writer(folder)
    out.write_exchange(exchange("", http(START)))
    out.write_exchange(exchange("next", http(b"<title>Next</title><h1>The next page</h1>")))
    style = http(b"h1 { color: rgb(1, 2, 3) }", kind="text/css")
    out.write_exchange(exchange("style.css", style))
    paths, index = journalled(out, folder)
    return StoredResponses(paths, [index])


@asynccontextmanager
async def page_of(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context()
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def test_an_archived_site_can_be_browsed(browser: Browser, tmp_path: Path) -> None:
    async with serving(archived(tmp_path)) as address, page_of(browser) as page:
        await page.context.add_cookies([{"name": "session", "value": "secret", "url": address}])
        await page.goto(address)
        await page.get_by_role("link", name=f"{SITE}/", exact=True).click()
        heading = page.get_by_role("heading", name="Start")
        await expect(heading).to_have_css("color", "rgb(1, 2, 3)")
        await expect(page.locator("#origin")).to_have_text("null SecurityError")
        await page.get_by_role("link", name="Next page").click()
        await expect(page.get_by_role("heading", name="The next page")).to_be_visible()
        assert page.url.startswith(address)
        await page.go_back()
        await page.get_by_role("link", name="Elsewhere").click()
        await expect(page.get_by_role("heading", name="Not archived")).to_be_visible()


async def test_no_script_runs_in_a_view(browser: Browser, tmp_path: Path) -> None:
    stored = archived(tmp_path).find(f"{SITE}/", "2026")
    assert stored
    shown = view(stored, lambda url: f"/view/{url}")
    head = [f"{name}: {value}" for name, value in VIEW_HEADERS.items()]
    lines = ["HTTP/1.1 200 OK", "Connection: close", f"Content-Type: {shown.content_type}", *head]
    response = "\r\n".join(lines).encode() + b"\r\n\r\n" + shown.body

    async def connected(reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        out.write(response)
        await out.drain()
        out.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server, page_of(browser) as page:
        port = server.sockets[0].getsockname()[1]
        await page.goto(f"http://127.0.0.1:{port}/")
        await expect(page.get_by_role("heading", name="Start")).to_be_visible()
        await expect(page.locator("#origin")).to_have_text("no script ran")
