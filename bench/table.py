"""`./watchbell bench [NAME…]`: runs benchmarks and prints a table of their figures."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder: `queue` would hide the standard module

from bench.figures import Figure  # noqa: E402
from watchbell.cli.tables import show_table  # noqa: E402

BENCHMARKS = [
    "queue",
    "start",
    "idle",
    "processor",
    "records",
    "alertmanager",
    "notifier",
    "latency",
    "gateways",
    "burst",
    "schedules",
    "expressions",
    "process",
    "cron",
    "cron_list",
    "events",
    "job_history",
    "jobs",
    "workflows",
    "agents",
    "sampling",
    "series",
    "monitoring",
    "web",
    "pages",
    "fleet_page",
    "warc",
    "fetching",
    "ignores",
    "links",
    "crawl",
    "lateness",
    "dashboard",
    "frontier",
]


HELP = """\
Usage: ./watchbell bench [NAME]...

Run the named benchmarks, or all, and print their figures: each with the limit
that was measured in the same run, and the goal. Exits with 1 if a goal is missed.

Benchmarks:"""


def main(names: list[str]) -> int:
    if {"-h", "--help"} & set(names):
        print(HELP)
        for name in BENCHMARKS:
            print(f"  {name:<12}  {benchmark(name).__doc__}")
        return 0
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(
            f"there is no benchmark {', '.join(sorted(unknown))};"
            f" expected one of {', '.join(BENCHMARKS)}",
            file=sys.stderr,
        )
        return 2
    figures: list[Figure] = []
    for name in names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        figures += benchmark(name).figures()
    columns = ["figure", "best", "median", "unit", "limit of the same run", "ratio", "goal", ""]
    show_table(columns, [row(figure) for figure in figures], right=["best", "median", "ratio"])
    return 0 if all(figure.reached for figure in figures) else 1


def benchmark(name: str) -> ModuleType:
    return importlib.import_module(f"bench.{name}")


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
        "met" if figure.reached else "MISSED",
    ]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
