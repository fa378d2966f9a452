"""Which connections are kept, and which exchanges leave one fit for the next request."""

from pathlib import Path

import pytest

from tests.archive.wire_server import page
from watchbell.archive.fetching.connection import Connection, Pool
from watchbell.archive.fetching.exchange import Exchange
from watchbell.archive.fetching.model import Limits
from watchbell.archive.fetching.spool import Spool
from watchbell.clock import SetClock

ORIGIN = ("http", "example.com", 80)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(1_000)


@pytest.fixture
def pool(clock: SetClock) -> Pool:
    return Pool(clock, most=10, seconds=30)


def kept(pool: Pool) -> Connection:
    connection = Connection("192.0.2.1", pool.forget)
    pool.put(ORIGIN, connection)
    return connection


def test_the_newest_connection_is_used_first(pool: Pool) -> None:
    older, newer = kept(pool), kept(pool)
    assert pool.take(("https", "example.com", 443)) is None
    assert [pool.take(ORIGIN), pool.take(ORIGIN), pool.take(ORIGIN)] == [newer, older, None]
    assert len(pool) == 0


def test_a_connection_that_waited_too_long_is_not_used(pool: Pool, clock: SetClock) -> None:
    kept(pool)
    clock.advance(20)
    newer = kept(pool)
    clock.advance(20)
    assert [pool.take(ORIGIN), pool.take(ORIGIN)] == [newer, None]


def test_a_lost_connection_is_forgotten(pool: Pool) -> None:
    connection = kept(pool)
    connection.connection_lost(None)
    assert len(pool) == 0
    pool.put(ORIGIN, connection)
    assert pool.take(ORIGIN) is None


def exchange(folder: Path, size: int = 1_000) -> Exchange:
    return Exchange(Limits(size=size), Spool(folder))


def test_a_complete_response_leaves_a_connection_for_the_next(folder: Path) -> None:
    one = exchange(folder)
    one.received(page(b"hello")[:-1])
    assert not one.keeps_connection
    one.received(b"o")
    assert one.keeps_connection


def test_bytes_after_the_end_spoil_the_connection(folder: Path) -> None:
    one = exchange(folder)
    one.received(page(b"hello"))
    one.received(b"more")
    assert not one.keeps_connection
    assert one.spool.read() == page(b"hello")


def test_a_response_that_is_cut_spoils_the_connection(folder: Path) -> None:
    one = exchange(folder, size=len(page(b"hello")) - 1)
    one.received(page(b"hello"))
    assert (one.truncated, one.spool.read()) == ("length", page(b"hello")[:-1])
    assert not one.keeps_connection


def test_what_arrives_before_the_request_is_part_of_the_exchange(folder: Path) -> None:
    connection, one = Connection("192.0.2.1", lambda _lost: None), exchange(folder)
    connection.data_received(b"220 ")
    connection.data_received(b"ready")
    connection.begin(one, b"GET / HTTP/1.1\r\n\r\n")
    assert one.failure
    assert one.failure.error == "not an HTTP response"
    assert one.spool.read() == b"220 ready"
