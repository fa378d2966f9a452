import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.jobs.assigned import connected
from tests.jobs.dispatching import texts
from tests.jobs.logs import NOW, files_in, job
from watchbell.clock import SetClock
from watchbell.errors import Refused
from watchbell.files.objects import Files
from watchbell.fleet.messages import Report, Result
from watchbell.jobs import history, job_packing, job_records, late_results, reports
from watchbell.jobs.history import Page, Query
from watchbell.jobs.history_index import index_keys
from watchbell.jobs.history_limiter import HistoryLimiter
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Job
from watchbell.jobs.workflow_model import JobWorkflow
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store

KEYS = Jobs()
DAY = 86_400


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return files_in(tmp_path)


async def finish(store: Store, *jobs: Job) -> None:
    """Records jobs as the finisher does."""
    for one in jobs:
        await store.call("HSET", KEYS.finished(), one.id, job_packing.pack(one))
        for key in (KEYS.done(), *index_keys(KEYS, one)):
            await store.call("ZADD", key, f"{one.completed:.6f}", one.id)


def over(number: int, **more: object) -> Job:
    values: dict[str, object] = {"state": "complete", "completed": NOW + number, "elapsed": 1}
    values |= {"tags": ("_success", "_last")} | more
    return job(f"j{number:04}", **values)


def names(page: Page) -> list[str]:
    return [one.id for one in page.jobs]


async def test_the_newest_jobs_come_first_page_by_page(store: Store) -> None:
    await finish(store, *(over(n) for n in range(25)))
    first = await history.search(store, Query(), 10)
    assert names(first) == [f"j{n:04}" for n in range(24, 14, -1)]
    second = await history.search(store, Query(), 10, first.following or "")
    third = await history.search(store, Query(), 10, second.following or "")
    assert names(third) == ["j0004", "j0003", "j0002", "j0001", "j0000"]
    assert third.following is None


async def test_jobs_of_the_same_time_are_neither_repeated_nor_left_out(store: Store) -> None:
    expected = [over(n, completed=NOW) for n in range(30)]
    await finish(store, *expected)
    seen, after = list[str](), ""
    while True:
        page = await history.search(store, Query(), 7, after)
        seen += names(page)
        if page.following is None:
            break
        after = page.following
    assert seen == [one.id for one in reversed(expected)]


async def test_jobs_that_finish_between_two_pages_shift_nothing(store: Store) -> None:
    await finish(store, *(over(n) for n in range(10)))
    first = await history.search(store, Query(), 5)
    await finish(store, over(99))
    second = await history.search(store, Query(), 5, first.following or "")
    assert names(second) == ["j0004", "j0003", "j0002", "j0001", "j0000"]


FIELDS = {
    "events": ("e1", "e2", "e3"),
    "categories": ("general", "web"),
    "servers": ("s1", "s2", ""),
    "usernames": ("alice", "bob", ""),
    "sources": ("user", "scheduler"),
}
ATTRIBUTES = {
    "events": "event",
    "categories": "category",
    "servers": "server",
    "usernames": "username",
    "sources": "source",
}


def chance_job(number: int, chance: random.Random) -> Job:
    code = chance.choice([0, 0, 0, 1, "warning", "critical", "abort"])
    tags = [tag for tag in ("nightly", "slow") if chance.random() < 0.3]
    tags.append("_error" if code else "_success")
    values = {ATTRIBUTES[field]: chance.choice(some) for field, some in FIELDS.items()}
    at = NOW + chance.randrange(100)
    return over(number, completed=at, code=code, tags=tuple(tags), **values)


def matches(one: Job, query: Query) -> bool:
    """The rule, without any index."""
    for field, attribute in ATTRIBUTES.items():
        wanted = getattr(query, field)
        if wanted and getattr(one, attribute) not in wanted:
            return False
    outcome = {"success"} if not one.code else {"error", str(one.code)}
    is_code = not query.codes or bool(outcome & set(query.codes))
    is_time = (query.since or 0) <= one.completed < (query.until or NOW + DAY)
    return is_code and is_time and set(query.tags) <= set(one.tags)


