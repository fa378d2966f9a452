"""The commands that go on, `watchbell up` and `watchbell run`; and passwords, never printed."""

import os
import re
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests import servers
from tests.cli.commands import PASSWORD, answered, board, ran, running
from tests.conftest import BareStore, bare_environment, watchbell
from tests.waiting import wait_until
from watchbell.store.keys import StoreKeys


def test_up_goes_on_where_nobody_reads_its_board(server: servers.Single) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            watchbell("up", "--store", f"{server.url}?prefix=board:"),
            env=bare_environment(),
            stdout=writer,
            stderr=log,
        )
        os.close(writer)

        def lookout_looks() -> bool:
            return bool(server.server.call("DEL", StoreKeys("board:").mark()))

        with process:
            try:
                wait_until(lookout_looks, 20, "the lookout marks the store")
                process.terminate()
                process.wait(60)
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
        assert process.wait(60) == 0


def test_a_role_alone_can_be_stopped_before_its_store_answers() -> None:
    with socket.create_server((servers.HOST, 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        with answered("run", "lookout", "--store", url, by=silent) as (process, link):
            assert link.recv(1)
            process.terminate()
            _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode == 0


def test_a_role_alone_waits_for_an_absent_store_and_logs_that_once(folder: Path) -> None:
    with servers.single(folder) as single:
        single.server.call("ACL", "SETUSER", "alice", "on", ">secret-of-alice", "~*", "&*", "+@all")
        url = single.url.replace("//", "//alice:secret-of-alice@") + "?prefix=late:"
        single.server.call("CONFIG", "REWRITE")
        single.server.stop()
        with tempfile.TemporaryFile("w+") as log:
            command = watchbell("run", "lookout", "--store", url)
            process = subprocess.Popen(command, env=bare_environment(), stderr=log)

            def said(words: str) -> bool:
                log.seek(0)
                return words in log.read()

            with process:
                try:
                    wait_until(lambda: said("waiting for the store"))
                    single.server.start()
                    wait_until(lambda: single.server.call("EXISTS", StoreKeys("late:").mark()))
                    process.terminate()
                    assert process.wait(60) == 0
                finally:
                    process.kill()
            log.seek(0)
            lines = log.read()
    assert lines.count("waiting for the store") == 1
    assert "secret-of-alice" not in lines
    assert lines.index("the store is back") < lines.index('"running"')


def test_a_role_alone_waits_for_the_store_of_the_data_folder(folder: Path) -> None:
    with tempfile.TemporaryFile("w+") as log:
        command = watchbell("run", "lookout", "--data", str(folder / "data"))
        process = subprocess.Popen(command, env=bare_environment(), stderr=log)

        def said(words: str) -> bool:
            log.seek(0)
            return words in log.read()

        with process:
            try:
                wait_until(lambda: said("no store is running on"))
                with BareStore(folder / "data"):
                    wait_until(lambda: said('"running"'))
                    process.terminate()
                    assert process.wait(60) == 0
            finally:
                process.kill()


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
    assert re.search("^prefix +wb:$", shown, re.MULTILINE)
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
