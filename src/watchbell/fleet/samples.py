"""What servers use: the latest sample of each, one of each minute of a day, and the average of each
hour of a month; and of the last minute, everything, and eight values of each second."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from watchbell.errors import Refused
from watchbell.fleet import validation
from watchbell.fleet.keys import Fleet
from watchbell.fleet.machine_sample import MachineSample
from watchbell.fleet.model import Quick, Sample
from watchbell.fleet.validation import MOST_QUICK
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import READ, Script

MINUTES = 1_440
HOURS = 31 * 24

# KEYS samples, machines; ARGV[1] the beginning of the keys of minutes, ARGV[2] how many are kept,
# ARGV[3] msgpack: {server, sample, the minute it is of, or 0}, ARGV[4] msgpack: {server, its full
# sample}, ARGV[5] the beginning of the keys of quick values, ARGV[6] how many are kept, ARGV[7]
# msgpack: {server, {values, oldest first}}. Returns for each sample those of the hour before,
# newest first, where it begins an hour.
_RECORD = Script(
    READ
    + """
local function moment(text)
  local known, sample = pcall(cjson.decode, text or '')
  return known and type(sample) == 'table' and tonumber(sample.at) or 0
end
for _, one in ipairs(cmsgpack.unpack(ARGV[4])) do
  redis.pcall('HSET', KEYS[2], one[1], one[2])
end
for _, one in ipairs(cmsgpack.unpack(ARGV[7])) do
  local key = ARGV[5] .. one[1]
  redis.pcall('LPUSH', key, unpack(one[2]))
  redis.pcall('LTRIM', key, 0, ARGV[6] - 1)
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

# KEYS hours; ARGV[1] sample, ARGV[2] its hour, ARGV[3] how many are kept. It is left out where the
# last one is of the same hour or the next; one that is still later is from before the clock was set
# back.
_RECORD_HOUR = Script(
    READ
    + """
local known, last = pcall(cjson.decode, read('LINDEX', KEYS[1], 0) or '')
local at = known and type(last) == 'table' and tonumber(last.at) or 0
local later = math.floor(at / 3600) - ARGV[2]
if later == 0 or later == 1 then return end
redis.pcall('LPUSH', KEYS[1], ARGV[1])
redis.pcall('LTRIM', KEYS[1], 0, ARGV[3] - 1)
"""
)


# KEYS machines, then the quick values of servers; ARGV[1] how many of each are read, ARGV[2] 1 if
# full samples are, then the servers. Returns of each its full sample, empty where there is none or
# it is not read, and its values, newest first.
_NEWEST = Script(
    READ
    + """
local found = {}
for i = 2, #KEYS do
  local machine = ARGV[2] == '1' and read('HGET', KEYS[1], ARGV[i + 1])
  found[i - 1] = {machine or '', read('LRANGE', KEYS[i], 0, ARGV[1] - 1) or {}}
end
return found
"""
)

# KEYS a list; ARGV[1] how many. Returns the first ones.
_LIST = Script(READ + "return read('LRANGE', KEYS[1], 0, ARGV[1] - 1) or {}")

_NONE: Mapping[str, Sequence[Quick]] = {}
_encode = msgspec.msgpack.Encoder().encode


class Sampled(Struct, frozen=True):
    server: str
    sample: Sample
    is_minute: bool
    """Whether it is kept as the sample of its minute."""


class Machine(Struct, frozen=True):
    """The full sample of a server."""

    server: str
    hostname: str
    at: float
    packed: bytes
    """As its agent has sent it, once it was found valid."""


class Newest(Struct, frozen=True):
    """What is kept of the last minute of a server."""

    data: dict[str, Any] | None
    """Its full sample."""
    quick: tuple[Quick, ...]
    """Oldest first."""


async def record(
    store: Store,
    sampled: Sequence[Sampled],
    machines: Sequence[Machine] = (),
    quick: Mapping[str, Sequence[Quick]] = _NONE,
) -> None:
    """All in one call, with another one for each server of which an hour has ended."""
    keys = Fleet(store.prefix)
    packed = [
        [one.server, msgspec.json.encode(one.sample).decode(), _minute(one)] for one in sampled
    ]
    beginning = keys.sample_minutes.literals[0]
    full = [[one.server, verbatim(_encode([one.hostname, one.at, one.packed]))] for one in machines]
    values = [[server, [verbatim(_encode(one)) for one in each]] for server, each in quick.items()]
    ended = await _RECORD(
        store,
        [keys.samples(), keys.machines()],
        [
            *(beginning, MINUTES, _encode(packed)),
            *(_encode(full), keys.quick.literals[0], MOST_QUICK, _encode(values)),
        ],
    )
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
    return await _newest_first(store, Fleet(store.prefix).sample_minutes(server), most)


async def hours(store: Store, server: str, most: int = HOURS) -> list[Sample]:
    """Newest first; each is the average of its hour."""
    return await _newest_first(store, Fleet(store.prefix).sample_hours(server), most)


async def _newest_first(store: Store, key: str, most: int) -> list[Sample]:
    return _samples(await _LIST(store, [key], [most]))


async def newest(store: Store, servers: Sequence[str]) -> dict[str, Newest]:
    """By server; one call for all."""
    found = await packed(store, servers)
    return {
        server: Newest(unpacked(machine), quick_values(values))
        for server, (machine, values) in found.items()
    }


async def machine(store: Store, server: str) -> dict[str, Any] | None:
    """The last full sample of a server."""
    return (await newest(store, [server]))[server].data


async def quick(store: Store, servers: Sequence[str]) -> dict[str, tuple[Quick, ...]]:
    """The last minute of each; oldest first."""
    found = await packed(store, servers, with_machines=False)
    return {server: quick_values(values) for server, (_, values) in found.items()}


async def packed(
    store: Store, servers: Sequence[str], *, with_machines: bool = True
) -> dict[str, tuple[bytes | None, tuple[bytes, ...]]]:
    """For each server its full sample and its quick values, oldest first, as they are stored."""
    keys = Fleet(store.prefix)
    if not servers:
        return {}
    names = [keys.machines(), *(keys.quick(one) for one in servers)]
    found = await _NEWEST(store, names, [MOST_QUICK, int(with_machines), *servers])
    return {
        server: (machine or None, tuple(reversed(ring)))
        for server, (machine, ring) in zip(servers, found, strict=True)
    }


def unpacked(raw: bytes | None) -> dict[str, Any] | None:
    """A stored full sample. None where there is none, or other programs have spoiled it."""
    if raw is None:
        return None
    try:
        hostname, at, packed = msgspec.msgpack.decode(raw, type=tuple[str, float, bytes])
        return as_data(validation.machine(packed, hostname, at))
    except (msgspec.MsgspecError, UnicodeDecodeError, Refused):
        return None


def expression_values(data: Mapping[str, Any]) -> dict[str, Any]:
    """A full sample as expressions see it: with the connections where xyOps has them, too."""
    return {**data, "conns": data["connections"]["list"]}


def as_data(sample: MachineSample) -> dict[str, Any]:
    """As it is in JSON."""
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(sample))
    return data


def quick_values(stored: Iterable[bytes]) -> tuple[Quick, ...]:
    found = (_quick(raw) for raw in stored)
    return tuple(one for one in found if one is not None)


def _quick(raw: bytes) -> Quick | None:
    try:
        return msgspec.msgpack.decode(raw, type=Quick)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _samples(texts: Iterable[bytes]) -> list[Sample]:
    return [sample for text in texts if (sample := _sample(text)) is not None]


def _sample(text: bytes) -> Sample | None:
    try:
        return msgspec.json.decode(text, type=Sample)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
