"""Whether a store can serve us: as judged from what it tells, and on real servers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests import servers
from watchbell.clock import SYSTEM, SetClock
from watchbell.errors import StoreUnavailable
from watchbell.store import health
from watchbell.store import url as store_url
from watchbell.store.client import Store

WELL: dict[str, Any] = {
    "redis_version": "7.2.4",
    "valkey_version": "9.0.1",
    "maxmemory": 0,
    "maxmemory_policy": "noeviction",
    "used_memory": 3 << 20,
    "aof_enabled": 1,
    "aof_last_write_status": "ok",
    "save": "",
}


def judged(**facts: Any) -> dict[str, tuple[str, str]]:
    """Subject to level and text; a fact that is None was not told."""
    told = {name: value for name, value in {**WELL, **facts}.items() if value is not None}
    return {f.subject: (f.level, f.text) for f in health.judge("redis://db:1", told)}


def test_a_store_that_is_well_is_told_in_three_lines() -> None:
    assert judged() == {
        "version": ("ok", "Valkey 9.0.1 at redis://db:1"),
        "memory": ("ok", "3.0 MiB used, no key is evicted"),
        "persistence": ("ok", "append-only file"),
    }


@pytest.mark.parametrize(
    ("redis", "valkey", "level", "text"),
    [
        ("7.2.4", "8.0.0", "ok", "Valkey 8.0.0 at"),
        ("7.2.4", None, "ok", "Redis 7.2.4 at"),
        ("7.0.0", None, "ok", "Redis 7.0.0 at"),
        ("7.0", None, "ok", "Redis 7.0 at"),
        ("7", None, "ok", "Redis 7 at"),
        ("7.0-rc1", None, "ok", "Redis 7.0-rc1 at"),
        ("10.0.1", None, "ok", "Redis 10.0.1 at"),
        (8.2, None, "ok", "Redis 8.2 at"),
        (None, "8.1.0", "ok", "Valkey 8.1.0 at"),
        ("6.2.14", None, "error", "is Redis 6.2.14, older than 7.0"),
        ("6.9.9", None, "error", "older than 7.0"),
        ("2.8", None, "error", "older than 7.0"),
        (None, None, "error", "older than 7.0"),
    ],
)
def test_a_store_before_redis_7_is_an_error(
    redis: object, valkey: object, level: str, text: str
) -> None:
    found = judged(redis_version=redis, valkey_version=valkey)
    assert found["version"][0] == level
    assert text in found["version"][1]
    assert len(found) == (1 if level == "error" else 3)


@pytest.mark.parametrize(
    ("facts", "subject", "level", "text"),
    [
        (
            {"maxmemory_policy": "allkeys-lru"},
            "eviction",
            "warning",
            "maxmemory-policy allkeys-lru",
        ),
        ({"maxmemory_policy": "volatile-ttl"}, "eviction", "warning", "forgets keys"),
        ({"maxmemory_policy": None}, "memory", "ok", "no key is evicted"),
        ({"maxmemory": 100, "used_memory": 91}, "memory", "warning", "uses 91 % of its memory"),
        ({"maxmemory": 100, "used_memory": 90}, "memory", "ok", "no key is evicted"),
        ({"maxmemory": 100, "used_memory": 250}, "memory", "warning", "uses 250 % of its memory"),
        ({"maxmemory": 0, "used_memory": 1 << 40}, "memory", "ok", "no key is evicted"),
        ({"aof_last_write_status": "err"}, "persistence", "warning", "can't write its append-only"),
        ({"aof_last_write_status": None}, "persistence", "ok", "append-only file"),
        ({"aof_enabled": 0, "save": "3600 1 300 100"}, "persistence", "warning", "snapshots only"),
        ({"aof_enabled": 0, "save": ""}, "persistence", "warning", "keeps nothing on disk"),
        ({"aof_enabled": 0, "save": None}, "persistence", "ok", "kept by the service"),
        ({"aof_enabled": None, "save": None}, "persistence", "ok", "kept by the service"),
    ],
)
def test_what_could_lose_data_is_a_warning(
    facts: dict[str, Any], subject: str, level: str, text: str
) -> None:
    found = judged(**facts)
    assert found[subject][0] == level
    assert text in found[subject][1]
    assert {name for name, (how, _) in found.items() if how != "ok"} == (
        {subject} if level != "ok" else set()
    )


def test_whatever_is_wrong_comes_with_advice() -> None:
    wrong = {**WELL, "maxmemory_policy": "allkeys-lfu", "aof_enabled": 0}
    for facts in (wrong, {**WELL, "maxmemory": 1}, {"redis_version": "6.0"}):
        for finding in health.judge("db", facts):
            assert bool(finding.advice) == (finding.level != "ok")


@contextmanager
def changed(server: servers.Server, **values: str) -> Iterator[None]:
    """The server's configuration, for the length of a test."""
    names = {name: name.replace("_", "-") for name in values}
    before = {name: server.call("CONFIG", "GET", names[name])[1] for name in values}
    try:
        for name, value in values.items():
            server.call("CONFIG", "SET", names[name], value)
        yield
    finally:
        for name, value in before.items():
            server.call("CONFIG", "SET", names[name], value)


