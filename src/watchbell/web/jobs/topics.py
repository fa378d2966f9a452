"""The topics of jobs and servers: counts, and a number that grows with every change."""

from contextlib import aclosing
from typing import Any

from watchbell.fleet import presence
from watchbell.fleet.keys import Fleet
from watchbell.jobs.keys import Jobs
from watchbell.store.client import Store
from watchbell.store.live import listen
from watchbell.store.script import READ, Script
from watchbell.web.live.background import Background
from watchbell.web.live.topics import Topic

# KEYS live, delayed, finished, done, servers; ARGV[1] what the keys of jobs in progress begin with,
# ARGV[2] how many jobs are looked at. Returns how many run, wait, are delayed and are finished,
# when the last one was completed, and how many servers there are.
_COUNTS = Script(
    READ
    + """
local active, live = 0, read('ZREVRANGE', KEYS[1], 0, ARGV[2] - 1) or {}
for _, id in ipairs(live) do
  local state = read('HGET', ARGV[1] .. id, 'state')
  if state == '"active"' or state == '"finishing"' then active = active + 1 end
end
local delayed = read('ZCARD', KEYS[2]) or 0
local total = read('ZCARD', KEYS[1]) or 0
return {active, math.max(total - active - delayed, 0), delayed, read('HLEN', KEYS[3]) or 0,
  (read('ZREVRANGE', KEYS[4], 0, 0, 'WITHSCORES') or {})[2] or false, read('HLEN', KEYS[5]) or 0}
"""
)
_MOST = 5_000


class JobTopics:
    topics: tuple[Topic, ...] = ("jobs", "servers")

    def __init__(self, store: Store, background: Background, down_after: float) -> None:
        self._store, self._background, self._down_after = store, background, down_after
        self._is_listening = self._is_wanted = False
        self._jobs = self._servers = 0

    async def look(self) -> dict[Topic, dict[str, Any]]:
        self._is_wanted = True
        if not self._is_listening:
            self._is_listening = True
            self._background.begin(self._listen())
        keys, fleet = Jobs(self._store.prefix), Fleet(self._store.prefix)
        names = [keys.live(), keys.delayed(), keys.finished(), keys.done(), fleet.servers()]
        active, waiting, delayed, finished, last, servers = await _COUNTS(
            self._store, names, [keys.job.literals[0], _MOST]
        )
        seen = await presence.read(self._store)
        online = sum(seen.is_online(one, self._down_after) for one in seen.links)
        return {
            "jobs": {
                "active": active,
                "queued": waiting,
                "delayed": delayed,
                "finished": finished,
                "last": float(last) if last else None,
                "changed": self._jobs,
            },
            "servers": {
                "all": servers,
                "online": online,
                "down": max(servers - online, 0),
                "changed": self._servers,
            },
        }

    def rest(self) -> None:
        self._is_wanted = False

    async def _listen(self) -> None:
        keys, fleet = Jobs(self._store.prefix), Fleet(self._store.prefix)
        channels = keys.news(), keys.changes(), fleet.changes()
        try:
            async with aclosing(listen(self._store, *channels, quiet=5.0)) as messages:
                async for item in messages:
                    is_fleet = getattr(item, "channel", "") == fleet.changes()
                    self._servers += is_fleet
                    self._jobs += not is_fleet
                    if not self._is_wanted:
                        return
        finally:
            self._is_listening = False
