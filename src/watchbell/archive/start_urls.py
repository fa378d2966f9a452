"""Where a crawl begins: its URL, or the URLs of its list."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from urllib.parse import urljoin

from watchbell.archive import crawls
from watchbell.archive.crawl_folder import Undertaken
from watchbell.archive.crawl_run import CrawlRun
from watchbell.archive.fetching.decoding import decoded
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Request
from watchbell.archive.fetching.user_agents import DEFAULT
from watchbell.archive.frontier import FoundUrl
from watchbell.archive.interruption import Interrupted
from watchbell.archive.model import Crawl
from watchbell.archive.scope import MOST_REDIRECTS, Place
from watchbell.archive.urls import (
    FETCHED,
    dedup_key,
    netloc_of,
    normalised,
    scheme_of,
    without_userinfo,
)
from watchbell.errors import WatchbellError
from watchbell.files.objects import Files
from watchbell.store.client import Store, patiently

LIST_NAME = "-urls.txt"
_MOST_BYTES = 256 << 20
_AT_ONCE = 1_000
_GIVEN = (200, 226)
"""The status of a list that we got: by HTTP, and by FTP."""


class StartUrls:
    def __init__(
        self, fetcher: Fetcher, store: Store, files: Files, retry: float, *, has_browser: bool
    ) -> None:
        """`retry` is the time in seconds until a list that can't be fetched is tried again, as
        another program may correct its URL."""
        self._fetcher, self._store, self._files, self._retry = fetcher, store, files, retry
        self._has_browser = has_browser

    async def begin(
        self, run: CrawlRun, undertaken: Undertaken, on_trouble: Callable[[str], None]
    ) -> None:
        """Gives the crawl its start URLs. `on_trouble` is given why there is no list yet, and ''
        once there is."""
        crawl = undertaken.crawl
        run.work.log(f"Crawl of {without_userinfo(crawl.url)} begins.")
        if crawl.grabber and not self._has_browser:
            run.work.log("This pipeline has no browser: pages are fetched without one.")
        texts = [crawl.url]
        if crawl.url_file or crawl.options.list_name:
            content = await self._list(run, crawl, on_trouble)
            path = run.work.folder.path / f"{undertaken.base}{LIST_NAME}"
            await asyncio.to_thread(path.write_bytes, content)
            texts = await asyncio.to_thread(_words, content)
        urls = await asyncio.to_thread(_fetchable, texts)
        most = crawl.options.most_urls or None
        added = await _added(run, urls[:most])
        if crawl.fetch_depth == "inf" and len(urls) == 1:
            place = Place(level=1, root=urls[0])
            entrances = _entrances(urls[0])[: most and most - 1]
            run.work.add([_found(url, place) for url in entrances])
        if len(texts) > 1:
            left = f"Entries left out as repeated, or no URLs: {len(texts) - added:,}."
            run.work.log(f"URLs of the list: {added:,}. {left}")
        if not added:
            run.work.log("There is no URL to begin with.")

    async def _list(self, run: CrawlRun, crawl: Crawl, on_trouble: Callable[[str], None]) -> bytes:
        """Tries until it has the list, or the crawl is aborted."""
        known = ""
        while not run.settings.abort_requested:
            if run.is_held:
                await run.wait_for_news(None)
                continue
            try:
                content = await self._got(run, crawl)
            except Interrupted:
                break
            except WatchbellError as error:
                if str(error) != known:
                    known = str(error)
                    run.work.log(f"Can't get the list: {error}. Tried every {self._retry:g} s.")
                    await run.commit()
                on_trouble(f"it can't get its list: {error}")
                await run.wait_for_news(self._retry)
            else:
                on_trouble("")
                return content
        on_trouble("")
        return b""

    async def _got(self, run: CrawlRun, crawl: Crawl) -> bytes:
        if crawl.options.list_name:
            return await self._files.get(crawl.options.list_name)
        found = await patiently(lambda: crawls.to_fetch(self._store, crawl.ident))
        url = found.url_file if found else crawl.url_file
        async with run.interruption.heeded():
            return await self._fetched(url, crawl.user_agent or DEFAULT)

    async def _fetched(self, url: str, agent: str) -> bytes:
        """The list, after redirects."""
        headers = (("User-Agent", agent), ("Accept", "*/*"))
        at = normalised(url) or url
        for _ in range(MOST_REDIRECTS + 1):
            fetched = await self._fetcher.fetch(Request(url=at, headers=headers))
            with closing(fetched.response):
                if 300 <= fetched.status < 400 and (target := normalised(fetched.location, at)):
                    at = target
                    continue
                if fetched.error or fetched.status not in _GIVEN:
                    reason = fetched.error or f"the server answered {fetched.status}"
                    raise ListMissing(f"{without_userinfo(at)}: {reason}")
                return (await asyncio.to_thread(decoded, fetched, _MOST_BYTES)).body
        raise ListMissing(f"{without_userinfo(url)}: it redirects again and again")


async def _added(run: CrawlRun, urls: list[str]) -> int:
    """How many of them are new. A long list leaves time for other crawls."""
    added = 0
    for at in range(0, len(urls), _AT_ONCE):
        some = urls[at : at + _AT_ONCE]
        added += run.work.add([_found(url, Place(root=url)) for url in some])
        await asyncio.sleep(0)
    return added


def _words(content: bytes) -> list[str]:
    return content.decode("utf-8-sig", errors="replace").split()


def _fetchable(texts: list[str]) -> list[str]:
    return [url for text in texts if (url := normalised(text)) and scheme_of(url) in FETCHED]


def _found(url: str, place: Place) -> FoundUrl:
    """What the server of the start URL has to know about us is in `root`."""
    url = without_userinfo(url)
    return FoundUrl(url=url, known=dedup_key(url), host=netloc_of(url), place=place)


def _entrances(url: str) -> list[str]:
    """Where a site lists its pages."""
    if scheme_of(url) == "ftp":
        return []
    return [urljoin(url, f"/{name}") for name in ("robots.txt", "sitemap.xml")]


class ListMissing(WatchbellError):
    """The list of a crawl can't be fetched now."""
