"""Usage of a tree of real processes, compared with what psutil reads of the same."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.waiting import wait_until
from watchbell.process import usage

# Each runs in a process of its own.
BUSY = "import os\nwhile os.times().user < 0.2: pass"
LARGE = "kept = bytearray(64 << 20)"
WRITING = "import os; f = open('written', 'wb'); f.write(bytes(1 << 20)); os.fsync(f.fileno())"
PARENT = "import subprocess, sys; kept = subprocess.Popen(['sleep', '1000'])"
THREADED = """
import subprocess, threading
def start():
    subprocess.Popen(["sleep", "1000"])
    started.set()
    threading.Event().wait()
started = threading.Event()
threading.Thread(target=start, daemon=True).start()
started.wait()
"""
LISTENING = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
talk = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); talk.bind(("127.0.0.1", 0))
"""


@contextmanager
def running(script: str, folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """The script's process, stopped when it has done what it says; all of it is ended after."""
    waiting = "\nprint(flush=True)\nimport os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    with subprocess.Popen(
        [sys.executable, "-c", script + waiting],
        cwd=folder,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            wait_until(lambda: of(process.pid).state == "T", why="the script has stopped")
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def of(pid: int) -> usage.ProcessUsage:
    found = usage.process(pid)
    assert found is not None
    return found


def test_cpu_time_is_that_of_the_process() -> None:
    with running(BUSY) as process:
        times = psutil.Process(process.pid).cpu_times()
        assert of(process.pid).cpu >= 0.2
        assert of(process.pid).cpu == pytest.approx(times.user + times.system, abs=0.02)


def test_memory_is_what_is_resident() -> None:
    with running(LARGE) as process:
        expected = psutil.Process(process.pid).memory_info().rss
        # The kernel keeps the counts of /proc/PID/stat and of statm a few pages apart.
        assert of(process.pid).memory == pytest.approx(expected, abs=1 << 20)
        assert expected > 64 << 20


def test_disk_is_counted_as_the_system_counts_it(tmp_path: Path) -> None:
    with running(WRITING, tmp_path) as process:
        counters = psutil.Process(process.pid).io_counters()
        found = of(process.pid)
        assert (found.disk_read, found.disk_written) == (counters.read_bytes, counters.write_bytes)


def test_a_process_is_named_with_its_command() -> None:
    with running("") as process:
        found, expected = of(process.pid), psutil.Process(process.pid)
        assert (found.parent, found.name) == (os.getpid(), expected.name())
        assert found.command == " ".join(expected.cmdline())
        assert (found.state, found.threads) == ("T", 1)


@pytest.mark.parametrize("name", ["a) R 1 (b", "with space", "ünï"])
def test_a_name_may_contain_anything(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "1000"], start_new_session=True) as process:
        try:
            wait_until(lambda: of(process.pid).name != "python", why="the program was started")
            assert of(process.pid).name == name.encode()[:15].decode(errors="replace")
            assert of(process.pid).parent == os.getpid()
        finally:
            process.kill()


@pytest.mark.parametrize("script", [PARENT, THREADED])
def test_a_tree_has_children_of_every_thread(script: str) -> None:
    with running(script) as process:
        parent, child = usage.tree([process.pid])
        assert (parent.pid, child.parent) == (process.pid, process.pid)
        assert child.command == "sleep 1000"


def test_a_tree_counts_the_time_of_children_that_were_waited_for() -> None:
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    with running(script) as process:
        assert sum(one.cpu for one in usage.tree([process.pid])) >= 0.2


def test_a_process_that_ended_is_left_out() -> None:
    with running("") as process:
        pid = process.pid
    assert usage.process(pid) is None
    assert usage.tree([pid]) == []
    assert usage.connections([pid]) == []


def test_two_roots_of_one_tree_count_once() -> None:
    with running(PARENT) as process:
        (child,) = usage.children(process.pid)
        assert [one.pid for one in usage.tree([process.pid, child])] == [process.pid, child]


def test_connections_are_those_that_the_process_has_open() -> None:
    with running(LISTENING) as process:
        expected = {
            (_end(one.laddr), _end(one.raddr), one.type)
            for one in psutil.Process(process.pid).net_connections("inet")
        }
        found = usage.connections([process.pid])
        kinds = {"tcp": 1, "tcp6": 1, "udp": 2, "udp6": 2}
        assert {(one.local, one.remote, kinds[one.protocol]) for one in found} == expected
        assert sorted(one.state for one in found) == ["", "established", "listening", "listening"]
        assert {one.pid for one in found} == {process.pid}


def _end(address: tuple[str, int] | tuple[()]) -> str:
    if not address:
        return ""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