async def test_searches_find_what_the_rule_says(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_STEP", 7)
    chance = random.Random(7)
    jobs = [chance_job(number, chance) for number in range(200)]
    await finish(store, *jobs)
    jobs.sort(key=lambda one: (one.completed, one.id), reverse=True)
    for _ in range(60):
        chosen: dict[str, object] = {
            field: tuple(chance.sample([one for one in some if one], chance.choice([1, 2])))
            for field, some in FIELDS.items()
            if chance.random() < 0.3
        }
        if chance.random() < 0.4:
            chosen["codes"] = (chance.choice(["success", "error", "1", "abort"]),)
        if chance.random() < 0.4:
            chosen["tags"] = ("nightly",)
        if chance.random() < 0.5:
            chosen |= {"since": NOW + 20, "until": NOW + 80}
        query = Query(**chosen)  # type: ignore[arg-type]
        seen, after = list[str](), ""
        while True:
            page = await history.search(store, query, 9, after)
            seen += names(page)
            if page.following is None:
                break
            after = page.following
        assert seen == [one.id for one in jobs if matches(one, query)], chosen


@pytest.mark.parametrize("others", [0, 30])
async def test_the_jobs_of_a_workflow_are_found(store: Store, files: Files, others: int) -> None:
    launched = JobWorkflow(job="jrun", event="release", node="build")
    away = JobWorkflow(job="jother", event="other", node="build")
    await finish(store, over(1, workflow=launched), over(2, workflow=away), over(3))
    query = Query(workflows=("release", *(f"w{n}" for n in range(others))))
    assert names(await history.search(store, query)) == ["j0001"]
    await history.delete(store, files, ["j0001", "j0002"])
    assert not [one for one in await texts(store, "KEYS", "*") if "done_by:workflow" in one]


async def test_very_many_events_are_searched_as_well(store: Store) -> None:
    await finish(store, *(over(n, event=f"e{n}") for n in range(60)))
    wanted = tuple(f"e{n}" for n in range(0, 60, 2))
    found = await history.search(store, Query(events=wanted), 100)
    assert names(found) == [f"j{n:04}" for n in range(58, -1, -2)]
    assert await history.search(store, Query(events=())) == Page([], None)


async def test_a_search_looks_at_a_limited_number_of_jobs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_STEP", 5)
    monkeypatch.setattr(history, "_GOES", 2)
    rare = over(0, tags=("slow",))
    await finish(store, rare, *(over(n, event="e2") for n in range(1, 40)))
    await finish(store, *(over(n, tags=("slow",)) for n in range(40, 43)))
    many = tuple(f"e{n}" for n in range(100, 130))
    found = await history.search(store, Query(events=("e1", *many)), 10)
    assert names(found) == ["j0042", "j0041", "j0040"]
    assert found.following is not None


@pytest.mark.parametrize("after", ["x", "1-", "1.5", "1e5-j1", "1-j1;", "-j1"])
async def test_a_position_that_is_none_is_refused(store: Store, after: str) -> None:
    with pytest.raises(Refused, match="no position"):
        await history.search(store, Query(), 10, after)


async def test_what_has_no_record_any_more_is_skipped_and_removed(store: Store) -> None:
    await finish(store, over(1), over(2), over(3))
    await store.call("HDEL", KEYS.finished(), "j0002")
    await store.call("HSET", KEYS.finished(), "j0003", "nonsense")
    assert names(await history.search(store, Query(tags=("_success",)))) == ["j0001"]
    assert await store.call("ZSCORE", KEYS.done_by("tag", "_success"), "j0002") is None


async def test_an_index_of_a_wrong_type_finds_nothing(store: Store) -> None:
    await finish(store, over(1))
    await store.call("SET", KEYS.done_by("tag", "odd"), "nonsense")
    assert names(await history.search(store, Query(tags=("odd",)))) == []
    assert names(await history.search(store, Query(tags=("_success", "odd")))) == []
    await store.call("DEL", KEYS.done_by("tag", "odd"))


async def test_a_late_result_leaves_one_line_and_changes_nothing_else(store: Store) -> None:
    server, _ = await connected(store)
    aborted = over(1, code="abort", description="lost", server=server.id)
    foreign = over(2, code="abort", server="another")
    await finish(store, aborted, foreign)
    late = Result(at=NOW, code=0, description="all saved", elapsed=30)
    for _ in range(2):
        late_reports = [Report(one, 1, late) for one in ("j0001", "j0002", "jgone")]
        applied = await reports.apply(store, server.id, "one", late_reports)
        assert sorted(applied.drop) == ["j0001", "j0002", "jgone"]
    found = await job_records.read(store, "j0001")
    assert found is not None
    [line] = found.activity
    assert f"'all saved', came from {server.id} after the job was over" in line.msg
    assert replace(found, activity=()) == aborted
    assert await job_records.read(store, "j0002") == foreign


async def test_the_result_that_a_job_was_recorded_with_may_come_again(store: Store) -> None:
    await finish(store, over(1, server="s1"))
    await late_results.record(store, "j0001", "s1", Result(at=NOW, code=0, elapsed=1), NOW)
    found = await job_records.read(store, "j0001")
    assert found is not None
    assert found.activity == ()


async def test_a_deleted_job_is_gone_with_its_files(store: Store, files: Files) -> None:
    one = over(1, log_file_size=99, server="s1")
    await finish(store, one, over(2))
    await files.put("jobs/j0001/log.gz", b"log")
    await files.put("jobs/j0001/files/f1/a.txt", b"file")
    await store.call("XADD", KEYS.log("j0001"), "1-0", "text", "left")
    assert await history.delete(store, files, ["j0001", "jgone"]) == 1
    assert await history.delete(store, files, ["j0001"]) == 0
    assert [one.name async for one in files.list("jobs")] == []
    assert names(await history.search(store, Query())) == ["j0002"]
    left = [KEYS.done_by("server", "s1"), KEYS.log("j0001")]
    assert await store.call("EXISTS", *left) == 0


async def test_jobs_are_limited_in_number_and_age(store: Store, files: Files) -> None:
    await finish(store, *(over(n) for n in range(30)))
    settings = Settings(finished=20, finished_days=10)
    clock = SetClock(NOW + 30)
    limiter = HistoryLimiter(store, files, settings, clock)
    assert await limiter.delete_some() == 10
    assert await limiter.delete_some() == 0
    assert len(names(await history.search(store, Query()))) == 20
    clock.set(NOW + 10 * DAY + 25)
    await limiter.delete_some()
    assert names(await history.search(store, Query())) == [f"j{n:04}" for n in range(29, 24, -1)]
    assert await store.call("ZCARD", KEYS.done_by("event", "e1")) == 5


async def test_a_job_whose_files_can_not_be_deleted_stops_no_other(
    store: Store, files: Files, tmp_path: Path
) -> None:
    await finish(store, over(1, log_file_size=9), over(2), over(3))
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/j0001").mkdir()
    (tmp_path / "jobs/j0001/log.gz").mkdir()
    (tmp_path / "jobs/j0001/log.gz/in the way").write_text("x")
    limiter = HistoryLimiter(store, files, Settings(finished=1), SetClock(NOW))
    await limiter.delete_some()
    assert "j0002" not in names(await history.search(store, Query()))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (Query(), 6),
        (Query(events=("e1",)), 3),
        (Query(events=("e1",), tags=("red",)), 1),
        (Query(since=NOW + 2, until=NOW + 5), 3),
        (Query(events=()), 0),
        (Query(events=("none",)), 0),
        (Query(events=("e1", "e2")), None),
        (Query(events=("e1",), tags=("red",), since=NOW), None),
    ],
)
async def test_jobs_are_counted_where_the_indexes_can_tell(
    store: Store, query: Query, count: int | None
) -> None:
    await finish(
        store,
        *(over(n, event=f"e{n % 2}", tags=("red",) if n in (2, 3) else ()) for n in range(6)),
    )
    assert await history.count(store, query) == count
    if count is not None:
        assert len((await history.search(store, query)).jobs) == count
