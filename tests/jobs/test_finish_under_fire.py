"""Finisher and archiver killed at every step: each job is recorded once, with its whole log."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.jobs.logs import NOW, Printer, begun, files_in, job
from tests.waiting import eventually
from watchbell.alerting.keys import Alerting
from watchbell.jobs import job_records
from watchbell.jobs.job_log import JobLog
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Action, Event, EventState, Limit
from watchbell.store.client import Store

KEYS = Jobs()
COUNT = 20
LONG = 3
"""Jobs with a long log."""
STEPS = [
    "queue.taken:1",
    "queue.before_acknowledge:1",
    "queue.acknowledged:1",
    "jobs.finish_loaded:1",
    "jobs.finish_decided:1",
    "jobs.event_changed:2",
    "jobs.finished:1",
    "jobs.log_file_written:1",
    "jobs.log_archived:1",
    "jobs.archived:1",
]


@contextmanager
def worker(store: Store, files: Path, fault: str = "") -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.jobs.finish_worker", store.url.redacted()]
    command += [str(files), "0.5", *([fault] if fault else [])]
    process = subprocess.Popen(command)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def scene(store: Store) -> dict[str, bytes]:
    """Jobs that have ended; some fail and are retried, some change their event."""
    event = Event(id="e1", title="Backup")
    await store.call("HSET", KEYS.events(), "e1", msgspec.json.encode(event))
    mail = Action(trigger="success", type="email", email="alice@example.com")
    printed = {}
    for n in range(COUNT):
        one = job(
            f"j{n}",
            state="finishing",
            server="s1",
            actions=(mail,),
            limits=(Limit(type="retry", amount=1, duration=1e9),),
            update_event={"notes": "done"} if n % 5 == 0 else {},
        )
        result = msgspec.json.encode({"at": NOW, "code": n % 2, "elapsed": 1})
        await begun(store, one, result=result)
        printer = Printer(store, one.id)
        for line in range(400 if n < LONG else 1):
            await printer.print(b"%d %d\n" % (n, line * 7919 * 7919))
        printed[one.id] = printer.printed
        await store.call("RPUSH", KEYS.finishing(), one.id)
    return printed


async def is_done(store: Store) -> bool:
    done = await store.call("HLEN", KEYS.finished())
    logs = [KEYS.log(f"j{n}") for n in range(COUNT)]
    return bool(done == COUNT and await store.call("EXISTS", *logs) == 0)


@pytest.mark.parametrize("step", STEPS)
async def test_jobs_are_recorded_once_although_their_finisher_is_killed(
    store: Store, tmp_path: Path, step: str
) -> None:
    printed = await scene(store)
    with worker(store, tmp_path, step) as doomed:
        await eventually(lambda: doomed.poll() is not None)
        assert doomed.returncode == -signal.SIGKILL
    with worker(store, tmp_path):
        await eventually(lambda: is_done(store))
    await check(store, tmp_path, printed)


async def check(store: Store, files: Path, printed: dict[str, bytes]) -> None:
    for n, found in enumerate(await job_records.find(store, list(printed))):
        assert found is not None
        assert found.job.retried is (n % 2 == 1)
        log = JobLog(store, files_in(files), found.job.id)
        assert b"".join([piece async for piece in log.download()]) == printed[found.job.id]
    retries = await job_records.live(store)
    assert sorted(one.retry_prev for one in retries) == sorted(f"j{n}" for n in range(1, COUNT, 2))
    items = await store.call("LRANGE", KEYS.actions(), 0, -1)
    ended = sorted(msgspec.json.decode(item)["job"] for item in items)
    assert ended == sorted(f"j{n}" for n in range(0, COUNT, 2))
    assert await store.call("LLEN", Alerting().events()) == COUNT // 2
    state = await store.call("HGET", KEYS.event_states(), "e1")
    assert msgspec.json.decode(state, type=EventState).total_count == COUNT // 2
    changed = await store.call("HGET", KEYS.events(), "e1")
    assert msgspec.json.decode(changed, type=Event).revision == 2
    assert await store.call("EXISTS", KEYS.server_jobs("s1"), KEYS.occupied("e1")) == 0


@pytest.mark.parametrize("step", ["jobs.log_part_written:2", "jobs.log_part_moved:1"])
async def test_a_long_log_is_whole_although_whoever_moves_it_is_killed(
    store: Store, tmp_path: Path, step: str
) -> None:
    await begun(store, job())
    printer = Printer(store)
    for n in range(160):
        await printer.print((b"%d " % n) * 13_000 + b"\n")
    with worker(store, tmp_path, step) as doomed:
        await eventually(lambda: doomed.poll() is not None)
        assert doomed.returncode == -signal.SIGKILL
    log = JobLog(store, files_in(tmp_path), "j1")
    assert b"".join([piece async for piece in log.download()]) == printer.printed
    with worker(store, tmp_path):
        await eventually(lambda: is_short(store))
        assert b"".join([piece async for piece in log.download()]) == printer.printed
        await store.call("HSET", KEYS.job("j1"), "state", '"finishing"', "_result", "{}")
        await store.call("RPUSH", KEYS.finishing(), "j1")
        await eventually(lambda: is_archived(store, tmp_path))
    assert b"".join([piece async for piece in log.download()]) == printer.printed
    assert (await log.window(159)).lines[0].text.startswith(b"159 159 ")


async def is_short(store: Store) -> bool:
    return bool(await store.call("XLEN", KEYS.log("j1")) < 100)


async def is_archived(store: Store, files: Path) -> bool:
    is_gone = not await store.call("EXISTS", KEYS.job("j1"), KEYS.log("j1"), KEYS.log_parts("j1"))
    return is_gone and not [one async for one in files_in(files).list("jobs/j1/parts")]
