"""What the store has after a job has ended."""

from typing import Any

import msgspec
import pytest

from tests.jobs.logs import NOW, Printer, begun, job
from watchbell.alerting.keys import Alerting
from watchbell.clock import SetClock
from watchbell.jobs import job_records
from watchbell.jobs.finish_scripts import FinishedJob
from watchbell.jobs.finisher import Finisher
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, Event, EventState, Job, Limit, Tag
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store

KEYS = Jobs()
END = NOW + 60
RETRY = Limit(type="retry", amount=1)
URL = "https://bell.example.com"


@pytest.fixture
def finisher(store: Store) -> Finisher:
    return Finisher(store, Settings(), URL, SetClock(END + 1), most_events=100)


async def define(store: Store, event: Event) -> None:
    await store.call("HSET", KEYS.events(), event.id, msgspec.json.encode(event))


async def end(store: Store, one: Job, **result: Any) -> None:
    """Ends a job as the session of its agent does."""
    raw = msgspec.json.encode({"at": END, "code": 0, "elapsed": 60, **result})
    await begun(store, msgspec.structs.replace(one, state="finishing"), result=raw)
    await store.call("RPUSH", KEYS.finishing(), one.id)


async def finish(finisher: Finisher) -> None:
    while batch := await finisher.taker.take():
        await finisher.process(batch)


async def record(store: Store, job_id: str = "j1") -> job_records.JobRecord:
    found = (await job_records.find(store, [job_id]))[0]
    assert found is not None
    return found


async def events(store: Store) -> list[dict[str, Any]]:
    found = await store.call("LRANGE", Alerting().events(), 0, -1)
    return [msgspec.json.decode(one) for one in found]


async def test_a_job_that_ended_is_recorded_and_gone_from_everything_live(
    store: Store, finisher: Finisher
) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job(server="s1", username="alice", source="user"))
    await Printer(store).print(b"saved\n")
    await finish(finisher)
    found = await record(store)
    assert not found.is_live
    assert (found.job.state, found.job.code, found.job.elapsed) == ("complete", 0, 60)
    assert [chunk.text for chunk in found.log] == [b"saved\n"]
    gone = [KEYS.job("j1"), KEYS.live(), KEYS.server_jobs("s1"), KEYS.occupied("e1")]
    gone += [KEYS.log("j1"), KEYS.finishing()]
    assert await store.call("EXISTS", *gone) == 0
    for field, value in [
        ("event", "e1"),
        ("server", "s1"),
        ("username", "alice"),
        ("source", "user"),
        ("tag", "_success"),
        ("category", "general"),
    ]:
        assert await store.call("ZSCORE", KEYS.done_by(field, value), "j1") == END
    assert await store.call("ZSCORE", KEYS.done(), "j1") == END
    [check] = await events(store)
    assert (check["entity"], check["check"], check["state"]) == ("jobs", "e1", "ok")
    await store.call("DEL", KEYS.archiving())


async def test_the_state_of_an_event_counts_its_jobs(store: Store, finisher: Finisher) -> None:
    await define(store, Event(id="e1", title="Backup"))
    for n, code in enumerate([0, 1, "critical"]):
        await end(store, job(f"j{n}"), at=END - 10 + n, code=code, elapsed=5)
    await end(store, job("jtest", test=True))
    await end(store, job("jretried", limits=(RETRY,)), code=1)
    await finish(finisher)
    raw = await store.call("HGET", KEYS.event_states(), "e1")
    state = msgspec.json.decode(raw, type=EventState)
    assert (state.last_job, state.last_code, state.failures) == ("j2", "critical", 2)
    assert (state.total_count, state.total_elapsed, state.last_elapsed) == (3, 15, 5)
    assert state.recent == ((END - 10, 5, 0), (END - 9, 5, 1), (END - 8, 5, 1))


async def test_a_result_that_comes_late_does_not_count_as_the_last(
    store: Store, finisher: Finisher
) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job("j1"), at=END)
    await finish(finisher)
    await end(store, job("j2"), at=END - 30, code=1)
    await finish(finisher)
    raw = await store.call("HGET", KEYS.event_states(), "e1")
    state = msgspec.json.decode(raw, type=EventState)
    assert (state.last_job, state.failures, state.total_count) == ("j1", 0, 2)


