"""CPU and memory of `watchbell up` while nothing happens, without its store."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.figures import Figure
from tests.servers import held_port

LAUNCHER = Path(__file__).resolve().parent.parent / "watchbell"
PYTHON = getattr(sys, "_base_executable", sys.executable)
SECONDS = 30


def started(command: list[str], web_port: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "WATCHBELL_WEB_PORT": str(web_port)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as folder:
        command = [PYTHON, str(LAUNCHER), "up", "--data", folder, "--port", "0"]
        with held_port() as hold, started(command, hold.getsockname()[1]) as process:
            assert process.stderr is not None
            while b'"serving"' not in process.stderr.readline():
                pass  # the web is loaded last, after all others are up
            watched = psutil.Process(process.pid)
            before = sum(watched.cpu_times()[:2])
            time.sleep(SECONDS)
            spent = sum(watched.cpu_times()[:2]) - before
            memory = watched.memory_info().rss / (1 << 20)
            process.terminate()
            process.stderr.read()
    bare = psutil.Process().memory_info().rss / (1 << 20)
    return [
        Figure(
            name=f"idle up, CPU over {SECONDS} s",
            unit="% of a core",
            runs=[spent / SECONDS * 100],
            sense="at most",
            aim=1,
            limit=100,
            limit_name="% is one core",
        ),
        Figure(
            name="idle up, resident memory",
            unit="MiB",
            runs=[memory],
            sense="at most",
            aim=80,
            limit=bare,
            limit_name="MiB of this benchmark",
        ),
    ]
