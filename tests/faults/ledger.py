"""An append-only log at the edges of the system, written by many processes, some of them killed."""

import json
import os
import time
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Ledger:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **fields: Any) -> None:
        """One row by one write. `at` is monotonic time, the same for all processes of a machine."""
        row = json.dumps({"at": time.monotonic(), **fields})
        # A kill can cut a write short at a page; the newline in front keeps the next row apart.
        line = f"\n{row}\n".encode()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            written = os.write(file, line)
        finally:
            os.close(file)
        assert written == len(line), f"{self.path} took {written} of {len(line)} bytes"

    def read(self, **having: Any) -> list[Row]:
        """The complete rows that have these fields, in the order in which they were written."""
        if not self.path.exists():
            return []
        rows = [_row(line) for line in self.path.read_text(errors="replace").splitlines()]
        wanted = having.items()
        return [row for row in rows if row is not None and wanted <= row.items()]


def _row(line: str) -> Row | None:
    try:
        row: Row = json.loads(line)
    except json.JSONDecodeError:
        return None
    return row
