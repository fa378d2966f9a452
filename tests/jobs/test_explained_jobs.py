"""Why a job waits, ended or was retried, and why an event does not run."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.jobs import acting
from tests.jobs.acting import NOW, finish, job
from watchbell.errors import NotFound
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Link, Server
from watchbell.jobs import definitions, explain, timetable
from watchbell.jobs.claims import LeftOut
from watchbell.jobs.decide import actions, explanation
from watchbell.jobs.decide.explanation import EventFacts, Explained, JobFacts
from watchbell.jobs.decide.placement import FleetState, ServerState
from watchbell.jobs.job_packing import fields
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import (
    Action,
    Activity,
    Event,
    EventState,
    Job,
    JobReference,
    Limit,
    Timing,
)
from watchbell.settings import Jobs as JobsSettings
from watchbell.store.client import Store

BACKUP = Event(id="backup", title="Backup", limits=(Limit(type="job", amount=1),))
RETRY = Limit(type="retry", amount=2)


def fleet(**more: Any) -> FleetState:
    server = ServerState(id="s1", name="db-1", groups=("main",), **more)
    return FleetState({"s1": server}, {"main": "Main"})


def headline(one: Job, **more: Any) -> str:
    facts: dict[str, Any] = {"job": one, "event": BACKUP, "fleet": fleet(), **more}
    return explanation.job(JobFacts(**facts)).headline


@pytest.mark.parametrize(
    ("fields", "facts", "words"),
    [
        ({"state": "start_delay"}, {}, "waits until its start delay is over"),
        ({"state": "start_delay"}, {"is_suspended": True}, f"waits: {actions.SUSPENDED}"),
        ({"state": "queued"}, {"is_suspended": True}, f"waits: {actions.SUSPENDED}"),
        ({"state": "retry_delay", "retry_count": 1}, {}, "waits before attempt 2"),
        ({"state": "ready"}, {}, "is about to be given a server"),
        (
            {"state": "queued"},
            {"queue_place": 2},
            "waits: another job of this event is in progress, the most at a time; 2 jobs ahead",
        ),
        (
            {"state": "queued"},
            {"slot_place": 0, "fleet": fleet(slots=4)},
            "waits: all 4 slots on db-1 are in use",
        ),
        (
            {"state": "queued"},
            {"slot_place": 0, "fleet": fleet(is_online=False)},
            "waits: db-1 is offline",
        ),
        ({"state": "queued", "reason": "because"}, {}, "waits: because"),
        ({"state": "active", "remote": True}, {}, "runs on db-1"),
        ({"state": "active", "remote": True}, {"is_aborting": True}, "is being aborted on db-1"),
        ({"state": "active"}, {}, "is being handed over to db-1"),
        (
            {"state": "active", "remote": True},
            {"fleet": fleet(is_online=False)},
            "was running on db-1, which can't be reached; it goes on if the server comes back",
        ),
        ({"state": "finishing"}, {}, "has ended, and its record is being written"),
        ({"state": "complete"}, {}, "failed: disk full"),
        ({"state": "complete", "code": 0, "description": ""}, {}, "succeeded"),
        (
            {"state": "complete", "code": "abort", "description": "the server db-1 was lost"},
            {},
            "was aborted: the server db-1 was lost",
        ),
    ],
)
def test_the_headline_says_how_a_job_is(
    fields: Mapping[str, Any], facts: Mapping[str, Any], words: str
) -> None:
    one = job(**{"targets": ("main",), **fields})
    assert headline(one, **facts) == f"Job j1 of Backup {words}"


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (job(limits=(RETRY,), jobs=(JobReference("j2", "retry"),), retried=True), "attempt 2 of 3"),
        (job(limits=(RETRY,), retry_count=2), "not retried: it was attempt 3 of 3"),
        (job(), "not retried: its event has no retry limit"),
        (job(code=0), "not retried: it succeeded"),
        (
            job(code="abort", limits=(RETRY,)),
            "not retried: jobs that are aborted on purpose are not retried",
        ),
    ],
)
def test_it_says_whether_a_job_was_retried_and_why(ended: Job, words: str) -> None:
    lines = [line.text for line in explanation.job(JobFacts(job=ended, event=BACKUP)).lines]
    assert any(line.endswith(words) for line in lines), lines


def test_the_activity_of_a_job_is_part_of_it() -> None:
    one = job(activity=(Activity(epoch=NOW, msg="The server came back."),))
    lines = explanation.job(JobFacts(job=one, event=None)).lines
    assert (lines[-1].text, lines[-1].at) == ("The server came back.", NOW)


HOURLY = timetable.of((Timing(type="schedule", minutes=(0,)),), "UTC")
OVER = timetable.of((Timing(type="single", epoch=60),), "UTC")
CONTINUOUS = timetable.of((Timing(type="continuous"),), "UTC")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"obstacle": "the event is disabled"}, "does not run: the event is disabled"),
        ({}, "runs only on demand: it has no timing that starts it"),
        ({"timetable": HOURLY, "next_run": NOW}, f"runs {HOURLY.describes()}"),
        ({"timetable": OVER}, f"runs {OVER.describes()}: there is no further run"),
        ({"timetable": CONTINUOUS}, "runs all the time"),
        (
            {"timetable": CONTINUOUS, "is_stopped": True},
            "does not run: somebody aborted it; it runs again once it is changed or run by hand",
        ),
    ],
)
def test_the_headline_says_whether_an_event_runs(facts: Mapping[str, Any], words: str) -> None:
    given: dict[str, Any] = {"event": BACKUP, "category": None, "obstacle": "", **facts}
    assert explanation.event(EventFacts(**given)).headline == f"Backup {words}"


def test_an_event_says_where_its_jobs_would_wait_and_how_the_last_ones_ended() -> None:
    state = EventState(last_job="j9", last_code=3, last_completed=NOW, failures=4)
    facts = EventFacts(
        event=BACKUP,
        category=None,
        obstacle="",
        fleet=fleet(is_enabled=False),
        state=state,
        in_progress=1,
        queued=7,
    )
    assert [line.text for line in explanation.event(facts).lines] == [
        "its jobs would wait: db-1 is disabled",
        "1 of at most 1 in progress",
        "7 in the queue",
        "its last job, j9, failed with code 3",
        "its last 4 jobs failed",
    ]


async def explained(store: Store, name: str) -> Explained:
    return await explain.subject(store, JobsSettings(), name, NOW)


async def test_a_finished_job_is_explained_with_its_actions(store: Store) -> None:
    mail = Action(trigger="error", type="email", email="alice@example.com")
    other = Action(trigger="complete", type="email", email="alice@example.com", source="category")
    success = Action(trigger="success", type="disable")
    off = Action(trigger="error", type="snapshot", enabled=False)
    await finish(store, job(mail, other, success, off))
    await acting.carry_out(store)
    found = await explained(store, "j1")
    assert found.headline == "Job j1 of Backup failed: disk full"
    lines = [line.text for line in found.lines]
    assert lines[:3] == ["launched by schedule", "started", "ended, after 9.0 s"]
    words = "email to alice@example.com waiting; no gateway for email is running"
    same = "not carried out, action 1 does the same"
    assert lines[4:] == [
        f"action 1, email to alice@example.com on error: {words}",
        f"action 2, email to alice@example.com on complete: {same}",
        "action 3, disable on success: not carried out, its trigger is success",
        "action 4, snapshot on error: not carried out, it is disabled",
    ]


async def live(store: Store, one: Job) -> Jobs:
    await acting.known(store)
    keys = Jobs(store.prefix)
    words = [word for pair in fields(one).items() for word in pair]
    await store.call("HSET", keys.job(one.id), *words)
    return keys


async def test_a_job_in_a_queue_says_how_many_are_before_it(store: Store) -> None:
    keys = await live(store, job(state="queued", targets=("main",)))
    limit = {"limits": [{"type": "job", "amount": 2}]}
    await definitions.update(store, "event", "backup", limit, acting.WHO, NOW)
    await store.call("ZADD", keys.queued("backup"), 1, "j0", 2, "j1")
    assert (await explained(store, "j1")).headline == (
        "Job j1 of Backup waits: 2 other jobs of this event are in progress, the most at a time; "
        "1 job ahead"
    )


async def test_a_job_that_waits_for_a_slot_says_on_which_servers(store: Store) -> None:
    keys = await live(store, job(state="queued", targets=("main",)))
    server = Server(id="s1", hostname="db-1", groups=("main",), max_jobs=4)
    fleet_keys = Fleet(store.prefix)
    await store.call("HSET", fleet_keys.servers(), "s1", msgspec.json.encode(server))
    link = Link(session="1", process="web", since=NOW)
    await store.call("HSET", fleet_keys.links(), "s1", msgspec.json.encode(link))
    seconds, _ = await store.call("TIME")
    await store.call("ZADD", fleet_keys.seen(), int(seconds), "s1")
    await store.call("ZADD", keys.waiting("main"), 1, "j0", 2, "j1")
    assert (await explained(store, "j1")).headline == (
        "Job j1 of Backup waits: all 4 slots on db-1 are in use; 1 job ahead"
    )


async def test_a_suspended_job_says_so(store: Store) -> None:
    keys = await live(store, job(state="start_delay"))
    await store.call("SADD", keys.suspended(), "j1")
    assert (await explained(store, "j1")).headline == f"Job j1 of Backup waits: {actions.SUSPENDED}"


async def test_an_event_is_found_by_its_title(store: Store) -> None:
    await acting.known(store)
    await definitions.update(store, "event", "backup", {"enabled": False}, acting.WHO, NOW)
    for name in ("backup", "BACKUP"):
        found = await explained(store, name)
        assert found.headline == "Backup does not run: the event is disabled"
    with pytest.raises(NotFound, match="no job and no event 'nothing'"):
        await explained(store, "nothing")


async def test_spoilt_records_are_explained_as_far_as_they_can_be_read(store: Store) -> None:
    keys = await live(store, job(state="queued"))
    await store.call("SET", keys.queued("backup"), "spoilt")
    await store.call("HSET", keys.event_states(), "backup", "{")
    assert "waits" in (await explained(store, "j1")).headline
    await store.call("DEL", keys.queued("backup"))
    assert (await explained(store, "backup")).headline.startswith("Backup runs only on demand")


async def test_an_event_says_when_it_runs_next(store: Store) -> None:
    await acting.known(store)
    timings = {"timings": [{"type": "schedule", "minutes": [0]}]}
    await definitions.update(store, "event", "backup", timings, acting.WHO, NOW)
    (line,) = [one for one in (await explained(store, "backup")).lines if one.text == "next run"]
    assert line.at == NOW // 3600 * 3600 + 3600


async def test_a_continuous_event_that_somebody_aborted_says_so(store: Store) -> None:
    await acting.known(store)
    timings = {"timings": [{"type": "continuous"}]}
    await definitions.update(store, "event", "backup", timings, acting.WHO, NOW - 60)
    assert (await explained(store, "backup")).headline == "Backup runs all the time"
    await finish(store, job(code="abort"))
    state = msgspec.json.encode(EventState(last_job="j1", last_code="abort"))
    await store.call("HSET", Jobs(store.prefix).event_states(), "backup", state)
    assert "somebody aborted it" in (await explained(store, "backup")).headline


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "a scheduled run was left out: too late"),
        (1_200, "1,200 scheduled runs were left out: too late"),
        (None, "many scheduled runs were left out: too late"),
    ],
)
async def test_an_event_says_which_runs_were_left_out(
    store: Store, number: int | None, words: str
) -> None:
    note = LeftOut(at=NOW, first=1, last=2, number=number, reason="too late")
    key = Jobs(store.prefix).left_out()
    await store.call("HSET", key, "backup", msgspec.json.encode(note))
    found = await explain.of_event(store, JobsSettings(), BACKUP, NOW)
    assert explanation.Line(words, NOW) in found.lines
    await store.call("HSET", key, "backup", "nonsense")
    spoiled = await explain.of_event(store, JobsSettings(), BACKUP, NOW)
    assert not [line for line in spoiled.lines if "left out" in line.text]
