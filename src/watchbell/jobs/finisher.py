"""The finisher: takes jobs that have ended, and records them with all that follows from their end.

A job changes its event before it is recorded, since that is not part of the script. The change can
be repeated, so nothing is lost if a finisher dies in between.
"""

import zlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from redis.exceptions import ResponseError

from watchbell import ids, logs
from watchbell.actors import Actor
from watchbell.clock import Clock
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet.model import Server
from watchbell.jobs import check_reports, definitions, finish_scripts, links
from watchbell.jobs.decide import completion, event_changes
from watchbell.jobs.decide.completion import Result
from watchbell.jobs.finish_scripts import Ended, FinishedJob
from watchbell.jobs.job_changes import SHARED
from watchbell.jobs.keys import Jobs
from watchbell.jobs.launches import day_of
from watchbell.jobs.log_lines import Chunk
from watchbell.jobs.model import Event, Job
from watchbell.jobs.timelines import WORTH_KEEPING
from watchbell.probes import probe
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store, patiently
from watchbell.store.enduring import enduring
from watchbell.store.queue import Batch, Queue, Taker
from watchbell.store.replies import text

INLINE = 1 << 10
"""Bytes that a compressed log may have as part of the record."""
_MOST = 100
_DEADLY = 3
"""Finishers that may die with a job in hand before it is recorded without what it said."""
_UNREADABLE = Result(
    code=completion.UNKNOWN, description="The job is recorded without what it reported."
)


class Finisher:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        base_url: str,
        clock: Clock,
        *,
        most_events: int,
        lease: float = 15,
        most: int = _MOST,
    ) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._base_url, self._most_events = base_url, most_events
        self._keys = Jobs(store.prefix)
        queue = Queue(key=self._keys.finishing(), side="LEFT")
        self.taker = Taker(store, queue, lease=lease, most=most)
        self.done = 0
        """Jobs recorded so far."""
        self._log = logs.get(role="conductor")

    async def run(self) -> None:
        """Any number may run side by side."""

        async def handle(batch: Batch) -> None:
            await enduring(lambda: self.process(batch), "conductor", "finished jobs")

        await self.taker.work(handle, role="conductor")

    async def process(self, batch: Batch) -> None:
        """Loads, decides and applies, and acknowledges the batch."""
        now = self._clock.now()
        names = list(dict.fromkeys(text(item) for item in batch.items))
        tags, found = await patiently(lambda: finish_scripts.load(self._store, names))
        probe("jobs.finish_loaded")
        finished = [
            await self._finished(ended, tags, now, is_deadly=batch.attempts >= _DEADLY)
            for ended in found
            if ended
        ]
        probe("jobs.finish_decided")
        day = day_of(now, self._settings.timezone)
        answer = await self.taker.acknowledge(
            batch, *finish_scripts.apply_arguments(self._store, finished, self._most_events, day)
        )
        probe("jobs.finished")
        outcomes, refused = answer or ((), ())
        self.done += sum(outcome == b"done" for outcome in outcomes)
        for reason in refused:
            self._log.error("the store refused a part of a job's end", reason=text(reason))

    async def _finished(
        self, ended: Ended, tags: set[str], now: float, *, is_deadly: bool
    ) -> msgspec.Raw:
        """The packed item for the script. What can't be decided or packed concerns one job only."""
        if not is_deadly:
            try:
                result = completion.result(ended.record.own.get("_result"))
                return (await self._decided(ended, result, tags, now)).packed(self._keys)
            except Exception:  # noqa: BLE001 it is recorded without what can't be handled
                self._log.exception("a job's end can't be handled", job=ended.record.job.id)
        bare = replace(ended.record, job=_bare(ended.record.job))
        made = await self._decided(replace(ended, record=bare), _UNREADABLE, tags, now)
        return made.packed(self._keys)

    async def _decided(
        self, ended: Ended, result: Result, tags: set[str], now: float
    ) -> FinishedJob:
        event = None if ended.record.job.type == "adhoc" else _event(ended.event)
        done = completion.complete(
            _with_size(ended),
            result,
            known_tags=tags,
            retry_id=ids.record_id("j", now),
            now=now,
            shared=completion.shared_data(ended.record.job, ended.record.own.get(SHARED)),
        )
        lines = await self._changed_event(done.job, now) if done.job.update_event else []
        if lines:
            activity = completion.with_activity(done.job, lines, now)
            done = replace(done, job=replace(done.job, activity=activity))
        log = ended.log_end if ended.has_all and _is_short(ended.log_end) else []
        return FinishedJob(
            completion=done,
            version=ended.version,
            report=self._report(done.job, event, ended),
            log=log,
            keeps_log=not ended.has_all or len(log) < len(ended.log_end),
            keeps_timelines=done.job.elapsed >= WORTH_KEEPING,
        )

    async def _changed_event(self, job: Job, now: float) -> list[str]:
        """Makes the changes that the job wants. Returns why it was not possible, if so."""
        if reason := event_changes.refusal(job.update_event):
            return [f"The event was not changed: {reason}."]
        who = Actor(name=f"job {job.id}", way="system")
        try:
            await patiently(
                lambda: definitions.update(
                    self._store, "event", job.event, job.update_event, who, now
                )
            )
        except (Refused, Changed, NotFound) as error:
            return [f"The event was not changed: {error}."]
        except ResponseError as error:
            self._log.error("an event was not changed", job=job.id, exc_info=error)
            return ["The event was not changed: the store refused it."]
        probe("jobs.event_changed")
        return []

    def _report(
        self, job: Job, event: Event | None, ended: Ended
    ) -> check_reports.CheckReport | None:
        """None also where the event was deleted: no later job could end its failure."""
        if event is None:
            return None
        return check_reports.job_ended(
            job,
            title=event.title,
            host=_hostname(ended.server) or job.server,
            link=links.job_page(self._base_url, job.id) if self._base_url else "",
            log_end=b"".join(chunk.text for chunk in ended.log_end).decode(errors="replace"),
        )


def _is_short(log: Sequence[Chunk]) -> bool:
    return len(zlib.compress(b"".join(chunk.text for chunk in log))) <= INLINE


def _with_size(ended: Ended) -> Job:
    """The job with the size of the log in the store: whoever reads it later relies on it."""
    known = ended.log_end[-1].end if ended.log_end else 0
    job = ended.record.job
    return replace(job, log_file_size=max(job.log_file_size, known, 0 if ended.has_all else 1))


def _bare(job: Job) -> Job:
    return replace(
        job,
        **dict.fromkeys(("data", "perf", "table", "html", "text", "markdown", "parent")),
        **dict.fromkeys(("actions", "limits", "files", "activity"), ()),
        **{name: {} for name in ("update_event", "params", "input")},
    )


def _event(raw: bytes | None) -> Event | None:
    try:
        return msgspec.json.decode(raw, type=Event) if raw else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _hostname(raw: bytes | None) -> str:
    try:
        return msgspec.json.decode(raw, type=Server).hostname if raw else ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
