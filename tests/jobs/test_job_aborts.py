"""A job can be aborted in every state, and leaves every list when it is."""

import json

import pytest

from tests.jobs.dispatching import (
    FLEET,
    KEYS,
    Dispatching,
    a_job,
    field,
    finish,
    join,
    launch,
    limited,
    put_event,
    put_job,
    put_server,
    texts,
)
from watchbell.actors import system
from watchbell.errors import NotFound
from watchbell.fleet.model import Server
from watchbell.jobs import aborts
from watchbell.jobs.aborts import Outcome
from watchbell.jobs.model import Event, Job
from watchbell.store.client import Store

ALICE = system("Alice")
NOW = 1_800_000_000.0
ONE = Server(id="s1", hostname="one", groups=("main",), max_jobs=1)


async def abort(store: Store, job: str, reason: str = "no longer needed") -> Outcome:
    return await aborts.abort(store, job, reason, ALICE, now=NOW)


async def check_ended(store: Store, job: str) -> None:
    """The job waits for nothing but its record, and then leaves nothing behind."""
    assert await field(store, job, "state") == "finishing"
    assert await field(store, job, "_result") == {
        "t": "result",
        "at": NOW,
        "code": "abort",
        "description": "no longer needed",
    }
    assert await texts(store, "LRANGE", KEYS.finishing(), 0, -1) == [job]
    await Dispatching(store).dispatch()
    assert await field(store, job, "state") == "finishing"
    await finish(store, job)
    await store.call("DEL", KEYS.finishing(), KEYS.events(), KEYS.sequence())
    ours = ("server", "links", "ready:")  # of the fleet and of the queue itself
    left = await texts(store, "KEYS", "*")
    assert [key for key in left if not any(word in key for word in ours)] == []


@pytest.mark.parametrize("state", ["start_delay", "retry_delay"])
async def test_in_a_delay(store: Store, state: str) -> None:
    job = Job(id="j1", event="e1", state=state, until=NOW)  # type: ignore[arg-type]
    await put_job(store, job)
    await store.call("ZADD", KEYS.delayed(), NOW, "j1")
    assert await abort(store, "j1") is Outcome.ENDED
    assert await store.call("EXISTS", KEYS.delayed()) == 0
    await check_ended(store, "j1")


async def test_while_it_is_ready(store: Store) -> None:
    await put_event(store, Event(id="e1", title="One"))
    await join(store, ONE)
    await launch(store, a_job("j1"))
    assert await abort(store, "j1") is Outcome.ENDED
    await check_ended(store, "j1")


async def test_in_the_queue_of_its_event(store: Store) -> None:
    await put_event(store, limited("e1", 1, queue=5))
    await join(store, ONE)
    await launch(store, a_job("j1"), a_job("j2"))
    await Dispatching(store).dispatch()
    assert await abort(store, "j2") is Outcome.ENDED
    assert await texts(store, "SMEMBERS", KEYS.queued_events()) == []
    await finish(store, "j1")
    await store.call("DEL", FLEET.orders("s1"))
    await check_ended(store, "j2")


async def test_while_it_waits_for_a_slot(store: Store) -> None:
    await put_event(store, Event(id="e1", title="One"))
    await put_server(store, ONE)
    await launch(store, a_job("j1", "e1", "main", "s1"))
    await Dispatching(store).dispatch()
    assert await abort(store, "j1") is Outcome.ENDED
    await check_ended(store, "j1")


async def test_with_a_reserved_slot_which_the_next_one_gets(store: Store) -> None:
    await put_event(store, Event(id="e1", title="One"))
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(1, 4)))
    await Dispatching(store).dispatch()
    await finish(store, "j1")
    assert await field(store, "j2", "_slot") == "s1"
    assert await abort(store, "j2") is Outcome.ENDED
    await finish(store, "j2")
    await Dispatching(store).dispatch()
    assert await field(store, "j3", "state") == "active"


async def test_with_a_server_that_has_not_taken_it(store: Store) -> None:
    await put_event(store, Event(id="e1", title="One"))
    await join(store, ONE)
    await launch(store, a_job("j1"))
    await Dispatching(store).dispatch()
    assert await abort(store, "j1") is Outcome.ENDED
    assert await store.call("EXISTS", FLEET.orders("s1")) == 0
    await check_ended(store, "j1")


@pytest.mark.parametrize(("remote", "boot"), [("true", '"b1"'), ("false", '"b1"')])
async def test_a_job_that_its_agent_has_is_ended_by_the_agent(
    store: Store, remote: str, boot: str
) -> None:
    job = Job(id="j1", event="e1", state="active", server="s1")
    await put_job(store, job, remote=remote, _boot=boot)
    assert await abort(store, "j1") is Outcome.ASKED
    assert await abort(store, "j1", "another reason") is Outcome.ASKED
    assert await texts(store, "LRANGE", FLEET.orders("s1"), 0, -1) == ['{"abort":"j1"}']
    assert await field(store, "j1", "state") == "active"
    assert await field(store, "j1", "_abort") == {
        "reason": "no longer needed",
        "retry_ok": False,
        "by": "Alice",
    }


async def test_a_job_that_has_ended_is_left_as_it_is(store: Store) -> None:
    await put_job(store, Job(id="j1", event="e1", state="finishing"), _result="{}")
    assert await abort(store, "j1") is Outcome.OVER
    assert await field(store, "j1", "_result") == {}


async def test_a_job_that_does_not_exist_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no job 'j1' in progress"):
        await abort(store, "j1")


async def test_a_flushed_queue_is_empty_and_running_jobs_go_on(store: Store) -> None:
    await put_event(store, limited("e1", 1, queue=5))
    await join(store, ONE)
    await launch(store, *(a_job(f"j{n}") for n in range(5)))
    await Dispatching(store).dispatch()
    await store.call("ZADD", KEYS.queued("e1"), 0, "gone")
    assert await aborts.flush_queue(store, "e1", ALICE, now=NOW) == 4
    assert await store.call("EXISTS", KEYS.queued("e1")) == 0
    assert await field(store, "j0", "state") == "active"
    found = json.loads(await store.call("HGET", KEYS.job("j1"), "_result"))
    assert found["description"] == "The queue was flushed by Alice"
    await finish(store, "j0")
    assert await store.call("EXISTS", KEYS.queued_events()) == 0
