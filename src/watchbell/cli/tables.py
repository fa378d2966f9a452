"""Tables for people: aligned, folded to a terminal's width, never cut in a pipe."""

import sys
from collections.abc import Sequence


def show_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
    *,
    has_header: bool = True,
) -> None:
    """`has_header` is false for the further parts of a long table."""
    if not sys.stdout.isatty():
        _pipe_table(columns, rows, right, has_header=has_header)
        return
    # Slow to import, and not needed for a pipe.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        padding=(0, 2, 0, 0),
        show_header=has_header,
    )
    for column in columns:
        table.add_column(
            column, justify="right" if column in right else "left", overflow="fold", no_wrap=False
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def _pipe_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str],
    *,
    has_header: bool,
) -> None:
    """Print each row on one line, however long; Rich would take a millisecond for each."""
    all_rows = [columns, *rows]
    widths = [max(_width(row[n]) for row in all_rows) for n in range(len(columns))]
    for row in all_rows if has_header else rows:
        gaps = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            gap + cell if column in right else cell + gap
            for column, cell, gap in zip(columns, row, gaps, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _width(text: str) -> int:
    """Columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415  (slow to import, and rarely needed)

    return cell_len(text)
