"""Commands that run together with an acknowledgement: those of Redis, ours, and a domain's own."""

from collections.abc import Sequence
from typing import Any

from tests.families import keys
from watchbell.store.client import Store
from watchbell.store.effects import Command, CommandEffects, flat, packed
from watchbell.store.queue import Queue, Taker

PLAIN = CommandEffects()
EXTENDED = CommandEffects("""
function commands.DOUBLE(key, number) return redis.pcall('SET', key, number * 2) end
""")


async def acknowledged(store: Store, effects: CommandEffects, commands: Sequence[Command]) -> Any:
    queue = Queue(key=keys.queue("work"))
    await store.call("LPUSH", queue.key, "one")
    taker = Taker(store, queue)
    batch = await taker.take()
    assert batch is not None
    refused = await taker.acknowledge(batch, effects.acknowledging, [], [packed(flat(commands))])
    assert await taker.take() is None
    await taker.release()
    return refused


async def test_a_key_of_a_wrong_type_keeps_none_of_the_others_from_being_written(
    store: Store,
) -> None:
    first, odd, last = (keys.table(name) for name in ("first", "odd", "last"))
    await store.call("SET", odd, "not a hash")
    refused = await acknowledged(
        store, PLAIN, [["HSET_MANY", "seen", 5, first, odd, last], ["SET", keys.text("a"), 1]]
    )
    assert [reason.partition(b": ")[0] for reason in refused] == [f"HSET {odd}".encode()]
    assert await store.call("GET", odd) == b"not a hash"
    for key in (first, last):
        assert await store.call("HGETALL", key) == {b"seen": b"5"}
    assert await store.call("GET", keys.text("a")) == b"1"
    await store.call("DEL", odd)


async def test_a_domain_adds_commands_of_its_own(store: Store) -> None:
    assert await acknowledged(store, EXTENDED, [["DOUBLE", keys.text("a"), 21]]) == []
    assert await store.call("GET", keys.text("a")) == b"42"


async def test_commands_run_without_a_batch_too(store: Store) -> None:
    command = flat([["DOUBLE", keys.text("a"), 4]])
    assert await EXTENDED.alone(store, [keys.text("a")], [packed(command)]) == []
    assert await store.call("GET", keys.text("a")) == b"8"
