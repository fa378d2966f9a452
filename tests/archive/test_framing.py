"""Where responses end: odd ones, however the network cuts them; and the same as httptools reads."""

from itertools import pairwise

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.wire_server import chunked, page
from watchbell.archive.fetching.framing import Framing
from watchbell.archive.fetching.model import FetchFailed

MOST = 65_536
LF = b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"
MIXED = b"HTTP/1.0 200 OK\r\nContent-Length: 2\n\r\nhi"
ODD_CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 1\r\n\r\n"
    b"00002 ;a=b\r\nhi\r\n1\n!\n0\r\nX: y\r\n\r\n"
)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"

# What the server sends, and whether it keeps the connection.
WHOLE = {
    "ordinary": (page(b"hello"), True),
    "empty": (page(b""), True),
    "no reason": (page(b"hello", status="200"), True),
    "reason in Latin-1": (b"HTTP/1.1 404 Pas trouv\xe9\r\nContent-Length: 0\r\n\r\n", True),
    "line feeds only": (LF, True),
    "mixed line ends": (MIXED, False),
    "HTTP/1.0": (page(b"hello", version="1.0"), False),
    "HTTP/1.0 kept": (page(b"hello", "Connection: Keep-Alive", version="1.0"), True),
    "asked to close": (page(b"hello", "connection: foo, Close"), False),
    "chunked": (chunked(b"hello", b"world"), True),
    "chunked and empty": (chunked(), True),
    "chunked with trailers": (chunked(b"x", trailers=b"A: b\r\nC: d\r\n"), True),
    "odd chunks": (ODD_CHUNKS, True),
    "204": (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", True),
    "304": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", True),
    "same length twice": (page(b"hello", "Content-Length: 5"), True),
    "broken header line": (page(b"hello", "this is no header", ": nor this"), True),
    "folded header": (page(b"hello", "X-A: one", "\ttwo"), True),
}


def read(raw: bytes, size: int) -> tuple[Framing, bytes]:
    framing = Framing(MOST)
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    return framing, b"".join(framing.feed(piece) for piece in pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(("raw", "is_kept"), WHOLE.values(), ids=WHOLE)
def test_a_response_is_complete_at_its_last_byte(raw: bytes, is_kept: bool, size: int) -> None:
    framing, taken = read(raw, size)
    assert taken == raw
    assert framing.is_complete
    assert not framing.has_more
    assert framing.head
    assert framing.head.is_kept_alive == is_kept
    assert not read(raw[:-1], size)[0].is_complete


@pytest.mark.parametrize("raw", [raw for raw, _ in WHOLE.values()], ids=WHOLE)
def test_what_follows_a_response_does_not_belong_to_it(raw: bytes) -> None:
    framing = Framing(MOST)
    assert framing.feed(raw + page(b"another")) == raw
    assert framing.has_more


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_interim_responses_are_kept_apart(size: int) -> None:
    framing, taken = read(INTERIM + page(b"hello"), size)
    assert taken == page(b"hello")
    assert framing.interim == INTERIM
    assert framing.head
    assert framing.head.status == 200


UNTIL_CLOSED = {
    "no length": b"HTTP/1.1 200 OK\r\n\r\nhello",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nhello",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
    "length in words": b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello",
}


@pytest.mark.parametrize("raw", UNTIL_CLOSED.values(), ids=UNTIL_CLOSED)
def test_a_body_of_unknown_length_ends_with_the_connection(raw: bytes) -> None:
    framing, taken = read(raw, 3)
    assert taken == raw
    assert not framing.is_complete
    assert framing.closed("") is None
    broken = framing.closed("connection reset by peer")
    assert broken
    assert broken.truncated == "disconnect"


CUT = [
    (b"", "connection closed without a response"),
    (b"HTT", "connection closed within the headers"),
    (b"HTTP/1.1 200 OK\r\nA: b\r\n", "connection closed within the headers"),
    (page(b"hello")[:-1], "connection closed within the body"),
    (chunked(b"hello")[:-1], "connection closed within the body"),
    (chunked(b"hello")[:-7], "connection closed within the body"),
]


@pytest.mark.parametrize(("raw", "error"), CUT)
def test_a_response_that_is_cut_off_is_a_failure(raw: bytes, error: str) -> None:
    framing, taken = read(raw, 4)
    failure = framing.closed("")
    assert failure
    assert failure.error == error
    assert failure.is_retryable
    assert taken + framing.pending == raw


JUNK = [
    (b"<html>old</html>", "not an HTTP response"),
    (b"ICY 200 OK\r\nicy-name: radio\r\n\r\n", "not an HTTP response"),
    (b"220 mail.example.com ESMTP\r\n", "not an HTTP response"),
    (b"HTTP/1.1 OK\r\n\r\n", "not an HTTP response"),
    (b"HTTP/1.1 2000 OK\r\n\r\n", "not an HTTP response"),
    (b"HTTP/1.1 200 OK\r\nA: " + b"b" * MOST, "headers larger than 65,536 bytes"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 3_000, "headers larger than 65,536 bytes"),
    (chunked(b"hello").replace(b"5\r\n", b"z\r\n"), "broken chunks: b'z\\r' is not a size"),
    (chunked(b"hello").replace(b"5\r\n", b"4\r\n"), "broken chunks: a chunk is longer than its"),
    (chunked(b"hello").replace(b"5\r\n", b"5" * 17), "broken chunks"),
    (chunked(b"hello").replace(b"5\r\n", b"5;" + b"x" * 5_000), "broken chunks: a line is too"),
    (chunked(trailers=b"A: b\r\n" * 20_000), "broken chunks: too many trailers"),
]


@pytest.mark.parametrize(("raw", "error"), JUNK)
def test_what_is_not_http_is_a_failure_and_kept(raw: bytes, error: str) -> None:
    framing = Framing(MOST)
    taken: list[bytes] = []
    pieces = [raw[at : at + 1_000] for at in range(0, len(raw), 1_000)]
    with pytest.raises(FetchFailed) as raised:
        taken.extend(map(framing.feed, pieces))
    assert raised.value.error.startswith(error)
    received = framing.interim + b"".join(taken) + framing.pending
    assert raw.startswith(received)
    assert received


def test_headers_are_read_as_sent() -> None:
    framing, _ = read(page(b"", "X-A: one", "\ttwo", "set-cookie: a=b", "Set-Cookie : c=d"), 1_000)
    assert framing.head
    assert framing.head.headers == (
        ("X-A", "one two"),
        ("set-cookie", "a=b"),
        ("Set-Cookie", "c=d"),
        ("Content-Length", "0"),
    )


class Heard:
    """What httptools makes of a response."""

    def __init__(self) -> None:
        self.headers: list[tuple[str, str]] = []
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1"), value.decode("latin-1").strip()))

    def on_message_complete(self) -> None:
        self.is_complete = True


TOKEN = st.text("abcdefXYZ-_019", min_size=1, max_size=10)
VALUE = st.text("abc XYZ,;=/\"'äö09", max_size=20).map(str.strip)


@given(
    names=st.lists(st.tuples(st.just("x-").flatmap(lambda x: TOKEN.map(x.__add__)), VALUE)),
    bodies=st.lists(st.binary(min_size=1, max_size=30), max_size=5),
    is_chunked=st.booleans(),
    cuts=st.lists(st.integers(0, 300), max_size=5),
)
def test_framing_agrees_with_httptools(
    names: list[tuple[str, str]], bodies: list[bytes], is_chunked: bool, cuts: list[int]
) -> None:
    headers = b"".join(f"{name}: {value}\r\n".encode("latin-1") for name, value in names)
    plain = chunked(*bodies) if is_chunked else page(b"".join(bodies))
    raw = plain.replace(b"OK\r\n", b"OK\r\n" + headers, 1)
    heard, framing = Heard(), Framing(MOST)
    parser = httptools.HttpResponseParser(heard)
    bounds = sorted({0, len(raw), *[min(cut, len(raw)) for cut in cuts]})
    for start, end in pairwise(bounds):
        parser.feed_data(raw[start:end])
        framing.feed(raw[start:end])
        assert framing.is_complete == heard.is_complete
    assert framing.is_complete
    assert framing.head
    assert list(framing.head.headers) == heard.headers


@given(
    start=st.sampled_from(
        [
            b"",
            b"HTTP/1.1 ",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ]
    ),
    pieces=st.lists(
        st.binary(max_size=9) | st.sampled_from([b"\r\n", b"\n\n", b"0", b"3\r\nabc\r\n"])
    ),
)
def test_whatever_a_server_sends_is_kept(start: bytes, pieces: list[bytes]) -> None:
    framing = Framing(MOST)
    kept = b""
    sent = b""
    try:
        for piece in [start, *pieces]:
            sent += piece
            kept += framing.feed(piece)
            if framing.is_complete:
                break
    except FetchFailed:
        pass
    kept = framing.interim + kept + framing.pending
    assert sent.startswith(kept)
    assert kept == sent or framing.has_more
