"""Contents of responses: every coding, broken data, and bombs."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.wire_server import chunked
from watchbell.archive.fetching.decoding import decode, decoded
from watchbell.archive.fetching.model import Fetched, Truncation
from watchbell.archive.fetching.spool import Spool

CHUNKED = ("Transfer-Encoding", "chunked")
TEXT = b"<p>Ahoy, " * 20_000


def raw_deflate(content: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(content) + stream.flush()


def gzip_members(content: bytes) -> bytes:
    return gzip.compress(content[:1_000]) + gzip.compress(content[1_000:]) + b"\0\0\0"


def quick_brotli(content: bytes) -> bytes:
    compressed: bytes = brotli.compress(content, quality=1)
    return compressed


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("identity", bytes),
    "gzip": ("GZip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "members": ("gzip", gzip_members),
    "not compressed after all": ("gzip", bytes),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", quick_brotli),
    "zstd": ("zstd", zstandard.compress),
    "zstd frames": (
        "zstd",
        lambda text: zstandard.compress(text[:9]) + zstandard.compress(text[9:]),
    ),
    "two": ("br, gzip", lambda text: gzip.compress(quick_brotli(text))),
}


def pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


@pytest.mark.parametrize("size", [1, 13, 10_000, 10_000_000])
@pytest.mark.parametrize(("coding", "encode"), CODINGS.values(), ids=CODINGS)
def test_a_body_is_decoded(coding: str, encode: Callable[[bytes], bytes], size: int) -> None:
    text = TEXT[: size * 3_000]
    raw = encode(text)
    headers = (("content-encoding", coding),)
    found = decode(headers, pieces(raw, size))
    assert (found.body, found.is_whole, found.problem) == (text, True, "")
    framed = chunked(*pieces(raw, 777)).partition(b"\r\n\r\n")[2]
    assert decode((*headers, CHUNKED), pieces(framed, size)).body == text


COMPRESSED = ["gzip", "deflate", "raw deflate", "brotli", "zstd", "two"]


@pytest.mark.parametrize("name", [name for name in COMPRESSED if name != "zstd"])
def test_what_arrived_of_a_body_is_decoded(name: str) -> None:
    coding, encode = CODINGS[name]
    raw = encode(bytes(range(256)) * 2_000)
    found = decode((("content-encoding", coding),), pieces(raw[:-9], 1_000))
    assert not found.is_whole
    assert found.problem
    assert (bytes(range(256)) * 2_000).startswith(found.body)


@pytest.mark.parametrize("name", COMPRESSED)
def test_a_bomb_ends_at_the_limit(name: str) -> None:
    coding, encode = CODINGS[name]
    raw = encode(bytes(50_000_000))
    tracemalloc.start()
    found = decode((("content-encoding", coding),), pieces(raw, 65_536), 100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.body == bytes(100_000)
    assert not found.is_whole
    assert peak < 5_000_000


def test_a_bomb_that_vanishes_in_the_next_step_ends_too() -> None:
    """A megabyte of empty members, within a gzip of some kilobytes."""
    raw = gzip.compress(gzip.compress(b"") * 50_000)
    found = decode((("content-encoding", "gzip, gzip"),), pieces(raw, 1_000), 100_000)
    assert (found.body, found.is_whole) == (b"", False)


@pytest.mark.parametrize(
    ("coding", "problem"),
    [("compress", "unknown coding compress"), ("gzip," * 9, "more than 3 codings")],
)
def test_an_odd_coding_is_reported(coding: str, problem: str) -> None:
    found = decode((("content-encoding", coding),), [gzip.compress(TEXT)])
    assert (found.body, found.is_whole, found.problem) == (b"", False, problem)


@given(
    raw=st.binary(max_size=300),
    coding=st.sampled_from(["gzip", "deflate", "br", "zstd", "chunked", "gzip, br"]),
    prefix=st.sampled_from([b"", b"\x1f\x8b\x08", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"a\r\n"]),
)
def test_no_body_breaks_the_decoder(raw: bytes, coding: str, prefix: bytes) -> None:
    name = "transfer-encoding" if coding == "chunked" else "content-encoding"
    found = decode(((name, coding),), [prefix, raw], 1_000)
    assert len(found.body) <= 1_000


@pytest.mark.parametrize(
    ("most", "truncated", "is_whole"),
    [(100, "", True), (5, "", True), (4, "", False), (100, "disconnect", False)],
)
def test_a_body_without_a_coding_is_cut_at_the_limit(
    folder: Path, most: int, truncated: Truncation, is_whole: bool
) -> None:
    spool = Spool.of(b"HTTP/1.1 200 OK\r\n\r\nhello", folder)
    one = Fetched(url="", response=spool, head_size=19, started=0, truncated=truncated)
    found = decoded(one, most)
    assert (found.body, found.is_whole) == (b"hello"[:most], is_whole)
