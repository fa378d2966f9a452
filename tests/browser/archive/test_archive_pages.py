"""The pages of the archive: crawls are added, followed, changed and ended."""

import re

from playwright.async_api import expect

from tests.archive.crawling import OWN
from tests.browser.archive import sample_crawls
from tests.browser.visits import Visits
from tests.web.site import Site
from watchbell.archive import crawls, finishing, history
from watchbell.archive.model import Ending, FinishedFile
from watchbell.clock import SYSTEM
from watchbell.store.client import Store


async def test_a_first_crawl_is_added_in_a_dialog(site: Site, store: Store, visit: Visits) -> None:
    visit.forgive("/archive/crawls answered 422")
    page = await visit(site, "operator", "/archive")
    await expect(page.get_by_text("No crawls yet.")).to_be_visible()
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New crawl")
    await dialog.get_by_label("URL", exact=True).fill("nonsense")
    await dialog.get_by_role("button", name="Add crawl").click()
    await expect(dialog.locator(".wrong").first).to_be_visible()
    await dialog.get_by_label("URL", exact=True).fill("https://example.com/")
    await dialog.get_by_label("Note").fill("It closes in May")
    await dialog.get_by_text("Options").click()
    await dialog.get_by_label("Downloaders").fill("7")
    await dialog.get_by_label("Obey robots.txt").check()
    await dialog.get_by_label("Load pages in a browser").check()
    await dialog.get_by_label("Times to scroll").fill("0")
    await dialog.get_by_role("button", name="Add crawl").click()
    row = page.locator(".crawl-row", has_text="https://example.com/")
    await expect(row).to_contain_text("It closes in May")
    await expect(row).to_contain_text("queued")
    [crawl] = await crawls.every(store, site.services.clock.now())
    assert (crawl.settings.concurrency, crawl.options.obeys_robots) == (7, True)
    assert (crawl.grabber, crawl.phantomjs_wait, crawl.phantomjs_scroll) == ("phantomjs", 1, 0)


async def test_a_row_shows_its_log_and_follows_it(site: Site, store: Store, visit: Visits) -> None:
    await sample_crawls.add(store, "https://news.example.com/")
    owned = await sample_crawls.take(store)
    page = await visit(site, "operator", "/archive")
    row = page.locator(".crawl-row")
    await expect(row).to_contain_text("running")
    await page.get_by_role("button", name="Log of").click()
    log = page.get_by_role("log")
    await expect(log).to_contain_text("Nothing was logged yet.")
    await sample_crawls.log(store, owned, 1, 20, "news.example.com")
    await expect(log.locator(".crawl-line")).to_have_count(22)
    await expect(log.locator(".crawl-line-error")).to_have_count(2)
    await expect(row.locator("[data-label=Fetched]")).to_have_text("20")
    await page.get_by_role("button", name="Ignored", exact=True).click()
    await expect(log.locator(".crawl-line")).to_have_count(1)
    await expect(log).to_contain_text("/account/logout")


async def test_a_pattern_is_suggested_from_a_line(site: Site, store: Store, visit: Visits) -> None:
    ident = await sample_crawls.add(store, "https://news.example.com/")
    await sample_crawls.log(store, await sample_crawls.take(store), 1, 10, "news.example.com")
    page = await visit(site, "operator", f"/archive?crawl={ident}")
    line = page.locator(".crawl-line", has_text="/2001/page-1.html")
    await line.hover()
    await line.get_by_role("button", name="Ignore").click()
    dialog = page.get_by_role("dialog", name="Ignore URLs")
    await dialog.get_by_label("Every URL with the parameter sort").check()
    await expect(dialog.get_by_text(re.compile(r"matches 10 of the last \d+ URLs"))).to_be_visible()
    await dialog.get_by_role("button", name="Add pattern").click()
    await expect(page.get_by_text("Pattern added.")).to_be_visible()
    settings = await crawls.settings(store, ident)
    assert settings is not None
    assert "[?&]sort=" in settings.ignores


async def test_a_crawl_is_paused_and_aborted(site: Site, store: Store, visit: Visits) -> None:
    await sample_crawls.add(store, "https://news.example.com/")
    page = await visit(site, "operator", "/archive", look="phone")
    row = page.locator(".crawl-row")
    await row.get_by_role("button", name="Pause").click()
    await expect(row).to_contain_text("paused")
    await row.get_by_role("button", name="Abort").click()
    await page.get_by_role("button", name="Abort crawl").click()
    await expect(row).to_contain_text("aborted")


