"""Reads what is known of crawls at work, and acknowledges their heartbeats."""

from collections.abc import Sequence
from typing import Any

from watchbell.archive.crawl_records import count
from watchbell.archive.crawl_watch import Working
from watchbell.archive.keys import Archive
from watchbell.archive.lua import LAYOUT
from watchbell.archive.urls import shown
from watchbell.store.client import Store
from watchbell.store.replies import text, text_or_none
from watchbell.store.script import READ, Script

_PAGE = 200

# KEYS[1] pending; ARGV[1] 1 to compare the heartbeat of each with the one acknowledged, as the
# reaper of upstream does, then idents. Returns the time, and for each crawl: 1 if it is readable, 1
# if it is at work, fields of its record and of our own hash, its lease, and why its check fails.
_SURVEY = Script(
    LAYOUT
    + READ
    + """
local function look_for_heartbeat(job)
  local heartbeat, acknowledged, timer = unpack(
    redis.call('HMGET', job, 'heartbeat', 'last_acknowledged_heartbeat', 'death_timer'))
  if not heartbeat then return end
  if not acknowledged then
    redis.call('HSET', job, 'last_acknowledged_heartbeat', heartbeat)
  elseif number_of(heartbeat) <= number_of(acknowledged) then
    add_to(job, 'death_timer', 1)
  else
    redis.call('HSET', job, 'last_acknowledged_heartbeat', heartbeat)
    if number_of(timer) ~= 0 or not timer then redis.call('HSET', job, 'death_timer', '0') end
  end
end

local found = {}
for i = 1, #ARGV - 1 do
  local ident = ARGV[i + 1]
  local job = archive.job(ident)
  if is_readable(ident) then
    local is_listed = read('LPOS', archive.working, ident) and 1 or 0
    if ARGV[1] == '1' and is_listed == 1 and redis.call('HEXISTS', job, 'finished_at') == 0 then
      look_for_heartbeat(job)
    end
    found[i] = {1, is_listed,
      redis.call('HMGET', job, 'url', 'finished_at', 'abort_requested', 'pipeline_id', 'heartbeat',
        'death_timer', 'delay_max'),
      redis.call('HMGET', crawls.crawl(ident), 'fence', 'nickname', 'paused', 'progress_at',
        'trouble'),
      read('ZSCORE', crawls.leases, ident) or '', read('HGET', crawls.failing, ident) or ''}
  else
    found[i] = {0, 1, {}, {}, '', read('HGET', crawls.failing, ident) or ''}
  end
end
return {precise(store_time()), found}
"""
)


async def survey(
    store: Store, idents: Sequence[str | bytes], *, acknowledges: bool
) -> list[tuple[Working, float]]:
    """What is known of each crawl, with the store's time. `acknowledges`: as the reaper, which
    counts for how many looks there was no new heartbeat."""
    found: list[tuple[Working, float]] = []
    for first in range(0, len(idents), _PAGE):
        some = idents[first : first + _PAGE]
        args = [int(acknowledges), *some]
        now, answers = await _SURVEY(store, [Archive(store.prefix).pending()], args)
        for ident, answer in zip(some, answers, strict=True):
            name = text(ident) if isinstance(ident, bytes) else ident
            found.append((_working(name, answer), float(now)))
    return found


def _working(ident: str, answer: list[Any]) -> Working:
    is_readable, is_listed, job, own, lease, failing = answer
    if not is_readable:
        return Working(ident=ident, is_readable=False, failing=text(failing))
    url, finished, aborted, pipeline, heartbeat, timer, delay = map(text_or_none, job)
    fence, nickname, paused, progress, trouble = map(text_or_none, own)
    return Working(
        ident=ident,
        is_readable=True,
        is_listed=bool(is_listed),
        url=shown(url or ""),
        has_ended=finished is not None,
        abort_requested=aborted == "true",
        is_paused=paused == "true",
        is_ours=fence is not None,
        pipeline=nickname or pipeline or "",
        heartbeat=heartbeat,
        death_timer=count(timer),
        delay_max=count(delay),
        lease=lease.decode(),
        progress_at=None if progress is None else float(count(progress)),
        trouble=trouble or "",
        failing=text(failing),
    )
