"""What a crawl is at a moment: its frontier, its WARC and its log, which are committed together."""

import asyncio
import os
import re
from typing import Self

from msgspec import Struct

from watchbell.archive.crawl_folder import CrawlFolder, Undertaken
from watchbell.archive.disk_work import in_thread
from watchbell.archive.fetching.cookies import Jar
from watchbell.archive.fetching.spool import Spool
from watchbell.archive.frontier import FoundUrl, Frontier, Task
from watchbell.archive.host_turns import HostTurns
from watchbell.archive.log_text import line_of
from watchbell.archive.model import LogEntry
from watchbell.archive.tally import Tally
from watchbell.archive.urls import without_userinfo
from watchbell.archive.warc.earlier_payloads import EarlierPayloads
from watchbell.archive.warc.records import Exchange, Written
from watchbell.archive.warc.writer import Position, WarcWriter
from watchbell.clock import Clock
from watchbell.settings import Archive as Settings


class WorkEnd(Struct, frozen=True):
    """The end that a crawl has come to: nothing more is fetched."""

    is_aborted: bool
    at: float
    names: tuple[str, ...] = ()
    """Its files, once all are complete; some may have been moved."""
    is_interrupted: bool = False
    """Whether it was given up before everything was fetched."""
    failure: str = ""
    """Why it failed; empty if it did not."""

    @property
    def suffix(self) -> str:
        """What the names of its files say."""
        return "aborted" if self.is_aborted else "interrupted" if self.is_interrupted else ""


_END = "end"
_POSITION, _LOG_SIZE, _COOKIES, _BOOT = "position", "log_size", "cookies", "boot"
_FETCHED = "fetched"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_LONGEST_MESSAGE = 4_096


