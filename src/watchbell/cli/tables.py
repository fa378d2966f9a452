"""Tables for people: aligned, calm, and never cut where they are piped."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            column, justify="right" if column in right else "left", overflow="fold", no_wrap=False
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    if not sys.stdout.isatty():
        console = Console(highlight=False, width=10_000)
        with console.capture() as capture:
            console.print(table)
        sys.stdout.write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")
        return
    console.print(table)


def in_bytes(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
