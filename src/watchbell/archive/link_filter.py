"""Which links a crawl follows: those in its scope, within its limits, that no pattern ignores."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from watchbell.archive import ignores, scope
from watchbell.archive.crawl_work import CrawlWork
from watchbell.archive.extraction.links import Link
from watchbell.archive.frontier import FoundUrl
from watchbell.archive.model import Crawl, CrawlSettings, LogEntry
from watchbell.archive.urls import dedup_key, netloc_of, without_userinfo
from watchbell.clock import Clock

_AT_ONCE = 1_000
_BUDGETS = (scope.Reason.BUDGET, scope.Reason.HOST_BUDGET)


class Redirect(NamedTuple):
    url: str
    kind: Literal["redirect"] = "redirect"


class LinkFilter:
    def __init__(
        self, crawl: Crawl, settings: CrawlSettings, work: CrawlWork, clock: Clock, host_urls: int
    ) -> None:
        self._settings, self._work, self._clock = settings, work, clock
        self._policy = scope.Policy(
            depth=crawl.fetch_depth,
            no_offsite_links=crawl.no_offsite_links,
            offsite_depth=crawl.options.offsite_depth,
            host_urls=host_urls,
            most_urls=crawl.options.most_urls,
        )
        self._ignores = ignores.compile(
            settings.ignores, without_userinfo(crawl.url), netloc_of(crawl.url)
        )
        self._full: set[str] = set()
        self._switched_off: set[str] = set()

    def apply(self, settings: CrawlSettings) -> None:
        if settings.ignores != self._settings.ignores:
            self._ignores = self._ignores.changed(settings.ignores)
        self._settings = settings

    async def follow(self, source: scope.Place, links: Sequence[Link | Redirect]) -> None:
        """Adds those of the links that belong to the crawl. Many of them leave time for other work
        in between, and for a commit; so call it before the page is recorded."""
        # A URL may be both a part of the page and a page; the page has more links to follow.
        ordered = sorted(links, key=lambda one: one.kind == "requisite")
        for at in range(0, len(ordered), _AT_ONCE):
            if at:
                await asyncio.sleep(0)
            self.add(source, ordered[at : at + _AT_ONCE])

    def add(self, source: scope.Place, links: Iterable[Link | Redirect]) -> None:
        """The same for a few links, at once."""
        found: dict[str, FoundUrl] = {}
        planned: Counter[str] = Counter()
        for link in links:
            if link.url in found:
                continue
            host = netloc_of(link.url)
            verdict = self._judged(link, source, len(found), planned[host])
            if verdict.reason in _BUDGETS and found:  # some of them may not be new
                self._work.add(list(found.values()))
                found.clear()
                planned.clear()
                verdict = self._judged(link, source, 0, 0)
            if verdict.reason in _BUDGETS:
                self._log_full(verdict.reason, host)
            if verdict.place is None or self.ignores(link.url):
                continue
            planned[host] += 1
            found[link.url] = FoundUrl(
                url=link.url,
                known=dedup_key(link.url),
                host=host,
                place=verdict.place,
                turn=_turn(verdict.place),
            )
        self._work.add(list(found.values()))

    def _judged(
        self, link: Link | Redirect, source: scope.Place, urls: int, of_host: int
    ) -> scope.Verdict:
        """`urls` and `of_host` are those that are about to be added."""
        frontier = self._work.frontier
        known = frontier.hosts.get(netloc_of(link.url))
        counted = scope.Counted(frontier.found + urls, of_host + (known.found if known else 0))
        if link.kind == "redirect":
            return scope.judge_redirect(link.url, source, self._policy, counted)
        return scope.judge(link.url, link.kind, source, self._policy, counted)

    def _log_full(self, reason: scope.Reason, host: str) -> None:
        is_of_crawl = reason is scope.Reason.BUDGET
        full = "" if is_of_crawl else host
        if full in self._full:
            return
        self._full.add(full)
        what, most = "The crawl", self._policy.most_urls
        if not is_of_crawl:
            what, most = host, self._policy.host_urls
        self._work.log(f"{what} has {most:,} URLs, its limit; no more of them are fetched.")

    def ignores(self, url: str) -> bool:
        """Whether a pattern matches the URL. It is counted, and logged."""
        pattern = self._ignores.match(url)
        if self._ignores.switched_off:
            self._report_switched_off()
        if pattern is None:
            return False
        self._work.tally.count_match(pattern)
        if not self._settings.suppress_ignore_reports:
            now = self._clock.now()
            self._work.tally.log_ignored(
                LogEntry(
                    type="ignore",
                    ts=now,
                    url=without_userinfo(url),
                    pattern=pattern,
                    source="accept_url",
                )
            )
        return True

    def _report_switched_off(self) -> None:
        for slow, why in self._ignores.switched_off.items():
            if slow not in self._switched_off:
                self._switched_off.add(slow)
                self._work.log(f"The ignore pattern {slow} is not used: {why}")


def _turn(place: scope.Place) -> int:
    """Parts of pages come first, then pages of the site, then those of others."""
    return 0 if place.requisite else 2 if place.offsite else 1
