"""Records are what the working layout says, wherever a processor or a notifier is killed."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import servers
from tests.alerting import record_model
from tests.alerting.consistency import Picture
from tests.alerting.scenes import START, Stage, consumed
from tests.faults.alerting_scene import LEASE, POINTS, encoded, is_drained, processed
from tests.faults.alerting_worker import FileClock
from tests.waiting import eventually, wait_until
from watchbell.alerting import record_verify
from watchbell.alerting.intake import submit_raw
from watchbell.alerting.model import Alert
from watchbell.store.client import Store

CHECKS = [(f"host-{n // 4}.example.com", f"Disk {n % 4}: /var") for n in range(12)]
KILLS = [(role, point) for role, points in POINTS.items() for point in points]


def events(state: str) -> list[dict[str, Any]]:
    kind = "action" if state == "acknowledgement" else "service"
    return [
        {"type": kind, "state": state, "entity": entity, "check": check, "initial_failure_delay": 0}
        for entity, check in CHECKS
    ]


@contextmanager
def worker(
    url: str, role: str, clock: Path, fault: str = ""
) -> Iterator["subprocess.Popen[bytes]"]:
    """With batches of a few items, each in three pieces."""
    command = [url, role, str(clock), str(LEASE), "9", *([fault] if fault else [])]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.alerting_worker", *command], stdin=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def wrong(store: Store) -> list[str]:
    found = [str(one) async for one in record_verify.differences(store)]
    return [*found, *record_model.mistakes(await Picture.of(store))]


@pytest.mark.parametrize(("role", "point"), KILLS)
async def test_a_kill_separates_no_record_from_what_it_records(
    server: servers.Single, store: Store, folder: Path, role: str, point: str
) -> None:
    stage, clock = Stage(store), FileClock(folder / "clock")
    clock.set(START)
    await store.call("SET", stage.own.records(), "on")
    await stage.contact("alice", "email", "sms", threshold=3)
    await stage.contact("bob", "jabber")
    for state in ("critical", "acknowledgement", "ok", "warning"):
        await submit_raw(store, encoded(events(state)))
    if role == "notifier":
        with worker(server.url, "processor", clock.file):
            await eventually(lambda: _is_processed(store))
    with worker(server.url, role, clock.file, f"{point}:2") as doomed:
        wait_until(lambda: doomed.poll() is not None)
        assert doomed.returncode == -signal.SIGKILL
    assert await wrong(store) == []
    with worker(server.url, "processor,notifier", clock.file):
        await eventually(lambda: is_drained(store))
    assert await wrong(store) == []
    records = (await Picture.of(store)).records
    assert len(records["check_state::ids"]) == 3 * len(CHECKS)
    assert records["notification_block::ids"]
    alerts = [msgspec.json.decode(one, type=Alert) for one in await consumed(store, "jabber")]
    found = Counter((one.event_id, one.notification_type, one.state) for one in alerts)
    assert len(found) == found.total() == 4 * len(CHECKS)
    assert await wrong(store) == []


async def _is_processed(store: Store) -> bool:
    return await processed(store) == 4 * len(CHECKS)
