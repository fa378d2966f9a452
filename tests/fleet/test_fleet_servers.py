"""Servers: their records, who is connected, and what they use."""

import pytest

from tests.fleet.crew import NOW, join, sample
from watchbell.errors import Changed, NotFound, Refused
from watchbell.fleet import presence, samples, servers, tokens
from watchbell.fleet.keys import Fleet
from watchbell.fleet.model import Link
from watchbell.fleet.presence import Beat
from watchbell.fleet.samples import Sampled
from watchbell.store.client import Store


def link(session: str) -> Link:
    return Link(session=session, process="web-1", since=NOW)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"enabled": "yes"}, "enabled"),
        ({"maxJobs": -1}, "maxJobs"),
        ({"maxJobs": 10_001}, "maxJobs"),
        ({"title": "x" * 101}, "title"),
        ({"groups": ["none"]}, "groups"),
        ({"groups": "main"}, "groups"),
        ({"hostname": "a b"}, "hostname"),
        ({"userData": []}, "userData"),
        ({"userData": {"x": "x" * 70_000}}, "userData"),
        ({"id": "other"}, "id"),
        ({"info": {}}, "info"),
        ({"hostname": "db-2"}, "hostname"),
    ],
)
async def test_what_is_wrong_with_a_server_is_refused_by_field(
    store: Store, changes: dict[str, object], field: str
) -> None:
    server, _ = await join(store, "db-1")
    await join(store, "db-2")
    with pytest.raises(Refused) as refused:
        await servers.update(store, server.id, changes, NOW)
    assert refused.value.field == field
    assert await servers.get(store, server.id) == server


async def test_a_server_is_changed_by_the_names_of_the_document(store: Store) -> None:
    server, _ = await join(store, "db-1")
    changes = {"title": "Main database", "enabled": False, "maxJobs": 3, "userData": {"rack": 7}}
    changed = await servers.update(store, server.id, changes, NOW + 9, revision=1)
    assert (changed.title, changed.enabled, changed.max_jobs) == ("Main database", False, 3)
    assert (changed.user_data, changed.revision, changed.modified) == ({"rack": 7}, 2, NOW + 9)
    with pytest.raises(Changed):
        await servers.update(store, server.id, {"enabled": True}, NOW, revision=1)
    assert (await servers.update(store, server.id, {"maxJobs": None}, NOW)).max_jobs is None
    assert await servers.named(store, "DB-1") == await servers.named(store, server.id)
    for act in (servers.get(store, "none"), servers.named(store, "none")):
        with pytest.raises(NotFound):
            await act


async def test_a_new_connection_takes_the_place_of_the_old_one(store: Store) -> None:
    server, token = await join(store, "db-1")
    await presence.connect(store, server.id, link("one"))
    old, new = Beat(server.id, "one", token.id), Beat(server.id, "two", token.id)
    assert await presence.beat(store, [old]) == [None]
    await presence.connect(store, server.id, link("two"))
    assert await presence.beat(store, [old, new]) == ["replaced", None]
    assert not await presence.disconnect(store, server.id, "one")
    assert (await presence.read(store)).links[server.id].session == "two"
    assert await presence.disconnect(store, server.id, "two")
    assert (await presence.read(store)).links == {}


async def test_a_session_whose_token_was_revoked_is_over(store: Store) -> None:
    server, token = await join(store, "db-1")
    await presence.connect(store, server.id, link("one"))
    await tokens.revoke(store, token.id)
    assert await presence.beat(store, [Beat(server.id, "one", token.id)]) == ["revoked"]


async def test_a_server_is_seen_by_the_clock_of_the_store(store: Store) -> None:
    server, _ = await join(store, "db-1")
    assert not (await presence.read(store)).is_online(server.id, 15)
    await presence.connect(store, server.id, link("one"))
    found = await presence.read(store)
    assert abs(found.seen[server.id] - found.now) < 60
    assert found.is_online(server.id, 100)
    await store.call("ZADD", Fleet().seen(), found.now - 16, server.id)
    later = await presence.read(store)
    assert not later.is_online(server.id, 15)
    assert later.is_online(server.id, 1_000)


