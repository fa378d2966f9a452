"""Snapshots and watches in the store."""

import pytest
from redis.exceptions import ResponseError

from tests.fleet.crew import NOW
from tests.fleet.snapshot_scene import packed, process, quick, resample, sampled
from watchbell.errors import NotFound, Refused
from watchbell.fleet import groups, samples, servers, snapshots, watches
from watchbell.fleet.keys import Fleet
from watchbell.fleet.minutes import second_of
from watchbell.fleet.model import Watch
from watchbell.fleet.samples import Machine
from watchbell.fleet.snapshot_comparison import compare
from watchbell.fleet.snapshots import Taking
from watchbell.fleet.watches import Watched
from watchbell.store.client import Store


async def test_a_snapshot_has_the_last_sample_and_minute_of_a_server(any_store: Store) -> None:
    server = await sampled(any_store, memory={"used": 7})
    head = await snapshots.take(
        any_store, server.id, source="alert", now=NOW + 5, jobs=["j1"], alerts=["a1"], cause="a1"
    )
    await resample(any_store, server, at=NOW + 60, memory={"used": 9})
    found = await snapshots.get(any_store, head.id)
    assert found.head == head
    assert (head.hostname, head.jobs, head.alerts, head.cause) == ("db-1", ("j1",), ("a1",), "a1")
    (state,) = found.states
    assert state.data
    assert state.data["memory"] == {"used": 7}
    assert (state.data["hostname"], state.data["date"]) == ("db-1", NOW)
    assert state.quickmon == (quick(NOW - 1), quick(NOW))
    assert await snapshots.heads(any_store, 10) == [head]


async def test_the_same_id_takes_one_snapshot(store: Store) -> None:
    server = await sampled(store)
    for now in (NOW, NOW + 9):
        await snapshots.take(store, server.id, source="job", now=now, id="sn1")
    (head,) = await snapshots.heads(store, 10)
    assert head.date == NOW
    with pytest.raises(NotFound):
        await snapshots.take(store, "nobody", source="job", now=NOW)


async def test_a_group_is_shown_with_the_servers_that_were_there(store: Store) -> None:
    group = await groups.create(store, {"title": "Databases"}, "alice", NOW, "db")
    taking = Taking(source="user", now=NOW)
    with pytest.raises(Refused, match="within the last hour"):
        await snapshots.take_group(store, group, taking)
    first, second = [await sampled(store, name, group="db") for name in ("db-1", "db-2")]
    gone = await sampled(store, "db-3", group="db")
    await sampled(store, "web-1")
    await store.call("ZADD", Fleet(store.prefix).seen(), 5, gone.id)
    head, _ = await snapshots.take_group(store, group, taking)
    found = await snapshots.get(store, head.id)
    assert [one.server.id for one in found.states] == [first.id, second.id]
    assert (found.group, head.groups, head.servers) == (group, ("db",), 2)


async def test_the_oldest_are_deleted_first(any_store: Store) -> None:
    server = await sampled(any_store)
    for number in range(6):
        await snapshots.take(
            any_store, server.id, source="user", now=NOW + number, id=f"sn{number}"
        )
    assert await snapshots.prune(any_store, 4, NOW) == 2
    assert await snapshots.prune(any_store, 100, NOW + 3) == 1
    assert await snapshots.prune(any_store, 100, NOW + 3) == 0
    assert [one.id for one in await snapshots.heads(any_store, 10)] == ["sn5", "sn4", "sn3"]
    assert await snapshots.delete(any_store, ["sn5", "sn4", "sn3", "nothing"]) == 3
    assert await any_store.call("EXISTS", Fleet(any_store.prefix).snapshot("sn5")) == 0


