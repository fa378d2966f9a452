"""A web server is killed half-way through a minute: no alert is lost, and none comes twice."""

import signal
import subprocess
import sys

import pytest

from tests.fleet.monitoring.minute_worker import SERVERS
from tests.fleet.monitoring.scenes import START, Scene
from watchbell.fleet.monitoring import alerts, series
from watchbell.fleet.monitoring.alerts import Query
from watchbell.store.client import Store

BATCHES = -(-SERVERS // 50)


def work(store: Store, minutes: int, *fault: str) -> int:
    command = [sys.executable, "-m", "tests.fleet.monitoring.minute_worker"]
    done = subprocess.run([*command, store.url.redacted(), str(minutes), *fault], check=False)
    return done.returncode


@pytest.mark.parametrize(
    "fault",
    [
        f"monitoring.loaded:{BATCHES + 2}",
        f"monitoring.applied:{BATCHES + 1}",
        f"monitoring.applied:{BATCHES + 2}",
    ],
)
async def test_a_kill_in_the_minute_of_the_alerts_loses_and_repeats_none(
    store: Store, fault: str
) -> None:
    scene = Scene(store)
    for number in range(SERVERS):
        await scene.put(f"s{number}")
    assert work(store, 2, fault) == -signal.SIGKILL
    assert 0 < len(await scene.active()) < SERVERS or "applied" not in fault
    # Another one gets samples of the same minutes again, and the next.
    workers = [work(store, 3) for _ in range(2)]
    assert workers == [0, 0]
    assert len(await scene.active()) == SERVERS
    assert (await alerts.search(store, Query())).count == SERVERS
    checks = []
    while found := await scene.reported():
        checks += found
    expected = sorted((f"host-s{number}:high", "critical") for number in range(SERVERS))
    assert sorted(checks) == expected
    triggers = []
    while items := await scene.queued():
        triggers += items
    assert triggers == ["alert_new"] * SERVERS
    wanted = [(f"s{number}", "load") for number in range(SERVERS)]
    until = START + 120
    for points in await series.read(store, wanted, "hour", since=START, until=until):
        assert points.values == [9, 9, 9]
