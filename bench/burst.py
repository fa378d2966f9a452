"""Time until a new critical event behind 100,000 others is delivered by mail and webhook."""

import asyncio
import tempfile
from pathlib import Path

from bench.deliveries import ENTITIES, Receipts, event, system
from bench.figures import Figure
from watchbell.clock import SYSTEM
from watchbell.store.client import Store

EVENTS, CHECKS = 100_000, 10 * ENTITIES
TIMES = 3
MEDIA = ("email", "webhook")
CRITICAL = CHECKS - 1


def burst() -> list[str]:
    """Rounds in which every check reports once. In every second round another fifth of the checks
    warns, so a tenth of the events are new warnings."""
    rounds = EVENTS // CHECKS
    events = []
    for number in range(rounds):
        for check in range(CHECKS):
            is_bad = check % 5 == number % 5 and number % 2 == 0 and check != CRITICAL
            events.append(event(check, "warning" if is_bad else "ok", number * CHECKS + check))
    return events


async def push(store: Store, events: list[str]) -> None:
    for first in range(0, len(events), 1_000):
        await store.call("LPUSH", "events", *events[first : first + 1_000])


async def received(receipts: Receipts, number: int, media: tuple[str, ...]) -> float:
    while not all((medium, number) in receipts.times for medium in media):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return max(receipts.times[medium, number] for medium in media)


async def late() -> tuple[float, float]:
    """Seconds until both media have delivered the critical event, and until the burst is over."""
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as folder:
        async with system(Path(folder)) as (store, receipts):
            await push(store, [event(check, "ok", 0) for check in range(CHECKS)])
            while await store.call("LLEN", "events"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await push(store, burst())
            begun = SYSTEM.monotonic()
            await store.call("LPUSH", "events", event(CRITICAL, "critical", EVENTS))
            delivered = await received(receipts, EVENTS, MEDIA) - begun
            while await store.call("LLEN", "events"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            return delivered, SYSTEM.monotonic() - begun


def figures() -> list[Figure]:
    runs = [asyncio.run(late()) for _ in range(TIMES)]
    return [
        Figure(
            name=f"burst, critical event behind {EVENTS:,} others",
            unit="s",
            runs=[run[0] for run in runs],
            sense="at most",
            aim=5,
            limit=min(run[1] for run in runs),
            limit_name="s until the last event is processed",
        ),
        Figure(
            name="burst, slowest delivery of these",
            unit="s",
            runs=[max(run[0] for run in runs)],
            sense="at most",
            aim=5,
        ),
    ]
