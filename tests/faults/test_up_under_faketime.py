"""`watchbell up` with a wrong clock: the embedded store starts, and has that clock too."""

from pathlib import Path

import pytest

from tests.conftest import Up
from tests.faults.faketime import SteppedClock
from watchbell.clock import SYSTEM
from watchbell.store import url as store_url
from watchbell.store.client import Store

HOUR = 3600


async def _ahead(up: Up) -> float:
    """Seconds by which the store's clock is ahead of ours."""
    async with Store(store_url.parse(up.url)) as store:
        seconds, _ = await store.call("TIME")
        return int(seconds) - SYSTEM.now()


async def test_up_starts_under_faketime_and_its_store_follows_the_stepped_clock(
    folder: Path,
) -> None:
    clock = SteppedClock(folder, "+10h")
    with Up(folder / "data", "--port", "0", **clock.environment) as up:
        assert await _ahead(up) == pytest.approx(10 * HOUR, abs=HOUR)
        clock.step("+0")
        assert await _ahead(up) == pytest.approx(0, abs=HOUR)
    assert up.process.returncode == 0
