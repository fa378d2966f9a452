"""A build of Flapjack's records is killed half-way: the next one goes on from there."""

import signal
from asyncio.subprocess import DEVNULL, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests import servers
from tests.alerting.recorded import check
from tests.alerting.test_record_keeping import differences
from tests.cli.commands import ran
from tests.conftest import bare_environment, watchbell
from tests.waiting import eventually
from watchbell.alerting import contacts, record_keeping
from watchbell.alerting.mirrored_script import Unit
from watchbell.alerting.model import Contact
from watchbell.errors import Refused
from watchbell.store.client import Store

NOW = 1_790_000_000
CHECKS = 120


async def without_records(store: Store) -> None:
    for number in range(CHECKS):
        await check(store, f"host-{number}:disk", [(NOW - 100, "ok"), (NOW - 50, "critical")])
    await contacts.save(store, Contact(id="alice", first_name="Alice"))


async def test_each_build_goes_on_where_the_one_before_was_killed(
    server: servers.Single, store: Store
) -> None:
    await without_records(store)
    sizes = [0]
    for _ in range(3):
        done = ran(
            "records", "build", "--store", server.url, WATCHBELL_FAULT="record_build.written:3"
        )
        assert done.returncode == -signal.SIGKILL
        await store.call("DEL", "record_builder")  # its lease ends
        sizes.append(await store.call("DBSIZE"))
    assert sizes == sorted(sizes)
    assert sizes[1] < sizes[2] < sizes[3]
    assert "They are not complete" in ran("records", "status", "--store", server.url).stdout
    done = ran("records", "build", "--store", server.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert await differences(store) == []
    assert "not complete" not in ran("records", "status", "--store", server.url).stdout


async def test_a_record_that_differs_is_written_after_those_that_are_missing(
    store: Store,
) -> None:
    await without_records(store)
    await record_keeping.begin(store, is_new=True)
    await store.call("SADD", "contact::ids", "alice")
    await store.call(
        "HSET", "contact:alice:attrs", "first_name", "Al", "last_name", "", "email", ""
    )
    name = {one.field: one.found for one in await differences(store) if "contact:alice" in one.key}
    assert name == {"first_name": "Al"}
    built = await record_keeping.build(store, lambda _: None)
    assert built.refused == []
    assert await differences(store) == []


@pytest.mark.parametrize("fault", ["record_build.written:1", "record_build.written:3"])
async def test_a_processor_completes_what_a_killed_one_began(
    server: servers.Single, store: Store, tmp_path: Path, fault: str
) -> None:
    await without_records(store)
    (tmp_path / "watchbell.toml").write_text("[alerting]\nrecords = true\n")
    command = watchbell("run", "processor", "--config", str(tmp_path / "watchbell.toml"))
    command += ["--store", server.url, "--data", str(tmp_path)]
    doomed = await _started(command, fault)
    assert await doomed.wait() == -signal.SIGKILL
    assert await differences(store) != []
    await store.call("DEL", "record_builder")  # its lease ends
    other = await _started(command)
    try:
        await eventually(lambda: _is_complete(store))
        assert await differences(store) == []
    finally:
        other.kill()
        await other.wait()


async def _started(command: list[str], fault: str = "") -> Process:
    environment = bare_environment(WATCHBELL_FAULT=fault)
    return await create_subprocess_exec(*command, env=environment, stderr=DEVNULL)


async def _is_complete(store: Store) -> bool:
    return await record_keeping.kept(store) == "all"


async def test_two_do_not_build_at_once(server: servers.Single, store: Store) -> None:
    await without_records(store)
    await store.call("SET", "record_builder", "another", "EX", 3600)
    done = ran("records", "build", "--store", server.url)
    assert done.returncode == 1
    assert done.stderr == (
        "watchbell: another process is building the records; `watchbell records status` counts "
        "them\n"
    )


async def test_records_that_are_dropped_during_a_build_stay_dropped(store: Store) -> None:
    await without_records(store)
    await record_keeping.begin(store, is_new=True)

    async def units() -> AsyncIterator[list[Unit]]:
        yield [("contact", "alice")]
        assert (await record_keeping.counts(store))["contact"] == 1
        await record_keeping.drop(store, lambda _: None)
        yield [("check", "host-1:disk")]

    with pytest.raises(Refused, match="the records were removed meanwhile"):
        await record_keeping.write(store, units(), lambda _: None, "no")
    assert not any((await record_keeping.counts(store)).values())