async def test_snapshots_of_large_groups_are_bounded_by_their_servers(store: Store) -> None:
    await groups.create(store, {"title": "Shop"}, "alice", NOW, "shop")
    for number in range(3):
        await sampled(store, f"db-{number}", group="shop")
    group = await groups.get(store, "shop")
    for number in range(4):
        taking = Taking(source="watch", now=NOW + number, id=f"sn{number}")
        assert (await snapshots.take_group(store, group, taking))[0].servers == 3
    assert await snapshots.prune(store, 100, 0, most_states=9) == 1
    assert await snapshots.prune(store, 100, 0, most_states=9) == 0
    assert await snapshots.prune(store, 100, 0, most_states=1) == 2
    assert [one.id for one in await snapshots.heads(store, 10)] == ["sn3"]
    assert await snapshots.prune(store, 100, 0, most_states=1) == 0


async def test_what_others_have_spoiled_stops_nothing(store: Store) -> None:
    keys = Fleet(store.prefix)
    server = await sampled(store)
    head = await snapshots.take(store, server.id, source="user", now=NOW)
    await store.call("SET", keys.snapshot(head.id), b"\xc1 nonsense")
    await store.call("HSET", keys.snapshot_heads(), "sn0", b"{")
    await store.call("ZADD", keys.snapshots(), 1, "sn0", 2, "sn-without-a-head")
    await store.call("HSET", keys.machines(), server.id, b"nonsense")
    await store.call("LPUSH", keys.quick(server.id), b"nonsense")
    await store.call("HSET", keys.watches(), "server:x", b"{", "server:y", b'{"type": 1}')
    with pytest.raises(Refused, match="damaged"):
        await snapshots.get(store, head.id)
    assert await snapshots.heads(store, 10) == [head]
    newest = (await samples.newest(store, [server.id, "nobody"]))[server.id]
    assert (newest.data, len(newest.quick)) == (None, 2)
    assert await watches.every(store) == []
    await snapshots.prune(store, 1, 0)
    assert [one.id for one in await snapshots.heads(store, 10)] == [head.id]
    await store.call("HDEL", keys.watches(), "server:x", "server:y")


@pytest.mark.parametrize("spoiled", ["snapshots", "snapshot_heads"])
async def test_keys_of_a_wrong_type_are_read_as_empty(store: Store, spoiled: str) -> None:
    keys = Fleet(store.prefix)
    server = await sampled(store)
    key = getattr(keys, spoiled)()
    await store.call("SET", key, "garbage")
    assert await snapshots.heads(store, 10) == []
    with pytest.raises(NotFound):
        await snapshots.head(store, "sn1")
    with pytest.raises(ResponseError):
        await snapshots.take(store, server.id, source="user", now=NOW, id="sn1")
    left = [keys.snapshots(), keys.snapshot_heads(), keys.snapshot("sn1")]
    assert await store.call("EXISTS", *left) == 1  # nothing but the garbage
    await store.call("DEL", key)


async def test_a_server_that_is_removed_leaves_nothing_but_its_snapshots(store: Store) -> None:
    server = await sampled(store)
    await snapshots.take(store, server.id, source="user", now=NOW, id="sn1")
    await watches.begin(store, Watch(type="server", target=server.id, until=NOW + 60))
    await servers.remove(store, server.id)
    keys = Fleet(store.prefix)
    assert await store.call("EXISTS", keys.machines(), keys.quick(server.id), keys.watches()) == 0
    assert (await snapshots.get(store, "sn1")).head.hostname == "db-1"


async def test_the_last_minute_is_a_ring_of_sixty_values(store: Store) -> None:
    server = await sampled(store)
    for first in range(0, 100, 20):
        values = [quick(NOW + first + n) for n in range(20)]
        await samples.record(
            store, [], [Machine(server.id, "db-1", NOW, packed())], {server.id: values}
        )
    found = (await samples.quick(store, [server.id]))[server.id]
    assert [one.date for one in found] == [NOW + n for n in range(40, 100)]


