"""Claims fires in the store: one instance claims each fire, and begins it or leaves it pending.

A job's mark is the last of its fires that was handled. A claim succeeds only for a later fire, and
moves the mark in the same script that begins the run. An instance that comes second, at once or an
hour later, and whatever its clock shows, finds that the mark has moved.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from watchbell.cron import last_handled
from watchbell.cron.fire_scripts import COMMON, Caller
from watchbell.cron.fires import Claim, Left
from watchbell.cron.keys import CronOwn
from watchbell.cron.model import Begun, Fire, parsed
from watchbell.store.script import Script

TRIGGERS_KEPT = 3_600_000
"""Milliseconds for which a trigger that was run stays recorded; longer than any process is
suspended."""

BEGUN, PENDING, LEFT_OUT, QUEUED, PAUSED, TOO_EARLY, GONE = -1, -2, -3, -4, -5, -6, -7
"""Outcomes of a claim. An outcome of 0 or more is the mark that another instance has set."""

# ARGV[1] as for `COMMON`, ARGV[2] how many may be begun here, ARGV[3] msgpack: claims, each
# {job, fire, mark, run, fire as JSON, instant} or, for fires to record as not run, {job, last,
# mark, '', first, count, reason, event, whether the job is in the store}. The mark is empty for a
# job without a lock, which every instance runs. If another instance has handled some of the fires
# to record, all claims of that job are out of date. A fire whose instant is in the future and that
# can't begin now is left unchanged, to be claimed at its instant. A mark that is ahead of the
# store's clock does not prevent a fire of this moment.
# Returns the outcome of each claim, the runs begun, how many fires wait, and the marks moved.
_CLAIM = Script(
    COMMON
    + """
local room = tonumber(ARGV[2])
local answers, outdated = {}, {}

local function settled(job, fire, mark, run, first)
  if mark == '' then return run ~= '' and was_begun(run) and -1 end
  local last, fingerprint, was_ahead = mark_of(job)
  if fingerprint == own.paused then return -5 end
  last = was_ahead and fire >= seconds - 1 and fire - 1 or last or -1
  if last >= fire then return last end
  if outdated[job] or run == '' and last >= first then
    outdated[job] = true
    return last
  end
end

local function is_too_early(text, at)
  if not is_to_come(at) then return false end
  local lock = cjson.decode(text).lock
  if lock == '' then return room == 0 end
  return room == 0 or redis.call('EXISTS', own.locks .. lock, own.holders .. lock) > 0
end

-- Whether another program has deleted the job; one that was only announced never was in the store.
local function is_gone(claim)
  if redis.call('HEXISTS', jobs, claim[1]) == 1 then return false end
  if claim[4] == '' then return claim[9] end
  return decoded(claim[5]).is_kept ~= false
end

for i, claim in ipairs(cmsgpack.unpack(ARGV[3])) do
  local job, fire, mark, run, text = unpack(claim, 1, 5)
  local at = run ~= '' and claim[6]
  local answer = is_gone(claim) and -7 or settled(job, fire, mark, run, claim[5])
  if not answer and at and is_too_early(text, at) then answer = -6 end
  if not answer and mark ~= '' then redis.call('HSET', fired, job, mark) end
  if not answer and run == '' then
    omit(job, claim[5], fire, claim[6], claim[7])
    if claim[7] == own.goes_on_here then count_skip(job, fire, '') end
    if claim[8] ~= '' then report('cron:' .. job, claim[8]) end
    answer = -3
  elseif not answer and room > 0 then
    answer = begin(run, cjson.decode(text), text, at)
    if answer == -1 then room = room - 1 end
  elseif not answer then
    answer = push(job, fire, text, mark == '')
  end
  answers[i] = answer
end
return {answers, begun, waiting(), report_ahead()}
"""
)

# ARGV[2] msgpack: names of runs; ARGV[3] where 1, pending fires are taken for the names that no
# earlier call used. Returns the runs begun, how many fires are still pending, and items of the list
# that are not fires.
_TAKE = Script(
    COMMON
    + """
local names, bad = {}, {}

local function is_fire(item)
  return type(item.job) == 'string' and type(item.fire) == 'number'
    and type(item.lock) == 'string' and type(item.ttl) == 'number'
end

