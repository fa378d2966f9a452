"""The states of events in memory, which follow those in the store."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.gateways.gates import GatedStore
from tests.jobs.logs import job
from tests.jobs.test_finisher import END, KEYS, URL, define, end, finish
from watchbell import actors
from watchbell.clock import SetClock
from watchbell.jobs import definition_removal, event_states
from watchbell.jobs.event_states import EventStates
from watchbell.jobs.finisher import Finisher
from watchbell.jobs.model import Event, EventState
from watchbell.settings import Jobs as Settings
from watchbell.store.client import Store


async def ended(store: Store, event: str, job_id: str) -> None:
    """A job of an event ends, as the finisher records it."""
    await define(store, Event(id=event, title=event))
    await end(store, replace(job(job_id), event=event))
    await finish(Finisher(store, Settings(), URL, SetClock(END + 1), most_events=100))


async def counts(states: EventStates) -> dict[str, int]:
    return {name: state.total_count for name, state in (await states.current()).items()}


async def test_states_follow_the_jobs_that_end(store: Store) -> None:
    await ended(store, "e1", "j1")
    states = EventStates(store)
    assert await counts(states) == {"e1": 1}
    await ended(store, "e2", "j2")
    await ended(store, "e1", "j3")
    assert await counts(states) == {"e1": 2, "e2": 1}
    assert await states.current() == await event_states.every(store)


async def test_only_states_that_changed_are_read(store: Store) -> None:
    async with GatedStore(store) as gated:
        for number in range(3):
            await ended(store, f"e{number}", f"j{number}")
        states = EventStates(gated)
        await states.current()
        spoiled = msgspec.json.encode(EventState(total_count=9))
        for number in range(3):  # without telling that they changed
            await store.call("HSET", KEYS.event_states(), f"e{number}", spoiled)
        await ended(store, "e1", "j9")
        gated.calls.clear()
        assert await counts(states) == {"e0": 1, "e1": 10, "e2": 1}
        assert len(gated.calls) == 1


async def test_very_many_changes_are_read_in_parts(store: Store) -> None:
    states = EventStates(store)
    assert await states.current() == {}
    raw = msgspec.json.encode(EventState(total_count=1))
    names = [f"e{number:04}" for number in range(1_201)]
    await store.call("HSET", KEYS.event_states(), *(x for name in names for x in (name, raw)))
    scored = [x for number, name in enumerate(names, 1) for x in (number, name)]
    await store.call("ZADD", KEYS.state_changes(), *scored)
    await store.call("SET", KEYS.sequence(), len(names))
    assert sorted(await states.current()) == names


async def test_an_event_that_is_deleted_has_no_state(store: Store) -> None:
    states = EventStates(store)
    await ended(store, "e1", "j1")
    await ended(store, "e2", "j2")
    assert await counts(states) == {"e1": 1, "e2": 1}
    await definition_removal.remove(store, "event", "e1", actors.system("tests"), 2_000)
    states.definition_changed("category", "e2")
    states.definition_changed("event", "e1")
    assert await counts(states) == {"e2": 1}
    assert await store.call("ZRANGE", KEYS.state_changes(), 0, -1) == [b"e2"]


async def test_a_store_that_lost_its_last_changes_is_read_anew(store: Store) -> None:
    await ended(store, "e1", "j1")
    await ended(store, "e2", "j2")
    states = EventStates(store)
    assert await counts(states) == {"e1": 1, "e2": 1}
    await store.call("HDEL", KEYS.event_states(), "e2")
    await store.call("SET", KEYS.sequence(), 1)
    assert await counts(states) == {"e1": 1}


@pytest.mark.parametrize("key", ["state_changes", "event_states", "sequence"])
async def test_a_key_of_another_program_does_not_keep_states_from_being_read(
    store: Store, key: str
) -> None:
    name = getattr(KEYS, key)()
    await ended(store, "e1", "j1")
    await store.call("DEL", name)
    await store.call("RPUSH", name, "odd")
    states = EventStates(store)
    expected = {} if key == "event_states" else {"e1": 1}
    assert await counts(states) == expected
    assert await counts(states) == expected
    await store.call("DEL", name)