def test_a_watch_takes_one_snapshot_of_each_minute_after_its_sample() -> None:
    watch = Watch(type="server", target="s1", until=NOW + 3_600)
    begins = NOW - NOW % 60 + 60 + second_of("s1") + 3
    before = Watched(watch, b"x").occasion(begins - 1)
    first = Watched(watch, b"x").occasion(begins)
    assert before
    assert first
    assert first.minute == before.minute + 1
    assert Watched(watch, b"x", first.minute).occasion(begins + 59) is None
    again = Watched(watch, b"x", first.minute).occasion(begins + 60)
    assert again
    assert again.minute == first.minute + 1
    assert Watched(watch, b"x").occasion(NOW + 3_600) is None
    assert Watched(watch, b"x", first.minute + 10).occasion(begins) is None
    assert (
        Watched(watch, b"x", first.minute + 11).occasion(begins) == first
    )  # the clock is set back


async def test_a_watch_goes_on_when_the_clock_is_set_back(store: Store) -> None:
    server = await sampled(store)
    await watches.begin(store, Watch(type="server", target=server.id, until=NOW + 1e6))

    async def taken(now: float) -> int:
        (watched,) = await watches.every(store)
        occasion = watched.occasion(now)
        assert occasion
        count = 0
        for number in range(2):  # the second finds that of the first
            taking = Taking(source="watch", now=now, id=f"sn{now:.0f}{number}")
            _, is_new = await snapshots.take_server(store, server, taking, occasion)
            count += is_new
        return count

    assert [await taken(NOW + ahead) for ahead in (86_400, 86_460, 0, 60)] == [1] * 4
    await watches.end(store, "server", server.id)


async def test_two_snapshots_are_compared(store: Store) -> None:
    server = await sampled(
        store,
        load=[1, 1, 1],
        mounts={"root": {"mount": "/", "use": 40}, "tmp": {"mount": "/tmp", "use": 5}},
        connections={"states": {"listen": 3, "time_wait": 9}},
        processes={"list": [process(1, cpu=5), process(2, memRss=100), process(3), process(4)]},
    )
    old = await snapshots.take(store, server.id, source="user", now=NOW, jobs=["j1", "j2"])
    await resample(
        store,
        server,
        load=[4, 1, 1],
        mounts={"root": {"mount": "/", "use": 95}, "tmp": {"mount": "/tmp", "use": 5}},
        connections={"states": {"listen": 3, "established": 2}},
        processes={
            "list": [
                *(process(1, cpu=90), process(2, memRss=900), process(4, started=500)),
                process(9, cpu=3),
            ]
        },
    )
    new = await snapshots.take(store, server.id, source="user", now=NOW + 60, jobs=["j2", "j3"])
    # The order in which they are given does not matter.
    found = compare(await snapshots.get(store, new.id), await snapshots.get(store, old.id))
    assert (found.before, found.after, found.seconds) == (old, new, 60)
    assert (found.jobs_started, found.jobs_ended) == (("j3",), ("j1",))
    (one,) = found.servers
    load = one.values[0]
    assert (load.name, load.before, load.after) == ("load of 1 minute", 1, 4)
    assert [(value.name, value.before, value.after) for value in one.mounts] == [("/", 40, 95)]
    states = [(value.name, value.before, value.after) for value in one.connections]
    assert states == [("established", 0, 2), ("time_wait", 9, 0)]
    assert [process.pid for process in one.started] == [9, 4]  # 4 is another process now
    assert [process.pid for process in one.ended] == [3, 4]
    assert [(mover.after.pid, mover.before.cpu) for mover in one.cpu_movers] == [(1, 5)]
    assert [mover.after.pid for mover in one.memory_movers] == [2]


async def test_servers_without_a_sample_and_of_one_snapshot_alone_are_named(store: Store) -> None:
    group = await groups.create(store, {"title": "Databases"}, "alice", NOW, "db")
    first = await sampled(store, "db-1", group="db")
    await store.call("DEL", Fleet(store.prefix).machines())
    old, _ = await snapshots.take_group(store, group, Taking(source="user", now=NOW))
    await sampled(store, "db-2", group="db")
    new, _ = await snapshots.take_group(store, group, Taking(source="user", now=NOW + 1))
    found = compare(await snapshots.get(store, old.id), await snapshots.get(store, new.id))
    assert (found.only_before, found.only_after) == ((), ("db-2",))
    assert [(one.server, one.values) for one in found.servers] == [(first.id, ())]
