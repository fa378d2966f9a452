import asyncio
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests import servers
from tests.waiting import eventually, wait_until

ALONE = [servers.single, servers.debian, servers.tls]


@pytest.mark.parametrize("topology", ALONE)
def test_a_single_server_keeps_its_keys_over_a_kill(
    topology: Callable[[Path], AbstractContextManager[servers.Single]], tmp_path: Path
) -> None:
    with topology(tmp_path) as store:
        store.server.call("SET", "alice", "here")
        before = store.server.pid
        store.failover()
        assert store.server.pid != before
        assert store.server.call("GET", "alice") == "here"


def test_a_server_listens_on_a_unix_socket_with_a_short_path(tmp_path: Path) -> None:
    with (
        servers.single(tmp_path / ("long" * 30)) as store,
        redis.Redis.from_url(store.server.socket_url, protocol=2) as client,
    ):
        assert client.ping()
        assert len(str(store.server.socket)) < 100


def test_a_client_without_a_certificate_is_refused(tmp_path: Path) -> None:
    with servers.tls(tmp_path) as store:
        assert store.server.certificates is not None
        stranger = redis.Redis(
            port=store.server.port,
            protocol=2,
            ssl=True,
            ssl_ca_certs=str(store.server.certificates.ca),
            retry=Retry(NoBackoff(), 0),
        )
        with stranger, pytest.raises((redis.ConnectionError, OSError)):
            stranger.ping()


def test_a_paused_server_does_not_answer_until_it_is_resumed(tmp_path: Path) -> None:
    with servers.single(tmp_path) as store:
        store.server.pause()
        with socket.create_connection((servers.HOST, store.server.port), timeout=0.1) as link:
            link.sendall(b"PING\r\n")
            with pytest.raises(TimeoutError):
                link.recv(1)
        store.server.resume()
        assert store.server.ping()


def test_a_server_restarted_in_order_has_its_keys(tmp_path: Path) -> None:
    with servers.single(tmp_path) as store:
        store.server.call("SET", "bob", "there")
        store.server.restart()
        assert store.server.call("GET", "bob") == "there"


def test_a_server_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="no-such-setting"),
        servers.single(tmp_path, ["no-such-setting 1"]),
    ):
        pass


def test_a_server_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    server = servers.Server(tmp_path)
    try:
        asker = threading.Thread(target=server.start)
        asker.start()
        asker.join()
        assert server.ping()
    finally:
        server.close()


def test_a_server_dies_with_a_killed_test_process(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys; from tests.servers import Server\n"
        f"server = Server(pathlib.Path({str(tmp_path)!r})).start()\n"
        "print(server.port, server.socket, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as child:
        assert child.stdout is not None
        port, path = child.stdout.readline().split()
        assert _listens(int(port))
        child.kill()
    wait_until(lambda: not _listens(int(port)), why="the orphan is gone")
    shutil.rmtree(Path(path).parent)


def _listens(port: int) -> bool:
    with socket.socket() as link:
        return link.connect_ex((servers.HOST, port)) == 0


def test_a_sentinel_set_keeps_a_key_over_two_failovers(tmp_path: Path) -> None:
    with servers.sentinel(tmp_path) as store:
        first = store.primary
        first.call("SET", "alice", "here")
        second = store.failover(restart=True)
        assert second is not first
        assert second.call("GET", "alice") == "here"
        second.call("SET", "bob", "there")
        third = store.failover()
        assert third is first
        assert third.call("MGET", "alice", "bob") == ["here", "there"]


def test_a_cluster_keeps_keys_over_a_failover_of_their_owner(tmp_path: Path) -> None:
    names = [f"check-{n}" for n in range(30)]
    with servers.cluster(tmp_path) as store:
        assert len({store.primary(name).port for name in names}) == 3
        for name in names:
            store.primary(name).call("SET", name, "kept")
        old = store.primary("check-7")
        new = store.failover("check-7", restart=True)
        assert old is not new
        assert store.primary("check-7") is new
        assert [store.primary(name).call("GET", name) for name in names] == ["kept"] * 30
        assert store.failover("check-7") is old
        assert old.call("GET", "check-7") == "kept"


async def test_a_sentinel_set_loses_nothing_acknowledged_under_load(tmp_path: Path) -> None:
    with servers.sentinel(tmp_path) as store:
        await _fail_over_under_load(store.primary, store.failover)


async def test_a_cluster_loses_nothing_acknowledged_under_load(tmp_path: Path) -> None:
    with servers.cluster(tmp_path) as store:
        await _fail_over_under_load(store.primary("count"), partial(store.failover, "count"))


async def _fail_over_under_load(
    old: servers.Server, failover: Callable[[], servers.Server]
) -> None:
    acknowledged = 0

    def write() -> None:
        nonlocal acknowledged
        with old.client() as client, suppress(redis.ConnectionError, redis.TimeoutError):
            while True:
                client.set("count", acknowledged + 1)
                acknowledged += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(write))
        await eventually(lambda: acknowledged > 500, why="the writer writes")
        new = await asyncio.to_thread(failover)
    assert int(new.call("GET", "count")) == acknowledged
