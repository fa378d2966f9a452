"""The commands as users and their scripts meet them: help, errors, settings, completion, pipes."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests import servers
from tests.cli.commands import NOWHERE, PASSWORD, answered, printed, ran, ran_afresh
from tests.conftest import bare_environment, watchbell
from watchbell import __version__, cli
from watchbell.cli.main import COMMANDS
from watchbell.roles.catalogue import OUTSIDE, ROLES


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = ran_afresh(command, "--help")
    assert done.returncode == 0
    _, _, subcommands = done.stdout.partition("Commands:\n")
    assert [line for line in subcommands.splitlines() if line.endswith("...")] == []
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


def test_what_answers_but_is_no_store_is_told_in_one_line() -> None:
    with socket.create_server((servers.HOST, 0)) as web:
        url = f"redis://127.0.0.1:{web.getsockname()[1]}"
        with answered("keys", "--store", url, by=web) as (process, link):
            link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            _, said = process.communicate(timeout=60)
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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    done = ran("completion", shell)
    assert done.returncode == 0
    assert "_WATCHBELL_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("watchbell set", {"settings"}),
        ("watchbell run ", {role.name for role in (*ROLES, *OUTSIDE)}),
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


def test_no_command_sends_commands_to_the_store_by_itself() -> None:
    folder = Path(cli.__file__).parent
    assert [path.name for path in folder.rglob("*.py") if ".call(" in path.read_text()] == []
