"""The limits of a job, and its files."""

from pathlib import Path
from typing import Any

import pytest

from tests.fleet.agent.link_server import LinkServer, order
from tests.waiting import eventually
from watchbell.fleet.agent.limits import Limits, problem
from watchbell.fleet.agent.uploads import wishes

AGENT = pytest.mark.usefixtures("agent")
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


@AGENT
@pytest.mark.parametrize(
    ("limit", "script", "says"),
    [
        ({"type": "time", "duration": 1}, "sleep 1000", "it ran for longer than 1 second"),
        ({"type": "time", "duration": 0.3}, STUBBORN, "it ran for longer than 0.3 seconds"),
        ({"type": "log", "amount": 100_000}, "yes", "its output is larger than 97.7 KiB"),
        (
            {"type": "mem", "amount": 30_000_000, "duration": 0},
            "(head -c 60000000 /dev/zero | tail -c 50000000 | sleep 1000)",
            "it used more than 28.6 MiB of memory",
        ),
        (
            {"type": "cpu", "amount": 5, "duration": 1},
            "(while :; do :; done)",
            "it used more than 5 % of a CPU core for 1 second",
        ),
    ],
)
async def test_a_limit_aborts_a_job_that_may_be_retried(
    server: LinkServer, limit: dict[str, Any], script: str, says: str
) -> None:
    limits = [{"type": "retry", "amount": 1}, limit, {"type": "time", "duration": 600}]
    await server.launch(order("j1", script, limits=limits))
    seen = await server.ended("j1")
    assert seen.result
    assert (seen.result.code, seen.result.retry_ok) == ("abort", True)
    assert seen.result.description == f"Aborted: {says}."
    assert (seen.result.limit, seen.limits) == (1, [])


@AGENT
async def test_a_limit_that_does_not_abort_is_reported_once(
    server: LinkServer, folder: Path
) -> None:
    limit = {"type": "log", "amount": 10, "abort": False}
    script = f"echo 12345678901; until test -e {folder}/gate; do sleep 0.01; done; echo more"
    await server.launch(order("j1", script, limits=[limit]))
    await eventually(lambda: server.job("j1").limits)
    (folder / "gate").touch()
    seen = await server.ended("j1")
    assert seen.result
    assert seen.result.code == 0
    assert [one.limit for one in seen.limits] == [0]


@AGENT
async def test_a_job_can_push_a_limit(server: LinkServer) -> None:
    script = """
    echo '{"push":{"limits":[{"type":"time"},{"type":"time","duration":0.2}]}}'; exec sleep 1000
    """
    await server.launch(order("j1", script, limits=[{"type": "time", "duration": 600}]))
    seen = await server.ended("j1")
    assert seen.result
    assert seen.result.limit == 1
    assert seen.values["push"] == {"limits": [{"type": "time", "duration": 0.2}]}
    assert "needs a duration" in seen.activity[0]


def test_usage_has_to_last() -> None:
    limits = Limits([{"type": "mem", "amount": 100, "duration": 5}])
    assert not limits.check_usage(0, 0, 200)
    assert not limits.check_usage(4, 0, 50)
    assert not limits.check_usage(5, 0, 200)
    assert not limits.check_usage(9, 0, 200)
    assert [one.limit for one in limits.check_usage(10, 0, 200)] == [0]
    assert not limits.check_usage(20, 0, 200)


@pytest.mark.parametrize(
    ("limit", "is_valid"),
    [
        ({"type": "time", "duration": 5}, True),
        ({"type": "time", "duration": "5"}, False),
        ({"type": "time"}, False),
        ({"type": "mem"}, False),
        ({"type": "retry"}, True),
        ({"type": 5}, False),
        ("time", False),
    ],
)
def test_a_pushed_limit_is_checked(limit: Any, is_valid: bool) -> None:
    assert (problem(limit) == "") is is_valid


def test_disabled_and_foreign_limits_are_left_out() -> None:
    limits = Limits([{"type": "time", "duration": 1, "enabled": False}, {"type": "job"}, 5])
    assert limits.next_time() is None


@AGENT
async def test_files_are_uploaded_before_the_result(server: LinkServer) -> None:
    server.refused_uploads = [503]
    script = """
    echo a > a.txt; echo b > b.txt; echo c > c.bin; echo d > d.bin; mkdir sub; echo e > sub/e.txt
    echo l > $JOB_LOG
    cat << 'E'
    {"files":["*.txt","missing.bin",["c.bin","see.bin"],["d.bin","dee.bin",true]]}
    {"push":{"files":[{"path":"sub/**","delete":true},{"path":"a.txt","filename":"../x"},5]}}
E
    """
    await server.launch(order("j1", script))
    seen = await server.ended("j1")
    assert {name: content for (_, name), content in server.uploads.items()} == {
        "a.txt": b"a\n",
        "b.txt": b"b\n",
        "see.bin": b"c\n",
        "dee.bin": b"d\n",
        "e.txt": b"e\n",
        "x": b"a\n",
        "job-j1.log": b"l\n",
    }
    assert seen.result
    assert len(seen.result.files) == 7
    assert {file["path"] for file in seen.result.files} >= {"jobs/j1/a.txt", "jobs/j1/x"}
    assert seen.activity == [
        "Some of its files were ignored; expected a path, a list or an object."
    ]


@AGENT
async def test_a_file_that_is_refused_is_reported(server: LinkServer) -> None:
    server.refused_uploads = [413]
    await server.launch(order("j1", """echo x > a; echo y > b; echo '{"files":["a","b"]}'"""))
    seen = await server.ended("j1")
    assert [name for _, name in server.uploads] == ["b"]
    refused = "The file a was not uploaded: the server answered 413: not now."
    assert seen.activity == [refused]
    assert seen.result
    assert seen.result.code == 0


@AGENT
async def test_input_files_are_there_before_the_job_starts(server: LinkServer) -> None:
    server.downloads = {"jobs/j0/in.txt": b"hello\n", "up/x": b"more\n"}
    parent = {"id": "j0", "files": [{"filename": "in.txt", "path": "jobs/j0/in.txt"}]}
    given = {"files": [{"filename": "../x.txt", "path": "up/x"}]}
    await server.launch(order("j1", "cat in.txt x.txt", parent=parent, input=given))
    assert (await server.ended("j1")).log == b"hello\nmore\n"


@AGENT
async def test_a_job_without_its_input_fails(server: LinkServer) -> None:
    given = {"files": [{"filename": "x", "path": "nothing"}]}
    await server.launch(order("j1", "cat x", input=given))
    result = (await server.ended("j1")).result
    assert result
    assert result.code == 1
    assert "no such file" in result.description


def test_files_of_other_accounts_are_neither_read_nor_deleted(folder: Path) -> None:
    (folder / "a").write_text("x")
    [wish] = wishes([["a", "b", True]], folder, 12345)
    assert (wish.owner, wish.is_deleted) == (12345, False)
