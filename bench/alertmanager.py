"""Events per second of the processor, compared with Debian's prometheus-alertmanager."""

import asyncio
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figures import Figure
from bench.processor import rate

ALERTS, BATCH, CHECKS, ROUNDS = 20_000, 100, 1_000, 3
CONFIG = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n"


def figures() -> list[Figure]:
    binary = shutil.which("prometheus-alertmanager")
    if binary is None:
        print("skipped: prometheus-alertmanager is not installed")
        return []
    theirs, ours = [], []
    for _ in range(ROUNDS):  # in turn, so that other load affects both
        with running(binary) as port:
            theirs.append(posted(port))
        ours.append(asyncio.run(rate(CHECKS, 0.1)))
    return [
        Figure(
            name="processor, 10% state changes, alternating with Alertmanager",
            unit="events/s",
            runs=ours,
            limit=max(theirs),
            limit_name="alerts/s posted to Alertmanager, 100 per request",
        )
    ]


@contextmanager
def running(binary: str) -> Iterator[int]:
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        free.close()
        config = Path(folder, "config.yml")
        config.write_text(CONFIG)
        options = [
            f"--config.file={config}",
            f"--storage.path={folder}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]
        quiet = subprocess.DEVNULL
        with subprocess.Popen([binary, *options], stdout=quiet, stderr=quiet) as process:
            try:
                ready(port)
                yield port
            finally:
                process.kill()


def ready(port: int) -> None:
    ends = time.monotonic() + 20
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/-/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            if time.monotonic() > ends:
                raise
        time.sleep(0.05)


def posted(port: int) -> float:
    """Alerts per second over one connection; a tenth of them are resolved."""
    bodies = []
    for first in range(0, ALERTS, BATCH):
        alerts = [alert((first + n) % CHECKS, resolved=n % 10 == 0) for n in range(BATCH)]
        bodies.append(json.dumps(alerts))
    connection = http.client.HTTPConnection("127.0.0.1", port)
    begun = time.perf_counter()
    for body in bodies:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/api/v2/alerts", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    return ALERTS / (time.perf_counter() - begun)


def alert(number: int, *, resolved: bool) -> dict[str, object]:
    labels = {"alertname": f"HTTP port {number % 10}", "instance": f"web-{number // 10}"}
    ended = {"endsAt": "2020-01-01T00:00:00Z"} if resolved else {}
    return {"labels": labels, "annotations": {"summary": "connection refused"}, **ended}
