"""CPU time of small commands, and time until a repeated `watchbell up` is ready."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, repeated

LAUNCHER = Path(__file__).resolve().parent.parent / "watchbell"
PYTHON = getattr(sys, "_base_executable", sys.executable)


def cpu(*command: str) -> float:
    """Milliseconds of CPU, user and system, that the command took."""
    quiet = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        command[0],
        list(command),
        installed(),
        file_actions=[(os.POSIX_SPAWN_DUP2, quiet, fd) for fd in (1, 2)],
    )
    _, status, usage = os.wait4(pid, 0)
    os.close(quiet)
    assert status == 0, f"{command} ended with {status}"
    return (usage.ru_utime + usage.ru_stime) * 1000


def installed() -> dict[str, str]:
    """The environment of an installation, which writes bytecode once and then uses it."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def up(data: str) -> float:
    """Milliseconds from the command until it reports that everything runs."""
    begun = time.perf_counter()
    command = [PYTHON, str(LAUNCHER), "up", "--data", data, "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=installed()
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b'"up"' in line:
                break
        spent = time.perf_counter() - begun
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
    return spent * 1000


def figures() -> list[Figure]:
    bare = min(repeated(lambda: cpu(PYTHON, "-c", "pass"), 10))
    found = [
        Figure(
            name=f"watchbell {word}",
            unit="ms of CPU",
            runs=repeated(lambda word=word: cpu(PYTHON, str(LAUNCHER), word), 10),  # type: ignore[misc]
            sense="at most",
            aim=150,
            limit=bare,
            limit_name="ms of a bare Python",
        )
        for word in ("--help", "version")
    ]
    with tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as folder:
        up(folder)
        starts = repeated(lambda: up(folder))
    started = Figure(
        name="repeated start of watchbell up",
        unit="ms",
        runs=starts,
        sense="at most",
        aim=1000,
        limit=bare,
        limit_name="ms of a bare Python",
    )
    return [*found, started]
