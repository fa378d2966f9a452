"""What becomes of a job, by what its process does."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.agent.link_server import LinkServer, argv, order
from tests.waiting import eventually
from watchbell.fleet.messages import Abort, Changes

pytestmark = pytest.mark.usefixtures("agent")

CODES = [
    ("echo text", 0, ""),
    ("exit 3", 3, "Exited with code 3."),
    ("""echo '{"xy":1,"code":0}'; exit 5""", 0, ""),
    ("""echo '{"code":7,"description":"seven"}'""", 7, "seven"),
    ("""echo '{"code":0}'; exit 4""", 0, ""),
    ("""echo '{"xy":1,"complete":true}'; exit 1""", 0, ""),
    ("""echo '{"code":"warning"}'""", "warning", ""),
    ("""echo '{"code":"Critical Foo!"}'""", "critical_foo_", ""),
    ("""echo '{"code":0}'; echo '{"code":9}'""", 0, ""),
    ("""printf '{\\n"code": 9\\n}\\n'""", 0, ""),
    ("""echo '{"code":9}x'""", 0, ""),
    ("kill -9 $$", 137, "The process was ended by SIGKILL (signal 9)."),
    ("""echo '{"xy":1,"state":"complete","code":5}'""", 5, ""),
    ("""echo '{"code":false}'; exit 1""", 0, ""),
    ("""echo '{"code":true}'""", "unknown", ""),
    ("""echo '{"code":0.5}'""", 0.5, ""),
    ("""echo '{"code":{}}'""", "unknown", ""),
    ("""printf '{"code":8}'""", 8, ""),
    ("""echo '{"description":"half"}'; exit 2""", 2, "half"),
    ("""echo '{"event":"zzz","server":"zzz","params":{},"code":6,"xy":1}'""", 6, ""),
    ("""echo '{"event":"zzz","code":6}'""", 0, ""),
]


@pytest.mark.parametrize(("script", "code", "description"), CODES)
async def test_a_job_has_the_code_that_its_process_means(
    server: LinkServer, script: str, code: Any, description: str
) -> None:
    await server.launch(order("j1", script))
    result = (await server.ended("j1")).result
    assert result
    assert (result.code, result.description) == (code, description)
    assert not result.retry_ok


async def test_messages_change_the_job_and_are_no_log(server: LinkServer) -> None:
    lines = [
        {"progress": 1.5, "status": "busy", "label": "x"},
        {"data": {"arr": [1], "k": 1}},
        {"data": {"arr": [2], "k": 2}},
        {"data": "text"},
        {"push": {"tags": ["flag", 5], "actions": [{"trigger": "success", "type": "email"}]}},
        {"update_event": {"notes": "new"}},
        {"perf": {"db": 1.5}, "html": "<b>hi</b>", "table": {"rows": [[1]]}},
    ]
    printed = "".join(f"{json.dumps(line)}\n" for line in lines)
    await server.launch(order("j1", f"echo before; cat << 'E'\n{printed}E\necho after"))
    seen = await server.ended("j1")
    assert seen.log == b"before\nafter\n"
    assert seen.values == {
        "progress": 1.0,
        "status": "busy",
        "label": "x",
        "data": {"arr": [1, 2], "k": 2},
        "push": {"tags": ["flag"], "actions": [{"trigger": "success", "type": "email"}]},
        "update_event": {"notes": "new"},
        "perf": {"db": 1.5},
        "html": "<b>hi</b>",
        "table": {"rows": [[1]]},
    }
    assert seen.activity == ["data was ignored; expected an object."]


async def test_a_job_can_set_no_other_property(server: LinkServer) -> None:
    script = """echo '{"xy":1,"state":"complete","server":"s9","event":"e9","status":"ok"}'"""
    await server.launch(order("j1", script))
    seen = await server.ended("j1")
    assert seen.values == {"status": "ok"}
    expected = "A job can't set event, server, state; the rest of its message counts."
    assert seen.activity == [expected]


async def test_the_example_with_a_missing_brace_is_log_with_a_warning(server: LinkServer) -> None:
    await server.launch(order("j1", """echo '{ "update_event": { "enabled": false }'"""))
    seen = await server.ended("j1")
    assert seen.log == b'{ "update_event": { "enabled": false }\n'
    assert "not valid JSON" in seen.activity[0]


async def test_a_message_that_is_too_long_is_log_with_a_warning(server: LinkServer) -> None:
    script = f"""#!{sys.executable}\nprint('{{"data": {{"x": "' + 'x' * (5 << 20) + '"}}}}')\n"""
    await server.launch(order("j1", script))
    seen = await server.ended("j1")
    assert seen.values == {}
    (line,) = seen.activity
    assert line.startswith("A line begins like a message, but is longer than 4 MiB: {")


