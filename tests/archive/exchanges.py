"""Exchanges and bodies for tests of WARC files."""

import random
from pathlib import Path
from typing import Any

from watchbell.archive.warc.records import Body, Exchange
from watchbell.archive.warc.writer import WarcWriter

AT = 1_794_858_651.00025
INFO = {"operator": "Alice", "archivebot-job-ident": "43z7a11vo6of3a7i173441dtc"}


class FileBody:
    """A body that is only on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.longest_read = 0

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        stop = self.size if stop is None else stop
        self.longest_read = max(self.longest_read, stop - start)
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)


def noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def http(body: bytes, *fields: str, status: str = "200 OK", kind: str = "text/html") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *fields]
    if not any(field.lower().startswith("transfer-encoding") for field in fields):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(body: bytes, step: int = 7) -> bytes:
    pieces = [body[start : start + step] for start in range(0, len(body), step)]
    return b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


def exchange(path: str, response: bytes | Body, **more: Any) -> Exchange:
    first = response if isinstance(response, bytes) else response.read(0, 1000)
    values = {
        "url": f"https://www.example.com/{path}",
        "at": AT,
        "ip": "192.0.2.7",
        "request": f"GET /{path} HTTP/1.1\r\nHost: www.example.com\r\n\r\n".encode(),
        "response": response,
        "head_size": first.find(b"\r\n\r\n") + 4,
    }
    return Exchange(**{**values, **more})


def writer(folder: Path, *, part_size: int = 1 << 30, base: str = "example.com-inf") -> WarcWriter:
    return WarcWriter(folder, base, info=INFO, part_size=part_size)
