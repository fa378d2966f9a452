"""An import from a Flapjack that is killed half-way: records are kept all the time, and the next
import completes it."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests import servers
from tests.alerting.flapjack_store import FlapjackStore
from tests.alerting.test_record_keeping import differences
from tests.conftest import watched
from watchbell.alerting import contacts, entities, known_checks, maintenance, record_keeping
from watchbell.alerting.flapjack_import import FlapjackImport
from watchbell.store.client import Store

NOW = 1_790_000_000
HOSTS, CHECKS = 3, 15


@pytest.fixture
async def flapjack(folder: Path) -> AsyncIterator[tuple[str, Store]]:
    with servers.single(folder) as other:
        async for one in watched(other.url):
            await _fill(one)
            yield other.url, one


async def _fill(store: Store) -> None:
    old = FlapjackStore(store, NOW)
    for contact in ("17", "18"):
        await old.contact(contact, threshold=2)
    for host in range(HOSTS):
        await old.entity(f"web-{host}", str(host), "17")
        for number in range(CHECKS):
            name = f"web-{host}:disk {number}"
            state = "critical" if number % 2 else "ok"
            await old.check(name, state, 100, is_enabled=number % 3 > 0)
            await known_checks.tag(store, name, f"tag-{number}", is_on=True)
            await store.call("SADD", f"contacts_for:{host}:disk {number}", "18")
            await maintenance.create_scheduled(store, name, NOW - 10, 100, "work", NOW)


@pytest.mark.parametrize(
    "fault", ["import.contact:1", "import.entity:2", "import.checks:1", "import.checks:2"]
)
async def test_an_import_that_is_killed_is_completed_by_the_next_one(
    flapjack: tuple[str, Store], server: servers.Single, store: Store, fault: str
) -> None:
    url, source = flapjack
    await record_keeping.build(store, lambda _: None)
    command = [sys.executable, "-m", "tests.faults.import_worker", url, server.url, str(NOW), fault]
    killed = subprocess.run(command, check=False)  # noqa: ASYNC221 nothing else is to happen
    assert killed.returncode == -signal.SIGKILL
    assert await differences(store) == []
    done = await FlapjackImport(source, store, NOW).run(lambda *_: None)
    assert done.refused == []
    assert await differences(store) == []
    assert await contacts.everybody(store) == await contacts.everybody(source)
    assert await entities.find(store) == await entities.find(source)
    assert await known_checks.tags(store) == await known_checks.tags(source)
    counts = await record_keeping.counts(store)
    assert counts["check"] == counts["check_state"] == HOSTS * CHECKS
    assert counts["scheduled_maintenance"] == HOSTS * CHECKS
