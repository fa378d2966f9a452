"""Opens the pages of one crawl in the browser, and returns what became of them."""

import asyncio
from collections.abc import Callable

from watchbell.archive.fetching.model import Fetched
from watchbell.archive.frontier import Task
from watchbell.archive.grabbing.browser import Browser, NoBrowser
from watchbell.archive.grabbing.devtools import BrowserFailed, PageLost
from watchbell.archive.grabbing.page_traffic import CrawlParts, PageTraffic
from watchbell.archive.grabbing.proxy import Proxy
from watchbell.archive.grabbing.tab import LIMIT, LONGEST, Plan, Snapshot, Tab
from watchbell.archive.model import Crawl
from watchbell.archive.urls import without_userinfo
from watchbell.probes import probe

DOM, SCREENSHOT = "urn:X-watchbell:dom:", "urn:X-watchbell:screenshot:"
"""How the URLs of the records begin; the page's follows."""
_TRIES = 2
_SHOWN = ("text/html", "application/xhtml+xml")


class PageGrabber:
    def __init__(
        self, browser: Browser, crawl: Crawl, parts: CrawlParts, is_wanted: Callable[[], bool]
    ) -> None:
        self._browser, self._parts, self._is_wanted = browser, parts, is_wanted
        self._plan = Plan(
            wait=min(max(crawl.phantomjs_wait, 0), LONGEST),
            scrolls=max(crawl.phantomjs_scroll, 0),
            is_smart=not crawl.no_phantomjs_smart_scroll,
            user_agent=parts.user_agent,
        )
        self._is_missing = False
        """Whether the log has that there is no browser."""

    async def grabbed(self, page: Task, document: Fetched) -> Snapshot | None:
        """None if it is no page of the site, or can't be shown; the log says why."""
        if not _is_shown(page, document) or not self._is_wanted():
            return None
        reason = ""
        for _ in range(_TRIES):
            try:
                snapshot = await self._grabbed(page, document)
            except NoBrowser as error:
                self._log_missing(str(error))
                return None
            except PageLost as error:
                reason = str(error)
            except BrowserFailed as error:
                reason = str(error)
                break
            else:
                probe("crawl.grabbed")
                return snapshot
        self._parts.work.log(f"The browser can't show {without_userinfo(page.url)}: {reason}")
        return None

    async def _grabbed(self, page: Task, document: Fetched) -> Snapshot:
        """Raises BrowserFailed, and what goes wrong with the disk."""
        found: Snapshot | BrowserFailed
        try:
            async with self._browser.place(), asyncio.TaskGroup() as group:
                found = await self._shown(group, page, document)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if isinstance(found, BrowserFailed):
            raise found
        return found

    async def _shown(
        self, group: asyncio.TaskGroup, page: Task, document: Fetched
    ) -> Snapshot | BrowserFailed:
        traffic = PageTraffic(self._parts, page, document)
        tls = self._browser.certificate().tls
        traffic.proxy = proxy = Proxy(group, tls, traffic.answer)
        await proxy.open()
        try:
            async with self._browser.tab(proxy.port) as tab:
                return await self._in_time(tab, without_userinfo(page.url), traffic)
        except BrowserFailed as error:
            return error
        finally:
            proxy.close()

    async def _in_time(self, tab: Tab, url: str, traffic: PageTraffic) -> Snapshot:
        try:
            async with asyncio.timeout(LIMIT):
                return await tab.grab(url, self._plan, lambda: traffic.is_quiet, self._is_wanted)
        except TimeoutError:
            raise BrowserFailed(f"it is not ready after {LIMIT:g} s") from None

    def _log_missing(self, reason: str) -> None:
        if not self._is_missing:
            self._is_missing = True
            self._parts.work.log(f"Pages are fetched without a browser: {reason}")


def _is_shown(page: Task, document: Fetched) -> bool:
    kind = document.header("content-type").partition(";")[0].strip().lower()
    is_good = 200 <= document.status < 300 and not document.error
    is_of_site = not page.place.requisite and not page.place.offsite
    return is_good and is_of_site and kind in _SHOWN