async def test_a_spoilt_link_is_no_connection(store: Store) -> None:
    server, token = await join(store, "db-1")
    for text in ("no JSON", "[]", "7", '{"session": 5}'):
        await store.call("HSET", Fleet().links(), server.id, text)
        assert await presence.beat(store, [Beat(server.id, "one", token.id)]) == ["replaced"]
        assert (await presence.read(store)).links == {}
        assert not await presence.disconnect(store, server.id, "one")


async def test_the_latest_sample_and_those_of_minutes_are_kept(store: Store) -> None:
    await samples.record(
        store, [Sampled("s1", sample(NOW), False), Sampled("s2", sample(NOW, cpu=90.0), True)]
    )
    for _ in range(2):  # a repetition changes nothing
        await samples.record(store, [Sampled("s2", sample(NOW + 60, cpu=50.0), True)])
    await samples.record(store, [Sampled("s2", sample(NOW + 65, cpu=20.0), False)])
    latest = await samples.latest(store)
    assert (latest["s1"].at, latest["s2"].cpu) == (NOW, 20.0)
    assert await samples.minutes(store, "s1") == []
    assert [one.cpu for one in await samples.minutes(store, "s2")] == [50.0, 90.0]


async def test_an_hour_is_the_average_of_its_minutes(store: Store) -> None:
    begun = NOW - NOW % 3600
    for n, cpu in ((50, 10.0), (58, 20.0), (59, 60.0), (60, 5.0), (61, 5.0)):
        one = sample(begun + 60 * n, cpu=cpu, memory=n, memory_total=1 << 45)
        await samples.record(store, [Sampled("s1", one, True)])
    (hour,) = await samples.hours(store, "s1")
    assert (hour.at, hour.cpu, hour.memory, hour.memory_total) == (begun, 30.0, 55, 1 << 45)
    await samples.record(store, [Sampled("s1", sample(begun + 7200), True)])
    assert [one.at for one in await samples.hours(store, "s1")] == [begun + 3600, begun]


async def test_hours_are_kept_after_the_clock_was_a_year_ahead(store: Store) -> None:
    begun = NOW - NOW % 3600
    ahead = begun + 365 * 86_400
    for at in (ahead, ahead + 3600, begun, begun + 3600, begun + 3600, begun + 7200):
        await samples.record(store, [Sampled("s1", sample(at), True)])
    found = [one.at for one in await samples.hours(store, "s1")]
    assert found == [begun + 3600, begun, ahead + 3600, ahead]


async def test_a_day_of_minutes_is_kept(store: Store) -> None:
    begun = NOW - NOW % 3600
    many = [Sampled("s1", sample(begun + 60 * n), True) for n in range(samples.MINUTES + 10)]
    await samples.record(store, many)
    found = await samples.minutes(store, "s1")
    assert len(found) == samples.MINUTES
    assert found[0].at == many[-1].sample.at


async def test_spoilt_samples_are_left_out_and_replaced(store: Store) -> None:
    await store.call("HSET", Fleet().samples(), "s1", "no JSON")
    await store.call("LPUSH", Fleet().sample_minutes("s1"), "no JSON", "[]")
    await store.call("LPUSH", Fleet().sample_hours("s1"), "no JSON")
    assert await samples.latest(store) == {}
    await samples.record(store, [Sampled("s1", sample(NOW), True)])
    await samples.record(store, [Sampled("s1", sample(NOW + 3600), True)])
    assert [one.at for one in await samples.minutes(store, "s1")] == [NOW + 3600, NOW]
    assert len(await samples.hours(store, "s1")) == 1
    await store.call("DEL", Fleet().sample_minutes("s1"), Fleet().sample_hours("s1"))
    await store.call("SET", Fleet().sample_minutes("s1"), "garbage")
    assert await samples.minutes(store, "s1") == []
    assert await samples.hours(store, "s1") == []
    await store.call("DEL", Fleet().sample_minutes("s1"))
