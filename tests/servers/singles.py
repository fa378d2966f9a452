"""Stores of one server: the wheel's, Debian's, and one behind TLS."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.process import DURABLE, HOST, Certificates, Server

DEBIAN = Path("/usr/bin/redis-server")


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
def single(
    folder: Path, config: Iterable[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Single]:
    with Server(folder / "single", [*DURABLE, *config], environment=environment) as server:
        yield Single(server.url, [server])


def _debian_or_skip() -> Path:
    if not DEBIAN.exists():
        pytest.skip("Debian's redis-server is not installed")
    if "FAKETIME" in os.environ:  # its allocator and libfaketime wait for each other
        pytest.skip("Debian's redis-server does not start under libfaketime")
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
