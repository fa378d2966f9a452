"""The reaper: looks after crawls whose pipeline is gone, and reports those in trouble."""

from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.archive import check_reports, finishing
from watchbell.archive.check_reports import CheckReport
from watchbell.archive.crawl_survey import survey
from watchbell.archive.crawl_watch import Verdict, Working, judge
from watchbell.archive.keys import Archive
from watchbell.archive.lua import GIVE_BACK, LAYOUT, LOGGING, QUEUES, REPORTING
from watchbell.archive.queues import log_line
from watchbell.archive.unchanged import Unchanged
from watchbell.clock import Clock
from watchbell.errors import NotFound, Refused
from watchbell.probes import probe
from watchbell.settings import Archive as Settings
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

# KEYS[1] pending. Returns idents that are at work or have a lease.
_IDENTS = Script(
    LAYOUT
    + READ
    + """
local found, seen = {}, {}
for _, list in ipairs({read('LRANGE', archive.working, 0, -1) or {},
  read('ZRANGE', crawls.leases, 0, -1) or {}}) do
  for _, ident in ipairs(list) do
    if not seen[ident] then found[#found + 1] = ident end
    seen[ident] = true
  end
end
return found
"""
)

# KEYS[1] pending. Returns crawls in queues that were aborted: other programs only ask for it.
_ABORTED = Script(
    LAYOUT
    + READ
    + QUEUES
    + """
local found = {}
for _, key in ipairs(queue_keys('')) do
  for _, ident in ipairs(read('LRANGE', key, 0, -1) or {}) do
    if read('HGET', archive.job(ident), 'abort_requested') == 'true' then
      found[#found + 1] = ident
    end
  end
end
return found
"""
)

# KEYS[1] pending; ARGV[1] ident. Removes what is not at work from the lists; a crawl that is gone
# loses our own keys too.
_REMOVE = Script(
    LAYOUT
    + """
local ident = ARGV[1]
local is_there = is_readable(ident)
if is_there and redis.call('HEXISTS', archive.job(ident), 'finished_at') == 0 then return end
redis.call('LREM', archive.working, 0, ident)
redis.call('ZREM', crawls.leases, ident)
if kind_of(archive.job(ident)) == 'none' then
  redis.call('DEL', crawls.crawl(ident), crawls.recent(ident), crawls.matches(ident),
    crawls.hosts(ident), crawls.minutes(ident))
end
redis.call('PUBLISH', crawls.news, ident)
"""
)

# KEYS[1] pending; ARGV[1] ident. A crawl that is listed as at work gets a lease that ends now, and
# one that has a lease is listed. One that has neither any longer was given back meanwhile.
_ADOPT = Script(
    LAYOUT
    + """
local ident = ARGV[1]
if not is_readable(ident) then return end
if redis.call('LPOS', archive.working, ident) then
  redis.call('ZADD', crawls.leases, 'NX', precise(store_time()), ident)
elseif redis.call('ZSCORE', crawls.leases, ident) then
  redis.call('LPUSH', archive.working, ident)
end
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] its lease as judged, ARGV[3] its heartbeat as judged,
# ARGV[4] reason, ARGV[5] entry of the log. Returns 1 if the crawl went back to its queue.
_RETURN = Script(
    LAYOUT
    + QUEUES
    + LOGGING
    + GIVE_BACK
    + """
local ident = ARGV[1]
if not is_readable(ident) then return 0 end
local finished, heartbeat = unpack(
  redis.call('HMGET', archive.job(ident), 'finished_at', 'heartbeat'))
if finished or (heartbeat or '') ~= ARGV[3]
  or (redis.call('ZSCORE', crawls.leases, ident) or '') ~= ARGV[2] then return 0 end
redis.call('LLEN', archive.working)
give_back(ident, ARGV[4], ARGV[5])
return 1
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] why its check fails, as known, ARGV[3] why it fails now or
# '', ARGV[4] check, ARGV[5] event. Reports the change, unless another archivist has.
_REPORT = Script(
    LAYOUT
    + REPORTING
    + """
local ident, known, reason = ARGV[1], ARGV[2], ARGV[3]
if (redis.call('HGET', crawls.failing, ident) or '') ~= known then return 0 end
redis.call('HLEN', unreported)
if reason == '' then
  redis.call('HDEL', crawls.failing, ident)
else
  redis.call('HSET', crawls.failing, ident, reason)
end
report(ARGV[4], ARGV[5])
redis.call('PUBLISH', crawls.news, ident)
return 1
"""
)


