"""What servers use: the latest sample of each, one of each minute of a day, and the average of each
hour of a month."""

from collections.abc import Iterable, Sequence
from statistics import fmean

import msgspec
from msgspec import Struct

from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Sample
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

MINUTES = 1_440
HOURS = 31 * 24

# KEYS samples; ARGV[1] the beginning of the keys of minutes, ARGV[2] how many are kept, ARGV[3]
# msgpack: {server, sample, the minute it is of, or 0}. Returns for each the samples of the hour
# before, newest first, where the sample begins an hour.
_RECORD = Script(
    READ
    + """
local function moment(text)
  local known, sample = pcall(cjson.decode, text or '')
  return known and type(sample) == 'table' and tonumber(sample.at) or 0
end
local ended = {}
for i, one in ipairs(cmsgpack.unpack(ARGV[3])) do
  local server, sample, minute = unpack(one)
  redis.pcall('HSET', KEYS[1], server, sample)
  ended[i] = {}
  if minute > 0 then
    local key = ARGV[1] .. server
    local last = math.floor(moment(read('LINDEX', key, 0)) / 60)
    if last == minute then
      redis.pcall('LSET', key, 0, sample)
    else
      if math.floor(last / 60) ~= math.floor(minute / 60) then
        ended[i] = read('LRANGE', key, 0, 59) or {}
      end
      redis.pcall('LPUSH', key, sample)
      redis.pcall('LTRIM', key, 0, ARGV[2] - 1)
    end
  end
end
return ended
"""
)

# KEYS hours; ARGV[1] sample, ARGV[2] its hour, ARGV[3] how many are kept. One of the same hour, or
# a later one, is not replaced.
_RECORD_HOUR = Script(
    READ
    + """
local known, last = pcall(cjson.decode, read('LINDEX', KEYS[1], 0) or '')
local at = known and type(last) == 'table' and tonumber(last.at) or 0
if math.floor(at / 3600) >= tonumber(ARGV[2]) then return end
redis.pcall('LPUSH', KEYS[1], ARGV[1])
redis.pcall('LTRIM', KEYS[1], 0, ARGV[3] - 1)
"""
)


class Sampled(Struct, frozen=True):
    server: str
    sample: Sample
    is_minute: bool
    """Whether it is kept as the sample of its minute."""


async def record(store: Store, sampled: Sequence[Sampled]) -> None:
    """All in one call, with another one for each server of which an hour has ended."""
    keys = Fleet(store.prefix)
    packed = [
        [one.server, msgspec.json.encode(one.sample).decode(), _minute(one)] for one in sampled
    ]
    beginning = keys.sample_minutes.literals[0]
    batch = msgspec.msgpack.encode(packed)
    ended = await _RECORD(store, [keys.samples()], [beginning, MINUTES, batch])
    for one, texts in zip(sampled, ended, strict=True):
        average = _last_hour(_samples(texts))
        if average is not None:
            hour = int(average.at) // 3600
            text = msgspec.json.encode(average)
            await _RECORD_HOUR(store, [keys.sample_hours(one.server)], [text, hour, HOURS])


def _minute(one: Sampled) -> int:
    return int(one.sample.at) // 60 if one.is_minute else 0


def _last_hour(samples: Sequence[Sample]) -> Sample | None:
    """The average of the samples that are of the same hour as the first."""
    if not samples:
        return None
    hour = int(samples[0].at) // 3600
    same = [one for one in samples if int(one.at) // 3600 == hour]
    return Sample(
        at=hour * 3600,
        cpu=round(fmean(one.cpu for one in same), 2),
        load=_mean_load(same),
        memory=int(fmean(one.memory for one in same)),
        memory_total=same[0].memory_total,
        disk=int(fmean(one.disk for one in same)),
        disk_total=same[0].disk_total,
        network_in=round(fmean(one.network_in for one in same), 1),
        network_out=round(fmean(one.network_out for one in same), 1),
        jobs=round(fmean(one.jobs for one in same)),
    )


def _mean_load(samples: Sequence[Sample]) -> tuple[float, float, float]:
    one, five, fifteen = (round(fmean(s.load[i] for s in samples), 2) for i in range(3))
    return one, five, fifteen


async def latest(store: Store) -> dict[str, Sample]:
    """By server."""
    found = await store.call("HGETALL", Fleet(store.prefix).samples())
    parsed = {server.decode(errors="replace"): _sample(raw) for server, raw in found.items()}
    return {server: sample for server, sample in parsed.items() if sample is not None}


async def minutes(store: Store, server: str, most: int = MINUTES) -> list[Sample]:
    """Newest first."""
    key = Fleet(store.prefix).sample_minutes(server)
    return _samples(await store.call("LRANGE", key, 0, most - 1))


async def hours(store: Store, server: str, most: int = HOURS) -> list[Sample]:
    """Newest first; each is the average of its hour."""
    key = Fleet(store.prefix).sample_hours(server)
    return _samples(await store.call("LRANGE", key, 0, most - 1))


def _samples(texts: Iterable[bytes]) -> list[Sample]:
    return [sample for text in texts if (sample := _sample(text)) is not None]


def _sample(text: bytes) -> Sample | None:
    try:
        return msgspec.json.decode(text, type=Sample)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
