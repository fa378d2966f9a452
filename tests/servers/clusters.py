"""A cluster of three primaries with their replicas."""

import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.servers.process import HASTY, HOST, PATIENT, REPLICATING, Server, held_port
from tests.waiting import wait_until

SLOTS = 16384


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
        self._give_up_after(HASTY)
        old.kill()
        wait_until(lambda: self._agreed_on(old, new), why=f"{new.address} owns the slots")
        self._give_up_after(PATIENT)
        if restart:
            old.start()
            wait_until(lambda: old.follows(new), 15, f"{old.address} is a replica")
            wait_until(self.is_whole, 15, "the cluster is whole again")
        return new

    def _give_up_after(self, milliseconds: int) -> None:
        """Without an answer for so long, the others take a node for dead."""
        for server in self.alive:
            server.call("CONFIG", "SET", "cluster-node-timeout", milliseconds)

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
        made._give_up_after(PATIENT)
        yield made


def _clustered(bus: socket.socket) -> list[str]:
    return [
        *REPLICATING,
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        f"cluster-port {bus.getsockname()[1]}",
        f"cluster-node-timeout {HASTY}",  # which a start waits for
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
        wait_until(partial(_knows, replica, name), why=f"{replica.address} knows its primary")
        replica.call("CLUSTER REPLICATE", name)


def _knows(server: Server, name: str) -> bool:
    return any(node["node_id"] == name for node in server.call("CLUSTER NODES").values())