@contextmanager
def user(server: servers.Server, *rules: str) -> Iterator[str]:
    """The store's URL as a user that may do what the rules say."""
    server.call("ACL", "SETUSER", "alice", "on", ">pw", "~*", "&*", *rules)
    try:
        yield server.url.replace("redis://", "redis://alice:pw@")
    finally:
        server.call("ACL", "DELUSER", "alice")


async def test_a_real_server_is_warned_of(store: Store, server: servers.Single) -> None:
    assert {f.level for f in await health.admit(store)} == {"ok"}
    with changed(server.server, maxmemory_policy="allkeys-lru", appendonly="no", save=""):
        texts = [f.text for f in await health.admit(store) if f.level == "warning"]
        assert texts == [
            "the store forgets keys when memory runs short (maxmemory-policy allkeys-lru)",
            "the store keeps nothing on disk: a restart loses everything",
        ]
    with changed(server.server, appendonly="no", save="3600 1"):
        (found,) = [f for f in await health.admit(store) if f.level == "warning"]
        assert "snapshots only" in found.text
    assert {f.level for f in await health.admit(store)} == {"ok"}


async def test_a_real_server_near_its_limit_is_warned_of(
    store: Store, server: servers.Single
) -> None:
    used = server.server.info("memory")["used_memory"]
    with changed(server.server, maxmemory=str(used)):
        (found,) = [f for f in await health.admit(store) if f.level == "warning"]
        assert found.subject == "memory"
        assert "of its memory limit and will refuse writes" in found.text


async def test_a_user_who_may_not_read_the_configuration_is_served(server: servers.Single) -> None:
    with user(server.server, "+@all", "-config") as url:
        async with Store(store_url.parse(url)) as store:
            assert {f.level for f in await health.admit(store)} == {"ok"}
        with changed(server.server, appendonly="no"):
            async with Store(store_url.parse(url)) as store:
                found = {f.subject: f.text for f in await health.admit(store)}
                assert (
                    found["persistence"] == "kept by the service, which does not show its settings"
                )


async def test_a_user_who_may_not_ask_is_told_in_one_line(server: servers.Single) -> None:
    with user(server.server, "+@all", "-info") as url:
        async with Store(store_url.parse(url)) as store:
            with pytest.raises(StoreUnavailable) as caught:
                await health.admit(store)
    said = str(caught.value)
    assert f"the store at {server.url} can't be used: " in said
    assert "info" in said
    assert "\n" not in said
    assert "pw" not in said


async def test_a_cluster_needs_a_hash_tag(any_store: Store) -> None:
    if any_store.url.topology != "cluster":
        assert await health.admit(any_store)
        return
    with pytest.raises(StoreUnavailable, match=r"add \?prefix=\{watchbell\}: to its URL"):
        await health.admit(any_store)


async def test_every_kind_of_store_is_admitted(any_store: Store) -> None:
    any_store.prefix = "{tests}:"
    findings = await health.admit(any_store)
    assert {f.level for f in findings} == {"ok"}
    assert [f.subject for f in findings] == ["version", "memory", "persistence"] * len(
        await any_store.primaries()
    )


async def test_a_store_that_is_too_old_is_not_admitted(store: Store) -> None:
    # No old server is here, so more is asked for than any real one is.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "OLDEST", (1000, 0))
        with pytest.raises(StoreUnavailable, match=r"older than 1000\.0; use Redis 1000\.0"):
            await health.admit(store)


async def test_the_skew_of_the_clocks_is_measured(any_store: Store) -> None:
    for primary in await any_store.primaries():
        assert abs(await health.skew(primary, SYSTEM)) < 0.5
        behind = SetClock(SYSTEM.now() - 100)
        assert 99 < await health.skew(primary, behind) < 110
        ahead = SetClock(SYSTEM.now() + 100)
        assert -110 < await health.skew(primary, ahead) < -90
