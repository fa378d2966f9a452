"""Records what a crawl has fetched: in its WARC, its cookies, its counts and its log."""

from watchbell.archive.crawl_work import CrawlWork, plain
from watchbell.archive.fetching.model import Certificate, Fetched
from watchbell.archive.model import Crawl, LogEntry
from watchbell.archive.urls import netloc_of, scheme_of, without_userinfo
from watchbell.archive.warc.records import Exchange, Tls
from watchbell.clock import Clock
from watchbell.probes import probe

_MOST_CERTIFICATES = 10_000
_LONGEST_ERROR = 500


class ExchangeRecorder:
    def __init__(self, crawl: Crawl, work: CrawlWork, clock: Clock) -> None:
        self._work, self._clock = work, clock
        self._takes_cookies, self._most_bytes = crawl.options.has_cookies, crawl.options.most_bytes
        self._certificates: set[tuple[str, bytes]] = set()
        """Those that were recorded, by host."""

    @property
    def has_enough(self) -> bool:
        """Whether the crawl has as many bytes as it may have."""
        return bool(self._most_bytes and self._work.fetched >= self._most_bytes)

    def cookie(self, url: str) -> str:
        """What is sent to the server of the URL."""
        return self._work.jar.header(url, self._clock.now()) if self._takes_cookies else ""

    async def record(self, url: str, fetched: Fetched) -> tuple[int, int]:
        """Where its records begin. Nothing is awaited, but for the writing of a large response."""
        place = await self._written(url, fetched)
        self._report(url, fetched, self._clock.now())
        return place

    async def _written(self, url: str, fetched: Fetched) -> tuple[int, int]:
        """Where its records begin."""
        if not fetched.status:
            return -1, 0
        url, response = without_userinfo(url), fetched.response
        if scheme_of(url) == "ftp":
            # A file that the server refuses is no empty file.
            body = response if response.size or not fetched.error else None
            written = await self._work.write_file(
                url, fetched.started, body, fetched.ip, fetched.transcript
            )
            return written.part, written.offset
        exchange = Exchange(
            url=url,
            at=fetched.started,
            ip=fetched.ip,
            request=fetched.request,
            response=response.read() if response.is_in_memory else response,
            head_size=fetched.head_size,
            truncated=fetched.truncated,
            tls=self._tls(netloc_of(url), fetched.certificate),
        )
        first, *_ = await self._work.write(exchange)
        probe("crawl.recorded")
        return first.part, first.offset

    def _tls(self, host: str, certificate: Certificate | None) -> Tls | None:
        """The certificates themselves are recorded once for each host."""
        if certificate is None:
            return None
        one = (host, certificate.der)
        is_new = one not in self._certificates
        if is_new:
            if len(self._certificates) >= _MOST_CERTIFICATES:
                self._certificates.clear()
            self._certificates.add(one)
        chain = certificate.chain or (certificate.der,)
        return Tls(certificate.protocol, certificate.cipher, chain if is_new else ())

    def _report(self, url: str, fetched: Fetched, now: float) -> None:
        status, size = fetched.status, fetched.response.size
        if self._takes_cookies and (given := fetched.every_header("set-cookie")):
            self._work.jar.store(url, given, now)
        self._work.fetched += size
        if status:
            self._work.tally.count_response(netloc_of(url), status, size)
        entry = LogEntry(
            type="download",
            ts=now,
            url=without_userinfo(url),
            response_code=status,
            wget_code=plain(fetched.error, _LONGEST_ERROR) or "OK",
            is_error=status >= 500 or bool(fetched.error),
            is_warning=400 <= status < 500,
        )
        self._work.tally.log(entry)
