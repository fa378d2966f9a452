"""Why a crawl waits, runs, is paused or is over, in words. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from watchbell.archive import phrases
from watchbell.archive.crawl_records import is_taken, state_of
from watchbell.archive.crawl_watch import Verdict
from watchbell.archive.model import Crawl, CrawlState
from watchbell.archive.pipelines import KnownPipeline
from watchbell.archive.queues import PENDING, PENDING_LARGE, queue_order
from watchbell.units import in_words


class QueuePlace(Struct, frozen=True):
    queue: str
    ahead: int


def explain(
    crawl: Crawl,
    *,
    place: QueuePlace | None,
    pipelines: Sequence[KnownPipeline],
    verdict: Verdict,
    lease: float,
    expires_in: int | None,
    now: float,
) -> str:
    """`place` is None for a crawl in no queue. `pipelines` are those with a record. `verdict` is
    that of the reaper, `expires_in` the seconds until the record of an ended crawl is forgotten."""
    state = state_of(crawl)
    if state in ("completed", "aborted", "failed"):
        return _over(crawl, state, expires_in)
    if is_taken(crawl):
        return _at_work(crawl, pipelines, verdict, now)
    if place is None:
        return "It is in no queue: another program has registered it and not queued it yet."
    why = _waiting(crawl, place, [one for one in pipelines if one.silent < lease])
    return f"{why} It is {crawl.reason}." if crawl.reason else why


def _over(crawl: Crawl, state: CrawlState, expires_in: int | None) -> str:
    words = f"It {phrases.ended(state, crawl.reason)}."
    if expires_in is None:
        return words
    return f"{words} It can be archived again in {in_words(max(0, expires_in))}."


def _at_work(crawl: Crawl, pipelines: Sequence[KnownPipeline], verdict: Verdict, now: float) -> str:
    names = [one.name for one in pipelines if one.record.id == crawl.pipeline_id]
    name = names[0] if names else crawl.pipeline_id or "a pipeline that gave no name"
    if verdict.action == "return":
        return f"It goes {verdict.reason}."
    if verdict.action == "abort":
        return f"It is {verdict.reason}."
    if verdict.action == "alarm":
        return f"It is on {name}, but there is trouble: {verdict.reason}."
    if crawl.settings.abort_requested:
        return f"{name} is ending it, because it was aborted."
    if crawl.settings.is_paused:
        return f"It is paused on {name}. It goes on once it is resumed."
    if not crawl.started_at:
        return f"It runs on {name}."
    return f"It has been running on {name} for {in_words(max(0, int(now - crawl.started_at)))}."


def _waiting(crawl: Crawl, place: QueuePlace, alive: Sequence[KnownPipeline]) -> str:
    if crawl.settings.is_paused:
        return f"It is paused in {place.queue}. It is passed over until it is resumed."
    if not alive:
        return f"It waits in {place.queue}, and no pipeline is running."
    fitting = [one for one in alive if takes_from(one, place.queue)]
    if not fitting:
        return f"It waits in {place.queue}: {_nobody_takes(place.queue)}."
    willing = [one for one in fitting if one.record.status == "Running" and not one.should_stop]
    if not willing:
        return f"It waits in {place.queue}: all pipelines that may take it are stopping."
    if all(one.capacity is not None and not one.capacity.has_space for one in willing):
        words = "the disk of each pipeline that may take it is full (see archive.reserve)"
        return f"It waits in {place.queue}: {words}."
    ahead = f"{place.ahead} crawl{' is' if place.ahead == 1 else 's are'} ahead of it"
    if all(one.capacity is not None and one.capacity.is_full for one in willing):
        number = "the pipeline" if len(willing) == 1 else f"all {len(willing)} pipelines"
        words = f"{number} that may take it {'is' if len(willing) == 1 else 'are'} full"
        return f"It waits in {place.queue}: {words}" + (f", and {ahead}." if place.ahead else ".")
    if place.ahead:
        return f"It waits in {place.queue}: {ahead}."
    return f"It is the next in {place.queue}. A pipeline takes it within seconds."


def takes_from(pipeline: KnownPipeline, queue: str) -> bool:
    """Whether a pipeline looks into this queue. One of another program may take large crawls."""
    capacity = pipeline.capacity
    tags = [queue.partition(":")[2]] if ":" in queue else []
    only_pages = capacity is not None and capacity.only_pages
    large = capacity is None or capacity.large
    nickname = pipeline.record.nickname
    return queue in queue_order(nickname, tags, only_pages=only_pages, large=large)


def _nobody_takes(queue: str) -> str:
    if queue == PENDING_LARGE:
        return "no pipeline that is running takes large crawls"
    if queue == PENDING:
        return "all pipelines that are running take single pages only"
    tag = queue.partition(":")[2]
    return f"no pipeline that is running has {tag!r} in its nickname and takes sites"