async def test_both_streams_share_the_log_in_order(server: LinkServer) -> None:
    await server.launch(order("j1", "for i in 1 2 3; do echo out $i; echo err $i >&2; done"))
    seen = await server.ended("j1")
    assert seen.log == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


async def test_a_script_is_run_by_its_interpreter(server: LinkServer) -> None:
    script = f"#!{sys.executable}\r\nimport sys\r\nprint(sys.version_info.major)\r\n"
    await server.launch(order("j1", script))
    assert (await server.ended("j1")).log == b"3\n"


async def test_a_shell_job_may_print_percentages_and_times(server: LinkServer) -> None:
    params = {"script": "echo a; echo 40%; echo b", "annotate": True, "json": False}
    await server.launch(order("j1", params=params))
    seen = await server.ended("j1")
    assert seen.values == {"progress": 0.4}
    first, second = seen.log.decode().splitlines()
    assert first.startswith("[2")
    assert first.endswith("] a")
    assert second.endswith("] b")


async def test_a_shell_job_without_json_has_no_messages(server: LinkServer) -> None:
    params = {"script": """echo '{"code":9}'""", "json": False}
    await server.launch(order("j1", params=params))
    seen = await server.ended("j1")
    assert seen.log == b'{"code":9}\n'
    assert seen.result
    assert seen.result.code == 0


def is_alive(pid: str) -> bool:
    return Path(f"/proc/{pid.strip()}").exists()


SHOW = """
import json, os, sys
job = json.load(sys.stdin)
print(json.dumps({"job": job, "env": dict(os.environ), "cwd": os.getcwd()}))
"""


async def shown(server: LinkServer, **more: Any) -> dict[str, Any]:
    await server.launch(argv("j1", sys.executable, "-c", SHOW, **more))
    found: dict[str, Any] = json.loads((await server.ended("j1")).log)
    return found


async def test_a_job_gets_its_record_and_variables(server: LinkServer) -> None:
    found = await shown(
        server,
        params={"user-name": "Alice", "deep": {"a": 1}, "JOB_ID": "forged", "huge": "x" * 300_000},
        env={"MORE": "m"},
        input={"data": {"k": "v"}},
        now=1_700_000_000.5,
        secrets={"PASSWORD": "hunter2"},
    )
    environment, job = found["env"], found["job"]
    assert environment["user_name"] == "Alice"
    assert environment["deep"] == '{"a":1}'
    assert (environment["MORE"], environment["data_k"]) == ("m", "v")
    assert (environment["JOB_ID"], environment["JOB_NOW"]) == ("j1", "1700000000")
    assert environment["PASSWORD"] == "***"
    assert environment["JOB_BASE_URL"] == "https://watchbell.example.com"
    assert environment["PWD"] == found["cwd"] == job["temp_dir"]
    assert "huge" not in environment
    assert job["params"]["huge"] == "x" * 300_000
    assert (job["xy"], job["type"], job["id"], job["secrets"]["PASSWORD"]) == (
        1,
        "event",
        "j1",
        "***",
    )
    assert not [name for name in environment if name.startswith("WATCHBELL_")]


async def test_secrets_leave_in_no_form(server: LinkServer) -> None:
    script = """
    echo "it is $KEY"; printf "$KEY" | base64; echo '{"description":"'$KEY'","status":"'$KEY'"}'
    exit 1
    """
    await server.launch(order("j1", script, secrets={"KEY": "open-sesame-123"}))
    seen = await server.ended("j1")
    assert seen.log.startswith(b"it is ***\n***")
    assert seen.values == {"status": "***"}
    assert seen.result
    assert seen.result.description == "***"


