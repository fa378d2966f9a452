"""Browser tests fail when something goes wrong in a page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from litestar import MediaType, Response, get
from litestar.params import FromPath
from playwright.async_api import Browser, Error, Page, expect

from tests.browser.house import House
from tests.browser.visits import LOOKS, Look, Visits
from tests.waiting import eventually
from tests.web.site import Site, serving_app
from watchbell.web.access import PUBLIC
from watchbell.web.app import application
from watchbell.web.request_envelope import RequestEnvelope

PAGE = '<!doctype html><meta charset="utf-8"><title>x</title><body>{}</body>'
WRONG = [
    # script, body, complaint
    ("console.error('Alice')", "", "console: Alice"),
    ("undefined.x", "", "exception: TypeError"),
    ("Promise.reject(new Error('Bob'))", "", "exception: Error: Bob"),
    ("alert('Charlie')", "", "dialog: alert Charlie"),
    ("", "<script>1</script>", "console: against the policy script-src-elem: inline"),
    ("", "<p style='color: red'>x", "console: against the policy style-src-attr: inline"),
    ("fetch('http://192.0.2.1/x').catch(() => 0)", "", "against the policy connect-src"),
    ("", "<img src='https://example.com/x'>", "against the policy img-src"),
    ("fetch('/api/v1/session')", "", "/api/v1/session answered 401"),
    ("fetch('/nowhere')", "", "/nowhere answered 404"),
    ("", "<img src='/nowhere.png'>", "/nowhere.png answered 404"),
    ("location = 'http://192.0.2.1/x'", "", "request to another host: http://192.0.2.1/x"),
]


@asynccontextmanager
async def misbehaving(site: Site) -> AsyncIterator[Site]:
    """The site, with a page for each row of what is wrong."""

    @get("/scripts/{number:int}", opt=PUBLIC)
    async def script(number: FromPath[int]) -> Response[str]:
        return Response(WRONG[number][0], media_type="text/javascript")

    @get("/wrong/{number:int}", opt=PUBLIC)
    async def page(number: FromPath[int]) -> Response[str]:
        tag = f'<script src="/scripts/{number}"></script>'
        return Response(PAGE.format(WRONG[number][1] + tag), media_type=MediaType.HTML)

    app = application(site.services)
    app.register(script)
    app.register(page)
    async with serving_app(RequestEnvelope(app), site.services) as other:
        yield other


async def test_what_goes_wrong_in_a_page_is_reported(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    async with misbehaving(site) as other, Visits(browser) as visits:
        page = await visits(other, None)
        for number, (_, _, complaint) in enumerate(WRONG):
            with suppress(Error):  # the last one leads away
                await page.goto(f"/wrong/{number}")
            await eventually(partial(reported, visits, complaint), why=complaint)
        await visits.keep(tmp_path / "kept")
        visits.forgive(".")
        assert visits.complaints() == []
    assert (tmp_path / "kept/page-0.png").stat().st_size > 1_000
    assert "console: Alice" in (tmp_path / "kept/console.txt").read_text()


def reported(visits: Visits, complaint: str) -> bool:
    return any(complaint in one for one in visits.complaints())


async def test_a_server_that_is_gone_is_reported(site: Site, browser: Browser) -> None:
    async with Visits(browser) as visits:
        async with misbehaving(site) as other:
            page = await visits(other, None, "/sign-in")
        await page.evaluate("fetch('/healthz').catch(() => 0)")
        complaint = "/healthz failed: net::ERR_CONNECTION_REFUSED"
        await eventually(partial(reported, visits, complaint), why=complaint)


async def test_who_visits_is_signed_in_and_others_are_not(site: Site, visit: Visits) -> None:
    alice = await visit(site, "editor", "/account", name="alice")
    bob = await visit(site, "viewer", "/account", name="bob")
    nobody = await visit(site, None, "/account")
    assert await role(alice) == "editor"
    assert await role(bob) == "viewer"
    await expect(nobody.get_by_role("button", name="Sign in")).to_be_visible()
    tab = await alice.context.new_page()
    await tab.goto("/account")
    assert await role(tab) == "editor"


async def role(page: Page) -> str:
    answer = await page.request.get("/api/v1/session")
    name: str = (await answer.json())["role"]
    return name


@pytest.mark.parametrize("look", LOOKS)
async def test_a_page_is_seen_as_it_was_asked_for(site: Site, visit: Visits, look: Look) -> None:
    page = await visit(site, None, "/sign-in", look=look)
    seen = await page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]")
    assert seen == [360 if "phone" in look else 1280, "dark" in look]


async def test_a_house_lets_its_first_administrator_in_and_comes_back(
    house: House, visit: Visits
) -> None:
    page = await visit(house, None, house.first_link)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{house.url}/account/password")
    visit.forgive("failed: net::ERR_")  # of what the page still asked for
    await house.stop()
    await house.start()
    await page.reload()
    assert await role(page) == "administrator"
