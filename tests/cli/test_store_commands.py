"""The commands that look at a store: `watchbell keys` and `watchbell doctor`."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.cli.commands import NOWHERE, PASSWORD, printed, ran
from tests.conftest import Up
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    path = Path(tempfile.mkdtemp(prefix="wb-", dir="/tmp"))
    with Up(path / "data", "--port", "0") as running_up:
        yield running_up
    shutil.rmtree(path)


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
    assert rows[-1].endswith("families have no keys; --all lists them.")
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
    def found() -> set[str]:
        rows = printed("keys", "--data", str(up.data))
        return {row["name"] for row in rows if row["keys"]}

    wait_until(lambda: found() >= {"instance", "instance_counters"}, why="what a processor writes")


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
