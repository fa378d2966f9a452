"""Lua that scripts of the archive share: keys, numbers, times, queues, and who owns a crawl."""

from watchbell.alerting.bounded_reports import REPORT
from watchbell.alerting.keys import Alerting
from watchbell.archive.keys import Archive, Crawls
from watchbell.store.families import Keyspace

MOST_EVENTS = 100_000
"""Check events in alerting's queue from which on only the latest of each check is kept."""

GONE, LOST, ENDED = b"gone", b"lost", b"ended"
"""Why a pipeline may not write: no record; another one owns the crawl, or nobody; it has ended."""


def _table(name: str, space: type[Keyspace]) -> str:
    # A family without parts is a key; one with a part is a function that gives a key.
    made = []
    for family in space.families():
        first, *rest = family.literals
        if not rest:
            made.append(f"{family.name} = base .. '{first}'")
        elif len(rest) == 1:
            key = f"base .. '{first}' .. part .. '{rest[0]}'"
            made.append(f"{family.name} = function(part) return {key} end")
    return f"local {name} = {{{', '.join(made)}}}\n"


# KEYS[1] is the key of `pending` in every script of the archive: it leads to the slot in which all
# keys are, and what it begins with is the prefix of this store.
LAYOUT = (
    f"local base = string.sub(KEYS[1], 1, -1 - #'{Archive.pending.pattern}')\n"
    + _table("archive", Archive)
    + _table("crawls", Crawls)
    + """
-- An error names the key that caused it.
local server = redis
local redis = setmetatable({}, {__index = server})
function redis.call(...)
  local answer = server.pcall(...)
  if type(answer) == 'table' and answer.err then
    local command, key = ...
    error({err = answer.err .. ' (' .. command .. ' ' .. (key or '') .. ')'})
  end
  return answer
end

local function kind_of(key) return redis.call('TYPE', key).ok end

-- Whether a key may be used as what it should be: other programs may have written anything.
local function is_fit(key, kind)
  local found = kind_of(key)
  return found == kind or found == 'none'
end

-- The number that a text is; 0 for any other text.
local function number_of(text)
  local number = tonumber(text or '0')
  if not number or number ~= number or math.abs(number) == math.huge then return 0 end
  return number
end

-- A cursor in the log. Upstream's trimmer writes `+inf` for "up to the end".
local function cursor_of(text, score) return text == '+inf' and score or number_of(text) end

local function whole(number) return string.format('%.0f', number) end

local function add_to(hash, field, by)
  local sum = whole(math.floor(number_of(redis.call('HGET', hash, field))) + by)
  redis.call('HSET', hash, field, sum)
  return sum
end

local function store_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local function precise(time) return string.format('%.3f', time) end

-- A URL for people: a name and a password are hidden.
local function shown_url(url)
  return (string.gsub(url, '^(%s*%a[%w+.-]*://)[^/?#]*@', '%1***@'))
end

-- Whether there is a crawl whose keys are all of the right type.
local function is_readable(ident)
  return kind_of(archive.job(ident)) == 'hash' and is_fit(crawls.crawl(ident), 'hash')
end
"""
)

# Needs LAYOUT. `refusal` returns why a pipeline may not write to a crawl; nil if it may.
OWNED = f"""
local function refusal(ident, pipeline, fence)
  if not is_readable(ident) then return '{GONE.decode()}' end
  local owner, finished = unpack(
    redis.call('HMGET', archive.job(ident), 'pipeline_id', 'finished_at'))
  if finished then return '{ENDED.decode()}' end
  if owner ~= pipeline or redis.call('HGET', crawls.crawl(ident), 'fence') ~= fence then
    return '{LOST.decode()}'
  end
end
"""

# Needs LAYOUT. Gives `report(check, event)`, which posts a check event to alerting.
REPORTING = (
    f"""
local events, unreported = base .. '{Alerting.events.pattern}', crawls.unreported
local own = {{most_events = {MOST_EVENTS}}}
"""
    + REPORT
)

# Needs LAYOUT. `unqueue` removes a crawl from every queue; returns from how many places.
QUEUES = """
local function queue_keys(ident)
  local found = {archive.pending, archive.pending_ao, archive.pending_large}
  local named = redis.pcall('SMEMBERS', crawls.queues)
  if not named.err then
    for _, tag in ipairs(named) do found[#found + 1] = archive.pending_for(tag) end
  end
  local kept = redis.pcall('HGET', crawls.crawl(ident), 'queue')
  if type(kept) == 'string' and kept ~= '' then found[#found + 1] = base .. kept end
  return found
end

local function unqueue(ident)
  local removed = 0
  for _, key in ipairs(queue_keys(ident)) do
    if kind_of(key) == 'list' then removed = removed + redis.call('LREM', key, 0, ident) end
  end
  return removed
end
"""

# Needs LAYOUT. `log_entry` adds an entry to the log of a crawl; `text` is a JSON object, which gets
# its number, so that equal entries stay apart.
LOGGING = """
local function log_entry(ident, text)
  local index = add_to(archive.job(ident), 'log_score', 1)
  local entry = string.sub(text, 1, -2) .. ',"index":' .. index .. '}'
  redis.call('ZADD', archive.log(ident), index, entry)
end
"""

# Needs LAYOUT, QUEUES, LOGGING. `give_back` returns a crawl that no pipeline works on any longer to
# the front of its queue; `line` is for its log, as JSON.
GIVE_BACK = """
local function give_back(ident, reason, line)
  local job, own = archive.job(ident), crawls.crawl(ident)
  local queue, depth = redis.call('HGET', own, 'queue'), redis.call('HGET', job, 'fetch_depth')
  if not queue or queue == '' or not is_fit(base .. queue, 'list') then
    queue = string.sub(depth == 'shallow' and archive.pending_ao or archive.pending, #base + 1)
  end
  redis.call('RPUSH', base .. queue, ident)
  local tag = string.match(queue, '^pending:(.*)$')
  if tag and is_fit(crawls.queues, 'set') then redis.call('SADD', crawls.queues, tag) end
  redis.call('LREM', archive.working, 0, ident)
  redis.call('ZREM', crawls.leases, ident)
  redis.call('HDEL', job, 'pipeline_id', 'started_at', 'last_acknowledged_heartbeat', 'death_timer')
  redis.call('HDEL', own, 'fence', 'nickname', 'trouble')
  redis.call('HSET', own, 'queue', queue, 'reason', reason)
  if is_fit(archive.log(ident), 'zset') then log_entry(ident, line) end
  redis.call('PUBLISH', archive.updates, ident)
  redis.call('PUBLISH', crawls.news, ident)
end
"""
