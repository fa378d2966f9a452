"""Prints the output of runs and jobs."""

import sys
from collections.abc import Iterable

from watchbell.cli.formatting import when
from watchbell.runs.output_store import OutputLine


def print_lines(lines: Iterable[OutputLine], times: bool) -> None:
    """Without times, exactly the bytes that were written, which may not be text."""
    for line in lines:
        if times:
            sys.stdout.buffer.write(f"{when(int(line.at))} ".encode())
        sys.stdout.buffer.write(line.text)
        if times and not line.text.endswith(b"\n"):
            sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
