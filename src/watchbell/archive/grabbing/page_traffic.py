"""What a page asks for in the browser: fetched by the crawl, within its limits, and recorded."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.exchange_recorder import ExchangeRecorder
from watchbell.archive.extraction.links import Link
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Fetched, Request
from watchbell.archive.frontier import Task
from watchbell.archive.grabbing.kept_responses import KeptResponses
from watchbell.archive.grabbing.proxy import Answer, Asked, Headers, Proxy, passed_on, refusal
from watchbell.archive.link_filter import LinkFilter
from watchbell.archive.urls import dedup_key, normalised, with_userinfo_of, without_userinfo

_MOST_REQUESTS = 2_000
"""Of one page."""
_METHODS = ("GET", "HEAD", "POST", "OPTIONS")
_OURS = frozenset(("host", "user-agent", "cookie", "content-length", "range", "if-range"))
"""Headers that the crawl sets, or that would make the server send only a part."""


class CrawlVisits(Protocol):
    """What the crawl does with a URL."""

    async def allows(self, page: Task, url: str) -> bool:
        """Whether robots.txt does, if the crawl obeys it."""

    async def settle(self, task: Task, fetched: Fetched) -> None:
        """Records the response, and follows its links."""


class CrawlParts(Struct, frozen=True, kw_only=True):
    """What the pages of a crawl have in common."""

    work: CrawlWork
    fetcher: Fetcher
    recorder: ExchangeRecorder
    filter: LinkFilter
    visits: CrawlVisits
    kept: KeptResponses
    user_agent: str


class _Refused(Exception):
    """Its text is the answer to the browser."""


class PageTraffic:
    def __init__(self, parts: CrawlParts, page: Task, document: Fetched) -> None:
        """`document` is what the crawl has fetched for the page. The browser gets it once; it stays
        the caller's."""
        self._parts, self._page, self._document = parts, page, document
        self._asked = 0
        self._under_way = 0
        self.proxy: Proxy | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether no requests are under way."""
        return not self._under_way

    async def answer(self, asked: Asked) -> Answer:
        self._asked += 1
        if self._asked == 1:
            return answer_of(self._document, is_borrowed=True)
        self._under_way += 1
        try:
            return await self._answer(asked)
        except _Refused as reason:
            return refusal(403, str(reason))
        finally:
            self._under_way -= 1

    async def _answer(self, asked: Asked) -> Answer:
        url = normalised(without_userinfo(asked.url))
        if url is None or asked.method not in _METHODS:
            raise _Refused("It can't be archived.")
        if self._asked > _MOST_REQUESTS or self._parts.recorder.has_enough:
            raise _Refused("The page or the crawl has as much as it may have.")
        if self._parts.filter.ignores(url):
            raise _Refused("A pattern of the crawl ignores it.")
        if not await self._parts.visits.allows(self._page, url):
            raise _Refused("robots.txt forbids it.")
        if asked.method == "GET":
            return await self._got(asked, url)
        if asked.method == "HEAD":  # an archive wants the whole
            return without_body(await self._got(replace(asked, method="GET"), url))
        return await self._sent(asked, url)

    async def _got(self, asked: Asked, url: str) -> Answer:
        kept = self._parts.kept
        origin = dict(asked.headers).get("Origin", "")
        async with kept.turn(url):
            there = kept.find(url, origin)
            if there:
                return there
            task = self._claimed(url)
            async with self._returned_if_cut_short(task):
                fetched = await self._fetched(asked, url)
            kept.keep(url, fetched)
        with self._uninterrupted():
            if task:
                await self._parts.visits.settle(task, fetched)
            else:
                await self._parts.recorder.record(url, fetched)
        return answer_of(fetched)

    def _claimed(self, url: str) -> Task | None:
        """None if it was fetched before. A new URL is queued, if the crawl wants it."""
        known, work = dedup_key(url), self._parts.work
        task = work.claim(known)
        if task or work.frontier.knows(known):
            return task
        self._parts.filter.add(self._page.place, [Link(url, "requisite")])
        task = work.claim(known)
        if task is None:
            raise _Refused("It is not a part of the crawl, or one of its limits is reached.")
        return task

    @asynccontextmanager
    async def _returned_if_cut_short(self, task: Task | None) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            if task:
                self._parts.work.give_back(task)
            raise

    async def _sent(self, asked: Asked, url: str) -> Answer:
        """What is not a GET: it is recorded, and stands for no URL of the crawl."""
        fetched = await self._fetched(asked, url)
        with self._uninterrupted():
            await self._parts.recorder.record(url, fetched)
        return answer_of(fetched)

    async def _fetched(self, asked: Asked, url: str) -> Fetched:
        sent = dict(asked.headers).get("Cookie", "")
        return await self._parts.fetcher.fetch(
            Request(
                url=with_userinfo_of(self._page.place.root, url),
                headers=_headers(asked.headers, self._parts.user_agent),
                cookie=merged(self._parts.recorder.cookie(url), sent),
                method=asked.method,
                body=asked.body,
            )
        )

    def _uninterrupted(self) -> AbstractContextManager[None]:
        assert self.proxy
        return self.proxy.uninterrupted()


def answer_of(fetched: Fetched, *, is_borrowed: bool = False) -> Answer:
    """The response as it was sent, chunks and all. Sent, it is closed, unless it is borrowed."""
    response = fetched.response
    if not fetched.status:
        if not is_borrowed:
            response.close()
        return refusal(502, fetched.error or "There is no response.")
    return Answer(
        fetched.status,
        fetched.reason,
        fetched.headers,
        response.pieces(fetched.head_size),
        close=(lambda: None) if is_borrowed else response.close,
    )


def without_body(answer: Answer) -> Answer:
    answer.close()
    return replace(answer, pieces=(), close=lambda: None)


def _headers(headers: Headers, user_agent: str) -> Headers:
    """Those of the browser, but for its name: the site sees one visitor."""
    kept = [
        (name, value)
        for name, value in passed_on(headers)
        if name.lower() not in _OURS and not name.lower().startswith("sec-ch-ua")
    ]
    return (("User-Agent", user_agent), *kept)


def merged(of_crawl: str, of_page: str) -> str:
    """Cookies of both; those of the page win."""
    cookies: dict[str, str] = {}
    for text in (of_crawl, of_page):
        for pair in filter(None, (one.strip() for one in text.split(";"))):
            cookies[pair.partition("=")[0]] = pair
    return "; ".join(cookies.values())
