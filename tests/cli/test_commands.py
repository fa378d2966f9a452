"""The commands as users and their scripts meet them: output, exit codes, signals, no secrets."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.conftest import Up, bare_environment, watchbell
from tests.waiting import wait_until
from watchbell import __version__
from watchbell.cli.main import COMMANDS
from watchbell.roles.catalogue import ROLES

PASSWORD = "hunter2-geheim"
NOWHERE = "redis://127.0.0.1:1"


def ran(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        watchbell(*arguments),
        env=bare_environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
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
            wait_until(is_said, 20, f"{arguments} says {said}")
            yield process
            process.terminate()
            process.wait(10)
            log.seek(0)
            text = log.read()
            assert "Traceback" not in text, text
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    path = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    with Up(path / "data", "--port", "0") as running_up:
        yield running_up
    shutil.rmtree(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = ran(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"watchbell {command}" in done.stdout


def test_the_help_names_every_command_and_the_exit_codes() -> None:
    done = ran("-h")
    assert done.returncode == 0
    for command, (_, line) in COMMANDS.items():
        assert command in done.stdout
        assert line in done.stdout
    assert "3 bad settings" in done.stdout


def test_the_version_for_people_and_for_programs() -> None:
    assert ran("version").stdout.startswith(f"watchbell {__version__} (Python 3.")
    shown = printed("version")
    assert shown["watchbell"] == __version__
    assert shown["python"].startswith("3.")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["setings"], 2, "there is no command 'setings'; did you mean settings?"),
        (["zzzzzz"], 2, "there is no command 'zzzzzz'\n"),
        (["--nothing"], 2, "No such option"),
        (["settings", "--dta", "x"], 2, "--data"),
        (["keys", "more"], 2, "unexpected extra argument"),
        (["run"], 2, "Missing argument 'ROLE'"),
        (["run", "lokout"], 2, "lookout"),
        (["completion", "tcsh"], 2, "bash"),
        (["settings", "--port", "x"], 3, "watchbell: option --port: store.port is"),
        (["settings", "--port", "65536"], 3, "expected a whole number from 0 to 65535"),
        (["settings", "--config", "/nowhere.toml"], 3, "/nowhere.toml can't be read"),
        (["keys", "--store", "http://h"], 3, "watchbell: store.url: the scheme is not known"),
        (["up", "--store", "h:6379"], 3, "watchbell: store.url: the scheme is not known"),
        (["keys", "--data", "/nonexistent"], 4, "no store is running on /nonexistent; start it"),
        (["keys", "--store", NOWHERE], 4, f"store at {NOWHERE} can't be used: Connection refused"),
        (["run", "lookout", "--store", NOWHERE], 4, "can't be used: Connection refused"),
        (["up", "--store", NOWHERE], 4, "can't be used: Connection refused"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line_with_its_code(
    arguments: list[str], code: int, says: str
) -> None:
    done = ran(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    if code > 2:
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("watchbell: ")


def test_a_wrong_variable_stops_every_command_that_has_settings() -> None:
    done = ran("settings", WATCHBELL_STORE_PROT="1")
    assert done.returncode == 3
    assert "WATCHBELL_STORE_PROT" in done.stderr
    assert "did you mean WATCHBELL_STORE_PORT?" in done.stderr


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
            by.settimeout(20)
            link, _ = by.accept()
            with link:
                yield process, link
        finally:
            process.kill()


def test_what_answers_but_is_no_store_is_told_in_one_line() -> None:
    with socket.create_server((servers.HOST, 0)) as web:
        url = f"redis://127.0.0.1:{web.getsockname()[1]}"
        with answered("keys", "--store", url, by=web) as (process, link):
            link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            _, said = process.communicate(timeout=20)
    assert process.returncode == 4
    assert said.startswith(f"watchbell: the store at {url} can't be used: ")
    assert said.count("\n") == 1


def test_settings_are_shown_with_where_they_come_from(tmp_path: Path) -> None:
    file = tmp_path / "watchbell.toml"
    file.write_text("[log]\nlevel = 'debug'\n")
    given = ["settings", "--config", str(file), "--port", "7000"]
    rows = printed(*given, WATCHBELL_LOG_FORMAT="text", WATCHBELL_STORE_PASSWORD=PASSWORD)
    shown = {row["name"]: (row["value"], row["origin"]) for row in rows}
    assert shown["log.level"] == ("debug", f"{file}, line 2")
    assert shown["log.format"] == ("text", "environment, WATCHBELL_LOG_FORMAT")
    assert shown["store.port"] == (7000, "option --port")
    assert shown["store.appendfsync"] == ("everysec", "default")
    assert shown["store.password"] == ("***", "environment, WATCHBELL_STORE_PASSWORD")
    lines = ran(*given).stdout.splitlines()
    assert lines[0].split() == ["setting", "value", "from"]
    port = next(line for line in lines if line.startswith("store.port"))
    assert port.split() == ["store.port", "7000", "option", "--port"]


def test_a_data_folder_that_is_not_text_can_be_shown() -> None:
    for more in ([], ["--json"]):
        done = ran("settings", *more, WATCHBELL_DATA=os.fsdecode(b"/srv/\xff"))
        assert done.returncode == 0
        assert "/srv/?" in done.stdout


@pytest.fixture
def filled(server: servers.Single) -> Iterator[servers.Single]:
    names = ["check:web:http", "cli:check:web:http", "cli:check:web:disk", "cli:stranger"]
    server.server.call("FLUSHALL")
    for name in names:
        server.server.call("HSET", name, "state", "ok")
    server.server.call("HSET", "cli:event_counters:host:1", "all", 5)
    server.server.call("EXPIRE", "cli:event_counters:host:1", 60)
    yield server
    server.server.call("FLUSHALL")


def test_keys_lists_the_families_of_a_store_under_its_prefix(filled: servers.Single) -> None:
    rows = printed("keys", "--store", f"{filled.url}?prefix=cli:")
    assert set(rows[0]) == {
        *("document", "name", "pattern", "type", "keys", "bytes", "expires", "expiring")
    }
    current = next(row for row in rows if row["name"] == "current")
    assert current["bytes"] > 0
    del current["bytes"]
    assert current == {
        "document": "flapjack",
        "name": "current",
        "pattern": "cli:check:ENTITY:CHECK",
        "type": "hash",
        "keys": 2,
        "expires": "no",
        "expiring": 0,
    }
    assert {row["name"]: (row["keys"], row["expiring"]) for row in rows if row["keys"]} == {
        "current": (2, 0),
        "instance_counters": (1, 1),
        "-": (2, 0),  # the stranger, and what is under no prefix
    }


def test_keys_is_a_table_for_people(filled: servers.Single) -> None:
    done = ran("keys", "--store", filled.url)
    assert done.returncode == 0
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["from", "family", "pattern", "type", "keys", "memory", "expiring"]
    assert rows[0].split()[:5] == ["flapjack", "current", "check:ENTITY:CHECK", "hash", "1"]
    assert rows[1].split()[2:5] == ["of", "no", "family"]
    assert rows[-1].endswith("families have no key; --all lists them.")
    every = ran("keys", "--store", filled.url, "--all").stdout
    assert every.count("\n") > 60


def test_a_user_who_may_not_run_scripts_is_told_in_one_line(server: servers.Single) -> None:
    server.server.call(
        "ACL", "SETUSER", "alice", "on", f">{PASSWORD}", "~*", "+@all", "-@scripting"
    )
    server.server.call("SET", "a", "b")
    done = ran("keys", "--store", server.url.replace("//", f"//alice:{PASSWORD}@"))
    server.server.call("ACL", "DELUSER", "alice")
    server.server.call("FLUSHALL")
    assert done.returncode == 4
    assert done.stderr.startswith(f"watchbell: the store at {server.url} refuses: ")
    assert done.stderr.count("\n") == 1


def test_commands_find_the_store_of_this_machines_up(up: Up) -> None:
    rows = printed("keys", "--data", str(up.data))
    assert {row["name"] for row in rows if row["keys"]} >= {"instance", "instance_counters"}


def test_doctor_tells_what_is_well(up: Up) -> None:
    findings = printed("doctor", "--data", str(up.data))
    assert all(set(finding) == {"level", "subject", "text", "advice"} for finding in findings)
    subjects = {finding["subject"]: finding["level"] for finding in findings}
    assert {"python", "server", "data", "settings", "version", "clock", "latency"} <= set(subjects)
    assert "error" not in subjects.values()
    text = ran("doctor", "--data", str(up.data))
    assert text.returncode == 0
    assert "✓ persistence append-only file" in text.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "/nonexistent/data"], "no store is running on /nonexistent/data"),
        (["--store", NOWHERE], "can't be used: Connection refused"),
        (["--store", "http://h"], "the scheme is not known"),
        (["--data", "/dev/null/data"], "the data folder /dev/null/data can't be written"),
    ],
)
def test_doctor_fails_where_there_is_no_store(arguments: list[str], says: str) -> None:
    done = ran("doctor", *arguments, "--json")
    assert (done.returncode, done.stderr) == (1, "")
    assert any(says in f["text"] for f in json.loads(done.stdout) if f["level"] == "error")


@pytest.mark.parametrize(
    ("toml", "mode", "warned"),
    [
        (f"[store]\npassword = '{PASSWORD}'\nurl = '{NOWHERE}'", 0o644, True),
        (f"[store]\npassword = '{PASSWORD}'\nurl = '{NOWHERE}'", 0o600, False),
        (f"[store]\nurl = 'redis://:{PASSWORD}@127.0.0.1:1'", 0o640, True),
        (f"[store]\nurl = 'redis://:{PASSWORD}@127.0.0.1:1'", 0o400, False),
        (f"[store]\npassword = 'env:HOME'\nurl = '{NOWHERE}'", 0o644, False),
        (f"[store]\nurl = '{NOWHERE}'", 0o644, False),
    ],
)
def test_doctor_warns_of_a_password_that_others_can_read(
    toml: str, mode: int, warned: bool, tmp_path: Path
) -> None:
    file = tmp_path / "watchbell.toml"
    file.write_text(toml)
    file.chmod(mode)
    done = ran("doctor", "--config", str(file))
    assert (f"others can read {file}" in done.stdout) == warned
    assert PASSWORD not in done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    done = ran("completion", shell)
    assert done.returncode == 0
    assert "_WATCHBELL_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("watchbell set", {"settings"}),
        ("watchbell run ", {role.name for role in ROLES}),
        ("watchbell up --st", {"--store"}),
    ],
)
def test_bash_completes_commands_roles_and_options(
    line: str, completed: set[str], tmp_path: Path
) -> None:
    program = tmp_path / "watchbell"
    program.write_text(f'#!/bin/sh\nexec {" ".join(watchbell())} "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(watchbell completion bash)"\n'
        f"COMP_WORDS=({line} {'' if line[-1] != ' ' else repr('')})\n"
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
        '_watchbell_completion watchbell; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environ = bare_environment()
    environ["PATH"] = f"{tmp_path}:{environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == completed
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["settings"], ["settings", "--json"], ["completion", "bash"], ["doctor"]],
)
def test_a_reader_that_leaves_early_is_no_error_to_speak_of(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        watchbell(*arguments),
        env=bare_environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert process.stderr == ""


def test_a_long_table_can_be_cut_by_head(server: servers.Single) -> None:
    keys = " ".join(watchbell("keys", "--all", "--store", server.url))
    done = subprocess.run(
        ["bash", "-c", f"{keys} | head -1"],
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_up_goes_on_where_nobody_reads_its_board(server: servers.Single) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            watchbell("up", "--store", server.url),
            env=bare_environment(),
            stdout=writer,
            stderr=log,
        )
        os.close(writer)

        def lookout_looks() -> bool:
            clients = server.server.call("CLIENT LIST")
            return any(c["name"] == "watchbell" and c["cmd"] == "time" for c in clients)

        with process:
            try:
                wait_until(lookout_looks, 20, "the lookout asks for the time")
                process.terminate()
                process.wait(10)
            finally:
                process.kill()
        log.seek(0)
        assert "Traceback" not in log.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_role_alone_ends_in_order_on_a_signal(
    number: signal.Signals, server: servers.Single
) -> None:
    with running("run", "lookout", "--store", server.url, said='"running"') as process:
        process.send_signal(number)
        assert process.wait(5) == 0


def test_a_role_alone_can_be_stopped_before_its_store_answers() -> None:
    with socket.create_server((servers.HOST, 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        with answered("run", "lookout", "--store", url, by=silent) as (process, link):
            assert link.recv(1)
            process.terminate()
            _, said = process.communicate(timeout=10)
    assert "Traceback" not in said
    assert process.returncode == 0


def board(process: subprocess.Popen[str]) -> str:
    """The board of an `up` without a terminal, which is printed once."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C"):
            break
    return "".join(lines)


