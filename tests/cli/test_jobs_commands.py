"""`watchbell events run` and `watchbell jobs`, with a conductor and an agent without processes."""

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.cli import commands
from tests.jobs.agents_in_store import QuickAgent
from tests.jobs.conductor_worker import settings
from tests.jobs.test_job_history import finish, over
from tests.waiting import eventually
from watchbell.actors import system
from watchbell.cli.jobs.log import exit_code
from watchbell.files import objects
from watchbell.fleet.model import Server
from watchbell.jobs import conductor, definitions, job_records, stock, suspensions
from watchbell.jobs.keys import Jobs
from watchbell.jobs.model import Code, Event
from watchbell.store.client import Store

BY = system("tests")
ONE = Server(id="s1", hostname="one", groups=("main",), max_jobs=3)
JOB = re.compile(r"started job (j\w+) of Backup\n")


class Fleet:
    """A store with the event Backup, and commands on it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder

    async def done(self, *words: str) -> subprocess.CompletedProcess[str]:
        options = ("--store", self.store.url.redacted(), "--data", str(self.folder))
        return await asyncio.to_thread(commands.ran, *words, *options, TZ="UTC")

    async def ran(self, *words: str, code: int = 0) -> str:
        """What was printed, and what was complained of."""
        done = await self.done(*words)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    async def started(self) -> str:
        """The id of a new job."""
        found = JOB.fullmatch(await self.ran("events", "run", "backup"))
        assert found
        return found[1]

    async def states(self) -> list[str]:
        rows = json.loads(await self.ran("jobs", "list", "--json"))
        return [row["state"] for row in rows]

    @asynccontextmanager
    async def agent(self, code: Code = 0) -> AsyncIterator[None]:
        agent = QuickAgent(self.store, ONE, code)
        await agent.join()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(agent.run())
            yield
            task.cancel()


@pytest.fixture
async def fleet(store: Store, tmp_path: Path) -> AsyncIterator[Fleet]:
    """With a conductor, and no server yet."""
    await stock.ensure(store, 1)
    event = {"id": "backup", "title": "Backup", "timings": [{"type": "manual"}]}
    await definitions.create(store, "event", event, system("tests"), 1)
    files = objects.opened(settings(tmp_path).files, tmp_path)
    async with asyncio.TaskGroup() as group:
        run = conductor.run(store, settings(tmp_path), files, "", lambda _: None)
        task = group.create_task(run)
        yield Fleet(store, tmp_path)
        task.cancel()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        *((0, 0), ("", 0), (1, 1), (3, 3), (255, 255), (256, 1), (-1, 1), (2.5, 1), (137, 137)),
        *(("warning", 1), ("critical", 2), ("abort", 143), ("other", 1)),
    ],
)
def test_the_code_of_a_job_becomes_an_exit_code(code: Code, expected: int) -> None:
    assert exit_code(code) == expected


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (3, 3), ("critical", 2)])
async def test_who_waits_for_a_job_gets_its_log_and_its_code(
    fleet: Fleet, code: Code, expected: int
) -> None:
    async with fleet.agent(code):
        done = await fleet.done("events", "run", "Backup", "--wait")
    assert (done.returncode, done.stdout) == (expected, "hello\n")
    assert done.stderr.startswith("started job j")
    assert re.search(r" after \d+(\.\d)? m?s\n", done.stderr)


async def test_a_job_that_waits_says_why_and_can_be_aborted(fleet: Fleet) -> None:
    job = await fleet.started()

    async def has_reason() -> bool:
        return "no server belongs to Main" in await fleet.ran("jobs", "list")

    await eventually(has_reason)
    assert "queued" in await fleet.ran("jobs", "show", job)
    assert "1 job in progress" in await fleet.ran("events", "list")
    assert "has not ended" in await fleet.ran("jobs", "delete", job, "--yes", code=1)
    said = await fleet.ran("jobs", "abort", job, "--reason", "wrong branch")
    assert said == f"job {job}: the job was aborted before it started\n"

    async def is_over() -> bool:
        return await fleet.states() == ["complete"]

    await eventually(is_over)
    assert re.search(r"Aborted by .*: wrong branch", await fleet.ran("jobs", "show", "Backup"))
    assert job in await fleet.ran("jobs", "search", "--code", "abort", "--event", "backup")
    assert await fleet.ran("jobs", "search", "--code", "success") == "No jobs match.\n"
    assert "no job" in await fleet.ran("jobs", "abort", job, code=1)
    assert "job.abort" in await fleet.ran("audit", "list")


async def test_jobs_are_read_run_again_and_deleted(fleet: Fleet) -> None:
    assert await fleet.ran("jobs", "list") == "There are no jobs.\n"
    assert "has no jobs yet" in await fleet.ran("jobs", "log", "Backup", code=1)
    assert "no job and no event" in await fleet.ran("jobs", "log", "nothing", code=1)
    async with fleet.agent():
        assert "hello" in await fleet.ran("events", "run", "Backup", "--wait")
        again = await fleet.done("jobs", "rerun", "Backup", "--wait")
        assert (again.returncode, again.stdout) == (0, "hello\n")
    first, second = [row["id"] for row in json.loads(await fleet.ran("jobs", "list", "--json"))]
    for name in (first, "backup"):
        assert await fleet.ran("jobs", "log", name) == "hello\n"
        assert await fleet.ran("jobs", "log", name, "-f") == "hello\n"
    assert await fleet.ran("jobs", "log", "--times", second) != "hello\n"
    for server in ("one", "s1"):
        assert (await fleet.ran("jobs", "search", "--server", server)).count("  one  ") == 2
    assert await fleet.ran("jobs", "search", "--server", "two") == "No jobs match.\n"
    assert len((await fleet.ran("jobs", "list", "--limit", "1")).splitlines()) == 2
    assert "succeeded" in await fleet.ran("events", "show", "Backup")
    assert "no job 'x'" in await fleet.ran("jobs", "delete", first, "x", "--yes", code=1)
    assert await fleet.ran("jobs", "delete", first, second, "--yes") == "deleted 2 jobs\n"
    assert await fleet.ran("jobs", "list") == "There are no jobs.\n"


async def test_a_job_is_run_with_other_parameters_and_targets(fleet: Fleet) -> None:
    said = await fleet.ran(
        *("events", "run", "Backup", "--param", "version=1.40", "--target", "web", "--tag", "fast"),
        *("--priority", "5", "--delay", "1 hour", "--json"),
        *("--set", 'limits=[{"type": "time", "duration": 9}]'),
    )
    job = await job_records.read(fleet.store, json.loads(said)["id"])
    assert job is not None
    assert (job.params["version"], job.targets, job.tags) == ("1.40", ("web",), ("fast",))
    assert (job.state, job.priority, job.limits[0].duration) == ("start_delay", 5, 9)
    assert "delayed" in await fleet.ran("jobs", "list", "backup")


async def test_a_target_can_be_named_by_its_host(fleet: Fleet) -> None:
    async with fleet.agent():
        for words in (("edit", "backup"), ("run", "backup")):
            await fleet.ran("events", *words, "--target", "one", "--target", "main")
    event = await definitions.get(fleet.store, "event", "backup")
    assert isinstance(event, Event)
    (job,) = json.loads(await fleet.ran("jobs", "list", "--json"))
    assert (event.targets, job["targets"]) == (("s1", "main"), ["s1", "main"])


async def test_an_event_that_may_not_be_run_is_not(fleet: Fleet) -> None:
    await fleet.ran("events", "edit", "backup", "--at", "@daily")
    changes = {"timings": [{"type": "manual", "enabled": False}]}
    await definitions.update(fleet.store, "event", "backup", changes, system("tests"), 2)
    assert "may not be run on demand" in await fleet.ran("events", "run", "backup", code=1)
    await fleet.ran("events", "disable", "backup")
    assert "disabled" in await fleet.ran("events", "run", "backup", code=1)
    assert await fleet.store.call("ZCARD", Jobs(fleet.store.prefix).live()) == 0


async def test_a_job_that_ended_is_tagged(fleet: Fleet) -> None:
    await definitions.create(fleet.store, "tag", {"id": "slow", "title": "Slow"}, BY, 1)
    async with fleet.agent():
        job = await fleet.started()

        async def is_over() -> bool:
            return await fleet.states() == ["complete"]

        await eventually(is_over)
    assert await fleet.ran("jobs", "tag", job, "Slow") == f"tags of job {job}: slow\n"
    assert job in await fleet.ran("jobs", "search", "--tag", "slow")
    assert "there is no tag 'other'" in await fleet.ran("jobs", "tag", job, "other", code=1)
    assert await fleet.ran("jobs", "tag", job, "slow", "--remove") == f"tags of job {job}: none\n"


async def test_a_suspended_job_is_resumed(fleet: Fleet) -> None:
    actions = [{"trigger": "start", "type": "suspend"}]
    await definitions.update(fleet.store, "event", "backup", {"actions": actions}, BY, 1)
    async with fleet.agent():
        job = await fleet.started()

        async def is_suspended() -> bool:
            return await suspensions.suspended(fleet.store) == [job]

        await eventually(is_suspended)
        assert await fleet.ran("jobs", "resume", job) == f"resumed job {job}\n"

        async def is_over() -> bool:
            return await fleet.states() == ["complete"]

        await eventually(is_over)
    await fleet.ran("jobs", "resume", job, code=1)


async def test_the_queue_of_an_event_is_flushed(fleet: Fleet) -> None:
    limits = [{"type": "job", "amount": 1}, {"type": "queue", "amount": 9}]
    await definitions.update(fleet.store, "event", "backup", {"limits": limits}, BY, 1)
    for _ in range(3):
        await fleet.started()

    async def are_queued() -> bool:
        queue = Jobs(fleet.store.prefix).queued("backup")
        return int(await fleet.store.call("ZCARD", queue)) == 2

    await eventually(are_queued)
    assert await fleet.ran("events", "flush", "Backup") == "aborted 2 jobs\n"
    assert await fleet.ran("events", "flush", "backup") == "aborted 0 jobs\n"


async def test_very_many_events_and_jobs_are_listed_in_parts(fleet: Fleet) -> None:
    events: list[str | bytes] = []
    keys = Jobs(fleet.store.prefix)
    for number in range(1_100):
        one = Event(id=f"e{number}", title=f"Event {number:04}", category="many")
        events += [one.id, msgspec.json.encode(one)]
    await fleet.store.call("HSET", keys.events(), *events)
    await finish(fleet.store, *(over(number, event=f"e{number}") for number in range(1_100)))
    listed = json.loads(await fleet.ran("events", "list", "--category", "many", "--json"))
    assert [row["title"] for row in listed] == [f"Event {number:04}" for number in range(1_100)]
    table = (await fleet.ran("events", "list", "--category", "many", "--limit", "0")).splitlines()
    assert (len(table), table[0].split()[0], table[-1].split()[1]) == (1_101, "event", "1099")
    table = (await fleet.ran("events", "list", "--category", "many")).splitlines()
    assert (len(table), table[-1]) == (103, "1,000 more; --limit 0 shows all.")
    jobs = json.loads(await fleet.ran("jobs", "list", "--limit", "0", "--json"))
    assert [job["id"] for job in jobs] == [f"j{number:04}" for number in range(1_099, -1, -1)]
    table = (await fleet.ran("jobs", "search", "--limit", "1050")).splitlines()
    assert (len(table), "Event 0050" in table[-1]) == (1_051, True)
    live = await fleet.started()
    rows = json.loads(await fleet.ran("jobs", "list", "--limit", "3", "--json"))
    assert [row["id"] for row in rows] == [live, "j1099", "j1098"]
