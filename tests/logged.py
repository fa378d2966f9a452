"""What our code logs while a test's body runs."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from watchbell import logs


class Lines:
    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def events(self, *levels: str) -> list[str]:
        """The texts of the lines of these levels, or of all."""
        return [line["event"] for line in self.all() if not levels or line["level"] in levels]


@contextmanager
def logged(level: str = "info") -> Iterator[Lines]:
    stream = io.StringIO()
    logs.configure(level, "json", stream)
    try:
        yield Lines(stream)
    finally:
        logs.configure("error", "json")
