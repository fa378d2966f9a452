"""Reports to alerting which pipelines disappear without a goodbye, and which come back."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from watchbell import logs
from watchbell.archive import check_reports, pipelines
from watchbell.archive.check_reports import CheckReport
from watchbell.archive.crawl_records import time_text
from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.lua import LAYOUT, REPORTING
from watchbell.archive.unchanged import Unchanged
from watchbell.clock import Clock
from watchbell.probes import probe
from watchbell.settings import Archive as Settings
from watchbell.store.client import Argument, Store
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

# KEYS[1] pending. Returns the time, and for each pipeline that was seen: id, when, its nickname, or
# nothing where it has no record.
_SURVEY = Script(
    LAYOUT
    + READ
    + """
local found, seen = {}, redis.call('ZRANGE', crawls.pipelines_seen, 0, -1, 'WITHSCORES')
for i = 1, #seen, 2 do
  local key = base .. seen[i]
  local nickname = kind_of(key) == 'hash' and (redis.call('HGET', key, 'nickname') or seen[i])
  found[#found + 1] = {seen[i], seen[i + 1], nickname}
end
return {precise(store_time()), found}
"""
)

# KEYS[1] pending; ARGV[1] nickname, ARGV[2] since when it is gone, or '' where it is not, ARGV[3]
# time, ARGV[4] check, ARGV[5] event. Reports the change, unless another archivist has.
_REPORT = Script(
    LAYOUT
    + REPORTING
    + """
local nickname, known = ARGV[1], ARGV[2]
if (redis.call('HGET', crawls.pipelines_gone, nickname) or '') ~= known then return 0 end
redis.call('HLEN', unreported)
if known == '' then
  redis.call('HSET', crawls.pipelines_gone, nickname, ARGV[3])
else
  redis.call('HDEL', crawls.pipelines_gone, nickname)
end
report(ARGV[4], ARGV[5])
return 1
"""
)


class Seen(Struct, frozen=True):
    id: str
    seen: str
    """When, as the store has it."""
    nickname: str | None
    """None where it has no record: it said goodbye, or somebody removed it."""
    silent: float
    """Seconds, by the store's clock."""
    watched: float
    """Seconds for which we have watched its silence."""

    def is_gone(self, lease: float) -> bool:
        return self.silent >= lease and self.watched >= lease


class Transitions(Struct, frozen=True):
    gone: dict[str, float]
    """Nicknames of pipelines that disappeared, and for how long they are silent."""
    back: dict[str, str]
    """Nicknames of pipelines that fail no longer, and why."""
    forgotten: list[Seen]
    """Records to remove: those of pipelines that have none, or a successor."""


def judge(
    seen: Iterable[Seen], known_gone: Mapping[str, str], *, lease: float, forget_after: float
) -> Transitions:
    """`known_gone`: nicknames that were reported as gone. Pure."""
    found = Transitions({}, {}, [])
    named = [(one, one.nickname) for one in seen if one.nickname is not None]
    found.forgotten.extend(one for one in seen if one.nickname is None)
    alive = {name for one, name in named if not one.is_gone(lease)}
    for one, name in named:
        if not one.is_gone(lease):
            continue
        if name not in alive and name not in known_gone:
            found.gone[name] = min(one.silent, found.gone.get(name, one.silent))
        if name in alive and one.silent >= forget_after:
            found.forgotten.append(one)
    present = {name for _, name in named}
    for name in known_gone:
        if name in alive:
            found.back[name] = "the pipeline is back"
        elif name not in present:
            found.back[name] = "the pipeline was removed"
    return found


class PipelineReporter:
    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._pending = Archive(store.prefix).pending()
        self._seen = Unchanged()
        self._log = logs.get(role="archivist")

    def restart(self) -> None:
        """The store was not available: pipelines could not report."""
        self._seen.restart()

    async def look(self) -> None:
        now, answers = await _SURVEY(self._store, [self._pending])
        scores = {text(one): float(score) for one, score, _ in answers}
        watched = self._seen.watch(scores, self._clock.monotonic())
        seen = [
            Seen(
                text(one),
                text(score),
                None if nickname is None else text(nickname),
                float(now) - float(score),
                watched[text(one)],
            )
            for one, score, nickname in answers
        ]
        raw = await self._store.call("HGETALL", Crawls(self._store.prefix).pipelines_gone())
        gone = {text(name): text(since) for name, since in raw.items()}
        lease, forget_after = self._settings.lease, self._settings.return_after
        await self._apply(judge(seen, gone, lease=lease, forget_after=forget_after), gone)

    async def _apply(self, found: Transitions, known: Mapping[str, str]) -> None:
        now = self._clock.now()
        for name, silent in found.gone.items():
            await self._report(name, "", check_reports.pipeline_gone(name, silent, now), now)
            self._log.warning("pipeline gone", nickname=name)
        for name, words in found.back.items():
            await self._report(
                name, known[name], check_reports.pipeline_back(name, words, now), now
            )
            self._log.info(words, nickname=name)
        for one in found.forgotten:
            await pipelines.remove(self._store, one.id, one.seen)
        probe("archive.pipelines_reported")

    async def _report(self, nickname: str, known: str, check: CheckReport, now: float) -> None:
        args: list[Argument] = [nickname, known, time_text(now), *check]
        await _REPORT(self._store, [self._pending], args)
