"""`./watchbell bench [NAME…]`: runs the benchmarks and prints one table."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, whose modules are named as others are

from bench.figures import Figure  # noqa: E402
from watchbell.cli.tables import show_table  # noqa: E402

BENCHMARKS = [
    "queue",
    "start",
    "idle",
    "processor",
    "alertmanager",
    "notifier",
    "latency",
    "gateways",
    "burst",
    "schedules",
    "process",
    "cron",
    "cron_list",
    "web",
    "pages",
]


def main(names: list[str]) -> int:
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
        return 2
    figures: list[Figure] = []
    for name in names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        figures += importlib.import_module(f"bench.{name}").figures()
    columns = ["what", "best", "median", "unit", "limit of the same run", "ratio", "aim", ""]
    show_table(columns, [row(figure) for figure in figures], right=["best", "median", "ratio"])
    return 0 if all(figure.reached for figure in figures) else 1


def row(figure: Figure) -> list[str]:
    limit = f"{figure.limit:,.4g} {figure.limit_name}" if figure.limit else ""
    ratio = f"{figure.ratio:.2f}" if figure.ratio is not None else ""
    aim = f"{figure.sense} {figure.aim:,.4g}" if figure.aim is not None else ""
    return [
        figure.name,
        number(figure.best),
        number(figure.median),
        figure.unit,
        limit,
        ratio,
        aim,
        "reached" if figure.reached else "MISSED",
    ]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
