"""An instance of cron while its store can be read and refuses every write."""

from pathlib import Path

from tests import servers
from tests.cron.crew import EVERY_SECOND, definition, ended, put, running, say, serving, until
from tests.logged import logged
from tests.servers.process import Server
from tests.servers.refusal import SNAPSHOTS, calls, misconf
from tests.waiting import eventually
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.outage import Outage, attached

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
