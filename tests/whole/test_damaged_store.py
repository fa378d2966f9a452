"""`watchbell up` on damaged data: a torn tail is cut off, everything else is left to people."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BareStore, bare_environment, watchbell
from tests.waiting import eventually
from tests.whole.test_up import failed_up, fill, missing, servers_on
from watchbell.store import url as store_url
from watchbell.store.client import Store


def increment(data: Path) -> Path:
    return next((data / "appendonlydir").glob("*.incr.aof"))


def repair(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        watchbell("store", "repair", "--data", str(data), *options),
        env=bare_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def damage(file: Path) -> int:
    """Spoils the second of two large commands, and returns where it begins."""
    data = file.read_bytes()
    at = data.index(b"*1001\r\n", data.index(b"*1001\r\n") + 1)
    file.write_bytes(data[:at] + b"?" + data[at + 1 :])
    return at


@pytest.mark.parametrize(("torn", "size"), [("cut short", -7), ("followed by zeros", 100)])
def test_a_torn_tail_is_cut_off_with_a_warning_and_kept(folder: Path, torn: str, size: int) -> None:
    with BareStore(folder / "data") as up:
        asyncio.run(fill(up.url, 1000))
        up.end()
        file = increment(up.data)
        earlier = file.with_name(file.name + ".torn")
        earlier.write_bytes(b"earlier")
        whole = file.stat().st_size
        os.truncate(file, whole + size)
        up.again()
        gone = asyncio.run(missing(up.url, 1000))
        lines = up.records()
    assert gone == (list(range(500, 1000)) if torn == "cut short" else [])
    copy = file.with_name(file.name + ".torn.2")
    (line,) = [line for line in lines if "torn" in line["event"]]
    assert (line["level"], line["bytes"], line["copy"]) == (
        "warning",
        copy.stat().st_size,
        copy.name,
    )
    assert earlier.read_bytes() == b"earlier"


def test_damage_in_the_middle_stops_the_start_until_it_is_repaired(folder: Path) -> None:
    data = folder / "data"
    with BareStore(data) as up:
        asyncio.run(fill(up.url, 1000))
    offset, before = damage(increment(data)), increment(data).read_bytes()
    code, said = failed_up(data)
    assert code == 4
    assert said.count("\n") == 0
    for words in (
        f"{increment(data)} holds no valid command at offset {offset:,} (found b'?1001",
        f"{len(before) - offset:,} bytes would be lost",
        f"`watchbell store repair --data {data}`",
    ):
        assert words in said
    assert increment(data).read_bytes() == before
    assert servers_on(data) == []

    refused = repair(data)
    assert refused.returncode == 1
    assert "nothing was changed; add --yes" in refused.stderr
    assert f"{len(before) - offset:,} bytes" in refused.stdout
    assert increment(data).read_bytes() == before

    done = repair(data, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    copy = increment(data).with_name(increment(data).name + ".torn")
    assert copy.name in done.stdout
    assert increment(data).read_bytes() + copy.read_bytes() == before
    with up.again():
        assert asyncio.run(missing(up.url, 1000)) == list(range(500, 1000))
        assert "stop `watchbell up` first" in repair(data).stderr
    assert "Nothing to repair" in repair(data).stdout


def test_a_command_that_the_server_does_not_know_is_damage(folder: Path) -> None:
    data = folder / "data"
    with BareStore(data) as up:
        asyncio.run(fill(up.url, 1000))
    file = increment(data)
    file.write_bytes(file.read_bytes().replace(b"\r\nMSET\r\n", b"\r\nMZET\r\n"))
    code, said = failed_up(data)
    assert code == 4
    assert "a command that the store does not know at offset" in said
    assert repair(data, "--yes").returncode == 0
    with up.again():
        assert asyncio.run(missing(up.url, 1000)) == list(range(1000))


def test_a_damaged_snapshot_stops_the_start_and_is_not_repaired(folder: Path) -> None:
    data = folder / "data"
    with BareStore(data) as up:
        asyncio.run(fill(up.url, 1000))
        asyncio.run(rewrite(up))
    base = next((data / "appendonlydir").glob("*.base.rdb"))
    raw = base.read_bytes()
    base.write_bytes(raw[:1000] + b"\xff" * 100 + raw[1100:])
    code, said = failed_up(data)
    assert code == 4
    assert f"{base} holds a damaged snapshot at offset" in said
    assert "restore a backup" in said
    done = repair(data, "--yes")
    assert done.returncode == 1
    assert "restore a backup" in done.stderr
    assert base.stat().st_size == len(raw)


async def rewrite(up: BareStore) -> None:
    async with Store(store_url.parse(up.url)) as store:
        await store.call("BGREWRITEAOF")

        async def is_done() -> bool:
            facts = await store.call("INFO", "persistence")
            is_busy = facts["aof_rewrite_in_progress"] or facts["aof_rewrite_scheduled"]
            return not is_busy and facts["aof_base_size"] > 1000

        await eventually(is_done)
