"""Presence: reports under the store's clock, read with the time, and who is silent."""

import asyncio

import pytest

from tests.families import keys
from tests.waiting import eventually
from watchbell.store import presence
from watchbell.store.client import Store
from watchbell.store.presence import Presence, Stamped, is_silent

TABLE = keys.table("present")


@pytest.mark.parametrize(("decimals", "length"), [(0, 0), (3, 4), (6, 7)])
async def test_a_report_holds_the_store_s_time(
    any_store: Store, decimals: int, length: int
) -> None:
    await presence.report(any_store, TABLE, ["HSET", TABLE, "alice", Stamped("<", decimals, ">")])
    now, (found,) = await presence.read(any_store, TABLE, ["HGET", TABLE, "alice"])
    text = found.decode()
    assert (text[0], text[-1]) == ("<", ">")
    assert len(text) - 2 == len(str(now)) + length
    assert 0 <= now - float(text[1:-1]) + 1 < 60
    await any_store.call("DEL", TABLE)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [(100, False), (95.1, False), (95, True), (130, False), (131, True)],
)
def test_who_reported_too_long_ago_or_from_the_future_is_silent(
    seen: float, expected: bool
) -> None:
    assert is_silent(seen, now=100, after=5) is expected


async def test_what_has_changed_is_reported_at_once() -> None:
    reports: list[int] = []

    async def report() -> None:
        reports.append(1)

    present = Presence(report, every=3_600)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(present.run())

        async def has_reported(times: int) -> bool:
            return len(reports) == times

        await eventually(lambda: has_reported(1))
        present.hurry()
        await eventually(lambda: has_reported(2))
        task.cancel()
