"""Visits URLs of a crawl: fetches each, records the exchange, and follows its links."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Sequence

from watchbell import logs
from watchbell.archive import politeness
from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.exchange_recorder import ExchangeRecorder
from watchbell.archive.extraction.documents import extract
from watchbell.archive.extraction.links import Link
from watchbell.archive.fetching.decoding import decoded
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Fetched, Request
from watchbell.archive.fetching.retry_after import retry_after
from watchbell.archive.fetching.user_agents import DEFAULT
from watchbell.archive.frontier import Task
from watchbell.archive.grabbing.browser import Browser
from watchbell.archive.grabbing.kept_responses import KeptResponses
from watchbell.archive.grabbing.page_grabber import DOM, SCREENSHOT, PageGrabber
from watchbell.archive.grabbing.page_traffic import CrawlParts
from watchbell.archive.grabbing.tab import Snapshot
from watchbell.archive.interruption import Interrupted, Interruption
from watchbell.archive.link_filter import LinkFilter, Redirect
from watchbell.archive.model import Crawl, CrawlSettings
from watchbell.archive.politeness import Waits
from watchbell.archive.robots_rules import RobotsRules
from watchbell.archive.urls import (
    dedup_key,
    netloc_of,
    normalised,
    with_userinfo_of,
    without_userinfo,
)
from watchbell.clock import Clock
from watchbell.probes import probe

_PARSED = 10 << 20
"""Bytes of a document that are searched for links."""
_IN_LOOP = 128 << 10
"""Bytes of a document that are parsed without a thread."""
_ACCEPT = (
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en;q=0.8,*;q=0.5"),
)
_CODINGS = "gzip, deflate, br, zstd"
_CODINGS_WITH_BROWSER = "gzip, deflate"
"""What Chromium reads of any server; over plain HTTP, it takes no others."""


class Visits:
    def __init__(
        self,
        crawl: Crawl,
        settings: CrawlSettings,
        work: CrawlWork,
        fetcher: Fetcher,
        clock: Clock,
        host_urls: int,
        waits: Waits,
        interruption: Interruption,
        browser: Browser | None = None,
    ) -> None:
        self._crawl, self._settings, self._work = crawl, settings, work
        self._fetcher, self._clock, self._waits = fetcher, clock, waits
        self._interruption = interruption
        self._filter = LinkFilter(crawl, settings, work, clock, host_urls)
        self._recorder = ExchangeRecorder(crawl, work, clock)
        self._failures: Counter[str] = Counter()
        self._logger = logs.get(role="pipeline")
        self._agent = crawl.user_agent or DEFAULT
        codings = _CODINGS_WITH_BROWSER if crawl.grabber else _CODINGS
        self._headers = (
            ("User-Agent", self._agent),
            *_ACCEPT,
            ("Accept-Encoding", codings),
        )
        self._robots = (
            RobotsRules(work, clock, self._agent, self._fetch, self._keep, waits)
            if crawl.options.obeys_robots
            else None
        )
        self._kept: KeptResponses | None = None
        self._grabber: PageGrabber | None = None
        if browser is not None and browser.is_there and crawl.grabber:
            self._kept = KeptResponses()
            self._grabber = self._made_grabber(browser, self._kept)

    def _made_grabber(self, browser: Browser, kept: KeptResponses) -> PageGrabber:
        parts = CrawlParts(
            work=self._work,
            fetcher=self._fetcher,
            recorder=self._recorder,
            filter=self._filter,
            visits=self,
            kept=kept,
            user_agent=self._agent,
        )
        return PageGrabber(browser, self._crawl, parts, self._is_wanted)

    def _is_wanted(self) -> bool:
        """Whether the crawl goes on."""
        return not self._settings.abort_requested and not self._recorder.has_enough

    def apply(self, settings: CrawlSettings) -> None:
        self._filter.apply(settings)
        self._settings = settings

    async def visit(self, task: Task) -> bool:
        """Whether its server was asked."""
        is_found = task.place.level or task.place.requisite
        if is_found and self._filter.ignores(task.url):
            self._work.frontier.done(task)
            return False
        try:
            return await self._visited(task)
        except (OSError, sqlite3.Error):
            raise
        except Interrupted:
            self._work.give_back(task)
            return False
        except Exception as error:
            shown = without_userinfo(task.url)
            self._logger.exception("a URL can't be handled", url=shown)
            self._work.log(f"{shown} can't be handled: {type(error).__name__}: {error}")
            self._work.frontier.done(task)
            return True

    async def _visited(self, task: Task) -> bool:
        if self._robots and not await self._is_permitted(task, self._robots):
            return False
        fetched = await self._fetched(task)
        probe("crawl.fetched")
        try:
            snapshot = await self._grabber.grabbed(task, fetched) if self._grabber else None
            await self.settle(task, fetched, snapshot)
        finally:
            fetched.response.close()
        return True

    async def _fetched(self, task: Task) -> Fetched:
        url = with_userinfo_of(task.place.root, task.url)
        if self._kept is None:
            return await self._fetch(url)
        shown = without_userinfo(url)
        async with self._kept.turn(shown):
            fetched = await self._fetch(url)
            self._kept.keep(shown, fetched)
        return fetched

    async def _fetch(self, url: str) -> Fetched:
        cookie = self._recorder.cookie(url)
        async with self._interruption.heeded():
            return await self._fetcher.fetch(Request(url=url, headers=self._headers, cookie=cookie))

    async def allows(self, page: Task, url: str) -> bool:
        """Whether robots.txt lets the URL be fetched for a page."""
        if self._robots is None:
            return True
        part = Task(id=0, url=url, host=netloc_of(url), place=page.place, tries=0)
        rules = await self._robots.of(part)
        return rules is not None and rules.allows(url)

    async def _is_permitted(self, task: Task, robots: RobotsRules) -> bool:
        """Whether robots.txt lets it be fetched now. What it does not is dealt with."""
        rules = await robots.of(task)
        if rules is None:
            self._work.give_back(task)
            return False
        if robots.has_asked(task.url):
            found = [normalised(text, task.url) for text in rules.sitemaps]
            await self._filter.follow(task.place, [Link(url, "page") for url in found if url])
            self._work.frontier.done(task)
            return False
        if not rules.allows(task.url):
            self._work.log(f"robots.txt forbids {without_userinfo(task.url)}")
            self._work.frontier.done(task)
            return False
        if rules.delay:
            self._work.leave_alone(task.host, self._clock.now() + rules.delay)
        return True

    async def settle(self, task: Task, fetched: Fetched, snapshot: Snapshot | None = None) -> None:
        """Records what was fetched for a URL, and follows its links."""
        now = self._clock.now()
        is_down = politeness.is_down(fetched.status, is_retryable=fetched.is_retryable)
        self._failures[task.host] = self._failures[task.host] + 1 if is_down else 0
        pace = politeness.pace(
            fetched.status,
            fetched.error,
            is_retryable=fetched.is_retryable or not fetched.error,
            retry_after=retry_after(fetched.header("retry-after"), now),
            tries=task.tries,
            failures=self._failures[task.host],
            waits=self._waits,
        )
        if pace.retry_in is None and self._wants_cookie(task, fetched):
            pace = politeness.AT_ONCE
        links = await self._links(task.url, fetched) if pace.retry_in is None else []
        if snapshot:
            links = [*links, *await self._links_of(snapshot)]
        if pace.retry_in is None:
            await self._filter.follow(task.place, links)
        # From here to the end nothing is awaited, but for the writing of a large response: a commit
        # has all of this, or nothing.
        place = await self._recorder.record(task.url, fetched)
        if snapshot:
            await self._record_snapshot(task.url, snapshot, now)
        if pace.host_pause:
            self._work.leave_alone(task.host, now + pace.host_pause)
        if pace.retry_in is not None:
            self._work.postpone(task, now + pace.retry_in)
        else:
            self._work.frontier.done(task, *place)
        if pace.gives_up_host:
            self._give_up(task.host)

    def _wants_cookie(self, task: Task, fetched: Fetched) -> bool:
        """Whether it redirects to itself, to see whether we send its cookie back."""
        if not (self._crawl.options.has_cookies and fetched.every_header("set-cookie")):
            return False
        target = normalised(fetched.location, task.url) if 300 <= fetched.status < 400 else None
        is_itself = target is not None and dedup_key(target) == dedup_key(task.url)
        return is_itself and task.tries + 1 < politeness.MOST_TRIES

    def _give_up(self, host: str) -> None:
        left = self._work.frontier.give_up(host)
        times = self._failures[host]
        if left or times == politeness.MOST_FAILURES:
            self._work.log(f"{host} was down {times} times in a row; {left:,} URLs are given up.")

    async def _keep(self, url: str, fetched: Fetched) -> None:
        await self._recorder.record(url, fetched)

    async def _record_snapshot(self, url: str, snapshot: Snapshot, now: float) -> None:
        shown, html = without_userinfo(url), snapshot.html.encode(errors="replace")
        await self._work.write_resource(DOM + shown, now, html, "text/html; charset=utf-8")
        if snapshot.screenshot:
            picture = snapshot.screenshot
            await self._work.write_resource(SCREENSHOT + shown, now, picture, "image/png")

    # Links.

    async def _links(self, url: str, fetched: Fetched) -> Sequence[Link | Redirect]:
        """What the response leads to, as far as it arrived."""
        location = fetched.location if 300 <= fetched.status < 400 else ""
        if location:
            target = normalised(location, url)
            return [Redirect(target)] if target else []
        if fetched.links:
            return [Link(one, "page") for one in fetched.links]
        if not 200 <= fetched.status < 300:
            return []
        try:
            body = decoded(fetched, most=_IN_LOOP).body
            if len(body) >= _IN_LOOP:  # perhaps a small one that unpacks to a large one
                return await asyncio.to_thread(_found_in, url, fetched)
            return extract(body, fetched.header("content-type"), url)
        except Exception as error:
            shown = without_userinfo(url)
            self._logger.exception("the links of a page can't be read", url=shown)
            self._work.log(f"The links of {shown} can't be read: {error}")
            return []

    async def _links_of(self, snapshot: Snapshot) -> Sequence[Link | Redirect]:
        """What the page has in the browser, and where its scripts wanted to go."""
        urls = (normalised(one) for one in snapshot.navigations)
        led = [Redirect(url) for url in urls if url]
        try:
            return [*led, *await asyncio.to_thread(_found_by_scripts, snapshot)]
        except Exception as error:
            self._logger.exception("the links of a page can't be read", url=snapshot.url)
            self._work.log(f"The links of {snapshot.url} in the browser can't be read: {error}")
            return led


def _found_in(url: str, fetched: Fetched) -> Sequence[Link]:
    body = decoded(fetched, most=_PARSED).body
    return extract(body, fetched.header("content-type"), url)


def _found_by_scripts(snapshot: Snapshot) -> Sequence[Link]:
    return extract(snapshot.html.encode(errors="replace"), "text/html; charset=utf-8", snapshot.url)