class CrawlReaper:
    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._pending = Archive(store.prefix).pending()
        self._leases = Unchanged()
        self._log = logs.get(role="archivist")

    def restart(self) -> None:
        """The store was not available: pipelines could not renew their leases."""
        self._leases.restart()

    async def look(self) -> None:
        """Looks at all crawls at work; to be called every LOOK_EVERY seconds, by one archivist."""
        idents = await self._named(await _IDENTS(self._store, [self._pending]))
        found = await survey(self._store, idents, acknowledges=True)
        values = {crawl.ident: float(crawl.lease) if crawl.lease else None for crawl, _ in found}
        watched = self._leases.watch(values, self._clock.monotonic())
        for crawl, now in found:
            verdict = judge(
                crawl,
                now=now,
                watched=watched[crawl.ident],
                lease=self._settings.lease,
                return_after=self._settings.return_after,
            )
            await self._apply(crawl, verdict)
        for ident in await _ABORTED(self._store, [self._pending]):
            await self._end(text(ident))

    async def _named(self, idents: list[bytes]) -> list[str]:
        """Those that can be idents; the rest is removed."""
        named = []
        for ident in idents:
            try:
                named.append(ident.decode())
            except UnicodeDecodeError:
                await _REMOVE(self._store, [self._pending], [ident])
                self._log.warning("not at work", ident=ident, reason="it is no ident")
        return named

    async def _end(self, ident: str) -> None:
        try:
            await finishing.abort(self._store, ident, "", self._clock.now())
        except (NotFound, Refused):
            pass  # it has ended meanwhile
        except ResponseError as error:
            self._log.error("a crawl can't be ended", ident=ident, exc_info=error)

    async def _apply(self, crawl: Working, verdict: Verdict) -> None:
        if verdict.action == "leave":
            return
        try:
            await self._carry_out(crawl, verdict)
        except ResponseError as error:  # a key of this crawl is of a wrong type
            self._log.error("a crawl can't be looked after", ident=crawl.ident, exc_info=error)
        probe("archive.reaped")

    async def _carry_out(self, crawl: Working, verdict: Verdict) -> None:
        match verdict.action:
            case "adopt":
                await _ADOPT(self._store, [self._pending], [crawl.ident])
            case "remove":
                await _REMOVE(self._store, [self._pending], [crawl.ident])
                if crawl.failing and not crawl.is_readable:
                    now = self._clock.now()
                    await self._report(crawl, "", check_reports.crawl_gone(crawl.ident, now))
                self._log.warning("not at work", ident=crawl.ident, reason=verdict.reason)
            case "return":
                await self._return(crawl, verdict.reason)
            case "abort":
                now = self._clock.now()
                args = (self._store, crawl.ident, "aborted", verdict.reason, now, crawl.lease)
                await finishing.give_up(*args)
            case _:
                await self._report(crawl, verdict.reason, self._check(crawl, verdict.reason))

    async def _return(self, crawl: Working, reason: str) -> None:
        args: list[Argument] = [crawl.ident, crawl.lease, crawl.heartbeat or "", reason]
        args.append(log_line(reason, self._clock.now()))
        if await _RETURN(self._store, [self._pending], args):
            self._log.warning("crawl returned", ident=crawl.ident, url=crawl.url, reason=reason)

    def _check(self, crawl: Working, reason: str) -> CheckReport:
        now = self._clock.now()
        if reason:
            return check_reports.crawl_in_trouble(crawl.ident, crawl.url, reason, now)
        return check_reports.crawl_goes_on(crawl.ident, crawl.url, now)

    async def _report(self, crawl: Working, reason: str, check: CheckReport) -> None:
        args: list[Argument] = [crawl.ident, crawl.failing, reason, *check]
        if await _REPORT(self._store, [self._pending], args) and reason:
            self._log.warning("crawl in trouble", ident=crawl.ident, url=crawl.url, reason=reason)
