"""What is known of runs, and of fires that were not run, for people who look."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from watchbell.cron.keys import Cron, CronOwn
from watchbell.cron.model import Detail, Omission, Record, decoded, parsed
from watchbell.errors import NotFound
from watchbell.store.client import Store
from watchbell.store.script import Script

Verdict = Literal["success", "fail"]

# KEYS rundata; ARGV[1] beginning of results, ARGV[2] the middle, then names of jobs. Returns for
# each the last success and the last failure, each as run, score and record.
_LAST = Script("""
local answers = {}
for i = 3, #ARGV do
  local found = {}
  for _, verdict in ipairs({'success', 'fail'}) do
    local key = ARGV[1] .. ARGV[i] .. ARGV[2] .. verdict
    local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    if last[1] then
      last[3] = redis.call('HGET', KEYS[1], last[1])
      found[#found + 1] = last
    end
  end
  answers[#answers + 1] = found
end
return answers
""")


class Seen(Struct, frozen=True):
    """A run, as it is in the store."""

    id: str
    record: Record
    detail: Detail
    ended: float | None = None


async def lasts(store: Store, names: Sequence[bytes]) -> list[Seen | None]:
    """The last run of each of these jobs that ended."""
    if not names:
        return []
    keys = Cron(store.prefix)
    begin, middle, _ = keys.job_results.literals
    answers = await _LAST(store, [keys.runs()], [begin, middle, *names])
    return [_newest(answer) for answer in answers]


def _newest(found: Iterable[Any]) -> Seen | None:
    seen = [_seen(run, record, None, float(score)) for run, score, record in found]
    known = [one for one in seen if one]
    return max(known, key=lambda one: one.ended or 0, default=None)


def _seen(run: bytes, raw: bytes | None, more: bytes | None, ended: float | None) -> Seen | None:
    record = decoded(raw) if raw is not None else None
    if record is None:
        return None
    return Seen(run.decode(errors="replace"), record, parsed(more, Detail) or Detail(), ended)


async def active(store: Store) -> list[Seen]:
    """The runs under way, the one that gave no sign of life for longest first."""
    runs = await store.call("ZRANGE", Cron(store.prefix).active(), 0, -1)
    return await _all(store, [(run, None) for run in runs])


async def ended(
    store: Store, job: str = "", verdicts: Sequence[Verdict] = ("success", "fail"), most: int = 50
) -> list[Seen]:
    """The latest runs of a job, or of all, that ended in these ways; the newest first."""
    keys = Cron(store.prefix)
    found: list[tuple[bytes, float | None]] = []
    for verdict in verdicts:
        key = keys.job_results(job, verdict) if job else keys.results(verdict)
        answer = await store.call("ZREVRANGE", key, 0, most - 1, "WITHSCORES")
        found += _scored(answer)
    found.sort(key=lambda pair: -(pair[1] or 0))
    return await _all(store, found[:most])


def _scored(answer: list[Any]) -> list[tuple[bytes, float | None]]:
    """Members with their scores, whether the client paired them or not."""
    if answer and isinstance(answer[0], tuple | list):
        return [(one[0], float(one[1])) for one in answer]
    return [(run, float(at)) for run, at in zip(answer[::2], answer[1::2], strict=True)]


async def _all(store: Store, runs: Sequence[tuple[bytes, float | None]]) -> list[Seen]:
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


async def run(store: Store, run_id: str) -> Seen:
    found = await _all(store, [(run_id.encode(), None)])
    if not found:
        raise NotFound(f"there is no run {run_id!r}")
    return found[0]


async def omissions(store: Store, job: str = "", most: int = 50) -> list[Omission]:
    """Fires of a job, or of all, that were not run; the newest first."""
    own = CronOwn(store.prefix)
    key = own.job_omissions(job) if job else own.omissions()
    found = [parsed(text, Omission) for text in await store.call("LRANGE", key, 0, most - 1)]
    return [omission for omission in found if omission]
