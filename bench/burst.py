"""A burst: how long a new critical takes to its contact behind 100,000 events, a tenth of them
warnings, through `watchbell up`, its store, mail and webhook."""

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
    """Every check reports again and again; in each round a tenth of them warns or is well again,
    so that a tenth of the events are warnings of which nobody knows yet."""
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
    """Seconds to the delivery of the critical by both media, and to the end of the burst."""
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
            name=f"burst, a new critical behind {EVENTS:,} events",
            unit="s",
            runs=[run[0] for run in runs],
            sense="at most",
            aim=5,
            limit=min(run[1] for run in runs),
            limit_name="s until the processor has the last of them",
        ),
        Figure(
            name="burst, the slowest of these",
            unit="s",
            runs=[max(run[0] for run in runs)],
            sense="at most",
            aim=5,
        ),
    ]
