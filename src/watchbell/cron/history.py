"""Finds, lists and follows runs in the store, and lists the fires that were not run."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Detail, Omission, Record, decoded, parsed
from watchbell.errors import NotFound, Refused
from watchbell.runs.output_store import OutputLine, OutputStore
from watchbell.store.client import Store
from watchbell.store.script import Script

Verdict = Literal["success", "fail"]

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


class Place(NamedTuple):
    """The place of a run in the list of ended runs."""

    ended: float
    id: str


def run_record(
    run: bytes, raw: bytes | None, more: bytes | None, ended: float | None
) -> RunRecord | None:
    """None if the stored record can't be read."""
    record = decoded(raw) if raw is not None else None
    if record is None:
        return None
    return RunRecord(run.decode(errors="replace"), record, parsed(more, Detail) or Detail(), ended)


async def active(store: Store, most: int = 0) -> list[RunRecord]:
    """Runs in progress, the one with the oldest heartbeat first; with `most` 0, all of them."""
    runs = await store.call("ZRANGE", Cron(store.prefix).active(), 0, most - 1)
    return await _all(store, [(run, None) for run in runs])


async def running(store: Store) -> dict[str, tuple[str, ...]]:
    """The ids of runs in progress, by job."""
    found: dict[str, tuple[str, ...]] = {}
    for one in await active(store):
        found[one.record.job_name] = (*found.get(one.record.job_name, ()), one.id)
    return found


async def ended(
    store: Store, job: str = "", verdicts: Sequence[Verdict] = ("success", "fail"), most: int = 50
) -> list[RunRecord]:
    """The latest runs of a job, or of all jobs, that ended with these verdicts; newest first."""
    return (await ended_before(store, None, job, verdicts, most))[0]


async def ended_before(
    store: Store,
    place: Place | None,
    job: str = "",
    verdicts: Sequence[Verdict] = ("success", "fail"),
    most: int = 50,
) -> tuple[list[RunRecord], Place | None]:
    """As `ended`, but only runs before a place. Also returns where the next page begins."""
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
    """Runs that ended at the same time are ordered by their ids."""
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
    """Members with their scores, from a reply that the client paired or did not pair."""
    if answer and isinstance(answer[0], tuple | list):
        return [(one[0], float(one[1])) for one in answer]
    return [(run, float(at)) for run, at in zip(answer[::2], answer[1::2], strict=True)]


async def some(store: Store, ids: Sequence[str]) -> dict[str, RunRecord]:
    """Records of these runs, without runs that are not stored."""
    return {one.id: one for one in await _all(store, [(run.encode(), None) for run in ids])}


async def _all(store: Store, runs: Sequence[tuple[bytes, float | None]]) -> list[RunRecord]:
    if not runs:
        return []
    names = [run for run, _ in runs]
    records = await store.call("HMGET", Cron(store.prefix).runs(), *names)
    details = await store.call("HMGET", CronOwn(store.prefix).details(), *names)
    seen = [
        run_record(run, record, detail, at)
        for (run, at), record, detail in zip(runs, records, details, strict=True)
    ]
    return [one for one in seen if one]


async def run(store: Store, run_id: str) -> RunRecord:
    """The run of this id, or the only one whose id has it as a prefix."""
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
    """Ids with this prefix; some of them where there are many."""
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
    """All output of a run, followed until the run ends."""

    async def is_over() -> bool:
        return (await run(store, run_id)).record.status != "running"

    return output(store, run_id).follow(is_over)


async def check_job(store: Store, job: str) -> None:
    """Raises NotFound for a job that has no definition, no run and no missed run."""
    keys, own = Cron(store.prefix), CronOwn(store.prefix)
    known = [keys.job_results(job, "success"), keys.job_results(job, "fail")]
    if await store.call("HEXISTS", keys.jobs(), job):
        return
    if await store.call("EXISTS", *known, own.job_omissions(job)):
        return
    if not any(one.record.job_name == job for one in await active(store)):
        raise NotFound(f"there is no job {job!r}; `watchbell cron list` lists all")


async def omissions(store: Store, job: str = "", most: int = 50, skip: int = 0) -> list[Omission]:
    """Fires that were not run, of a job or of all jobs; newest first, without the first `skip`."""
    own = CronOwn(store.prefix)
    key = own.job_omissions(job) if job else own.omissions()
    texts = await store.call("LRANGE", key, skip, skip + most - 1)
    found = [parsed(text, Omission) for text in texts]
    return [omission for omission in found if omission]
