import socket
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests import servers
from tests.faults.proxy import Mode, Proxy, Way
from tests.waiting import PATIENCE, wait_until

PING, PONG = b"PING\r\n", b"+PONG\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Server]:
    with servers.single(tmp_path_factory.mktemp("proxy")) as store:
        yield store.server


@pytest.fixture
def proxy(server: servers.Server) -> Iterator[Proxy]:
    with Proxy((servers.HOST, server.port)) as proxy:
        yield proxy


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((servers.HOST, proxy.port), timeout=PATIENCE)


def answer(link: socket.socket) -> bytes:
    link.sendall(PING)
    return receive(link)


def receive(link: socket.socket, length: int = len(PONG)) -> bytes:
    got = b""
    while len(got) < length and (more := link.recv(length - len(got))):
        got += more
    return got


def stays_silent(link: socket.socket) -> bool:
    link.settimeout(0.1)
    try:
        return not link.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        link.settimeout(PATIENCE)


def test_bytes_pass_over_tcp_and_over_a_unix_socket(server: servers.Server, proxy: Proxy) -> None:
    with connect(proxy) as link:
        assert answer(link) == PONG
    with Proxy(server.socket) as local, connect(local) as link:
        assert answer(link) == PONG


def test_a_megabyte_passes_whole(proxy: Proxy) -> None:
    load = b"x" * 1_000_000
    with connect(proxy) as link, link.makefile("rb") as answers:
        link.sendall(b"*2\r\n$4\r\nECHO\r\n$1000000\r\n" + load + b"\r\n")
        assert answers.readline() == b"$1000000\r\n"
        assert answers.read(1_000_000) == load


def test_stalled_bytes_arrive_when_the_stall_ends(proxy: Proxy) -> None:
    with connect(proxy) as old:
        assert answer(old) == PONG
        proxy.set(Mode.STALL)
        with connect(proxy) as new:
            for link in (old, new):
                link.sendall(PING)
            assert stays_silent(old)
            assert stays_silent(new)
            proxy.set(Mode.PASS)
            assert receive(old) == PONG
            assert receive(new) == PONG


def test_a_stall_of_answers_lets_commands_through(server: servers.Server, proxy: Proxy) -> None:
    with connect(proxy) as link:
        proxy.set(Mode.STALL, Way.DOWN)
        link.sendall(b"SET one-way 1\r\n")
        wait_until(lambda: server.call("GET", "one-way"), why="the command arrives")
        assert stays_silent(link)


def test_a_reset_breaks_connections_and_refuses_new_ones_until_it_ends(proxy: Proxy) -> None:
    with connect(proxy) as link:
        assert answer(link) == PONG
        proxy.set(Mode.RESET)
        with pytest.raises(ConnectionResetError):
            link.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.set(Mode.PASS)
    with connect(proxy) as link:
        assert answer(link) == PONG


def test_a_cut_of_answers_ends_the_stream_while_commands_go_on(
    server: servers.Server, proxy: Proxy
) -> None:
    with connect(proxy) as link:
        assert answer(link) == PONG
        proxy.set(Mode.HALF_CLOSE, Way.DOWN)
        assert link.recv(1) == b""
        link.sendall(b"SET half 1\r\n")
        wait_until(lambda: server.call("GET", "half"), why="the command arrives")


def test_a_cut_of_commands_ends_the_connection_at_the_server(proxy: Proxy) -> None:
    with connect(proxy) as link:
        assert answer(link) == PONG
        proxy.set(Mode.HALF_CLOSE, Way.UP)
        assert link.recv(1) == b"", "a server that reads the end closes"


def test_a_new_connection_is_cut_too(proxy: Proxy) -> None:
    proxy.set(Mode.HALF_CLOSE, Way.DOWN)
    with connect(proxy) as link:
        assert link.recv(1) == b""


def test_a_trickle_keeps_to_its_rate(proxy: Proxy) -> None:
    with connect(proxy) as link:
        assert answer(link) == PONG
        proxy.set(Mode.TRICKLE, Way.DOWN, rate=40)
        start = monotonic()
        assert answer(link) == PONG
        assert monotonic() - start > (len(PONG) - 1) / 40
        proxy.set(Mode.TRICKLE, Way.DOWN, rate=0.01)
        link.sendall(PING)
        assert link.recv(1) == b"+"
        proxy.set(Mode.PASS)
        assert receive(link, len(PONG) - 1) == PONG[1:]


def test_what_a_black_hole_swallowed_never_arrives(server: servers.Server, proxy: Proxy) -> None:
    with connect(proxy) as torn, connect(proxy) as untouched:
        assert answer(torn) == answer(untouched) == PONG
        proxy.set(Mode.BLACK_HOLE, Way.UP)
        torn.sendall(b"SET swallowed 1\r\n")
        assert stays_silent(torn)
        proxy.set(Mode.PASS)
        with pytest.raises(ConnectionResetError):
            torn.recv(1)
        assert answer(untouched) == PONG
        assert server.call("GET", "swallowed") is None


def first_byte(proxy: Proxy) -> bytes:
    with connect(proxy) as link:
        return link.recv(1)


def test_a_server_that_is_down_resets_the_client(tmp_path: Path) -> None:
    # As soon as it connects, or at the first read: whichever the reset meets.
    with Proxy(tmp_path / "nobody") as proxy, pytest.raises(ConnectionResetError):
        first_byte(proxy)