async def test_a_failed_job_is_launched_again(store: Store, finisher: Finisher) -> None:
    await define(store, Event(id="e1", title="Backup"))
    mail = Action(trigger="error", type="email", email="alice@example.com")
    await end(store, job(limits=(RETRY,), actions=(mail,)), code=3)
    await finish(finisher)
    first = (await record(store)).job
    assert first.retried
    [reference] = first.jobs
    second = await record(store, reference.id)
    assert second.is_live
    assert (second.job.state, second.job.retry_count, second.job.retry_prev) == ("ready", 1, "j1")
    assert await store.call("LRANGE", KEYS.ready(), 0, -1) == [reference.id.encode()]
    assert await store.call("LLEN", KEYS.actions()) == 0
    assert await events(store) == []
    await store.call(
        "HSET", KEYS.job(second.job.id), "state", '"finishing"', "_result", '{"code":3}'
    )
    await store.call("RPUSH", KEYS.finishing(), second.job.id)
    await finish(finisher)
    assert (await record(store, second.job.id)).job.tags == ("_error", "_last")
    assert await store.call("LLEN", KEYS.actions()) == 1
    assert [check["state"] for check in await events(store)] == ["critical"]


async def test_the_next_job_of_the_event_gets_the_place(store: Store, finisher: Finisher) -> None:
    await begun(store, job("jnext", state="queued"))
    await store.call("ZADD", KEYS.queued("e1"), 1, "jnext")
    await store.call("SADD", KEYS.queued_events(), "e1")
    await end(store, job(server="s1"))
    await finish(finisher)
    assert (await record(store, "jnext")).job.state == "ready"
    assert await store.call("LRANGE", KEYS.ready(), 0, -1) == [b"jnext"]
    await store.call("DEL", KEYS.archiving())


async def test_jobs_count_for_limits_by_day_of_how_they_end(
    store: Store, finisher: Finisher
) -> None:
    limits = (Limit(type="day", condition="error", amount=5), Limit(type="day", amount=5))
    await end(store, job(limits=limits), code=1)
    await end(store, job("j2", limits=limits), code=0)
    await finish(finisher)
    key = KEYS.launches_of_day("20261115")
    assert await store.call("HGETALL", key) == {b"e1:error": b"1"}


async def test_a_job_updates_its_event(store: Store, finisher: Finisher) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job(update_event={"enabled": False}))
    await finish(finisher)
    changed = msgspec.json.decode(await store.call("HGET", KEYS.events(), "e1"), type=Event)
    assert (changed.enabled, changed.revision) == (False, 2)


async def test_a_change_that_is_refused_is_in_the_activity_log(
    store: Store, finisher: Finisher
) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job(update_event={"timings": "nonsense"}))
    await finish(finisher)
    [line] = (await record(store)).job.activity
    assert line.msg.startswith("The event was not changed: timings")


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"script": "evil"}},
        {"targets": ["main"]},
        {"plugin": "other"},
        {"category": "other"},
        {"actions": [{"trigger": "success", "type": "run_event", "event_id": "e2"}]},
        {"notes": "harmless", "triggers": [{"type": "manual", "params": {"script": "evil"}}]},
    ],
)
async def test_a_job_does_not_change_what_its_event_runs(
    store: Store, finisher: Finisher, changes: dict[str, Any]
) -> None:
    event = Event(id="e1", title="Backup", targets=("s1",))
    await define(store, event)
    await end(store, job(update_event=changes))
    await finish(finisher)
    kept = msgspec.json.decode(await store.call("HGET", KEYS.events(), "e1"), type=Event)
    assert kept == event
    [line] = (await record(store)).job.activity
    assert line.msg.startswith("The event was not changed: a job can't change ")


async def test_tags_that_exist_are_kept(store: Store, finisher: Finisher) -> None:
    await store.call("HSET", KEYS.tags(), "slow", msgspec.json.encode(Tag(id="slow", title="S")))
    await end(store, job(tags=("slow", "nosuch")))
    await finish(finisher)
    assert (await record(store)).job.tags == ("slow", "_success", "_last")


async def test_a_long_log_stays_until_it_is_archived(store: Store, finisher: Finisher) -> None:
    await end(store, job(), elapsed=1)
    printer = Printer(store)
    for n in range(2_000):
        await printer.print(b"%d\n" % (n * n * 7919))
    await finish(finisher)
    found = await record(store)
    assert found.log == ()
    assert found.job.log_file_size == len(printer.printed)
    assert await store.call("XLEN", KEYS.log("j1")) == 2_000
    assert await store.call("LRANGE", KEYS.archiving(), 0, -1) == [b"j1"]


async def test_a_failure_is_reported_with_the_end_of_the_log(
    store: Store, finisher: Finisher
) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job(), code=2, description="no space left")
    await Printer(store).print(b"\xff disk full\n")
    await finish(finisher)
    [check] = await events(store)
    assert check["state"] == "critical"
    assert "no space left" in check["summary"]
    assert "disk full" in check["details"]
    assert "https://bell.example.com/jobs/job?id=j1" in check["details"]


async def test_a_job_whose_event_was_deleted_reports_nothing(
    store: Store, finisher: Finisher
) -> None:
    await end(store, job(), code=2)
    await finish(finisher)
    assert (await record(store)).job.code == 2
    assert await events(store) == []