def test_up_tells_of_a_store_that_forgets(server: servers.Single) -> None:
    server.server.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        with running("up", "--store", f"{server.url}?prefix=wb:", said='"up"') as process:
            shown = board(process)
    finally:
        server.server.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert "! the store forgets keys when memory runs short (maxmemory-policy allkeys-lru)" in shown
    assert "set maxmemory-policy to noeviction" in shown
    assert f"at {server.url}\n" in shown
    assert "prefix  wb:\n" in shown
    assert re.search("● lookout +running since", shown)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("redis://:{password}@{address}", "can't be used"),
        ("redis://alice:{password}@{address}", "refuses user 'alice' with this password"),
    ],
)
def test_up_tells_of_a_wrong_password(template: str, says: str, server: servers.Single) -> None:
    url = template.format(password=PASSWORD, address=server.server.address)
    with server.server.client() as client:  # stays let in
        client.config_set("requirepass", "right")
        try:
            done = ran("up", "--store", url)
        finally:
            client.config_set("requirepass", "")
    assert (done.returncode, done.stdout) == (4, "")
    assert says in done.stderr
    assert PASSWORD not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["settings", "--store", "{url}"],
        ["settings", "--json", "--store", "{url}"],
        ["settings", "--store", "{sentinel}"],
        ["settings", "--store", "{bare}"],
        ["keys", "--store", "{url}"],
        ["keys", "--store", "{url}?no=1"],
        ["keys", "--store", "{sentinel}"],
        ["keys", "--store", "{bare}"],
        ["doctor", "--store", "{url}"],
        ["doctor", "--store", "{bare}"],
        ["doctor", "--json", "--store", "{sentinel}"],
        ["run", "lookout", "--store", "{url}"],
        ["up", "--store", "{url}"],
        ["up", "{url}"],
        ["run", "{url}"],
        ["{url}"],
        ["settings", "--port", "x", "--store", "{url}"],
    ],
)
def test_a_password_of_the_store_is_never_printed(arguments: list[str]) -> None:
    urls = {
        "url": f"redis://alice:{PASSWORD}@127.0.0.1:1",
        "sentinel": f"redis+sentinel://127.0.0.1:1/main?sentinel_password={PASSWORD}",
        "bare": f"alice:{PASSWORD}@127.0.0.1:1",
    }
    done = ran(*(argument.format(**urls) for argument in arguments), WATCHBELL_LOG_LEVEL="debug")
    assert PASSWORD not in done.stdout + done.stderr
    assert "***" in done.stdout or "127.0.0.1" in done.stdout + done.stderr or done.returncode == 3


def test_a_password_that_is_right_is_never_printed_either(server: servers.Single) -> None:
    server.server.call("ACL", "SETUSER", "alice", "on", f">{PASSWORD}", "~*", "&*", "+@all")
    url = server.url.replace("//", f"//alice:{PASSWORD}@")
    try:
        for command in ("keys", "doctor"):
            done = ran(command, "--store", url, WATCHBELL_LOG_LEVEL="debug")
            assert done.returncode == 0
            assert PASSWORD not in done.stdout + done.stderr
        with running("up", "--store", url, said='"up"') as process:
            assert PASSWORD not in board(process)
    finally:
        server.server.call("ACL", "DELUSER", "alice")
