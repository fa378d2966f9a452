"""Any order of calls leaves cursors, counters, queues and history consistent."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests import servers
from tests.archive.crawling import (
    KEYS,
    NOW,
    OTHER,
    OWN,
    PIPELINE,
    added,
    append,
    ident_of,
    job,
    taken,
)
from tests.conftest import emptied
from watchbell.archive import finishing, leases, queues
from watchbell.archive.crawl_log import Answer
from watchbell.archive.crawl_reaper import CrawlReaper
from watchbell.archive.finishing import Finished
from watchbell.archive.log_draining import drain
from watchbell.archive.model import Ending, Ownership
from watchbell.clock import SetClock
from watchbell.errors import WatchbellError
from watchbell.settings import Archive as Settings
from watchbell.store import url as store_url
from watchbell.store.client import Store

T = TypeVar("T")
CRAWLS = st.sampled_from([ident_of(n) for n in range(3)])
PIPELINES = st.sampled_from([PIPELINE, OTHER])
CODES = st.lists(st.sampled_from([0, 100, 200, 302, 404, 503]), max_size=5)
FIELDS = {0: "runk", 100: "r1xx", 200: "r2xx", 302: "r3xx", 404: "r4xx", 503: "r5xx"}


class Machine(RuleBasedStateMachine):
    url: str

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = self.run(self._opened())
        self.owners: list[Ownership] = []
        self.batches: dict[Ownership, int] = {}
        self.written: dict[str, list[int]] = {}
        """The codes that were appended to each crawl since it was added."""
        self.trimmed: dict[str, int] = {}
        self.ended = 0

    def run(self, call: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await call

        return self.loop.run_until_complete(awaited())

    async def _opened(self) -> Store:
        return Store(store_url.parse(self.url))

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()

    @initialize()
    def begin(self) -> None:
        self.run(emptied(self.store))

    @rule(ident=CRAWLS, queue=st.sampled_from(["pending", "pending-ao", "pending:a"]))
    def add(self, ident: str, queue: str) -> None:
        if self.run(added(self.store, ident, queue=queue)).is_new:
            self.written[ident], self.trimmed[ident] = [], 0

    @rule(pipeline=PIPELINES)
    def reserve(self, pipeline: str) -> None:
        before = self._ends()
        owned = self.run(taken(self.store, pipeline))
        self.ended += self._ends() - before  # one that was aborted before it went back to its queue
        if owned is not None:
            self.owners.append(owned)
            self.batches[owned] = 0

    @rule(pipeline=PIPELINES, ident=CRAWLS)
    def resume(self, pipeline: str, ident: str) -> None:
        before = [one for one in self.owners if one.ident == ident and one.pipeline == pipeline]
        owned = self.run(queues.resume(self.store, ident, pipeline, "alice", lease=30))
        if owned is not None:
            self.owners.append(owned)
            self.batches[owned] = self.batches[before[-1]]

    @rule(which=st.integers(0, 9), codes=CODES, times=st.integers(1, 2))
    def append(self, which: int, codes: list[int], times: int) -> None:
        if not self.owners:
            return
        owned = self.owners[which % len(self.owners)]
        batch = self.batches[owned] + 1
        for _ in range(times):
            answer = self.run(append(self.store, owned, batch, *codes))
            if answer is Answer.WRITTEN:
                self.written[owned.ident] += codes
                self.batches[owned] = batch

    @rule(ident=CRAWLS, quiet=st.sampled_from([0.0, 10.0]))
    def drain(self, ident: str, quiet: float) -> None:
        self.run(drain(self.store, ident, quiet))

    @rule(which=st.integers(0, 9), is_aborted=st.booleans(), failure=st.sampled_from(["", "x"]))
    def finish(self, which: int, is_aborted: bool, failure: str) -> None:
        if not self.owners:
            return
        owned = self.owners[which % len(self.owners)]
        ending = Ending(finished_at=NOW, is_aborted=is_aborted, failure=failure)
        self.ended += self.run(finishing.finish(self.store, owned, ending)) is Finished.RECORDED

    @rule(ident=CRAWLS)
    def abort(self, ident: str) -> None:
        try:
            found = self.run(finishing.abort(self.store, ident, "alice", NOW))
        except WatchbellError:
            return
        self.ended += found is finishing.Abort.ENDED

    @rule(ident=CRAWLS)
    def expire(self, ident: str) -> None:
        with suppress(WatchbellError):
            self.run(finishing.expire(self.store, ident))

    @rule(which=st.integers(0, 9))
    def release(self, which: int) -> None:
        if self.owners:
            owned = self.owners[which % len(self.owners)]
            self.run(queues.release(self.store, owned, "no room", NOW))

    @rule(which=st.integers(0, 9))
    def beat(self, which: int) -> None:
        if self.owners:
            self.run(leases.beat(self.store, [self.owners[which % len(self.owners)]], 30))

    @rule(ident=CRAWLS)
    def lose(self, ident: str) -> None:
        """The pipeline of a crawl is gone, and the reaper returns the crawl."""
        before = self._ends()
        self.run(_lost(self.store, ident))
        self.ended += self._ends() - before

    @invariant()
    def records_are_consistent(self) -> None:
        for ident in list(self.written):
            record = self.run(job(self.store, ident))
            if record:
                self._check(ident, record)
            else:
                del self.written[ident]

    def _check(self, ident: str, record: dict[str, str]) -> None:
        codes = self.written[ident]
        score = int(record.get("log_score", 0))
        names = ("last_analyzed", "last_broadcasted", "last_trimmed")
        analyzed, broadcasted, trimmed = (int(record.get(f"{n}_log_entry", 0)) for n in names)
        assert trimmed <= analyzed <= broadcasted <= score
        assert self.trimmed[ident] <= trimmed
        self.trimmed[ident] = trimmed
        left = self.run(self.store.call("ZRANGE", KEYS.log(ident), 0, -1, "WITHSCORES"))
        scores = [int(float(number)) for number in left[1::2]]
        assert scores == list(range(trimmed + 1, score + 1)), "every entry is there or trimmed"
        assert int(record.get("items_downloaded", 0)) == sum(200 <= c < 400 for c in codes)
        counted = sum(int(record.get(name, 0)) for name in FIELDS.values())
        texts = b"".join(left[::2][max(0, analyzed - trimmed) :])
        assert counted + texts.count(b'"download"') == len(codes)
        if analyzed == score:
            for code, name in FIELDS.items():
                assert int(record.get(name, 0)) == codes.count(code)
            assert int(record.get("error_count", 0)) == sum(c >= 400 for c in codes)

    @invariant()
    def a_crawl_is_in_one_place(self) -> None:
        places: list[bytes] = []
        keys = [KEYS.pending(), KEYS.pending_ao(), KEYS.pending_for("a"), KEYS.working()]
        for key in keys:
            places += self.run(self.store.call("LRANGE", key, 0, -1))
        assert len(places) == len(set(places))
        working = self.run(self.store.call("LRANGE", KEYS.working(), 0, -1))
        held = self.run(self.store.call("ZRANGE", OWN.leases(), 0, -1))
        assert set(working) == set(held)
        for ident in self.written:
            record = self.run(job(self.store, ident))
            if record:
                assert (ident.encode() in places) is ("finished_at" not in record)

    @invariant()
    def every_end_is_counted_once(self) -> None:
        assert self._ends() == self.ended

    def _ends(self) -> int:
        names = [KEYS.completed(), KEYS.aborted(), KEYS.failed()]
        found = self.run(self.store.call("MGET", *names))
        return sum(int(count or 0) for count in found)


async def _lost(store: Store, ident: str) -> None:
    if await store.call("ZSCORE", OWN.leases(), ident) is None:
        return
    await store.call("ZADD", OWN.leases(), 5, ident)
    clock = SetClock(NOW)
    reaper = CrawlReaper(store, Settings(), clock)
    for _ in range(2):
        await reaper.look()
        clock.advance(31)


def test_every_order_of_calls_is_consistent(server: servers.Single) -> None:
    class Here(Machine):
        url = server.url

    case = Here.TestCase
    case.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
    case("runTest").runTest()