async def test_settings_of_a_running_crawl_are_changed(
    site: Site, store: Store, visit: Visits
) -> None:
    visit.forgive("answered 422")
    found = await sample_crawls.filled(store)
    page = await visit(site, "operator", f"/archive/crawl?ident={found['running']}")
    await expect(page.get_by_text("It has been running on attic")).to_be_visible()
    await expect(page.get_by_role("slider", name="Responses per minute")).to_be_visible()
    await expect(page.get_by_role("table", name="Hosts")).to_contain_text("cdn.news.example.com")
    await page.get_by_label("Shortest delay in ms").fill("900")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator(".field .wrong")).to_contain_text("must be at least 900 ms")
    await page.get_by_label("Longest delay in ms").fill("1000")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("The crawl follows within a second.")).to_be_visible()
    settings = await crawls.settings(store, found["running"])
    assert settings is not None
    assert (settings.delay_min, settings.delay_max) == (900, 1_000)
    patterns = page.get_by_role("table", name="Ignore patterns")
    await expect(patterns.locator("tbody tr").first).to_contain_text("7")
    await page.get_by_role("button", name="Add pattern").click()
    dialog = page.get_by_role("dialog", name="Ignore URLs")
    await dialog.get_by_label("Pattern").fill("/drafts/")
    await dialog.get_by_role("button", name="Add pattern").click()
    await expect(patterns).to_contain_text("/drafts/")


async def test_a_page_of_a_crawl_has_all_figures_once_the_crawl_has_ended(
    site: Site, store: Store, visit: Visits
) -> None:
    ident = await sample_crawls.add(store, "https://news.example.com/")
    owned = await sample_crawls.take(store)
    await sample_crawls.log(store, owned, 1, 10, "news.example.com")
    page = await visit(site, "operator", f"/archive/crawl?ident={ident}")
    hosts = page.get_by_role("table", name="Hosts")
    patterns = page.get_by_role("table", name="Ignore patterns")
    await expect(hosts).to_contain_text("10")
    await expect(patterns.locator("tbody tr").first).to_contain_text("7")
    await sample_crawls.log(store, owned, 2, 23, "news.example.com")
    await finishing.finish(store, owned, Ending(finished_at=SYSTEM.now()))
    await expect(page.get_by_text("It has completed.")).to_be_visible()
    await expect(hosts).to_contain_text("33")
    await expect(patterns.locator("tbody tr").first).to_contain_text("14")
    await expect(page.get_by_text("Started", exact=True)).to_be_visible()


async def test_a_crawl_of_the_past_lists_its_files(site: Site, store: Store, visit: Visits) -> None:
    found = await sample_crawls.filled(store)
    (past,) = await history.of_ident(store, found["completed"])
    name, queued_at = past.files[0].name, past.crawl.queued_at
    assert queued_at
    place = f"https://archive.org/download/bell_museum.example.com_20261116/{name}"
    uploaded = FinishedFile(name, past.files[0].size, place, "ab" * 32)
    assert await history.set_places(store, found["completed"], queued_at, [uploaded])
    page = await visit(site, "viewer", "/archive/history")
    await page.get_by_role("link", name="https://museum.example.com/").click()
    await expect(page.get_by_role("table", name="Files").locator("tbody tr")).to_have_count(3)
    await expect(page.get_by_role("link", name=place)).to_be_visible()
    await expect(page.get_by_role("button", name="Abort")).to_have_count(0)
    assert found["completed"] in page.url


async def test_a_pipeline_that_is_gone_is_forgotten(
    site: Site, store: Store, visit: Visits
) -> None:
    await sample_crawls.filled(store)
    await store.call("ZADD", OWN.pipelines_seen(), 5, sample_crawls.PIPELINE)
    page = await visit(site, "operator", "/archive/pipelines")
    await expect(page.get_by_text("no sign of life")).to_be_visible()
    await page.get_by_role("button", name="Forget", exact=True).click()
    dialog = page.get_by_role("dialog", name="Forget attic?")
    await dialog.get_by_role("button", name="Forget pipeline").click()
    await expect(page.get_by_text("No pipeline is running.")).to_be_visible()


async def test_queues_pipelines_and_sets_are_shown(site: Site, store: Store, visit: Visits) -> None:
    await sample_crawls.filled(store)
    page = await visit(site, "editor", "/archive/pending")
    waiting = page.get_by_role("table", name="Crawls in pending:cellar").locator("tbody tr")
    await expect(waiting).to_have_count(3)
    await waiting.nth(2).get_by_role("button", name="to the front").click()
    await expect(waiting.first).to_contain_text("shop-2")
    await page.get_by_role("link", name="Pipelines").click()
    await expect(page.get_by_text("2 of 20 crawls")).to_be_visible()
    await expect(page.get_by_text("3 files, 4 GiB left")).to_be_visible()
    await expect(page.get_by_text("the bucket is away")).to_be_visible()
    await page.get_by_role("link", name="Ignore sets").click()
    await page.get_by_role("button", name="New ignore set").click()
    dialog = page.get_by_role("dialog", name="New ignore set")
    await dialog.get_by_label("Name").fill("drafts")
    await dialog.get_by_label("Patterns").fill("/drafts/\n[?&]preview=")
    await dialog.get_by_label("Try a URL").fill("https://example.com/drafts/1")
    await dialog.get_by_role("button", name="Try").click()
    await expect(dialog.get_by_text("Ignored by /drafts/")).to_be_visible()
    await dialog.get_by_role("button", name="Save").click()
    sets = page.get_by_role("table", name="Ignore sets")
    await expect(sets.locator("tr", has_text="drafts")).to_contain_text("made here")
