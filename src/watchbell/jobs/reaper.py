"""The reaper: what becomes of jobs whose server is down, lost or removed.

A job that no agent has goes back to `ready` at once. One that an agent has, or may have, waits for
it until the server is lost; by then the agent has ended it. Every script compares when the server
was last seen, so a server that returns at the last moment keeps its jobs.
"""

import asyncio

import msgspec
from redis.exceptions import ResponseError

from watchbell import logs
from watchbell.clock import Clock
from watchbell.jobs.dispatch_plan import aborted
from watchbell.jobs.dispatch_scripts import END, SHARED
from watchbell.jobs.fleet_view import FleetView
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.probes import probe
from watchbell.settings import Jobs as JobSettings
from watchbell.store.client import Argument, Store, patiently
from watchbell.store.replies import text
from watchbell.store.script import READ, Script

_EVERY = 1.0
_SURVEY_EVERY = 30.0
_PAGE = 500

# KEYS[1] ready; ARGV[1] server, ARGV[2] when it was last seen or -1 for never, ARGV[3] now, ARGV[4]
# text for the activity log as JSON, ARGV[5] result of jobs that are lost, or '' where none is lost
# yet. Returns how many jobs went back to `ready`, and how many ended; nothing where the server was
# seen again.
_REAP = Script(
    SHARED
    + END
    + """
local server, is_lost, back, over = ARGV[1], ARGV[5] ~= '', {}, 0

local function wait_for_agent(id, activity)
  local line = '{"epoch":' .. ARGV[3] .. ',"msg":' .. ARGV[4] .. '}'
  local before = activity and string.match(activity, '^(%[.+)%]$')
  redis.call('HSET', jobs.job .. id, 'remote', 'false',
    'activity', (before and before .. ',' or '[') .. line .. ']')
  redis.call('PUBLISH', jobs.news, id)
end

local function lost_result(wanted)
  local wish = value_of(wanted)
  if type(wish) ~= 'table' then return ARGV[5] end
  local result = cjson.decode(ARGV[5])
  result.description, result.retry_ok = wish.reason, wish.retry_ok
  return cjson.encode(result)
end

local function look_at(id)
  local state, its_server, remote, boot, activity, wanted = unpack(redis.call('HMGET',
    jobs.job .. id, 'state', 'server', 'remote', '_boot', 'activity', '_abort'))
  if text_of(state) ~= 'active' or text_of(its_server) ~= server then return end
  if not is_sent(remote, boot) then
    back[#back + 1] = {turn_of(id), id}
  elseif is_lost then
    end_job(id, lost_result(wanted))
    over = over + 1
  elseif remote == 'true' then
    wait_for_agent(id, activity)
  end
end

if tonumber(redis.call('ZSCORE', fleet.seen, server) or '-1') ~= tonumber(ARGV[2]) then
  return false
end
for _, id in ipairs(redis.call('SMEMBERS', jobs.server_jobs .. server)) do look_at(id) end
table.sort(back, function(one, other) return one[1] > other[1] end)
for _, one in ipairs(back) do
  local id = one[2]
  redis.call('LREM', fleet.orders .. server, 0, launch_order(id))
  redis.call('SREM', jobs.server_jobs .. server, id)
  redis.call('HDEL', jobs.job .. id, 'server', 'groups', 'started', 'remote')
  wake(id)
  redis.call('PUBLISH', jobs.news, id)
end
return {#back, over}
"""
)

# KEYS[1] ready; ARGV[1] cursor, ARGV[2] how many. Returns the next cursor, and the servers of
# active jobs that are not in the list of servers.
_SURVEY = Script(
    LAYOUT
    + READ
    + """
local found = redis.call('ZSCAN', jobs.live, ARGV[1], 'COUNT', ARGV[2])
local missing, seen = {}, {}
for i = 1, #found[2], 2 do
  local fields = read('HMGET', jobs.job .. found[2][i], 'state', 'server') or {}
  local server = text_of(fields[2])
  if server and fields[1] == '"active"' and not seen[server] then
    seen[server] = true
    if redis.call('HEXISTS', fleet.servers, server) == 0 then missing[#missing + 1] = server end
  end
end
return {found[1], missing}
"""
)


class Reaper:
    def __init__(self, store: Store, view: FleetView, settings: JobSettings, clock: Clock) -> None:
        self._store, self._view, self._settings, self._clock = store, view, settings, clock
        self._ready = Jobs(store.prefix).ready()
        self._next_survey = 0.0
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""
        while True:
            await asyncio.sleep(_EVERY)
            await patiently(self.reap)

    async def reap(self) -> None:
        """Looks at all servers that gave no sign of life while we watched."""
        after = self._settings.down_after
        for server in list(self._view.servers.values()):
            if self._view.watched(server.id) < after:
                continue
            if self._view.presence.is_silent(server.id, after):
                is_lost = self._view.presence.is_silent(server.id, self._settings.lost_after)
                await self._reap(server.id, server.hostname, is_lost=is_lost)
        if self._clock.monotonic() >= self._next_survey:
            self._next_survey = self._clock.monotonic() + _SURVEY_EVERY
            await self._survey()

    async def _reap(self, server: str, host: str, *, is_lost: bool, was: str = "lost") -> None:
        seen = self._view.presence.seen.get(server)
        now = self._clock.now()
        reason = f"Aborted because the server {host} was {was}"
        args: list[Argument] = [
            server,
            -1 if seen is None else repr(seen),
            f"{now:.3f}",
            msgspec.json.encode(f"The server {host} can't be reached"),
            aborted(reason, now, retry_ok=True) if is_lost else "",
        ]
        try:
            answer = await _REAP(self._store, [self._ready], args)
        except ResponseError as error:  # a key of this server, or of one of its jobs
            self._log.error("jobs of a server can't be handled", server=host, exc_info=error)
            return
        probe("reaper.reaped")
        back, over = answer or (0, 0)
        if back or over:
            self._log.warning("server is down", server=host, lost=over, moved=back)

    async def _survey(self) -> None:
        """Ends jobs of servers that were removed: their agents can't come back."""
        cursor, removed = 0, set[str]()
        while True:
            found, missing = await _SURVEY(self._store, [self._ready], [cursor, _PAGE])
            removed.update(map(text, missing))
            cursor = int(found)
            if not cursor:
                break
        for server in removed:
            await self._reap(server, server, is_lost=True, was="removed")
