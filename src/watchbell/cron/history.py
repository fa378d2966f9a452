"""What is known of runs, and of fires that were not run, for people who look."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Detail, Omission, Record, Status, decoded, parsed
from watchbell.errors import NotFound, Refused
from watchbell.runs.output_store import OutputLine, OutputStore
from watchbell.store.client import Store
from watchbell.store.script import READ, Script

Verdict = Literal["success", "fail"]

# KEYS rundata; ARGV[1] beginning of results, ARGV[2] the middle, then names of jobs. Returns for
# each the last success and the last failure, each as run, score and record.
_LAST = Script(
    READ
    + """
local answers = {}
for i = 3, #ARGV do
  local found = {}
  for _, verdict in ipairs({'success', 'fail'}) do
    local key = ARGV[1] .. ARGV[i] .. ARGV[2] .. verdict
    local last = read('ZRANGE', key, -1, -1, 'WITHSCORES') or {}
    if last[1] then
      last[3] = redis.call('HGET', KEYS[1], last[1])
      found[#found + 1] = last
    end
  end
  answers[#answers + 1] = found
end
return answers
"""
)

# KEYS rundata; ARGV[1] beginning of results, ARGV[2] the middle, ARGV[3] how many, then names of
# jobs. Returns for each its latest runs that ended, the newest first, each as run, score, verdict,
# and what its record says of status and duration. Records end with the duration, after whatever was
# printed, so that it is looked for there first.
_SPANS = Script(
    READ
    + """
local function last(key, verdict, into)
  local found = read('ZREVRANGE', key, 0, ARGV[3] - 1, 'WITHSCORES') or {}
  for i = 1, #found, 2 do into[#into + 1] = {found[i], found[i + 1], verdict} end
end

local function told(record)
  local took = string.match(string.sub(record, -100), '[^\\\\]"duration":%s*([%d.]+)')
  if took then return took end
  local is_json, fields = pcall(cjson.decode, record)
  return is_json and type(fields) == 'table' and tostring(fields.duration or '') or ''
end

local answers = {}
for i = 4, #ARGV do
  local runs = {}
  for _, verdict in ipairs({'success', 'fail'}) do
    last(ARGV[1] .. ARGV[i] .. ARGV[2] .. verdict, verdict, runs)
  end
  table.sort(runs, function(a, b) return tonumber(a[2]) > tonumber(b[2]) end)
  local kept = {}
  for n = 1, math.min(#runs, tonumber(ARGV[3])) do
    local record = redis.call('HGET', KEYS[1], runs[n][1])
    if record then
      runs[n][4] = told(record)
      runs[n][5] = string.find(record, '"status":%s*"frozen"') and 'frozen' or ''
      kept[#kept + 1] = runs[n]
    end
  end
  answers[#answers + 1] = kept
end
return answers
"""
)
_SPANS_AT_ONCE = 25

# KEYS rundata; ARGV[1] cursor, ARGV[2] the beginning of an id. Returns the next cursor, and the ids
# of this slice that begin so.
_PREFIXED = Script("""
local slice = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 1000)
local found = {}
for i = 1, #slice[2], 2 do
  local run = slice[2][i]
  if string.sub(run, 1, #ARGV[2]) == ARGV[2] then found[#found + 1] = run end
end
return {slice[1], found}
""")
_MOST_NAMED = 5


class RunRecord(Struct, frozen=True):
    """A run, as it is in the store."""

    id: str
    record: Record
    detail: Detail
    ended: float | None = None


class Span(Struct, frozen=True):
    """How a run that ended fared, in short."""

    id: str
    ended: float
    status: Status
    duration: float | None = None


class Place(NamedTuple):
    """Of a run among those that ended."""

    ended: float
    id: str


async def spans(store: Store, names: Sequence[bytes], most: int) -> list[list[Span]]:
    """Of each of these jobs the latest runs, the newest first."""
    keys = Cron(store.prefix)
    begin, middle, _ = keys.job_results.literals
    found: list[list[Span]] = []
    for first in range(0, len(names), _SPANS_AT_ONCE):
        some = names[first : first + _SPANS_AT_ONCE]
        answers = await _SPANS(store, [keys.runs()], [begin, middle, most, *some])
        found += [[_span(*one) for one in answer] for answer in answers]
    return found


def _span(run: bytes, score: bytes, verdict: bytes, took: bytes, frozen: bytes) -> Span:
    status: Status = "success" if verdict == b"success" else "frozen" if frozen else "fail"
    return Span(run.decode(errors="replace"), float(score), status, _number(took))


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


async def lasts(store: Store, names: Sequence[bytes]) -> list[RunRecord | None]:
    """The last run of each of these jobs that ended."""
    if not names:
        return []
    keys = Cron(store.prefix)
    begin, middle, _ = keys.job_results.literals
    answers = await _LAST(store, [keys.runs()], [begin, middle, *names])
    return [_newest(answer) for answer in answers]


def _newest(found: Iterable[Any]) -> RunRecord | None:
    seen = [_seen(run, record, None, float(score)) for run, score, record in found]
    known = [one for one in seen if one]
    return max(known, key=lambda one: one.ended or 0, default=None)


def _seen(
    run: bytes, raw: bytes | None, more: bytes | None, ended: float | None
) -> RunRecord | None:
    record = decoded(raw) if raw is not None else None
    if record is None:
        return None
    return RunRecord(run.decode(errors="replace"), record, parsed(more, Detail) or Detail(), ended)


async def active(store: Store, most: int = 0) -> list[RunRecord]:
    """The runs under way, the one that gave no sign of life for longest first; 0 is for all."""
    runs = await store.call("ZRANGE", Cron(store.prefix).active(), 0, most - 1)
    return await _all(store, [(run, None) for run in runs])


async def ended(
    store: Store, job: str = "", verdicts: Sequence[Verdict] = ("success", "fail"), most: int = 50
) -> list[RunRecord]:
    """The latest runs of a job, or of all, that ended in these ways; the newest first."""
    return (await ended_before(store, None, job, verdicts, most))[0]


async def ended_before(
    store: Store,
    place: Place | None,
    job: str = "",
    verdicts: Sequence[Verdict] = ("success", "fail"),
    most: int = 50,
) -> tuple[list[RunRecord], Place | None]:
    """As `ended`, of those before a place; and the place after which there are more."""
    keys = Cron(store.prefix)
    found: list[tuple[bytes, float]] = []
    for verdict in verdicts:
        key = keys.job_results(job, verdict) if job else keys.results(verdict)
        found += await _before(store, key, place, most + 1)
    found.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)
    seen = await _all(store, found[:most])
    if len(found) <= most:
        return seen, None
    run, at = found[most - 1]
    return seen, Place(at, run.decode(errors="replace"))


async def _before(
    store: Store, key: str, place: Place | None, most: int
) -> list[tuple[bytes, float]]:
    """Runs that ended at the very time of the place are told apart by their ids."""
    top: float | str = "+inf" if place is None else place.ended
    found: list[tuple[bytes, float]] = []
    offset = 0
    while True:
        answer = await store.call(
            "ZREVRANGEBYSCORE", key, top, "-inf", "WITHSCORES", "LIMIT", offset, most
        )
        some = _scored(answer)
        found += [(run, at) for run, at in some if place is None or (at, run) < _bound(place)]
        if len(some) < most or len(found) >= most:
            return found[:most]
        offset += len(some)


def _bound(place: Place) -> tuple[float, bytes]:
    return place.ended, place.id.encode()


def _scored(answer: list[Any]) -> list[tuple[bytes, float]]:
    """Members with their scores, whether the client paired them or not."""
    if answer and isinstance(answer[0], tuple | list):
        return [(one[0], float(one[1])) for one in answer]
    return [(run, float(at)) for run, at in zip(answer[::2], answer[1::2], strict=True)]


async def some(store: Store, ids: Sequence[str]) -> dict[str, RunRecord]:
    """Those of these runs that are known."""
    return {one.id: one for one in await _all(store, [(run.encode(), None) for run in ids])}


async def _all(store: Store, runs: Sequence[tuple[bytes, float | None]]) -> list[RunRecord]:
    if not runs:
        return []
    names = [run for run, _ in runs]
    records = await store.call("HMGET", Cron(store.prefix).runs(), *names)
    details = await store.call("HMGET", CronOwn(store.prefix).details(), *names)
    seen = [
        _seen(run, record, detail, at)
        for (run, at), record, detail in zip(runs, records, details, strict=True)
    ]
    return [one for one in seen if one]


async def run(store: Store, run_id: str) -> RunRecord:
    """The run of this id, or the only one whose id begins so."""
    found = await _all(store, [(run_id.encode(), None)])
    if not found:
        found = await _all(store, [(run, None) for run in await _beginning(store, run_id)])
    if not found:
        raise NotFound(f"there is no run {run_id!r}")
    if len(found) > 1:
        shown = ", ".join(one.id for one in found[:_MOST_NAMED])
        raise Refused(
            f"several runs begin with {run_id!r}: {shown}"
            f"{' and others' if len(found) > _MOST_NAMED else ''}; give more of the id"
        )
    return found[0]


async def _beginning(store: Store, prefix: str) -> list[bytes]:
    """Ids that begin so; of many some."""
    key, cursor, found = Cron(store.prefix).runs(), b"0", set[bytes]()
    while len(found) <= _MOST_NAMED:
        cursor, some = await _PREFIXED(store, [key], [cursor, prefix])
        found.update(some)
        if cursor == b"0":
            break
    return sorted(found)[: _MOST_NAMED + 1] if prefix else []


def output(store: Store, run_id: str) -> OutputStore:
    return OutputStore(store, Cron(store.prefix).output(run_id))


def follow(store: Store, run_id: str) -> AsyncIterator[list[OutputLine]]:
    """Everything that a run has printed, and prints until it ends."""

    async def is_over() -> bool:
        return (await run(store, run_id)).record.status != "running"

    return output(store, run_id).follow(is_over)


async def latest(store: Store, job: str) -> RunRecord | None:
    """The run of a job that goes on, the newest of several; else the one that ended last."""
    active_ones = [one for one in await active(store) if one.record.job_name == job]
    if active_ones:
        return max(active_ones, key=lambda one: one.record.start_time)
    last = (await lasts(store, [job.encode()]))[0]
    return await run(store, last.id) if last else None


async def run_or_latest(store: Store, word: str) -> RunRecord:
    """The run of this id, else the latest of the job of this name, else by the beginning of an
    id."""
    exact = await _all(store, [(word.encode(), None)])
    found = exact[0] if exact else await latest(store, word)
    if found:
        return found
    if await store.call("HEXISTS", Cron(store.prefix).jobs(), word):
        raise NotFound(f"job {word!r} has not run yet")
    try:
        return await run(store, word)
    except NotFound:
        raise NotFound(f"there is no job and no run {word!r}") from None


async def check_job(store: Store, job: str) -> None:
    """NotFound for a job of which nothing is known: no definition, no run, no missed fire."""
    keys, own = Cron(store.prefix), CronOwn(store.prefix)
    known = [keys.job_results(job, "success"), keys.job_results(job, "fail")]
    if await store.call("HEXISTS", keys.jobs(), job):
        return
    if await store.call("EXISTS", *known, own.job_omissions(job)):
        return
    if not any(one.record.job_name == job for one in await active(store)):
        raise NotFound(f"there is no job {job!r}; `watchbell cron list` lists all")


async def omissions(store: Store, job: str = "", most: int = 50, skip: int = 0) -> list[Omission]:
    """Fires of a job, or of all, that were not run; the newest first, after some."""
    own = CronOwn(store.prefix)
    key = own.job_omissions(job) if job else own.omissions()
    texts = await store.call("LRANGE", key, skip, skip + most - 1)
    found = [parsed(text, Omission) for text in texts]
    return [omission for omission in found if omission]
