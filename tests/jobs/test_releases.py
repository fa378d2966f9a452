"""A place or a slot that becomes free is given to the job that is next, in the same script."""

from tests.jobs.dispatching import FLEET, KEYS, field, finish, put_job, put_server, texts
from watchbell.fleet.model import Server
from watchbell.jobs.model import Job
from watchbell.store.client import Store


async def running(store: Store, job: str, server: str = "s1", event: str = "e1") -> None:
    await put_job(store, Job(id=job, event=event, state="active", server=server))
    await store.call("SADD", KEYS.occupied(event), job)
    await store.call("SADD", KEYS.server_jobs(server), job)


async def queued(store: Store, job: str, turn: float, event: str = "e1") -> None:
    await put_job(store, Job(id=job, event=event, state="queued", reason="full"), turn)
    await store.call("ZADD", KEYS.queued(event), turn, job)
    await store.call("SADD", KEYS.queued_events(), event)


async def waiting(store: Store, job: str, turn: float, *targets: str, event: str = "e2") -> None:
    record = Job(id=job, event=event, state="queued", targets=targets)
    await put_job(store, record, turn)
    await store.call("SADD", KEYS.occupied(event), job)
    for target in targets:
        await store.call("ZADD", KEYS.waiting(target), turn, job)
        await store.call("SADD", KEYS.waiting_targets(), target)


async def ready(store: Store) -> list[str]:
    return await texts(store, "LRANGE", KEYS.ready(), 0, -1)


async def test_a_place_goes_to_the_job_with_the_lowest_turn(store: Store) -> None:
    await running(store, "j1")
    await queued(store, "j2", turn=2)
    await queued(store, "j3", turn=-5)
    await finish(store, "j1")
    assert await ready(store) == ["j3"]
    assert await texts(store, "SMEMBERS", KEYS.occupied("e1")) == ["j3"]
    assert await field(store, "j3", "state") == "ready"
    assert await field(store, "j3", "reason") is None
    assert await field(store, "j2", "state") == "queued"
    assert await texts(store, "SMEMBERS", KEYS.queued_events()) == ["e1"]


async def test_the_last_job_of_a_queue_takes_its_event_off_the_list(store: Store) -> None:
    await running(store, "j1")
    await queued(store, "j2", turn=2)
    await finish(store, "j1")
    assert await texts(store, "SMEMBERS", KEYS.queued_events()) == []


async def test_a_repeated_release_gives_nothing_away_twice(store: Store) -> None:
    await running(store, "j1")
    await running(store, "j2")
    for turn in range(3, 6):
        await queued(store, f"j{turn}", turn)
    await finish(store, "j1")
    await finish(store, "j1")
    assert await ready(store) == ["j3"]
    assert await texts(store, "SMEMBERS", KEYS.occupied("e1")) == ["j2", "j3"]


async def test_a_slot_goes_to_who_waits_longest_for_the_server_or_its_groups(store: Store) -> None:
    await put_server(store, Server(id="s1", hostname="one", groups=("main", "db")))
    await running(store, "j1")
    await waiting(store, "j2", 2, "main")
    await waiting(store, "j3", 1, "db", "s2")
    await waiting(store, "j4", 0, "other")
    await finish(store, "j1")
    assert await ready(store) == ["j3"]
    assert await field(store, "j3", "_slot") == "s1"
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j3"]
    assert await texts(store, "SMEMBERS", KEYS.waiting_targets()) == ["main", "other"]
    assert await store.call("EXISTS", KEYS.waiting("s2")) == 0


async def test_a_job_that_ends_with_a_reserved_slot_passes_it_on(store: Store) -> None:
    await put_server(store, Server(id="s1", hostname="one", groups=("main",)))
    await running(store, "j1")
    await waiting(store, "j2", 2, "main")
    await waiting(store, "j3", 3, "main")
    await finish(store, "j1")
    await finish(store, "j2")
    assert await field(store, "j3", "_slot") == "s1"
    assert await texts(store, "SMEMBERS", KEYS.server_jobs("s1")) == ["j3"]


async def test_a_job_whose_hash_is_gone_is_passed_over(store: Store) -> None:
    await put_server(store, Server(id="s1", hostname="one", groups=("main",)))
    await running(store, "j1")
    await queued(store, "j2", turn=2)
    await queued(store, "j3", turn=3)
    await waiting(store, "j4", 2, "main")
    await waiting(store, "j5", 3, "main")
    await store.call("DEL", KEYS.job("j2"), KEYS.job("j4"))
    await finish(store, "j1")
    assert sorted(await ready(store)) == ["j3", "j5"]


async def test_a_server_record_that_is_damaged_passes_slots_on_by_its_id(store: Store) -> None:
    await store.call("HSET", FLEET.servers(), "s1", "{no JSON")
    await running(store, "j1")
    await waiting(store, "j2", 2, "s1")
    await finish(store, "j1")
    assert await ready(store) == ["j2"]


async def test_a_job_that_waits_leaves_every_list_when_it_ends(store: Store) -> None:
    await waiting(store, "j2", 2, "main", "s1")
    await queued(store, "j3", 3, event="e3")
    await finish(store, "j2")
    await finish(store, "j3")
    assert await store.call("KEYS", "*") == []
