"""The jobs of one server in the store, as the session of its agent needs them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from watchbell.fleet.messages import Result
from watchbell.fleet.presence import IS_CURRENT
from watchbell.jobs.keys import Jobs
from watchbell.jobs.lua import LAYOUT
from watchbell.jobs.model import ABORTED
from watchbell.jobs.orders import ORDER, SessionLost
from watchbell.jobs.reconcile import Reconciliation, StoredJob
from watchbell.probes import probe
from watchbell.store import replies
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import RAISE_NOT_NOW, READ, Script

_AT_ONCE = 5_000
"""Jobs that one call of the store looks at."""

# KEYS[1] ready; ARGV[1] server. Returns for each of its jobs the id and the fields that matter.
_READ = Script(
    LAYOUT
    + READ
    + """
local found = {}
for i, id in ipairs(read('SMEMBERS', jobs.server_jobs .. ARGV[1]) or {}) do
  local fields = read('HMGET', jobs.job .. id, 'server', '_boot', 'remote', '_reported', '_result',
    '_abort')
  if fields and text_of(fields[1]) == ARGV[1] then
    found[#found + 1] = {id, text_of(fields[2]) or '', fields[3] == 'true' and 1 or 0,
      fields[4] or '0', fields[5] and 1 or 0, fields[6] and 1 or 0}
  end
end
return found
"""
)

# KEYS[1] ready; ARGV[1] server, ARGV[2] session, ARGV[3] msgpack: jobs that are reconnected, jobs
# that are sent again, jobs to abort, and {id, boot, reported, result} of jobs that are lost unless
# they have changed. Returns false where another session has taken the place of this one. May be
# repeated.
_SETTLE = Script(
    LAYOUT
    + IS_CURRENT
    + RAISE_NOT_NOW
    + ORDER
    + """
local server = ARGV[1]
if not is_current(fleet.links, server, ARGV[2]) then return false end
redis.call('LLEN', jobs.finishing)
redis.call('LLEN', fleet.orders .. server)
local now = redis.call('TIME')[1]
local reconnected, again, aborts, lost = unpack(cmsgpack.unpack(ARGV[3]))

-- The fields of a job that is still this server's and not over; else nil.
local function current(id, ...)
  local found = redis.pcall('HMGET', jobs.job .. id, 'server', '_result', ...)
  if found.err then
    raise_not_now(found)
    return nil
  end
  if text_of(found[1]) == server and not found[2] then return found end
end

for _, id in ipairs(reconnected) do
  if current(id) then
    redis.call('HSET', jobs.job .. id, 'remote', 'true', 'reconnected', now)
    redis.call('PUBLISH', jobs.news, id)
  end
end
for _, id in ipairs(again) do
  if current(id) then order(server, 'launch', id) end
end
for _, id in ipairs(aborts) do
  if current(id) then order(server, 'abort', id) end
end
for _, one in ipairs(lost) do
  local id, boot, reported, result = unpack(one)
  local found = current(id, '_boot', '_reported')
  if found and text_of(found[3]) == boot and (found[4] or '0') == reported then
    redis.call('HSET', jobs.job .. id, '_result', result, 'state', '"finishing"')
    redis.call('RPUSH', jobs.finishing, id)
    redis.call('PUBLISH', jobs.news, id)
  end
end
return 1
"""
)

# KEYS[1] ready; ARGV[1] msgpack: {server, job}. Returns for each 1 where the job is over, or not of
# the server, else 0.
_OVER = Script(
    LAYOUT
    + READ
    + """
local answers = {}
for i, one in ipairs(cmsgpack.unpack(ARGV[1])) do
  local found = read('HMGET', jobs.job .. one[2], 'server', '_result') or {}
  answers[i] = (text_of(found[1]) ~= one[1] or found[2]) and 1 or 0
end
return answers
"""
)


async def read(store: Store, server: str) -> list[StoredJob]:
    found = await _READ(store, [Jobs(store.prefix).ready()], [server])
    return [
        StoredJob(
            id=replies.text(id_),
            boot=replies.text(boot),
            is_remote=bool(is_remote),
            reported=replies.number(reported) or 0,
            is_over=bool(is_over),
            is_aborted=bool(is_aborted),
        )
        for id_, boot, is_remote, reported, is_over, is_aborted in found
    ]


async def settle(
    store: Store,
    server: str,
    session: str,
    found: Reconciliation,
    stored: Sequence[StoredJob],
    label: str,
    now: float,
) -> None:
    """Writes what was decided when an agent connected. `label` is the name of the server. Raises
    SessionLost."""
    by_id = {job.id: job for job in stored}
    lost = [_lost(by_id[id_], reason, label, now) for id_, reason in found.lost.items()]
    if not (found.reconnected or found.resend or found.abort or lost):
        return
    packed = msgspec.msgpack.encode([found.reconnected, found.resend, found.abort, lost])
    if await _SETTLE(store, [Jobs(store.prefix).ready()], [server, session, packed]) is None:
        raise SessionLost(f"another session has taken the place of {session}")
    probe("jobs.reconciled")


def _lost(job: StoredJob, reason: str, label: str, now: float) -> list[Any]:
    text = f"the job was lost on the server {label}: {reason}"
    result = Result(at=round(now, 3), code=ABORTED, description=text, retry_ok=True)
    return [job.id, job.boot, str(job.reported), verbatim(msgspec.json.encode(result))]


async def over(store: Store, asked: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """By server: those of its jobs that are over, or not its own."""
    found: dict[str, list[str]] = {server: [] for server in asked}
    pairs = [(server, id_) for server, some in asked.items() for id_ in some]
    for first in range(0, len(pairs), _AT_ONCE):
        some = pairs[first : first + _AT_ONCE]
        answers = await _OVER(store, [Jobs(store.prefix).ready()], [msgspec.msgpack.encode(some)])
        for (server, id_), is_over in zip(some, answers, strict=True):
            found[server] += [id_] if is_over else []
    return {server: tuple(some) for server, some in found.items()}
