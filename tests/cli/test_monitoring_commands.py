"""`watchbell monitors`, `alert-defs` and `server-alerts`."""

import asyncio
import re
import zlib

import msgspec

from tests.cli.commands import printed
from tests.cli.test_server_commands import refused, told
from tests.fleet.crew import join
from watchbell.clock import SYSTEM
from watchbell.fleet import samples, servers
from watchbell.fleet.machine_sample import MachineSample
from watchbell.fleet.samples import Machine
from watchbell.jobs import stock
from watchbell.jobs.catalogue import Catalogue
from watchbell.jobs.sample_evaluator import SampleEvaluator
from watchbell.store.client import Store


async def see(store: Store, load: float, ago: float = 0) -> str:
    """A sample of a server, as it comes to the web. Returns the server's id."""

    async def catalogue() -> Catalogue:
        known = Catalogue(store)
        await known.load()
        return known

    known = await servers.every(store)
    server = known[0] if known else (await join(store, "db-1"))[0]
    now = SYSTEM.now() - ago
    sample = MachineSample(hostname="db-1", date=now, load=(load, 0, 0), jobs=2)
    packed = zlib.compress(msgspec.msgpack.encode(sample))
    await samples.record(store, [], [Machine(server.id, "db-1", now, packed)])
    evaluator = SampleEvaluator(store, 1_000, catalogue)
    evaluator.add(server.id, now, samples.as_data(sample))
    await evaluator.evaluate()
    return server.id


async def test_monitors_are_listed_tried_and_added(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())
    assert re.search(r"cpu_usage +CPU usage +100 - cpu\.", await told(store, "monitors", "list"))
    assert "no sample yet" in await told(store, "monitors", "values")
    tried = ("monitors", "test", "--server", "db-1", "--source")
    await join(store, "db-1")
    assert "has sent no full sample yet" in await refused(store, *tried, "load[0]")
    await see(store, 3)
    assert await told(store, *tried, "load[0] * 2") == "6.00\n"
    assert "column 10" in await refused(store, *tried, "load[0] *")
    assert await told(store, "monitors", "test", "active_jobs", "--server", "db-1") == "2\n"
    assert "no value" in await told(store, *tried, "commands.nothing")
    options = ("--source", "load[0] * 2", "--type", "integer", "--suffix", "x")
    await told(store, "monitors", "add", "double", "--title", "Double", *options)
    await see(store, 4, ago=-60)
    assert re.search(r"db-1 +Double +8 x +", await told(store, "monitors", "values", "db-1"))
    await told(store, "monitors", "add", "name", "--title", "Name", "--source", "hostname")
    await see(store, 5, ago=-120)
    values = await told(store, "monitors", "values")
    assert "The monitor name fails on db-1: expected a number, got 'db-1'\n" in values
    await told(store, "monitors", "remove", "double", "--yes")
    assert "double" not in await told(store, "monitors", "list")


async def test_alerts_are_tried_shown_snoozed_and_deleted(store: Store) -> None:
    await stock.ensure(store, SYSTEM.now())
    await told(
        store,
        *("alert-defs", "add", "busy", "--title", "Busy", "--expression", "monitors.load_avg > 8"),
        *("--message", "load {{monitors.load_avg}}", "--monitor", "load_avg"),
    )
    await see(store, 9, ago=120)
    tried = await told(store, "alert-defs", "test", "busy", "--server", "db-1")
    assert "true\nmessage: load 9\n" in tried
    assert "The alert is active; a sample like this would not clear it." in tried
    changed = ("alert-defs", "test", "busy", "--server", "db-1", "--expression", "load[0] > 10")
    assert "The alert is active; a sample like this would clear it." in await told(store, *changed)
    other = ("alert-defs", "test", "--server", "db-1", "--expression", "load[0] > 10")
    assert (await told(store, *other)).startswith("false\n")
    listed = await told(store, "server-alerts", "list", "--alert", "busy", "--active")
    found = re.search(r"(a\w{17}) +active +db-1 +Busy .* load 9", listed)
    assert found is not None
    shown = await told(store, "server-alerts", "show", found[1])
    assert re.search(r"check +db-1:busy\n", shown)
    assert "a sample made `monitors.load_avg > 8` true" in shown
    assert "is active" in await refused(store, "server-alerts", "delete", found[1], "--yes")
    snoozed = await told(store, "server-alerts", "snooze", "Busy", "--for", "2h")
    assert snoozed == "snoozed Busy (busy) for 2 hours\n"
    assert "busy" in await told(store, "server-alerts", "snoozes")
    assert "ended" in await told(store, "server-alerts", "snooze", "busy", "--end")
    await see(store, 1, ago=60)
    await told(store, "server-alerts", "delete", found[1], "--yes")
    url = store.url.redacted()
    left = await asyncio.to_thread(printed, "server-alerts", "list", "--store", url)
    assert "busy" not in {one["alert"] for one in left}
    await told(store, "alert-defs", "disable", "busy")
    assert re.search(r"busy +Busy +no ", await told(store, "alert-defs", "list"))
    await told(store, "alert-defs", "remove", "busy", "--yes")
