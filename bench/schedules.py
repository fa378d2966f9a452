"""Time and memory to parse 100,000 schedules and find their next run, compared with cronsim."""

import time
import tracemalloc
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim

from bench.figures import Figure, repeated
from watchbell.schedule.cron_args import from_cron_args
from watchbell.schedule.firing import Schedule

JOBS = 100_000
PEERS = 2_000
NOW = 1_794_700_000
ROME = ZoneInfo("Europe/Rome")
SHAPES: list[Callable[[int], str]] = [
    lambda n: f"{n % 60} {n // 60 % 24} * * *",
    lambda n: f"{n % 60} {n // 60 % 24} * * {n % 7}",
    lambda n: f"{n % 60} {n // 60 % 24} {n % 28 + 1} * *",
    lambda n: f"*/{n % 29 + 1} {n % 12}-{n % 12 + 11} * * 1-5",
    lambda n: f"{n % 60} * * * *",
]


def expression(number: int) -> str:
    return SHAPES[number % len(SHAPES)](number)


def arguments(number: int) -> dict[str, object]:
    """One job in ten uses keywords, with seconds."""
    if number % 10 == 9:
        return {"hour": number // 60 % 24, "minute": number % 60, "second": number % 59}
    return {"cronstring": expression(number), "timezone": "Europe/Rome"}


def loaded() -> list[Schedule]:
    return [from_cron_args(arguments(number)) for number in range(JOBS)]


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def mebibytes() -> float:
    loaded()
    tracemalloc.start()
    kept = loaded()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == JOBS
    return size / (1 << 20)


def asked(schedules: list[Schedule]) -> float:
    """Microseconds to find the next run of one schedule."""
    spent = seconds_of(lambda: [each.next_after(NOW) for each in schedules])
    return spent / len(schedules) * 1e6


def asked_of_cronsim() -> float:
    now = datetime.fromtimestamp(NOW, ROME)
    texts = [expression(number) for number in range(PEERS)]
    return seconds_of(lambda: [next(CronSim(text, now)) for text in texts]) / PEERS * 1e6


def figures() -> list[Figure]:
    schedules = loaded()
    cronsim = min(repeated(asked_of_cronsim))
    return [
        Figure(
            name="next run of a schedule",
            unit="µs",
            runs=repeated(lambda: asked(schedules)),
            sense="at most",
            aim=20,
            limit=cronsim,
            limit_name="µs by cronsim, which parses it again",
        ),
        Figure(
            name=f"{JOBS:,} schedules parsed",
            unit="s",
            runs=repeated(lambda: seconds_of(loaded)),
            sense="at most",
            aim=4,
            limit=cronsim * JOBS / 1e6,
            limit_name="s by cronsim, parsed, with the next run",
        ),
        Figure(
            name=f"{JOBS:,} schedules in memory",
            unit="MiB",
            runs=[mebibytes()],
            sense="at most",
            aim=100,
        ),
    ]
