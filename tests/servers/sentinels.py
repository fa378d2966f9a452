"""A primary and its replica, watched by sentinels."""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.servers.process import HASTY, HOST, PATIENT, REPLICATING, Server
from tests.waiting import wait_until

SERVICE = "watchbell"


class SentinelSet:
    """A primary, a replica, and three sentinels that watch them."""

    def __init__(self, data: list[Server], sentinels: list[Server]) -> None:
        self.data = data
        self.sentinels = sentinels
        self.servers = [*data, *sentinels]
        self.url = f"redis+sentinel://{','.join(s.address for s in sentinels)}/{SERVICE}"

    @property
    def primary(self) -> Server:
        """The one that all sentinels name."""
        named = {self._named(sentinel) for sentinel in self.sentinels if sentinel.alive}
        assert len(named) == 1, f"the sentinels name {named}"
        return next(server for server in self.data if server.port in named)

    def failover(self, *, lossless: bool = True, restart: bool = False) -> Server:
        """Kills the primary with SIGKILL and returns the new one, which takes writes.

        `lossless` holds writes until the replica has every acknowledged one. `restart` brings the
        old primary back as a replica, which the next failover needs.
        """
        old = self.primary
        new = next(server for server in self.data if server is not old)
        self.await_watched(old, new)
        if lossless:
            old.settle(new)
        self._give_up_after(HASTY)
        old.kill()
        wait_until(lambda: self._agreed_on(new), why=f"the sentinels name {new.address}")
        self._give_up_after(PATIENT)
        if restart:
            old.start("--replicaof", HOST, str(new.port))
            self.await_watched(new, old)
        return new

    def await_watched(self, primary: Server, replica: Server) -> None:
        wait_until(lambda: replica.follows(primary), 15, f"{replica.address} is a replica")
        for sentinel in self.sentinels:
            wait_until(
                partial(self._sees_all, sentinel, primary),
                15,
                f"sentinel {sentinel.address} knows the replica and the others",
            )

    def _give_up_after(self, milliseconds: int) -> None:
        """Without an answer for so long, the sentinels take a server for dead."""
        for sentinel in self.sentinels:
            option = "down-after-milliseconds"
            sentinel.call("SENTINEL", "SET", SERVICE, option, milliseconds)

    def _agreed_on(self, new: Server) -> bool:
        named = {self._named(sentinel) for sentinel in self.sentinels}
        return named == {new.port} and new.info("replication")["role"] == "master"

    def _named(self, sentinel: Server) -> int:
        _, port = sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(port)

    def _sees_all(self, sentinel: Server, primary: Server) -> bool:
        with sentinel.client() as client:
            seen = client.sentinel_master(SERVICE)
            replicas = client.sentinel_slaves(SERVICE)
        return bool(
            seen["port"] == primary.port
            and not seen["is_sdown"]
            and seen["num-other-sentinels"] == len(self.sentinels) - 1
            and len(replicas) == 1
            and replicas[0]["master-link-status"] == "ok"
            and not replicas[0]["is_sdown"]
        )


@contextmanager
def sentinel(folder: Path, config: Iterable[str] = ()) -> Iterator[SentinelSet]:
    with ExitStack() as stack:
        data = [Server(folder / name, [*REPLICATING, *config]) for name in ("first", "second")]
        watchers = [Server(folder / f"sentinel-{n}", sentinel=True) for n in range(3)]
        for server in (*data, *watchers):
            stack.callback(server.close)
        data[1].config.append(f"replicaof {HOST} {data[0].port}")
        _introduce(watchers, *data)
        for server in (*data, *watchers):
            server.launch()
        for server in (*data, *watchers):
            server.ready()
        for watcher in watchers:
            _hasten(watcher)
        made = SentinelSet(data, watchers)
        made.await_watched(*data)
        yield made


def _introduce(watchers: list[Server], primary: Server, replica: Server) -> None:
    """Sentinels find each other by announcements every 2 s; written down, they know at once."""
    names = {watcher.port: secrets.token_hex(20) for watcher in watchers}
    for watcher in watchers:
        watcher.config += [
            f"sentinel myid {names[watcher.port]}",
            f"sentinel monitor {SERVICE} {HOST} {primary.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {PATIENT}",
            f"sentinel failover-timeout {SERVICE} 2000",
            f"sentinel known-replica {SERVICE} {HOST} {replica.port}",
            *(
                f"sentinel known-sentinel {SERVICE} {HOST} {port} {name}"
                for port, name in names.items()
                if port != watcher.port
            ),
        ]


def _hasten(watcher: Server) -> None:
    """Sets the periods that no configuration file takes, in milliseconds.

    Pings each 1 s, as is the default, make a fresh link look dead after the 1 s of `failover`;
    pings under 0.2 s make a replica's facts, asked for each 1 s, too old (5 pings) to promote it.
    """
    periods = {"ping-period": 300, "info-period": 200, "publish-period": 200, "tilt-period": 1000}
    for name, milliseconds in periods.items():
        watcher.call("SENTINEL", "DEBUG", name, milliseconds)
