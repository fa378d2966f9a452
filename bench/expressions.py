"""Time to evaluate expressions of monitors and alerts, and the longest time that one can take."""

import time
from collections.abc import Callable
from typing import Any

from bench.figures import Figure, repeated
from watchbell.expressions import Expression, ExpressionError

TIMES = 20_000
PROCESSES = 500
VALUES: dict[str, Any] = {
    "load": [1.5, 2, 3],
    "cpu": {"avgLoad": 62.5, "cores": 4},
    "memory": {"total": 1 << 34, "available": 1 << 32},
    "mounts": {"root": {"use": 91.5}},
    "stats": {"network": {"rx_bytes": 7_340_032, "conns": 12}},
    "processes": {
        "list": [{"command": f"worker {n}", "cpu": n % 7, "memRss": n} for n in range(PROCESSES)]
    },
    "items": [{"name": f"item {n}", "value": n} for n in range(100_000)],
    "text": "ab" * 400_000,
}
WORST = [
    "items[.value > 3]",
    "processes.list[.cpu == 1 && .command in processes.list[.cpu == 2 || .memRss > 7]]",
    "processes.list[match(.command, .command + '+$')]",
    "match(text, '[ab]*a([ab]{200})b')",
    "match(text, '[ab]*a([ab]{20})b')",
    "processes.list[round(.cpu / 3, 2) in items]",
    "stringify(items)",
    "sort(items, '-name')",
    "encode(text)",
    "[" * 100_000,
    "1" + "+1" * 4_999,
]
"""Each would take long, if it were not bounded."""


def microseconds(run: Callable[[], object], times: int = TIMES) -> float:
    started = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - started) / times * 1e6


def evaluation(text: str, aim: float, times: int = TIMES) -> Figure:
    expression = Expression.parse(text)
    assert expression.evaluate(VALUES) is not None
    return Figure(
        name=text,
        unit="µs",
        runs=repeated(lambda: microseconds(lambda: expression.evaluate(VALUES), times)),
        sense="at most",
        aim=aim,
    )


def worst() -> float:
    """Milliseconds of processor time."""
    slowest = 0.0
    for text in WORST:
        started = time.process_time()
        outcome(text)
        slowest = max(slowest, time.process_time() - started)
    return slowest * 1e3


def outcome(text: str) -> object:
    try:
        return Expression.parse(text).evaluate(VALUES)
    except ExpressionError as error:
        return error


def figures() -> list[Figure]:
    alert = "cpu.avgLoad >= 50 && mounts.root.use > 90"
    return [
        evaluation("cpu.avgLoad", 3),
        evaluation("stats.network.rx_bytes", 3),
        evaluation(alert, 5),
        evaluation("100 - memory.available / memory.total * 100", 10),
        evaluation("processes.list[.command == 'worker 499'].memRss", 1_000, 50),
        Figure(
            name="expression parsed",
            unit="µs",
            runs=repeated(lambda: microseconds(lambda: Expression.parse(alert), 1_000)),
            sense="at most",
        ),
        Figure(
            name=f"slowest of {len(WORST)} that would take long",
            unit="ms",
            runs=repeated(worst, 3),
            sense="at most",
            aim=50,
        ),
    ]
