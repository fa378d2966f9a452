"""Commands of our own among the effects."""

from watchbell.alerting import effects
from watchbell.alerting.check_writes import CheckWrites
from watchbell.store.client import Store
from watchbell.store.queue import Queue, Taker


async def test_a_check_of_a_wrong_type_keeps_none_of_the_others_from_being_heard(
    store: Store,
) -> None:
    checks = CheckWrites(store.prefix)
    first, odd, last = (checks.keys.current("web", name) for name in ("ftp", "http", "smtp"))
    await store.call("SET", odd, "not a hash")
    await store.call("LPUSH", checks.keys.events(), "one")
    taker = Taker(store, Queue(key=checks.keys.events()))
    batch = await taker.take()
    assert batch is not None
    words = effects.flat([checks.heard([first, odd, last], 5), ["DEL", checks.keys.wakes()]])
    refused = await taker.acknowledge(batch, effects.run, [], [effects.packed(words)])
    assert [told.partition(b": ")[0] for told in refused] == [f"HSET {odd}".encode()]
    assert await store.call("GET", odd) == b"not a hash"
    for key in (first, last):
        assert await store.call("HGETALL", key) == {b"last_update": b"5"}
    await store.call("DEL", odd)
    await taker.release()