async def test_only_the_end_of_a_long_chunk_is_reported(store: Store, finisher: Finisher) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job(), code=2, elapsed=1)
    raw = b"begin" + bytes(n * n * 31 % 251 for n in range(300_000)) + b"the end"
    await Printer(store).print(raw)
    await finish(finisher)
    found = await record(store)
    assert (found.log, found.job.log_file_size) == ((), len(raw))
    [check] = await events(store)
    assert check["details"].endswith("the end")
    assert len(check["details"]) < 10_000


async def test_recording_a_job_again_changes_nothing(store: Store, finisher: Finisher) -> None:
    await define(store, Event(id="e1", title="Backup"))
    await end(store, job(limits=(RETRY,)), code=1)
    await store.call("RPUSH", KEYS.finishing(), "j1", "j1", "jgone")
    await finish(finisher)
    before = await store.call("ZCARD", KEYS.live()), await events(store)
    await store.call("RPUSH", KEYS.finishing(), "j1")
    await finish(finisher)
    assert (await store.call("ZCARD", KEYS.live()), await events(store)) == before
    assert before[0] == 1


async def test_a_job_that_has_not_ended_is_left_alone(store: Store, finisher: Finisher) -> None:
    await begun(store, job(state="active"))
    await store.call("RPUSH", KEYS.finishing(), "j1")
    await finish(finisher)
    assert (await record(store)).is_live
    assert await store.call("LLEN", KEYS.finishing()) == 0


async def test_an_action_result_that_comes_between_is_not_lost(
    store: Store, finisher: Finisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Action(trigger="start", type="web_hook", url="https://example.com")
    await end(store, job(actions=(start,)))
    batch = await finisher.taker.take()
    assert batch
    acknowledge = finisher.taker.acknowledge

    async def late(*arguments: Any) -> Any:
        """Between loading and applying, an action's result is written."""
        done = msgspec.json.encode([msgspec.structs.replace(start, code=0)])
        await store.call("HSET", KEYS.job("j1"), "actions", done)
        return await acknowledge(*arguments)

    monkeypatch.setattr(finisher.taker, "acknowledge", late)
    await finisher.process(batch)
    assert (await record(store)).is_live
    monkeypatch.undo()
    await finish(finisher)
    found = await record(store)
    assert not found.is_live
    assert found.job.actions[0].code == 0


@pytest.mark.parametrize(
    "key",
    [
        KEYS.done_by("event", "e1"),
        KEYS.event_states(),
        KEYS.occupied("e1"),
        KEYS.server_jobs("s1"),
        KEYS.log("j1"),
        KEYS.log_parts("j1"),
        KEYS.tags(),
        KEYS.launches_of_day("20261115"),
        KEYS.suspended(),
        Alerting().events(),
    ],
)
async def test_a_spoiled_key_does_not_keep_jobs_from_being_recorded(
    store: Store, finisher: Finisher, key: str
) -> None:
    await define(store, Event(id="e1", title="Backup"))
    limits = (Limit(type="day", condition="success", amount=5),)
    await end(store, job(server="s1", limits=limits))
    await store.call("DEL", key)
    await store.call("SET", key, "nonsense")
    await finish(finisher)
    found = await record(store)
    assert not found.is_live
    assert await store.call("EXISTS", KEYS.job("j1"), KEYS.live()) == 0
    await store.call("DEL", key)


@pytest.mark.parametrize("field", ["event", "state", "_result", "limits", "id"])
async def test_a_job_with_a_spoiled_field_ends_nevertheless(
    store: Store, finisher: Finisher, field: str
) -> None:
    await end(store, job(limits=(RETRY,)))
    await store.call("HSET", KEYS.job("j1"), field, "\x00nonsense")
    await finish(finisher)
    found = await record(store)
    assert not found.is_live
    assert found.job.id == "j1"
    for key in await store.call("KEYS", KEYS.job("*")):
        await store.call("DEL", key)


async def test_a_job_that_kills_its_finishers_is_recorded_without_what_it_said(
    store: Store, finisher: Finisher
) -> None:
    await end(store, job(data={"deadly": True}))
    batch = await finisher.taker.take()
    assert batch
    deadly = msgspec.structs.replace(batch, attempts=3)
    await finisher.process(deadly)
    found = (await record(store)).job
    assert (found.code, found.data) == ("unknown", None)


async def test_a_job_that_can_not_be_packed_is_recorded_without_what_it_said(
    store: Store, finisher: Finisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = FinishedJob.packed

    def packed(done: FinishedJob, keys: Jobs) -> msgspec.Raw:
        if done.completion.job.data:
            raise OverflowError("too large")
        return pack(done, keys)

    monkeypatch.setattr(FinishedJob, "packed", packed)
    await end(store, job("j1", data={"size": "too large"}))
    await end(store, job("j2"))
    await finish(finisher)
    assert (await record(store, "j2")).job.code == 0
    assert "without what it reported" in (await record(store, "j1")).job.description