class CrawlWork:
    def __init__(
        self,
        folder: CrawlFolder,
        undertaken: Undertaken,
        settings: Settings,
        clock: Clock,
        boot: str,
        earlier: EarlierPayloads | None = None,
    ) -> None:
        """To be `recovered` before it is used. `boot` names the time since the machine was
        started."""
        self.folder, self._undertaken, self._clock, self._boot = folder, undertaken, clock, boot
        self.frontier = Frontier(folder.frontier)
        self._turns = HostTurns()
        self.tally = Tally()
        self.jar = Jar.restored(self.frontier.fact(_COOKIES, bytes) or b"")
        self.fetched = self.frontier.fact(_FETCHED, int) or 0
        """Bytes of all responses."""
        self.has_news = False
        """Whether there are new URLs, which downloaders may be waiting for."""
        self._later = self.frontier.next_later()
        self._writing = asyncio.Lock()
        self.writer = WarcWriter(
            folder.path,
            undertaken.base,
            info=info_of(undertaken),
            part_size=settings.part_size << 20,
            earlier=earlier,
        )
        self._log = os.open(folder.log, os.O_RDWR | os.O_CREAT, 0o644)
        self.end = self.frontier.fact(_END, WorkEnd)

    async def recovered(self) -> Self:
        """Itself, as it was committed. It is closed where that fails."""
        try:
            await in_thread(self._recover)
        except BaseException:
            self.close()
            raise
        return self

    @property
    def is_new(self) -> bool:
        """Whether it has no start URLs yet."""
        return not self.frontier.found

    # URLs.

    def add(self, urls: list[FoundUrl]) -> int:
        """Returns how many of them are new."""
        added = self.frontier.add(urls)
        for one in added:
            self._turns.add(one.host)
        if added:
            self.tally.count_queued(len(added))
            self.has_news = True
        return len(added)

    def take(self, now: float) -> Task | None:
        if self._later is not None and self._later <= now:
            for host in self.frontier.due(now):
                self._turns.add(host)
            self._later = self.frontier.next_later()
        while (turn := self._turns.take(now)) is not None:
            for task in self.frontier.take(turn):
                self._turns.add(turn)
                return task
        return None

    def next_at(self) -> float | None:
        """When a host may be asked again, or a URL is due again."""
        times = [at for at in (self._turns.next_at(), self._later) if at is not None]
        return min(times, default=None)

    def postpone(self, task: Task, until: float) -> None:
        self.frontier.postpone(task, until)
        self._later = until if self._later is None else min(self._later, until)

    def claim(self, known: str) -> Task | None:
        """This URL, out of turn, if it is to be fetched."""
        return self.frontier.claim(known)

    def give_back(self, task: Task) -> None:
        """It was not fetched, and has its turn again."""
        self.frontier.give_back(task)
        self._turns.add(task.host)
        self.has_news = True

    def leave_alone(self, host: str, until: float) -> None:
        """Nothing is fetched from the host before this time."""
        self._turns.defer(host, until)

    def set_end(self, end: WorkEnd) -> None:
        self.end = end
        self.frontier.set_fact(_END, end)

    # What is written.

    def log(self, message: str) -> None:
        text = plain(message, _LONGEST_MESSAGE)
        self.tally.log(LogEntry(type="stdout", ts=self._clock.now(), message=text))

    async def write(self, exchange: Exchange) -> list[Written]:
        """A large one is written in a thread; meanwhile nothing else is written or committed."""
        if isinstance(exchange.response, bytes) and not self._writing.locked():
            return self.writer.write_exchange(exchange)
        async with self._writing:
            return await in_thread(self.writer.write_exchange, exchange)

    async def write_resource(self, url: str, at: float, body: bytes, content_type: str) -> Written:
        """What was made here, such as a screenshot."""
        if not self._writing.locked():
            return self.writer.write_resource(url, at, body, content_type)
        async with self._writing:
            return self.writer.write_resource(url, at, body, content_type)

    async def write_file(
        self, url: str, at: float, body: Spool | None, ip: str, said: str
    ) -> Written:
        """A file that did not come by HTTP, if there is one, with what was said about it."""

        def write() -> Written:
            text, kind = said.encode(errors="replace"), "text/plain"
            about = f"urn:X-watchbell:transcript:{url}"
            if body is None:
                return self.writer.write_metadata(about, at, text, kind)
            octets = "application/octet-stream"
            written = self.writer.write_resource(url, at, body, octets, ip=ip)
            self.writer.write_metadata(about, at, text, kind, concurrent_to=written.id)
            return written

        async with self._writing:
            return await in_thread(write)

    async def commit(self) -> bool:
        """Whether there was something to commit."""
        async with self._writing:
            return self._commit()

    def _commit(self) -> bool:
        lines = bytearray()
        for entries, increments in self.tally.take():
            self.frontier.put_batch(entries, increments)
            for entry in entries:
                lines += line_of(entry)
        if not self.frontier.is_changed:
            return False
        size = os.lseek(self._log, 0, os.SEEK_END) + len(lines)
        _write(self._log, lines)
        self.frontier.set_fact(_LOG_SIZE, size)
        self.frontier.set_fact(_POSITION, self.writer.position)
        self.frontier.set_fact(_FETCHED, self.fetched)
        if self.jar.is_changed:
            self.frontier.set_fact(_COOKIES, self.jar.packed())
        self.frontier.commit()
        return True

    async def sync(self) -> None:
        async with self._writing:
            await in_thread(self.writer.sync)

    def close(self) -> None:
        self.writer.close()
        os.close(self._log)
        self.frontier.close()

    def _recover(self) -> None:
        if not (self.end and self.end.names):
            self._cut()
        for name, host in self.frontier.hosts.items():
            if host.waiting:
                self._turns.add(name)

    def _cut(self) -> None:
        """Removes what was written after the last commit."""
        position = self.frontier.fact(_POSITION, Position) or Position()
        known = self.frontier.fact(_BOOT, str)
        if known not in (None, self._boot):
            position = self._surviving(position)
        self.writer.recover(position)
        logged = self.frontier.fact(_LOG_SIZE, int) or 0
        os.ftruncate(self._log, min(logged, os.fstat(self._log).st_size))
        os.lseek(self._log, 0, os.SEEK_END)
        self.frontier.set_fact(_BOOT, self._boot)
        self.frontier.commit()

    def _surviving(self, position: Position) -> Position:
        """What the machine's restart, perhaps after a power failure, has left."""
        left = self.writer.surviving(position)
        if left != position:
            lost = self.frontier.undo_from(left.part, left.offset)
            self.log(f"The machine was restarted. URLs that are fetched again: {lost:,}.")
        return left


def _write(file: int, content: bytes | bytearray) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def plain(text: str, most: int) -> str:
    """One line for a log, whatever a server made of it."""
    return _CONTROLS.sub(" ", text[:most])


def info_of(undertaken: Undertaken) -> dict[str, str]:
    """What the first record of each WARC file says."""
    crawl = undertaken.crawl
    said = {
        "description": f"Crawl of {without_userinfo(crawl.url)}"
        + (f": {crawl.note}" if crawl.note else ""),
        "archivebot-job-ident": crawl.ident,
        "downloaded-by": crawl.started_by,
    }
    return {name: value for name, value in said.items() if value}
