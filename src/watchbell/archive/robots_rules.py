"""The rules of robots.txt for a crawl that obeys them: each file is fetched once, and recorded."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable

from watchbell.archive import politeness
from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.fetching.model import Fetched
from watchbell.archive.fetching.retry_after import retry_after
from watchbell.archive.fetching.robots import Robots, robots, robots_url
from watchbell.archive.frontier import FoundUrl, Task
from watchbell.archive.politeness import Waits
from watchbell.archive.scope import Place
from watchbell.archive.urls import dedup_key, netloc_of, normalised, scheme_of, with_userinfo_of
from watchbell.clock import Clock

_MOST_REDIRECTS = 5
_MOST_HOSTS = 10_000

Keep = Callable[[str, Fetched], Awaitable[None]]
"""Records what was fetched from a URL."""


class RobotsRules:
    def __init__(
        self,
        work: CrawlWork,
        clock: Clock,
        agent: str,
        fetch: Callable[[str], Awaitable[Fetched]],
        keep: Keep,
        waits: Waits,
    ) -> None:
        self._work, self._clock, self._agent, self._waits = work, clock, agent, waits
        self._fetch, self._keep = fetch, keep
        self._known: dict[str, Robots] = {}
        self._asked: set[str] = set()
        self._failures: Counter[str] = Counter()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, task: Task) -> Robots | None:
        """Those of the host of a URL. None if it can't give them now; then it is left alone for a
        while."""
        if scheme_of(task.url) == "ftp":
            return Robots("", self._agent)
        async with self._locks[task.host]:
            found = self._known.get(task.host)
            if found is None:
                found = await self._found(task)
            if found is not None:
                self._keep_rules(task.host, found)
            return found

    def has_asked(self, url: str) -> bool:
        """Whether the URL was fetched for its rules: it needs no other visit."""
        return url in self._asked

    def _keep_rules(self, host: str, rules: Robots) -> None:
        if len(self._known) >= _MOST_HOSTS and host not in self._known:
            self._known.clear()
            self._asked.clear()
        self._known[host] = rules

    async def _found(self, task: Task) -> Robots | None:
        fetched = await self._followed(robots_url(task.url), task.place)
        try:
            pace = politeness.pace(
                fetched.status,
                fetched.error,
                is_retryable=fetched.is_retryable or not fetched.error,
                retry_after=retry_after(fetched.header("retry-after"), self._clock.now()),
                tries=self._failures[task.host],
                failures=self._failures[task.host] + 1,
                waits=self._waits,
            )
            if pace.retry_in is None:
                return await asyncio.to_thread(robots, fetched, self._agent)
            self._failures[task.host] += 1
            self._work.leave_alone(task.host, self._clock.now() + pace.retry_in)
            return None
        finally:
            fetched.response.close()

    async def _followed(self, url: str, place: Place) -> Fetched:
        """The file, after redirects."""
        for _ in range(_MOST_REDIRECTS):
            fetched = await self._recorded(url, place)
            target = _redirected(fetched, url)
            if target is None:
                return fetched
            fetched.response.close()
            url = target
        return await self._recorded(url, place)

    async def _recorded(self, url: str, place: Place) -> Fetched:
        if url == robots_url(url):
            self._work.add([_entry(url, place)])
            self._asked.add(url)
        else:  # perhaps a page, as where all that is missing leads home: it has a visit of its own
            self._work.tally.count_queued(1)
        fetched = await self._fetch(with_userinfo_of(place.root, url))
        try:
            await self._keep(url, fetched)
        except BaseException:
            fetched.response.close()
            raise
        return fetched


def _redirected(fetched: Fetched, url: str) -> str | None:
    if not 300 <= fetched.status < 400:
        return None
    return normalised(fetched.location, url)


def _entry(url: str, place: Place) -> FoundUrl:
    """So that it counts among the URLs of the crawl, and is not fetched again as a page."""
    known = Place(level=max(place.level, 1), offsite=place.offsite, root=place.root)
    return FoundUrl(url=url, known=dedup_key(url), host=netloc_of(url), place=known)
