"""`watchbell snapshots` and `watchbell plugins try`."""

import asyncio
import re

from tests.cli.commands import printed
from tests.cli.test_server_commands import refused, told
from tests.fleet.crew import NOW
from tests.fleet.snapshot_scene import process, resample, sampled
from tests.jobs.acting import WHO
from tests.waiting import eventually
from watchbell.fleet import command_requests, groups, watches
from watchbell.fleet.messages import RanOnce
from watchbell.fleet.model import CommandOutcome
from watchbell.jobs import definitions
from watchbell.store.client import Store
from watchbell.web import audit

GIB = 1 << 30


async def test_snapshots_are_taken_shown_compared_and_deleted(store: Store) -> None:
    await groups.create(store, {"title": "Main"}, "alice", NOW, "main")
    memory = {"used": 3 * GIB, "total": 4 * GIB}
    listed = {"all": 2, "list": [process(7, cpu=93, memRss=GIB)]}
    root = {"root": {"mount": "/", "size": 8 * GIB, "use": 91}}
    server = await sampled(store, load=[9, 2, 1], memory=memory, processes=listed, mounts=root)
    assert "There are no snapshots" in await told(store, "snapshots", "list")
    before = re.match(r"took (\w+);", await told(store, "snapshots", "take", "db-1"))
    assert before
    shown = await told(store, "snapshots", "show", before[1])
    for line in (
        *(r"db-1, .*, taken by user .+", r"load +9.00  2.00  1.00", r"memory +3.0 GiB of 4.0 GiB"),
        *(r"91 % full +/ \(8.0 GiB\)", r"7  root +93.0% +1.0 GiB  program 7"),
    ):
        assert re.search(line, shown), (line, shown)
    await resample(store, server, load=[1, 2, 1], memory=memory, mounts=root)
    after = re.match(r"took (\w+);", await told(store, "snapshots", "take", "main", "--group"))
    assert after
    compared = await told(store, "snapshots", "compare", after[1], before[1])
    assert re.search(r"load of 1 minute +9 -> 1\n", compared)
    assert re.search(r"ended processes: 1\n +7 root 93.0 % 1.0 GiB program 7", compared)
    url = store.url.redacted()
    found = await asyncio.to_thread(printed, "snapshots", "list", "--store", url)
    assert [one["id"] for one in found] == [after[1], before[1]]
    only = await told(store, "snapshots", "list", "--group", "main")
    assert (after[1] in only, before[1] in only) == (True, False)
    await told(store, "snapshots", "delete", before[1], after[1], "--yes")
    assert "there is no snapshot" in await refused(store, "snapshots", "show", after[1])
    assert "there is no snapshot" in await refused(store, "snapshots", "delete", "sn1", "--yes")


async def test_a_watch_begins_is_listed_and_ends(store: Store) -> None:
    await sampled(store)
    assert "Nothing is watched" in await told(store, "snapshots", "watch")
    said = await told(store, "snapshots", "watch", "db-1", "--for", "2 hours")
    assert said == "watching db-1 for 2 hours\n"
    assert re.search(r"server +db-1 ", await told(store, "snapshots", "watch"))
    assert "up to 7 days" in await refused(store, "snapshots", "watch", "db-1", "--for", "8 days")
    await told(store, "snapshots", "watch", "db-1", "--end")
    assert await watches.every(store) == []
    assert "not watched" in await refused(store, "snapshots", "watch", "db-1", "--end")


async def test_a_command_is_tried_on_a_server(store: Store) -> None:
    server = await sampled(store)
    plugin = {"id": "queue", "title": "Queue", "type": "monitor", "command": "/bin/echo"}
    await definitions.create(store, "plugin", plugin, WHO, NOW)

    async def answer() -> None:
        async def asked_for() -> list[command_requests.Request]:
            return (await command_requests.take(store, [server.id]))[server.id]

        asked = await eventually(asked_for, why="a request")
        outcome = CommandOutcome(id="queue", output="a\x1b[b", text="a\x1b[b\nc\n")
        await command_requests.answer(store, RanOnce(request=asked[0].id, outcome=outcome))

    async with asyncio.TaskGroup() as group:
        group.create_task(answer())
        said = await told(store, "plugins", "try", "queue", "db-1")
    assert said == "a\\x1b[b\nc\n"
    (logged,) = await audit.read(store, "", 10)
    assert (logged.entry.action, logged.entry.subject) == ("server.command", "db-1")
    assert "no plugin" in await refused(store, "plugins", "try", "nothing", "db-1")
