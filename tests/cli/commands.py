"""Watchbell's commands as processes: run to their end, or going on, with what they say."""

import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cli import forks
from tests.conftest import bare_environment, watchbell
from tests.waiting import wait_until

PASSWORD = "hunter2-geheim"
NOWHERE = "redis://127.0.0.1:1"


def ran(
    *arguments: str | bytes, given: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    words = None if given is None else given.encode()
    done = forks.run(arguments, bare_environment(**environment), words)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def ran_afresh(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process that nothing was imported in before, as people start it."""
    done = subprocess.run(
        watchbell(*arguments),
        env=bare_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=forks.SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def printed(*arguments: str, **environment: str) -> Any:
    done = ran(*arguments, "--json", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@contextmanager
def running(*arguments: str, said: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on, once its log has the words `said`."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            watchbell(*arguments),
            env=bare_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

        def is_said() -> bool:
            log.seek(0)
            text = log.read()
            assert process.poll() is None, text
            return said in text

        try:
            wait_until(is_said, 60, f"{arguments} says {said}")
            yield process
            process.terminate()
            process.wait(60)
            log.seek(0)
            text = log.read()
            assert "Traceback" not in text, text
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@contextmanager
def answered(
    *arguments: str, by: socket.socket
) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    """A command, and the first connection that it makes to a listener."""
    process = subprocess.Popen(
        watchbell(*arguments), env=bare_environment(), stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            by.settimeout(60)
            link, _ = by.accept()
            with link:
                yield process, link
        finally:
            process.kill()


def board(process: subprocess.Popen[str]) -> str:
    """The board of an `up` without a terminal, which is printed once."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Press Ctrl-C"):
            break
    return "".join(lines)
