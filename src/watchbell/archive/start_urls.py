"""Where a crawl begins: its URL, or the URLs of its list."""

import asyncio
from urllib.parse import urljoin

from watchbell.archive import crawls
from watchbell.archive.crawl_folder import Undertaken
from watchbell.archive.crawl_run import CrawlRun
from watchbell.archive.fetching.decoding import decoded
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.model import Request
from watchbell.archive.frontier import FoundUrl
from watchbell.archive.model import Crawl
from watchbell.archive.scope import Place
from watchbell.archive.urls import FETCHED, dedup_key, netloc_of, normalised, scheme_of
from watchbell.clock import Clock
from watchbell.errors import WatchbellError
from watchbell.files.objects import Files
from watchbell.store.client import Store, patiently

LIST_NAME = "-urls.txt"
_MOST_BYTES = 256 << 20
_AGAIN = 5.0
"""Seconds until a list that can't be fetched is tried again, as another program may correct it."""


class StartUrls:
    def __init__(self, fetcher: Fetcher, store: Store, files: Files, clock: Clock) -> None:
        self._fetcher, self._store, self._files, self._clock = fetcher, store, files, clock

    async def begin(self, run: CrawlRun, undertaken: Undertaken) -> None:
        """Gives the crawl its start URLs."""
        crawl = undertaken.crawl
        run.work.log(f"Crawl of {crawl.url} begins.")
        if crawl.grabber:
            run.work.log("This pipeline has no browser: pages are fetched without one.")
        texts = [crawl.url]
        if crawl.url_file or crawl.options.list_name:
            content = await self._list(run, crawl)
            path = run.work.folder.path / f"{undertaken.base}{LIST_NAME}"
            await asyncio.to_thread(path.write_bytes, content)
            texts = content.decode(errors="replace").split()
        urls = [url for text in texts if (url := normalised(text)) and scheme_of(url) in FETCHED]
        added = run.work.add([_found(url, Place(root=url)) for url in urls])
        if crawl.fetch_depth == "inf" and len(urls) == 1:
            place = Place(level=1, root=urls[0])
            run.work.add([_found(url, place) for url in _entrances(urls[0])])
        if len(texts) > 1:
            run.work.log(f"The list has {added:,} URLs; {len(texts) - added:,} entries are none.")
        if not added:
            run.work.log("There is no URL to begin with.")

    async def _list(self, run: CrawlRun, crawl: Crawl) -> bytes:
        """Tries until it has the list, or the crawl is aborted."""
        while not run.settings.abort_requested:
            try:
                if crawl.options.list_name:
                    return await self._files.get(crawl.options.list_name)
                found = await patiently(lambda: crawls.get(self._store, crawl.ident))
                return await self._fetched(found.url_file if found else crawl.url_file)
            except WatchbellError as error:
                run.work.log(f"Can't get the list: {error}. Tried again in {_AGAIN:g} s.")
                await run.commit()
                await asyncio.sleep(_AGAIN)
        return b""

    async def _fetched(self, url: str) -> bytes:
        fetched = await self._fetcher.fetch(Request(url=normalised(url) or url))
        try:
            if fetched.error or fetched.status != 200:
                reason = fetched.error or f"the server answered {fetched.status}"
                raise ListMissing(f"{url}: {reason}")
            return decoded(fetched, most=_MOST_BYTES).body
        finally:
            fetched.response.close()


def _found(url: str, place: Place) -> FoundUrl:
    return FoundUrl(url=url, known=dedup_key(url), host=netloc_of(url), place=place)


def _entrances(url: str) -> list[str]:
    """Where a site lists its pages."""
    if scheme_of(url) == "ftp":
        return []
    return [urljoin(url, f"/{name}") for name in ("robots.txt", "sitemap.xml")]


class ListMissing(WatchbellError):
    """The list of a crawl can't be fetched now."""