async def test_a_program_that_does_not_exist_is_a_failure(server: LinkServer) -> None:
    await server.launch(argv("j1", "/no/such/program"))
    result = (await server.ended("j1")).result
    assert result
    assert result.code == 1
    assert "/no/such/program" in result.description


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"command": ""}, "its plugin has no command."),
        ({"command": "echo 'x"}, "can't be read"),
        ({"command": "watchbell-plugin nothing"}, "there is no stock plugin 'nothing'."),
        ({"params": {"script": " "}}, "the script is empty."),
        ({"uid": "nobody"}, "this agent runs no jobs as nobody"),
        ({"uid": "no-such-user"}, "this machine has no account no-such-user."),
    ],
)
async def test_a_job_that_cannot_be_run_is_a_failure(
    server: LinkServer, record: dict[str, Any], says: str
) -> None:
    made = order("j1", "echo x")
    made.job.update(record)
    await server.launch(made)
    result = (await server.ended("j1")).result
    assert result
    assert result.code == 1
    assert says in result.description


@pytest.mark.parametrize("kill", ["parent", "all"])
async def test_a_job_that_is_aborted_ends_with_its_children(
    server: LinkServer, folder: Path, kill: str
) -> None:
    script = f"sleep 1000 & echo $! > {folder}/pid; echo ready; wait"
    await server.launch(order("j1", script, kill=kill))
    await eventually(lambda: server.job("j1").log)
    await server.send(Abort(job="j1", reason="Alice aborted it", retry_ok=False))
    result = (await server.ended("j1")).result
    assert result
    assert (result.code, result.description, result.retry_ok) == (
        "abort",
        "Alice aborted it",
        False,
    )
    assert not is_alive((folder / "pid").read_text())


async def test_a_job_with_the_policy_none_is_left_alone(server: LinkServer, folder: Path) -> None:
    script = f"echo ready; until test -e {folder}/gate; do sleep 0.01; done; touch {folder}/end"
    await server.launch(order("j1", script, kill="none"))
    await eventually(lambda: server.job("j1").log)
    await server.send(Abort(job="j1", reason="Alice aborted it"))
    assert (await server.ended("j1")).result
    (folder / "gate").touch()
    await eventually((folder / "end").exists)


async def test_a_job_that_is_launched_twice_runs_once(server: LinkServer, folder: Path) -> None:
    one = order("j1", f"echo x >> {folder}/runs")
    await server.launch(one, one)
    await server.launch(one)
    seen = await server.ended("j1")
    await server.launch(one)
    await server.launch(order("j2", "true"))
    await server.ended("j2")
    assert (folder / "runs").read_text() == "x\n"
    assert len(seen.of(Changes)) == 0


async def test_a_dropped_job_is_ended_and_forgotten(server: LinkServer, folder: Path) -> None:
    await server.launch(order("j1", f"echo $$ > {folder}/pid; exec sleep 1000"))
    await eventually(lambda: server.job("j1").started)
    pid = await eventually(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
    server.over.add("j1")
    await eventually(lambda: not is_alive(str(pid)))
    await eventually(lambda: not (folder / "agent" / "jobs" / "j1").exists())
    assert server.job("j1").result is None


async def test_usage_is_reported_while_a_job_runs(server: LinkServer, folder: Path) -> None:
    script = f"until test -e {folder}/gate; do :; done"
    await server.launch(order("j1", script))
    found = await eventually(lambda: [u for u in server.usages if u.usages[0].cpu])
    usage = found[0].usages[0]
    assert usage.job == "j1"
    assert usage.cpu["current"] > 0
    assert usage.mem["max"] > 100_000
    assert any("script" in one["command"] for one in usage.procs.values())
    (folder / "gate").touch()
    result = (await server.ended("j1")).result
    assert result
    assert result.cpu["count"] >= 1
    assert result.mem["max"] > 100_000


async def test_the_machine_is_sampled(server: LinkServer) -> None:
    sampled = await eventually(lambda: server.samples)
    sample = sampled[0].sample
    assert sample.memory_total > sample.memory > 0
    assert sample.disk_total > 0
    assert sampled[0].is_minute
    info = server.hellos[0].info
    assert info.cpu["cores"] >= 1
    assert info.memory["total"] == sample.memory_total