for _, run in ipairs(cmsgpack.unpack(ARGV[2])) do
  if not was_begun(run) then names[#names + 1] = run end
end
-- Fires that only some instances may run come first: more instances can take the others.
local function pop()
  local text = redis.call('LPOP', own_pending)
  for _, pool in ipairs(own.permitted) do text = text or redis.call('LPOP', pool) end
  return text or redis.call('LPOP', pending)
end

local at, looked = 1, 0
while ARGV[3] == '1' and at <= #names and looked < 1000 do
  looked = looked + 1
  local text = pop()
  if not text then break end
  local item = decoded(text)
  if not is_fire(item) then
    bad[#bad + 1] = text
  else
    redis.call('HDEL', backlog, item.job)
    if item.is_kept and redis.call('HEXISTS', jobs, item.job) == 0 then
      redis.call('HDEL', retries, retry_key(item, own.name))
      answer(item, {skipped = 'the job was removed before its turn came'})
      leave_out(item.job, item.fire, 'skipped: the job was removed before its turn came', true)
      pass_turn(item)
    elseif begin(names[at], item, text) == -1 then
      at = at + 1
    end
  end
end
return {begun, waiting(), bad}
"""
)

# ARGV[2] where 1, it may be begun here, ARGV[3] a run, ARGV[4] fire as JSON, ARGV[5] triggers,
# ARGV[6] score of the last trigger that we know, ARGV[7] ms for which they are kept. Every instance
# receives a trigger. The first one to call this runs it; every other one finds the entry of the
# first, which is the next after the last that it knew. Entries ahead of the store's clock are from
# before it was set back. Returns the score of the entry, the outcome, and the run if begun here.
_TRIGGER = Script(
    COMMON
    + """
local run, text, triggers = ARGV[3], ARGV[4], ARGV[5]
local mine = redis.call('ZSCORE', triggers, run)
if mine then return {mine, was_begun(run) and -1 or -2, begun} end
redis.call('ZREMRANGEBYSCORE', triggers, seconds + own.most_ahead, '+inf')
local known = tonumber(ARGV[6])
if known > seconds + own.most_ahead then known = tonumber(now) - 1 end
local theirs = redis.call('ZRANGEBYSCORE', triggers, string.format('(%.6f', known), '+inf',
                          'WITHSCORES', 'LIMIT', 0, 1)
if theirs[1] then return {theirs[2], 0, begun} end
local score = string.format('%.6f', math.max(tonumber(now), known + 0.000001))
redis.call('ZADD', triggers, score, run)
redis.call('PEXPIRE', triggers, ARGV[7])
local item = cjson.decode(text)
local answer = ARGV[2] == '1' and begin(run, item, text) or push(item.job, item.fire, text, false)
waiting()
return {score, answer, begun}
"""
)


class Claims:
    """Claims fires on behalf of one instance."""

    def __init__(self, call: Caller) -> None:
        self.call = call
        self._triggers = CronOwn(call.store.prefix).triggers

    async def claim(
        self, claims: Sequence[Claim | Left], room: int
    ) -> tuple[list[int], list[Begun], int]:
        """Returns the outcome of each claim, the runs to start here, and how many fires are
        pending. If the reply is lost, `recall` returns the runs that were begun."""
        packed = msgspec.msgpack.encode(claims)
        answers, begun, pending, moved = await self.call(_CLAIM, room, packed)
        last_handled.log_moved(moved)
        return answers, _read(begun)[0], pending

    async def take(self, names: Sequence[str]) -> tuple[list[Begun], int, list[bytes]]:
        """Takes pending fires. Returns the runs to start here, how many fires are still pending,
        and items of the list that are not fires. May be repeated with the same names."""
        begun, pending, bad = await self.call(_TAKE, msgspec.msgpack.encode(names), 1)
        runs, unreadable = _read(begun)
        return runs, pending, [*bad, *unreadable]

    async def recall(self, names: Sequence[str]) -> list[Begun]:
        """Returns which of these runs were begun by a call whose reply was lost."""
        begun, _, _ = await self.call(_TAKE, msgspec.msgpack.encode(names), 0)
        return _read(begun)[0]

    async def trigger(
        self, job: str, run: str, item: str, known: float, room: int
    ) -> tuple[float, int, list[Begun]]:
        """May be repeated with the same run."""
        score, answer, begun = await self.call(
            _TRIGGER,
            min(room, 1),
            run,
            item,
            self._triggers(job),
            f"{known:.6f}",
            TRIGGERS_KEPT,
        )
        return float(score), answer, _read(begun)[0]


def _read(answers: Sequence[Any]) -> tuple[list[Begun], list[bytes]]:
    """Separates runs from items that are not fires. Those get no heartbeat, so the reaper ends
    them as frozen."""
    found = [(parsed(one[2], Fire), *one) for one in answers]
    runs = [Begun(run.decode(), float(at), it, lock == 1) for it, run, at, _, lock in found if it]
    return runs, [text for it, _, _, text, _ in found if not it]
