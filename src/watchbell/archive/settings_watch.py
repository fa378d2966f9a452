"""Notices when the settings of crawls have changed, whoever changed them."""

from collections.abc import Sequence

from watchbell.archive import crawls
from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.archive.model import CrawlSettings
from watchbell.clock import Clock
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

_READ_EVERY = 30.0
"""Seconds after which settings are read in any case: another program may forget their version."""

# KEYS[1] pending; ARGV idents. Returns the version of the settings of each, and whether it is
# paused and aborted.
_VERSIONS = Script(
    LAYOUT
    + READ
    + """
local found = {}
for i, ident in ipairs(ARGV) do
  local job = read('HMGET', archive.job(ident), 'settings_age', 'abort_requested') or {}
  local paused = read('HGET', crawls.crawl(ident), 'paused')
  found[i] = (job[1] or '') .. ' ' .. (job[2] or '') .. ' ' .. (paused or '')
end
return found
"""
)


class SettingsWatch:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._known: dict[str, tuple[bytes, float]] = {}

    async def changed(self, idents: Sequence[str]) -> dict[str, CrawlSettings]:
        """The settings of those crawls that may have other ones than before."""
        if not idents:
            return {}
        versions = await _VERSIONS(self._store, [Archive(self._store.prefix).pending()], [*idents])
        now = self._clock.monotonic()
        found: dict[str, CrawlSettings] = {}
        seen: dict[str, tuple[bytes, float]] = {}
        for ident, version in zip(idents, versions, strict=True):
            known = self._known.get(ident)
            if known and known[0] == version and now - known[1] < _READ_EVERY:
                continue
            settings = await crawls.settings(self._store, ident)
            if settings is not None:
                found[ident] = settings
            seen[ident] = version, now
        self._known |= seen  # only now: a call that fails half-way is repeated
        return found

    def forget(self, ident: str) -> None:
        self._known.pop(ident, None)
