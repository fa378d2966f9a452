"""An instance of cron while its store can be read and refuses every write."""

from pathlib import Path

from tests import servers
from tests.cron.crew import EVERY_SECOND, definition, ended, put, running, say, serving, until
from tests.logged import logged
from tests.servers.process import Server
from tests.servers.refusal import SNAPSHOTS, calls, misconf
from tests.waiting import eventually
from watchbell.cron.keys import Cron
from watchbell.cron.model import lock_of
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.outage import Outage, attached

LOCK = Cron().lock(lock_of("long"))
PROBES = 5
MOST_CALLS = 400
"""While five probes were refused: an instance that spins makes thousands."""


def scripts(server: Server) -> int:
    """How often scripts and the commands in them were called; the test itself calls none."""
    asked = ("info", "client", "hello", "select", "setrange")
    return sum(n for name, n in calls(server).items() if not name.startswith(asked))


async def test_runs_go_on_and_nothing_spins_while_writes_are_refused(folder: Path) -> None:
    first, second = folder / "first", folder / "second"
    long = f"echo before; {until(first)}; echo during; {until(second)}; echo after"
    with servers.single(folder, [SNAPSHOTS]) as single, logged() as lines:
        async with Store(store_url.parse(single.url)) as store:
            await put(store, "long", definition(long, ttl=600))
            await put(store, "often", definition("true", EVERY_SECOND, ttl=600))
            with attached(Outage("cron")):
                async with serving(store, folder):
                    await say(store, "trigger", "long")
                    (under_way,) = await running(store, "long")
                    await ended(store, "often")
                    with misconf(single.server):
                        before, scripts_before = calls(single.server), scripts(single.server)
                        first.touch()
                        second.touch()

                        def probes() -> int:
                            return calls(single.server)["setrange"] - before["setrange"]

                        await eventually(lambda: probes() > PROBES)
                        assert scripts(single.server) - scripts_before < MOST_CALLS
                        assert lines.events("warning", "error") == ["waiting for the store"]
                    (done,) = await ended(store, "long")
                    await eventually(lambda: "the store is back" in lines.events("info"))
                    assert lines.events("warning", "error") == ["waiting for the store"]
    assert done.id == under_way.id
    assert (done.record.status, done.record.output) == ("success", "before\nduring\nafter\n")


async def test_a_store_without_memory_still_keeps_the_lock_of_a_run(folder: Path) -> None:
    gate = folder / "gate"
    with servers.single(folder) as single:
        async with Store(store_url.parse(single.url)) as store:
            await put(store, "long", definition(until(gate), ttl=3))
            async with serving(store, folder):
                await say(store, "trigger", "long")
                (under_way,) = await running(store, "long")
                single.server.call("CONFIG", "SET", "maxmemory", 1)
                before = calls(single.server)["pexpire"]
                # Each renewal takes a third of the lock's time at the least.
                await eventually(lambda: calls(single.server)["pexpire"] > before + 4)
                assert [one.id for one in await running(store, "long")] == [under_way.id]
                await store.call("DEL", LOCK)

                async def is_taken_again() -> bool:
                    return bool(await store.call("GET", LOCK) == under_way.id.encode())

                await eventually(is_taken_again)
                single.server.call("CONFIG", "SET", "maxmemory", 0)
                gate.touch()
                (done,) = await ended(store, "long")
    assert (done.id, done.record.status) == (under_way.id, "success")
