"""The log of a crawl: entries appended by its pipeline, with what they add to the counters."""

from collections.abc import Sequence
from enum import Enum

import msgspec

from watchbell.archive.keys import Archive, Crawls
from watchbell.archive.log_draining import RECENT, drain
from watchbell.archive.lua import LAYOUT, LOGGING, OWNED
from watchbell.archive.model import Increments, LogEntry, Ownership
from watchbell.probes import probe
from watchbell.store.client import Argument, Store
from watchbell.store.script import READ, Script

LONGEST_URL = 8_192
LONGEST_MESSAGE = 4_096
MOST_HOSTS = 1_000
MOST_PATTERNS = 10_000
MOST_UNDRAINED = 5_000
"""Entries in a log from which on whoever appends drains it: no archivist is at work."""
OTHER_HOSTS = "(others)"


class Answer(Enum):
    """What became of a batch."""

    WRITTEN = "written"
    REPEATED = "repeated"
    """It was written before."""
    GONE = "gone"
    """There is no such crawl any longer."""
    LOST = "lost"
    """Another pipeline has the crawl, or it waits for one."""
    ENDED = "ended"

    @property
    def is_refused(self) -> bool:
        return self not in (Answer.WRITTEN, Answer.REPEATED)


# KEYS[1] pending; ARGV[1] ident, ARGV[2] pipeline, ARGV[3] fence, ARGV[4] number of the batch,
# ARGV[5] msgpack: {entries as JSON, {field, by}, {host, responses, bytes}, {pattern, matches}}.
# Returns what became of the batch, and how many entries the log has.
_APPEND = Script(
    LAYOUT
    + OWNED
    + LOGGING
    + f"""
local MOST_HOSTS, OTHER_HOSTS, MOST_PATTERNS = {MOST_HOSTS}, '{OTHER_HOSTS}', {MOST_PATTERNS}
"""
    + """
local ident, batch = ARGV[1], tonumber(ARGV[4])
local job, own = archive.job(ident), crawls.crawl(ident)
local refused = refusal(ident, ARGV[2], ARGV[3])
if refused then return {refused, 0} end
local length = redis.call('ZCARD', archive.log(ident))
if number_of(redis.call('HGET', own, 'batch')) >= batch then return {'repeated', length} end
local entries, counters, hosts, patterns = unpack(cmsgpack.unpack(ARGV[5]))

for _, entry in ipairs(entries) do log_entry(ident, entry) end
for _, one in ipairs(counters) do add_to(job, one[1], one[2]) end
local by_host, matches = crawls.hosts(ident), crawls.matches(ident)
if is_fit(by_host, 'hash') then
  for _, one in ipairs(hosts) do
    local host = one[1]
    if redis.call('HEXISTS', by_host, host .. ' count') == 0
      and redis.call('HLEN', by_host) >= 2 * MOST_HOSTS then host = OTHER_HOSTS end
    add_to(by_host, host .. ' count', one[2])
    add_to(by_host, host .. ' bytes', one[3])
  end
end
if is_fit(matches, 'hash') then
  for _, one in ipairs(patterns) do
    if redis.call('HEXISTS', matches, one[1]) == 1
      or redis.call('HLEN', matches) < MOST_PATTERNS then add_to(matches, one[1], one[2]) end
  end
end
redis.call('HSET', own, 'batch', ARGV[4], 'progress_at', precise(store_time()))
if #entries > 0 then redis.call('PUBLISH', archive.updates, ident) end
return {'written', length + #entries}
"""
)

# KEYS[1] pending; ARGV[1] ident, ARGV[2] how many. Returns entries that were broadcast, the newest
# first, and those that were not yet, the oldest first, with their numbers.
_RECENT = Script(
    LAYOUT
    + READ
    + """
local ident, many = ARGV[1], tonumber(ARGV[2])
local done = redis.pcall('HGET', archive.job(ident), 'last_broadcasted_log_entry')
done = number_of(type(done) == 'string' and done or nil)
return {
  read('LRANGE', crawls.recent(ident), 0, many - 1) or {},
  read('ZREVRANGEBYSCORE', archive.log(ident), '+inf', '(' .. whole(done),
    'LIMIT', 0, many) or {},
}
"""
)


async def append(
    store: Store,
    ownership: Ownership,
    batch: int,
    entries: Sequence[LogEntry],
    increments: Increments,
) -> Answer:
    """Writes entries and counters together. `batch` counts the calls for this crawl from 1, also
    over a `queues.resume`; a number that was written before changes nothing."""
    counted = ("bytes_downloaded", "items_downloaded", "items_queued")
    counters = [(name, by) for name in counted if (by := getattr(increments, name))]
    hosts = [(host, *sums) for host, sums in increments.hosts.items()]
    lines = [encoded(entry) for entry in entries]
    packed = msgspec.msgpack.encode([lines, counters, hosts, list(increments.matches.items())])
    args: list[Argument] = [ownership.ident, ownership.pipeline, ownership.fence, batch, packed]
    answer, length = await _APPEND(store, [Archive(store.prefix).pending()], args)
    probe("archive.appended")
    while length > MOST_UNDRAINED and (drained := await drain(store, ownership.ident)):
        length = drained.left
    return Answer(answer.decode())


def encoded(entry: LogEntry) -> str:
    """In upstream's form. The time of a message is a whole number there."""
    short = msgspec.structs.replace(
        entry, url=entry.url[:LONGEST_URL], message=entry.message[:LONGEST_MESSAGE]
    )
    if short.type == "stdout":
        line: object = {"type": "stdout", "ts": int(short.ts), "message": short.message}
        return msgspec.json.encode(line).decode()
    return msgspec.json.encode(short).decode()


async def recent(store: Store, ident: str, count: int = RECENT) -> list[bytes]:
    """The newest entries as JSON, the oldest of them first; at most `RECENT` of those that were
    already trimmed."""
    done, waiting = await _RECENT(store, [Archive(store.prefix).pending()], [ident, count])
    newest: list[bytes] = [*waiting, *done][:count]
    return newest[::-1]


async def matches(store: Store, ident: str) -> dict[str, int]:
    """How many URLs each ignore pattern has matched."""
    return await _counts(store, Crawls(store.prefix).matches(ident))


async def hosts(store: Store, ident: str) -> dict[str, tuple[int, int]]:
    """Responses and bytes of each host."""
    found = await _counts(store, Crawls(store.prefix).hosts(ident))
    names = [field.removesuffix(" count") for field in found if field.endswith(" count")]
    return {name: (found[f"{name} count"], found.get(f"{name} bytes", 0)) for name in names}


async def minutes(store: Store, ident: str) -> dict[str, int]:
    """Responses by time and class, as `TIMESTAMP CLASS`; `step` is the seconds between times."""
    return await _counts(store, Crawls(store.prefix).minutes(ident))


async def _counts(store: Store, key: str) -> dict[str, int]:
    found = await store.call("HGETALL", key)
    texts = {name.decode(errors="replace"): value for name, value in found.items()}
    return {name: int(value) for name, value in texts.items() if value.isdigit()}
