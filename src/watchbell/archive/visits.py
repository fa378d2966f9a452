"""Visits URLs of a crawl: fetches each, records the exchange, and follows its links."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from watchbell import logs
from watchbell.archive import ignores, politeness, scope
from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.extraction.documents import extract
from watchbell.archive.fetching.cookies import Jar
from watchbell.archive.fetching.decoding import decoded
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Fetched, Request
from watchbell.archive.fetching.retry_after import retry_after
from watchbell.archive.fetching.robots import Robots, robots, robots_url
from watchbell.archive.fetching.user_agents import DEFAULT
from watchbell.archive.frontier import FoundUrl, Task
from watchbell.archive.model import Crawl, CrawlSettings, LogEntry
from watchbell.archive.urls import dedup_key, netloc_of, normalised, scheme_of
from watchbell.archive.warc.records import Exchange
from watchbell.clock import Clock
from watchbell.probes import probe

_PARSED = 10 << 20
"""Bytes of a document that are searched for links."""
_IN_LOOP = 128 << 10
"""Bytes of a document that are parsed without a thread."""
_MOST_ROBOTS = 10_000
_ACCEPT = (
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Accept-Language", "en;q=0.8,*;q=0.5"),
)


class Link(NamedTuple):
    url: str
    kind: Literal["page", "requisite", "redirect"]


class Visits:
    def __init__(
        self,
        crawl: Crawl,
        settings: CrawlSettings,
        work: CrawlWork,
        fetcher: Fetcher,
        clock: Clock,
        host_urls: int,
    ) -> None:
        self._crawl, self._settings, self._work = crawl, settings, work
        self._fetcher, self._clock = fetcher, clock
        self._policy = scope.Policy(
            depth=crawl.fetch_depth,
            no_offsite_links=crawl.no_offsite_links,
            offsite_depth=crawl.options.offsite_depth,
            host_urls=host_urls,
            most_urls=crawl.options.most_urls,
        )
        self._ignores = ignores.compile(settings.ignores, crawl.url, netloc_of(crawl.url))
        self._jar = Jar.restored(work.cookies)
        self._failures: Counter[str] = Counter()
        self._full: set[str] = set()
        self._switched_off: set[str] = set()
        self._logger = logs.get(role="pipeline")
        self._robots: dict[str, Robots] = {}
        self._bytes = crawl.bytes_downloaded
        agent = ("User-Agent", crawl.user_agent or DEFAULT)
        self._headers = (agent, *_ACCEPT)

    @property
    def has_enough(self) -> bool:
        """Whether a limit of the crawl is reached."""
        options = self._crawl.options
        return bool(options.most_bytes and self._bytes >= options.most_bytes)

    def apply(self, settings: CrawlSettings) -> None:
        if settings.ignores != self._settings.ignores:
            self._ignores = self._ignores.changed(settings.ignores)
        self._settings = settings

    async def visit(self, task: Task) -> bool:
        """Whether its server was asked."""
        pattern = (
            self._ignored(task.url, "accept_url")
            if task.place.level or task.place.requisite
            else None
        )
        if pattern:
            self._work.frontier.done(task)
            return False
        try:
            return await self._visited(task)
        except (OSError, sqlite3.Error):
            raise
        except Exception as error:
            self._logger.exception("a URL can't be handled", url=task.url)
            self._work.log(f"{task.url} can't be handled: {type(error).__name__}: {error}")
            self._work.frontier.done(task)
            return True

    async def _visited(self, task: Task) -> bool:
        if self._crawl.options.obeys_robots and not await self._is_allowed(task):
            self._work.log(f"robots.txt forbids {task.url}")
            self._work.frontier.done(task)
            return False
        cookie = self._jar.header(task.url, self._clock.now()) if self._takes_cookies else ""
        fetched = await self._fetcher.fetch(
            Request(url=task.url, headers=self._headers, cookie=cookie)
        )
        probe("crawl.fetched")
        try:
            await self._handle(task, fetched)
        finally:
            fetched.response.close()
        return True

    async def _is_allowed(self, task: Task) -> bool:
        """What the robots.txt of its host says."""
        if task.host not in self._robots:
            if len(self._robots) > _MOST_ROBOTS:
                self._robots.clear()
            url = robots_url(task.url)
            fetched = await self._fetcher.fetch(Request(url=url, headers=self._headers))
            try:
                self._robots[task.host] = robots(fetched, self._headers[0][1])
            finally:
                fetched.response.close()
        return self._robots[task.host].allows(task.url)

    async def _handle(self, task: Task, fetched: Fetched) -> None:
        now = self._clock.now()
        has_failed = bool(fetched.error) or fetched.status >= 500 or fetched.status == 429
        self._failures[task.host] = self._failures[task.host] + 1 if has_failed else 0
        pace = politeness.pace(
            fetched.status,
            fetched.error,
            is_retryable=fetched.is_retryable or not fetched.error,
            retry_after=retry_after(fetched.header("retry-after"), now),
            tries=task.tries,
            failures=self._failures[task.host],
        )
        links = await self._links(fetched) if pace.retry_in is None else []
        # From here to the end nothing is awaited, but for the writing of a large response: a commit
        # has all of this, or nothing.
        place = await self._record(fetched)
        if self._takes_cookies:
            self._store_cookies(fetched, now)
        self._report(task, fetched, now)
        if pace.host_pause:
            self._work.leave_alone(task.host, now + pace.host_pause)
        if pace.retry_in is not None:
            self._work.postpone(task, now + pace.retry_in)
        else:
            self._work.add(self._wanted(task, links))
            self._work.frontier.done(task, *place)

    @property
    def _takes_cookies(self) -> bool:
        return self._crawl.options.has_cookies

    def _store_cookies(self, fetched: Fetched, now: float) -> None:
        given = fetched.every_header("set-cookie")
        if given:
            self._jar.store(fetched.url, given, now)
            self._work.cookies = self._jar.packed()

    async def _record(self, fetched: Fetched) -> tuple[int, int]:
        """Where its records begin."""
        if not fetched.status:
            return -1, 0
        response = fetched.response
        if scheme_of(fetched.url) == "ftp":
            written = await self._work.write_file(
                fetched.url, fetched.started, response, fetched.ip, fetched.transcript
            )
            return written.part, written.offset
        exchange = Exchange(
            url=fetched.url,
            at=fetched.started,
            ip=fetched.ip,
            request=fetched.request,
            response=response.read() if response.is_in_memory else response,
            head_size=fetched.head_size,
            truncated=fetched.truncated,
        )
        first, *_ = await self._work.write(exchange)
        probe("crawl.recorded")
        return first.part, first.offset

    def _report(self, task: Task, fetched: Fetched, now: float) -> None:
        status, size = fetched.status, fetched.response.size
        self._bytes += size
        if status:
            self._work.tally.count_response(task.host, status, size)
        entry = LogEntry(
            type="download",
            ts=now,
            url=task.url,
            response_code=status,
            wget_code=fetched.error or "OK",
            is_error=status >= 500 or bool(fetched.error),
            is_warning=400 <= status < 500,
        )
        self._work.tally.log(entry)

    # Links.

    async def _links(self, fetched: Fetched) -> Sequence[Link]:
        """What the response leads to."""
        location = fetched.header("location") if 300 <= fetched.status < 400 else ""
        if location:
            url = normalised(location, fetched.url)
            return [Link(url, "redirect")] if url else []
        if fetched.links:
            return [Link(url, "page") for url in fetched.links]
        if not 200 <= fetched.status < 300 or fetched.error:
            return []
        try:
            if fetched.response.size > _IN_LOOP:
                return await asyncio.to_thread(_found_in, fetched)
            return _found_in(fetched)
        except Exception as error:
            self._logger.exception("the links of a page can't be read", url=fetched.url)
            self._work.log(f"The links of {fetched.url} can't be read: {error}")
            return []

    def _wanted(self, task: Task, links: Iterable[Link]) -> list[FoundUrl]:
        """Those of the links that the crawl follows."""
        found: dict[str, FoundUrl] = {}
        frontier = self._work.frontier
        # A URL may be both a part of the page and a page; the page has more links to follow.
        for link in sorted(links, key=lambda one: one.kind == "requisite"):
            if link.url in found:
                continue
            host = netloc_of(link.url)
            known = frontier.hosts.get(host)
            counted = scope.Counted(frontier.found, known.found if known else 0)
            verdict = self._judged(link, task.place, counted)
            if verdict.reason is scope.Reason.HOST_BUDGET:
                self._log_full(host)
            if verdict.place is None or self._ignored(link.url, "accept_url"):
                continue
            found[link.url] = FoundUrl(
                url=link.url,
                known=dedup_key(link.url),
                host=host,
                place=verdict.place,
                turn=_turn(verdict.place),
            )
        return list(found.values())

    def _judged(self, link: Link, source: scope.Place, counted: scope.Counted) -> scope.Verdict:
        if link.kind == "redirect":
            return scope.judge_redirect(link.url, source, self._policy, counted)
        return scope.judge(link.url, link.kind, source, self._policy, counted)

    def _log_full(self, host: str) -> None:
        if host not in self._full:
            self._full.add(host)
            most = self._policy.host_urls
            self._work.log(f"{host} has more than {most:,} URLs; no more of them are fetched.")

    def _ignored(self, url: str, source: str) -> str | None:
        pattern = self._ignores.match(url)
        for slow in self._ignores.switched_off.keys() - self._switched_off:
            self._switched_off.add(slow)
            why = self._ignores.switched_off[slow]
            self._work.log(f"The ignore pattern {slow} is not used: {why}")
        if pattern is None:
            return None
        self._work.tally.count_match(pattern)
        if not self._settings.suppress_ignore_reports:
            now = self._clock.now()
            self._work.tally.log(
                LogEntry(type="ignore", ts=now, url=url, pattern=pattern, source=source)
            )
        return pattern


def _turn(place: scope.Place) -> int:
    """Parts of pages come first, then pages of the site, then those of others."""
    return 0 if place.requisite else 2 if place.offsite else 1


def _found_in(fetched: Fetched) -> Sequence[Link]:
    body = decoded(fetched, most=_PARSED).body
    found = extract(body, fetched.header("content-type"), fetched.url)
    return [Link(link.url, link.kind) for link in found]
