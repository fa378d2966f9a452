"""Counting keys by family, and the watch over what tests leave in a store."""

from collections.abc import AsyncIterator

import pytest

from tests import servers
from tests.conftest import emptied
from tests.families import FAMILIES, Test, keys, strays
from watchbell.store import key_counts
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.families import Family
from watchbell.store.key_counts import Count


def unheard(_: int) -> None:
    """For who waits for no news."""


async def counted(store: Store) -> dict[Family | None, Count]:
    return await key_counts.count(store, FAMILIES, unheard)


def present(counts: dict[Family | None, Count]) -> dict[str, tuple[int, int]]:
    """Family to keys and how many of them expire."""
    return {
        family.name if family else "none": (count.keys, count.expiring)
        for family, count in counts.items()
        if count.keys
    }


@pytest.fixture
async def prefixed(server: servers.Single, store: Store) -> AsyncIterator[Store]:
    """The same store under a prefix; what is left under others is emptied here."""
    async with Store(store_url.parse(f"{server.url}?prefix=wb:")) as ours:
        yield ours
        assert await strays(ours) == []
    await emptied(store)


async def test_keys_are_counted_by_family_on_every_kind_of_store(any_store: Store) -> None:
    for number in range(30):
        await any_store.call("SET", keys.text(f"a{number}"), "x")
        await any_store.call("SET", keys.brief(f"b{number}"), "x", "PX", 60_000)
    await any_store.call("HSET", keys.table("t"), "f", "v")
    await any_store.call("SADD", keys.members("m"), "v")
    await any_store.call("ZADD", keys.ranked("r"), 1, "v")
    await any_store.call("RPUSH", keys.queue("q"), "v")
    counts = await counted(any_store)
    assert present(counts) == {
        "text": (30, 0),
        "brief": (30, 30),
        "table": (1, 0),
        "members": (1, 0),
        "ranked": (1, 0),
        "queue": (1, 0),
    }
    assert set(counts) == {*FAMILIES, None}


async def test_an_empty_store_has_a_count_of_nothing_for_every_family(store: Store) -> None:
    counts = await counted(store)
    assert all(count == Count() for count in counts.values())
    assert counts[None].bytes == 0


async def test_memory_is_what_the_server_says(store: Store) -> None:
    weights = 0
    for number in range(50):
        await store.call("SET", keys.text(f"{number:03}"), "x" * number * 100)
        weights += await store.call("MEMORY", "USAGE", keys.text(f"{number:03}"))
    counts = await counted(store)
    assert counts[Test.text].bytes == weights
    assert counts[Test.text].weighed == 50


async def test_memory_of_many_is_judged_by_a_sample(store: Store) -> None:
    await store.call("MSET", *(x for n in range(5000) for x in (keys.text(f"{n:04}"), "y" * 100)))
    one = await store.call("MEMORY", "USAGE", keys.text("0000"))
    seen: list[int] = []
    counts = await key_counts.count(store, FAMILIES, seen.append)
    assert present(counts) == {"text": (5000, 0)}
    assert counts[Test.text].weighed == 200
    assert counts[Test.text].bytes == pytest.approx(one * 5000, rel=0.2)
    assert seen == [1000, 2000, 3000, 4000, 5000]


async def test_keys_under_our_prefix_are_ours_and_all_others_are_nobodys(
    prefixed: Store, store: Store
) -> None:
    ours = Test("wb:")
    await store.call("SET", ours.text("a"), "x")
    await store.call("SET", ours.brief("a"), "x", "PX", 60_000)
    counts = await counted(prefixed)
    assert present(counts) == {"text": (1, 0), "brief": (1, 1)}

    await store.call("SET", keys.text("of nobody"), "x")
    await store.call("SET", "xx:test:text:a", "x", "PX", 60_000)
    await store.call("SET", "wb", "x")
    await store.call("SET", "wb:wb:nothing", "x")
    counts = await counted(prefixed)
    assert present(counts) == {"text": (1, 0), "brief": (1, 1), "none": (4, 1)}
    assert counts[None].bytes > 0
    await store.call("DEL", keys.text("of nobody"), "xx:test:text:a", "wb", "wb:wb:nothing")


async def test_without_a_prefix_keys_under_one_are_nobodys(store: Store) -> None:
    await store.call("SET", "wb:test:text:a", "x")
    assert present(await counted(store)) == {"none": (1, 0)}
    await store.call("DEL", "wb:test:text:a")


async def test_names_that_are_not_text_are_counted(any_store: Store) -> None:
    names = [b"\xff\xfe", b"test:text:\xff\n\0", b"test:text:\xc3\xbc", b"\x80test:text:a", b""]
    for name in names:
        await any_store.call("SET", name, "x")
    counts = await counted(any_store)
    assert present(counts) == {"text": (2, 0), "none": (3, 0)}
    assert counts[None].bytes > 0
    seen = [key async for _, key in key_counts.look(any_store, FAMILIES)]
    assert {s.key.encode(errors="surrogateescape") for s in seen} == set(names)
    for name in names:
        await any_store.call("DEL", name)


async def test_a_key_of_the_wrong_type_is_of_no_family(store: Store) -> None:
    await store.call("RPUSH", keys.text("a"), "x")
    assert present(await counted(store)) == {"none": (1, 0)}
    await store.call("DEL", keys.text("a"))


async def test_the_watch_is_content_with_keys_as_their_families_say(any_store: Store) -> None:
    await any_store.call("SET", keys.text("a"), "x")
    await any_store.call("SET", keys.brief("a"), "x", "PX", 60_000)
    assert await strays(any_store) == []


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("SET", "stranger", "x"), "stranger (string) is of no family"),
        (("SET", "test:txt:a", "x"), "test:txt:a (string) is of no family"),
        (("XADD", "stranger", "*", "f", "v"), "stranger (stream) is of no family"),
        (("RPUSH", "test:text:a", "x"), "test:text:a is a list, but String('test:text:NAME')"),
        (("SET", "test:text:a", "x", "PX", 60_000), "test:text:a expires, against String("),
        (("SET", "test:brief:a", "x"), "test:brief:a has no expiry, against String("),
    ],
)
async def test_the_watch_reports_a_key_against_its_family(
    any_store: Store, command: tuple[str | int, ...], says: str
) -> None:
    await any_store.call(*command)
    (found,) = await strays(any_store)
    assert found.startswith(says)
    await any_store.call("DEL", command[1])
    assert await strays(any_store) == []


async def test_the_watch_reports_every_stray(store: Store) -> None:
    await store.call("MSET", *(x for n in range(2500) for x in (f"stranger-{n}", "x")))
    assert len(await strays(store)) == 2500
    await emptied(store)
