"""Bytes per second into a WARC file with digests, and through its check; pages per second."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.figures import Figure, repeated
from watchbell.archive.warc.check import check
from watchbell.archive.warc.records import Exchange
from watchbell.archive.warc.writer import WarcWriter

LARGE = 256 << 20
PAGES = 10_000
PIECE = 1 << 19
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"


class FileBody:
    def __init__(self, path: Path) -> None:
        self.size = path.stat().st_size
        self._file = path.open("rb")

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        self._file.seek(start)
        return self._file.read((self.size if stop is None else stop) - start)

    def close(self) -> None:
        self._file.close()


def written(folder: Path, body: Path) -> Path:
    """The finished WARC of one large response, which is on disk and can't be packed."""
    out = WarcWriter(folder, f"large-{time.monotonic_ns()}", info={}, part_size=5 << 30)
    response = FileBody(body)
    out.write_exchange(exchange("large", response))
    response.close()
    [path] = out.finish()
    return path


def exchange(name: str, response: bytes | FileBody) -> Exchange:
    return Exchange(
        url=f"https://www.example.com/{name}",
        at=1_794_858_651.0,
        ip="192.0.2.7",
        request=f"GET /{name} HTTP/1.1\r\nHost: www.example.com\r\n\r\n".encode(),
        response=response,
        head_size=len(HEAD),
    )


def write_large(folder: Path, body: Path) -> None:
    path = written(folder, body)
    assert path.stat().st_size > LARGE
    path.unlink()


def digest_large(body: Path) -> None:
    """What can't be avoided, once: reading and SHA-1."""
    digest = hashlib.sha1(usedforsecurity=False)
    with body.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)


def write_pages(folder: Path, pages: list[bytes]) -> None:
    out = WarcWriter(folder, f"pages-{time.monotonic_ns()}", info={}, part_size=5 << 30)
    for number, page in enumerate(pages):
        out.write_exchange(exchange(str(number), page))
    [path] = out.finish()
    path.unlink()


def digest_pages(pages: list[bytes]) -> None:
    for page in pages:
        hashlib.sha1(page, usedforsecurity=False).digest()
        hashlib.sha1(page[len(HEAD) :], usedforsecurity=False).digest()


def check_file(path: Path) -> None:
    assert not check([path]).fault_count


def rate(amount: float, work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return amount / (time.perf_counter() - begun)


def page(number: int) -> bytes:
    links = "".join(
        f'<li><a href="/page/{number * 7919 % (n + 99)}?from={number}">Page {n * number}</a></li>\n'
        for n in range(50)
    )
    return HEAD + f"<!doctype html><title>Page {number}</title><ul>{links}</ul>".encode()


def figures() -> list[Figure]:
    megabytes = LARGE / 1e6
    pages = [page(number) for number in range(PAGES)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        body = folder / "body"
        body.write_bytes(HEAD + os.urandom(LARGE))
        measured = {
            "write": repeated(partial(rate, megabytes, partial(write_large, folder, body))),
            "digest": repeated(partial(rate, megabytes, partial(digest_large, body))),
            "pages": repeated(partial(rate, PAGES, partial(write_pages, folder, pages))),
            "digest pages": repeated(partial(rate, PAGES, partial(digest_pages, pages))),
        }
        path = written(folder, body)
        measured["check"] = repeated(partial(rate, megabytes, partial(check_file, path)))
    limit, limit_name = max(measured["digest"]), "MB/s by SHA-1 alone"
    return [
        Figure(
            name="WARC, large body that can't be packed, written and synced",
            unit="MB/s",
            runs=measured["write"],
            aim=200,
            limit=limit,
            limit_name=limit_name,
        ),
        Figure(
            name="WARC, check of such a file",
            unit="MB/s",
            runs=measured["check"],
            limit=limit,
            limit_name=limit_name,
        ),
        Figure(
            name="WARC, pages of 3 KB, request and response",
            unit="pages/s",
            runs=measured["pages"],
            aim=5000,
            limit=max(measured["digest pages"]),
            limit_name="pages/s by SHA-1 alone",
        ),
    ]
